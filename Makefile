# For a fresh clone: `make demo`, `make check` while you work, `make test` before a change lands.
PYTHON ?= python3
BIN := .venv/bin
RELEASE := .venv-release/bin
CODE := src tests benchmarks experiments
# Two processes take the test files in turn; each keeps what the tests of a file share.
PARALLEL := -n 2 --dist loadfile

.PHONY: help docs demo check test test-oldest coverage lint format types bench reproduce lock audit build release clean
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

lock: .venv-release/installed  ## pin what development and releases install, with hashes; ARGS=--upgrade for newer versions
	$(RELEASE)/uv pip compile $(COMPILE) $(ARGS) --extra dev pyproject.toml --output-file requirements-dev.txt
	$(RELEASE)/uv pip compile $(COMPILE) $(ARGS) --group release --output-file requirements-release.txt
COMPILE := --quiet --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock"

audit: .venv-release/installed  ## known weaknesses of what is pinned (asks the network)
	$(RELEASE)/pip-audit --strict --disable-pip --requirement requirements-dev.txt
	$(RELEASE)/pip-audit --strict --disable-pip --requirement requirements-release.txt

build: .venv-release/installed  ## build wheel, source archive and bill of materials into dist/
	rm -rf dist build/plain
	$(RELEASE)/python -m build --no-isolation
	$(PYTHON) -m venv --without-pip build/plain
	$(RELEASE)/python -m pip --python build/plain/bin/python install --quiet dist/*.whl
	$(RELEASE)/cyclonedx-py environment build/plain/bin/python --pyproject pyproject.toml --mc-type library \
		--output-reproducible --output-file build/bill.json
	$(RELEASE)/python tests/release.py --bill build/bill.json

release: build .venv/installed-dev  ## build, check and try what is to be uploaded: PYTHONS="python3.11 python3.12"
	$(RELEASE)/twine check --strict dist/*.whl dist/*.tar.gz
	$(RELEASE)/check-wheel-contents dist/*.whl
	rm -rf build/unpacked
	$(BIN)/python -m pip install --quiet --no-deps --target build/unpacked dist/*.whl
	PYTHONPATH=$(CURDIR)/build/unpacked $(BIN)/python -m pytest $(PARALLEL) tests/unit
	$(PYTHON) tests/release.py $(PYTHONS)

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

# The build backend is among what is pinned, so nothing else is fetched.
.venv/installed-dev: pyproject.toml requirements-dev.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements-dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@ .venv/installed

.venv-release/installed: requirements-release.txt
	$(PYTHON) -m venv .venv-release
	$(RELEASE)/python -m pip install --quiet --require-hashes --requirement requirements-release.txt
	touch $@

clean:  ## remove what the other targets made
	rm -rf .venv .venv-oldest .venv-release build dist htmlcov .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
