# Everything installs into .venv (benchmarks: .venv-bench and .venv-sb3); compiled programs go to ~/.cache/wakesleep.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH_VENV := .venv-bench
SB3_VENV := .venv-sb3
INSTALL := install --quiet --disable-pip-version-check -c constraints.txt
# PySC2 asks for packages that break it; what it really needs is our extra (pyproject.toml)
PYSC2 := --no-deps pysc2==4.0.0
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help install dev demo test coverage lint types format docs browser bench test-sb3 parity starcraft clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: install  ## two lives side by side, with and without sleep: metrics and a web page
	$(BIN)/wakesleep demo

install: $(VENV)/.installed  ## the package into .venv

dev: $(VENV)/.installed-dev  ## the package with all that tests and documentation need

test: lint types browser  ## style, types, import order, all tests, the documentation site
	$(PYTEST)

coverage: dev browser  ## all tests, and which lines they reach
	$(PYTEST) --cov --cov-report=term --cov-report=html:build/coverage

lint: dev  ## style and import order
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

types: dev  ## mypy
	$(BIN)/mypy

format: dev  ## put style right where a tool can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: dev  ## the documentation site, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html in a browser. With search: $(BIN)/python -m http.server --directory site"

bench: install $(BENCH_VENV)/.installed $(SB3_VENV)/.installed  ## measure the speed (benchmarks/README.md)
	$(BIN)/python benchmarks/worlds.py --envpool-python $(BENCH_VENV)/bin/python
	$(BIN)/python benchmarks/learners.py --sb3-python $(SB3_VENV)/bin/python
	$(BIN)/python benchmarks/sleep.py --torch-python $(SB3_VENV)/bin/python

test-sb3: $(SB3_VENV)/.installed  ## the stable-baselines3 adapter, in an environment of its own
	$(SB3_VENV)/bin/python -m pytest tests/wake/test_sb3.py

parity: install  ## the Minigrid engine against Farama minigrid, the long run
	$(BIN)/python -m wakesleep.worlds.minigrid.parity --steps 100000

starcraft: install  ## PySC2, for the real StarCraft II (docs/guides/starcraft-game.md)
	$(BIN)/pip $(INSTALL) -e '.[starcraft]'
	$(BIN)/pip $(INSTALL) $(PYSC2)
	$(BIN)/wakesleep starcraft check

clean:  ## away with everything installed or built
	rm -rf $(VENV) $(BENCH_VENV) $(SB3_VENV) build demo site .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache \
		.hypothesis src/*.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "wakesleep needs Python 3.11 or newer; choose one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip $(INSTALL) -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip $(INSTALL) -e '.[dev,docs,starcraft]'
	$(BIN)/pip $(INSTALL) $(PYSC2)
	@touch $@

$(BENCH_VENV)/.installed: benchmarks/requirements.txt
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt
	@touch $@

# stable-baselines3 and PyTorch live in an environment of their own
$(SB3_VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(SB3_VENV)
	$(SB3_VENV)/bin/pip install --quiet --disable-pip-version-check torch==2.13.0
	$(SB3_VENV)/bin/pip $(INSTALL) -e '.[dev,sb3]'
	@touch $@

# The page is tested in a real browser. On a machine of CI's it is installed; on yours the tests are skipped without one
browser:
	@if [ -n "$$CI" ] && ! command -v chromedriver >/dev/null && command -v apt-get >/dev/null; then \
		{ apt-get update -qq && apt-get install -y -qq chromium chromium-driver; } >/dev/null 2>&1 || \
		echo "Chromium could not be installed: the tests of the report page will be skipped"; fi
