# Two commands for a fresh clone: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint types bench clean

demo: .venv/installed
	$(BIN)/spherevec demo

test: .venv/installed-dev
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: .venv/installed-dev
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests

types: .venv/installed-dev
	$(BIN)/mypy

bench: .venv/installed-dev
	$(BIN)/python -m bench

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/installed-dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ .venv/installed

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache
