# Everything installs into .venv (benchmarks: .venv-bench and .venv-sb3); compiled programs go to ~/.cache/wakesleep.
#   make demo    see it work            make test    lint, types, import order, all tests
#   make bench   measure the speed      make parity  the engine against Farama minigrid, the long run
#   make starcraft  PySC2, for the real StarCraft II (the game itself: docs/starcraft-game.md)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH_VENV := .venv-bench
SB3_VENV := .venv-sb3
INSTALL := install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-sb3 lint types browser bench parity clean install dev starcraft
# PySC2 asks for packages that break it; what it really needs is our extra (pyproject.toml)
PYSC2 := --no-deps pysc2==4.0.0

install: $(VENV)/.installed
dev: $(VENV)/.installed-dev

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "wakesleep needs Python 3.11 or newer; choose one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip $(INSTALL) -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip $(INSTALL) -e '.[dev,starcraft]'
	$(BIN)/pip $(INSTALL) $(PYSC2)
	@touch $@

starcraft: install
	$(BIN)/pip $(INSTALL) -e '.[starcraft]'
	$(BIN)/pip $(INSTALL) $(PYSC2)
	$(BIN)/wakesleep starcraft check

demo: install
	$(BIN)/python -m wakesleep.demo

test: lint types browser
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

types: dev
	$(BIN)/mypy

# The page is tested in a real browser. On a machine of CI's it is installed; on yours the tests are skipped without one
browser:
	@if [ -n "$$CI" ] && ! command -v chromedriver >/dev/null && command -v apt-get >/dev/null; then \
		{ apt-get update -qq && apt-get install -y -qq chromium chromium-driver; } >/dev/null 2>&1 || \
		echo "Chromium could not be installed: the tests of the report page will be skipped"; fi

bench: install $(BENCH_VENV)/.installed $(SB3_VENV)/.installed
	$(BIN)/python benchmarks/worlds.py --envpool-python $(BENCH_VENV)/bin/python
	$(BIN)/python benchmarks/learners.py --sb3-python $(SB3_VENV)/bin/python
	$(BIN)/python benchmarks/sleep.py --torch-python $(SB3_VENV)/bin/python

$(BENCH_VENV)/.installed: benchmarks/requirements.txt
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt
	@touch $@

# stable-baselines3 and PyTorch live in an environment of their own
test-sb3: $(SB3_VENV)/.installed
	$(SB3_VENV)/bin/python -m pytest tests/wake/test_sb3.py

$(SB3_VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(SB3_VENV)
	$(SB3_VENV)/bin/pip install --quiet --disable-pip-version-check torch==2.13.0
	$(SB3_VENV)/bin/pip $(INSTALL) -e '.[dev,sb3]'
	@touch $@

parity: install
	$(BIN)/python -m wakesleep.worlds.minigrid.parity --steps 100000

clean:
	rm -rf $(VENV) $(BENCH_VENV) $(SB3_VENV) build demo .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis src/*.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +
