# Every target sets up what it needs in .venv; nothing else on the machine is touched.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo lint types types-of-tests test coverage test-long mutants bench bench-page reproduce clean

install: .venv/installed

LOOPS := $(wildcard src/ipub/numeric/compiled/*.[ch] src/ipub/numeric/compiled/*.pyx)

.venv/installed: pyproject.toml setup.py $(LOOPS)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ipub needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test]"
	touch $@

demo: install
	$(BIN)/ipub demo

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(MAKE) --no-print-directory -j 2 types types-of-tests

types: install
	$(BIN)/mypy

types-of-tests: install
	$(BIN)/mypy --config-file tests/mypy.ini

test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

# Measured in the tests outside tests/soundness that are not marked no_cover: heavy loops it would slow down.
coverage: install
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal --ignore tests/soundness --cov

test-long: install
	$(BIN)/pytest -n 2 -m long -s

mutants: install
	PYTHONPATH=tests $(BIN)/python -m mutants

bench: install
	$(BIN)/python -m benchmarks

bench-page: install
	$(BIN)/python -m benchmarks page

# The paper's experiments; DATA is a folder with its data sets, which are downloaded without it.
reproduce: install
	$(BIN)/python -m experiments $(if $(DATA),--data-dir $(DATA))

clean:
	rm -rf .venv build dist .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .hypothesis
