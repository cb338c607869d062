# For a fresh clone: `make demo`, `make check` while you work, `make test` before a change lands.
PYTHON ?= python3
BIN := .venv/bin
CODE := src tests benchmarks experiments
# Two processes take the test files in turn; each keeps what the tests of a file share.
PARALLEL := -n 2 --dist loadfile

.PHONY: help docs demo check test test-oldest audit coverage lint format types bench reproduce build clean
.DEFAULT_GOAL := help

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/installed  ## set up .venv, train on real English, show what came out
	$(BIN)/spherevec demo

check: lint types  ## the quick round: style, layers, types and the unit tests that start no process
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow and not process" $(or $(PYTEST_ARGS),tests/unit)

test: .venv/installed-dev  ## run the tests; PYTEST_ARGS="tests/unit -k search" narrows them
	$(BIN)/python -m pytest $(PARALLEL) $(PYTEST_ARGS)

test-oldest: .venv-oldest/installed  ## run the unit tests with the oldest versions of dependencies that are allowed
	.venv-oldest/bin/python -m pytest $(or $(PYTEST_ARGS),tests/unit)

audit: .venv/installed-dev  ## known weaknesses of what is installed (asks the network)
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/python -m pip_audit --skip-editable

coverage: .venv/installed-dev  ## run the tests and report which lines they reach
	$(BIN)/python -m coverage run -m pytest $(PYTEST_ARGS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

lint: .venv/installed-dev  ## check style
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/lint-imports

format: .venv/installed-dev  ## mend style where that is possible
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

types: .venv/installed-dev  ## check types
	$(BIN)/mypy

bench: .venv/installed-dev  ## measure speed and memory, half an hour (needs SPHEREVEC_DATA)
	$(BIN)/python -m benchmarks

reproduce: .venv/installed-dev  ## measure the paper's tables: ARGS="--quick --data DIR --out DIR"
	$(BIN)/python -m experiments.paper $(ARGS)

docs: .venv/installed-dev  ## build the documentation into build/site; a warning fails
	$(BIN)/python -m sphinx -W --keep-going -q docs build/site

build: .venv/installed-dev  ## build the wheel and the source archive into dist/
	$(BIN)/python -m build

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv-oldest/installed: pyproject.toml tests/oldest.py
	$(PYTHON) -m venv .venv-oldest
	$(PYTHON) tests/oldest.py > .venv-oldest/requirements.txt
	.venv-oldest/bin/python -m pip install --quiet --requirement .venv-oldest/requirements.txt --editable .
	touch $@

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/installed-dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ .venv/installed

clean:  ## remove what the other targets made
	rm -rf .venv .venv-oldest build dist htmlcov .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
