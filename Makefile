# Needs Python 3.11 or newer, make and a package index. `make` prints what there is to run.

PYTHON ?= $(shell for name in python3.11 python3 python3.12 python3.13 python3.14; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)

STORE ?= deniable.db

VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
SDKS := .venv-sdks
SPARK := .venv-spark
SUPERSET := .venv-superset
ACCOUNTANT := .venv-accountant
RELEASE := .venv-release
PIP_INSTALL := -m pip install -qq --disable-pip-version-check

# Tests run in half as many processes again as there are cores, as some wait for servers that they
# start.
PARALLEL := -n $(shell $(PYTHON) -c 'import os; print(min(8, os.cpu_count() * 3 // 2))') --dist worksteal

# The work is spread over processes; BLAS threads beside them only slow it down.
export OMP_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help docs demo test-fast test test-slow test-all test-without-browser test-browser test-accountant test-spark try-superset postgresql chromium node check sbom dist serve field bench bench-accuracy bench-sdk bench-storage bench-discovery soak clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.demo ## run the whole road on real data; KEEP=1 leaves the server running
	@$(BIN)/python -m demo $(if $(KEEP),--keep)

test-fast: $(VENV)/.test ## run the tests that take moments: under a minute
	@$(BIN)/python -m pytest $(PARALLEL) -m "not (service or statistics or slow)"

test: $(VENV)/.test ## run those, statistics, and tests of servers, processes and pages: eight minutes
	@$(BIN)/python -m pytest $(PARALLEL) -m "not (slow or browser)"
	@$(MAKE) --no-print-directory test-browser

test-slow: $(VENV)/.test ## run the slow tests alone; SMALL=1 repeats less
	@$(if $(SMALL),DENIABLE_SMALL_TESTS=1 )$(BIN)/python -m pytest $(PARALLEL) -m slow

test-all: test-without-browser test-browser ## run every test, slow ones included: 25 minutes; SMALL=1 as CI runs them

test-without-browser: $(VENV)/.test ## run every test but those of pages
	@$(if $(SMALL),DENIABLE_SMALL_TESTS=1 )$(BIN)/python -m pytest $(PARALLEL) -m "not browser"

test-browser: $(VENV)/.test ## run the tests of pages alone; SCREENSHOTS=folder keeps a picture of every page
	@$(if $(SMALL),DENIABLE_SMALL_TESTS=1 )$(BIN)/python -m pytest tests/browser

test-accountant: $(VENV)/.test $(ACCOUNTANT)/.accountant ## compare deniable account with dp_accounting, in an environment of its own
	@$(BIN)/python -m pytest tests/aggregator/accounting/test_reference.py

test-spark: $(SPARK)/.spark ## run the tests of Spark, which needs Java 17 and 900 MB; CI does not
	@$(SPARK)/bin/python -m pytest tests/end_to_end/test_spark.py

try-superset: $(SUPERSET)/.superset ## ask STORE's estimates through Apache Superset, which takes 1 GB
	@$(SUPERSET)/bin/python tools/try_superset.py $(STORE)

postgresql: ## install PostgreSQL's server, which some tests need, on Debian or Ubuntu
	@.ci/postgresql

chromium: ## install Chromium, which tests of pages need, on Debian or Ubuntu
	@.ci/chromium

node: ## install node, which tests of certificates need, on Debian or Ubuntu
	@.ci/node

check: $(VENV)/.dev ## lint, formatting, types and import contracts
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy --strict
	@for system in win32 darwin; do \
		$(BIN)/mypy --strict --platform $$system --cache-dir .mypy_cache/$$system -p deniable -p deniable_shared \
			|| exit 1; done
	@$(BIN)/lint-imports

sbom: $(VENV)/.demo ## write the parts list of the wheel, docs/reviewer/deniable.cdx.json
	@$(BIN)/python -m tools.sbom

docs: $(VENV)/.docs ## make the documentation site in site/, which works as files
	@$(BIN)/python -m tools.documentation site

dist: $(RELEASE)/.release ## build sdist and wheel of the last commit twice, compare them, and print their hashes
	@$(RELEASE)/bin/python -m tools.release

serve: $(VENV)/.demo ## run an aggregator on 127.0.0.1, with its data in STORE=deniable.db
	@$(BIN)/deniable serve --store $(STORE)

bench: $(VENV)/.demo $(PEERS)/.peers ## measure, beside the naive way and other projects
	@$(BIN)/python -m benchmarks

bench-accuracy: $(VENV)/.demo $(PEERS)/.peers ## measure errors against the least possible; QUICK=1 is a rough run
	@$(BIN)/python -m benchmarks.accuracy $(if $(QUICK),--quick)

bench-sdk: $(VENV)/.demo $(SDKS)/.deniable $(SDKS)/.others ## measure the client beside other SDKs; QUICK=1 is a rough run
	@$(BIN)/python -m benchmarks.client_sdk $(if $(QUICK),--quick)

bench-discovery: $(VENV)/.benchmarks $(PEERS)/.peers ## measure how many popular strings that nobody listed are found
	@$(BIN)/python -m benchmarks.discovery
	@$(BIN)/python -m benchmarks.discovery --lists

bench-storage: $(VENV)/.demo ## measure what stores keep and write, beside what was accepted
	@$(BIN)/python -m benchmarks.storage

