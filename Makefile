# Everything installs into .venv; nothing else is touched.
#   make demo    see it work            make test    lint, types, import order, all tests
#   make bench   measure the speed      make parity  the engine against Farama minigrid, the long run
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH_VENV := .venv-bench
INSTALL := install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test lint types bench parity clean install dev

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
	$(BIN)/pip $(INSTALL) -e '.[dev]'
	@touch $@

demo: install
	$(BIN)/python -m wakesleep.demo

test: lint types
	$(BIN)/python -m pytest -n 2

lint: dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

types: dev
	$(BIN)/mypy

bench: install $(BENCH_VENV)/.installed
	$(BIN)/python benchmarks/worlds.py --envpool-python $(BENCH_VENV)/bin/python

$(BENCH_VENV)/.installed: benchmarks/requirements.txt
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt
	@touch $@

parity: install
	$(BIN)/python -m wakesleep.worlds.minigrid.parity --steps 100000

clean:
	rm -rf $(VENV) $(BENCH_VENV) build demo .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
