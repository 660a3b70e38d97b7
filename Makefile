# The two commands: `make demo` and `make test`. Each does all its set-up, once.
# `make test-quick` suits the time between two edits, `make test-all` the time before a release.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test test-quick test-all lint lint-js docs dist fuzz bench clean

help:
	@echo "make demo   label data from a few labels, and draw a picture"
	@echo "make test   linters, type checker and tests"
	@echo "make test-quick  the tests of the core, in less than a minute; needs no browser and no network"
	@echo "make test-all    all of make test, every example, and an installation of the built wheel"
	@echo "make lint   linters and type checker alone"
	@echo "make docs   the documentation site with its gallery, in build/site"
	@echo "make dist   wheel and sdist in dist, checked"
	@echo "make fuzz   campaigns with hostile rows, damaged files and kills, in five minutes (SEED=0)"
	@echo "make bench  the speed benchmarks, beside peers (needs HIDEGL_DATA; takes about twenty minutes)"
	@echo "make clean  remove the virtual environment and caches"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "hidegl needs Python 3.11 or later; name one with: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/installed-%: pyproject.toml | $(BIN)/python
	@echo "Installing hidegl[$*] (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

.PRECIOUS: $(VENV)/installed-%

demo: $(VENV)/installed-plots
	@$(BIN)/python -m hidegl.demo

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/plain_words.py
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory lint-js; \
		else echo "npm was not found: the scripts of Studio and of the report are not checked"; fi

lint-js: tests/javascript/node_modules
	@npm run --silent --prefix tests/javascript lint

tests/javascript/node_modules: tests/javascript/package.json
	@npm install --silent --no-audit --no-fund --prefix tests/javascript
	@touch $@

test: lint
	$(BIN)/pytest -n auto --maxprocesses 4

test-quick: $(VENV)/installed-quick
	$(BIN)/ruff check .
	$(BIN)/python tests/quick.py

test-all: lint dist
	HIDEGL_TEST_ALL=1 $(BIN)/pytest -n auto --maxprocesses 4

docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d build/doctrees -c docs/site docs build/site
	$(BIN)/python docs/site/check_links.py build/site

dist: $(VENV)/installed-dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*

SEED ?= 0
fuzz: $(VENV)/installed-dev
	$(BIN)/python -m fuzz --seed $(SEED)

bench: $(VENV)/installed-bench
	$(BIN)/python benchmarks/speed.py

clean:
	rm -rf $(VENV) build dist docs/auto_examples docs/reference .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
