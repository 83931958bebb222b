# Every target sets up what it needs in .venv, and no more; nothing else on the machine is touched.
PYTHON ?= python3
BIN := .venv/bin

# Modules are compiled when they are first imported, and only then: an environment that forbids to keep the result would
# have every command compile all that it imports, for seconds.
unexport PYTHONDONTWRITEBYTECODE

# How long make attack tries.
MINUTES ?= 60

.PHONY: install demo lint types types-of-tests browser test coverage test-long attack audit mutants bench bench-page docs package reproduce clean

install: .venv/installed

LOOPS := $(wildcard src/ipub/numeric/compiled/*.[ch] src/ipub/numeric/compiled/*.pyx)

# The demo needs the command line and pictures alone, the tests all extras and their tools.
.venv/installed-demo: EXTRAS = cli,plots
.venv/installed: EXTRAS = test
.venv/installed-docs: EXTRAS = docs
.venv/installed-package: EXTRAS = package
.venv/installed-audit: EXTRAS = audit

.venv/installed-demo .venv/installed .venv/installed-docs .venv/installed-package .venv/installed-audit: pyproject.toml setup.py $(LOOPS)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ipub needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e ".[$(EXTRAS)]"
	touch $@

# What has been installed for the tests or the site is enough for the demo.
demo: $(firstword $(wildcard .venv/installed .venv/installed-docs) .venv/installed-demo)
	$(BIN)/ipub demo

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(MAKE) --no-print-directory -j 2 types types-of-tests

types: install
	$(BIN)/mypy

types-of-tests: install
	$(BIN)/mypy --config-file tests/mypy.ini

# Chromium of the system, for the tests of reports: installed where root and apt-get are there, else these are skipped.
browser:
	@sh tests/support/chromium.sh

test: lint browser
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

# Measured in the tests outside tests/soundness that are not marked no_cover: heavy loops it would slow down.
coverage: install
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal --ignore tests/soundness --cov

test-long: install
	$(BIN)/pytest -n 2 -m long -s

# Goes on where it stopped: problems, checks and violations by area are added to build/attack.json.
attack: install
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m support.long_attack --minutes $(MINUTES)

# Licences of what is installed, and known vulnerabilities in it; the second asks the package index.
audit: .venv/installed-audit
	$(BIN)/pip-licenses --order=license
	$(BIN)/pip-audit --skip-editable

mutants: install
	PYTHONPATH=tests $(BIN)/python -m mutants

bench: install
	$(BIN)/python -m benchmarks

bench-page: install
	$(BIN)/python -m benchmarks page

# The site is written to build/docs/html; its examples run. It has tools of its own, which the tests do without.
docs: .venv/installed-docs
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -b html -W --keep-going docs build/docs/html

# Wheels for every Python at hand, with oldest and newest dependencies, installed into empty environments and tried.
package: .venv/installed-package
	PYTHONPATH=tests $(BIN)/python -m packages

# The paper's experiments; DATA is a folder with its data sets, which are downloaded without it.
reproduce: install
	$(BIN)/python -m experiments $(if $(DATA),--data-dir $(DATA))

clean:
	rm -rf .venv build dist .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/auto_examples docs/api/generated docs/api/backreferences docs/sg_execution_times.rst