field: $(VENV)/.demo ## compare every printed number with the truth, in a simulated deployment; SMALL=1 as in CI
	@$(BIN)/python -m field $(if $(SMALL),--small)

soak: $(VENV)/.demo ## load a server for five minutes, and compare what was acknowledged with what was counted
	@$(BIN)/python -m benchmarks.soak

clean: ## remove environments, caches and build products
	@rm -rf $(VENV) $(PEERS) $(SDKS) $(SPARK) $(SUPERSET) $(ACCOUNTANT) $(RELEASE) site build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Each environment's extras contain those of the one before, so a stamp also stands for them.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "Installing Deniable into $(VENV)"
	@$(BIN)/python $(PIP_INSTALL) -e '.[aggregator]'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	@echo "Installing Deniable and what makes its documentation into $(VENV)"
	@$(BIN)/python $(PIP_INSTALL) -e '.[docs]'
	@touch $@ $(VENV)/.demo

$(VENV)/.benchmarks: pyproject.toml | $(BIN)/python
	@echo "Installing Deniable and the words that benchmarks measure with into $(VENV)"
	@$(BIN)/python $(PIP_INSTALL) -e '.[benchmarks]'
	@touch $@ $(VENV)/.demo

$(VENV)/.test: pyproject.toml | $(BIN)/python
	@echo "Installing Deniable and its test tools into $(VENV)"
	@$(BIN)/python $(PIP_INSTALL) -e '.[test]'
	@touch $@ $(VENV)/.docs $(VENV)/.demo

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "Installing Deniable and its development tools into $(VENV)"
	@$(BIN)/python $(PIP_INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.test $(VENV)/.docs $(VENV)/.demo

# Superset and Spark are too large for the environment of the other tests.
$(SUPERSET)/.superset: | $(SUPERSET)/bin/python
	@echo "Installing Apache Superset into $(SUPERSET)"
	@$(SUPERSET)/bin/python $(PIP_INSTALL) apache-superset psycopg2-binary rich cachetools 'flask-caching<2.4'
	@touch $@

$(SPARK)/.spark: pyproject.toml | $(SPARK)/bin/python
	@echo "Installing Deniable and Spark into $(SPARK)"
	@$(SPARK)/bin/python $(PIP_INSTALL) -e '.[spark]' 'pytest>=8.3' 'hypothesis>=6.120' 'trustme>=1.2'
	@touch $@

# What builds a release is pinned, each file by its hash.
$(RELEASE)/.release: tools/release/requirements.txt | $(RELEASE)/bin/python
	@echo "Installing what builds a release into $(RELEASE)"
	@$(RELEASE)/bin/python $(PIP_INSTALL) --require-hashes -r $<
	@touch $@

# pure-ldp does not declare all that it imports, and neither takes what is current. A peer that does
# not install is left out.
PEER_NEEDS := numpy==2.2.6 xxhash==3.8.2 scikit-learn statsmodels

$(ACCOUNTANT)/.accountant: Makefile | $(ACCOUNTANT)/bin/python
	@echo "Installing dp_accounting into $(ACCOUNTANT)"
	@$(ACCOUNTANT)/bin/python $(PIP_INSTALL) 'dp-accounting>=0.6'
	@touch $@

$(PEERS)/.peers: Makefile | $(PEERS)/bin/python
	@echo "Installing the projects to compare with into $(PEERS)"
	@for peer in pure-ldp multi-freq-ldpy opendp; do \
		$(PEERS)/bin/python $(PIP_INSTALL) $(PEER_NEEDS) $$peer \
			|| echo "$$peer does not install here: measuring without it"; done
	@touch $@

# Every SDK has an environment of its own, so that what it brings can be counted. One that does not
# install is left out. Deniable is installed as its users install it, from a wheel.
SDK_NAMES := posthog sentry-sdk opentelemetry-sdk segment-analytics-python glean-sdk
SDK_NEEDS_opentelemetry-sdk := opentelemetry-exporter-otlp-proto-http

$(SDKS)/.others: Makefile | $(SDK_NAMES:%=$(SDKS)/%/bin/python)
	@$(foreach sdk,$(SDK_NAMES),echo "Installing $(sdk) into $(SDKS)/$(sdk)"; \
		$(SDKS)/$(sdk)/bin/python $(PIP_INSTALL) $(sdk) $(SDK_NEEDS_$(sdk)) \
			|| echo "$(sdk) does not install here: measuring without it";)
	@touch $@

$(SDKS)/.deniable: pyproject.toml $(shell find client shared -name '*.py') | $(SDKS)/deniable/bin/python
	@echo "Installing Deniable into $(SDKS)/deniable"
	@$(SDKS)/deniable/bin/python $(PIP_INSTALL) --force-reinstall .
	@touch $@

$(BIN)/python $(PEERS)/bin/python $(SPARK)/bin/python $(SUPERSET)/bin/python $(ACCOUNTANT)/bin/python $(RELEASE)/bin/python $(SDK_NAMES:%=$(SDKS)/%/bin/python) $(SDKS)/deniable/bin/python:
	@test -n "$(PYTHON)" || { echo "Deniable needs Python 3.11 or newer, and none was found." \
		"If it has another name: make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"Deniable needs Python 3.11 or newer, and $(PYTHON) is " + sys.version.split()[0])'
	@$(PYTHON) -m venv $(@:/bin/python=) || { rm -rf $(@:/bin/python=); exit 1; }
