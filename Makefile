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

# uv fills an environment in seconds, where pip takes minutes. Where it cannot be had, or fails, pip
# does it.
UV_VERSION := 0.13.9
UV := .venv-uv/bin/uv
PIP_INSTALL := -m pip install -qq --disable-pip-version-check
install = { test -x $(UV) && $(UV) pip install -q --python $(1)/bin/python $(2); } \
	|| { echo "pip installs, which takes longer"; $(1)/bin/python $(PIP_INSTALL) $(2); }
# Certificates that the machine trusts, as pip does: a company's index may have one of its own.
export UV_SYSTEM_CERTS ?= true
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif

# Work is spread over processes; BLAS threads beside them only slow it down.
export OMP_NUM_THREADS := 1

# Tests start hundreds of Python processes, each of which would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

# Half as many jobs again as there are cores, as some tests wait for servers that they start. If this
# make was started with jobs, its jobs are used.
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
JOBS = --no-print-directory --keep-going \
	$(if $(findstring jobserver,$(MAKEFLAGS)),,--jobs=$(shell expr \( $(CORES) \* 3 + 1 \) / 2)) \
	$(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

# Tests run in shares, each in a process that collects its own files alone. Those that take longest
# come first, so that at the end no core waits for a share that has just begun. The last one has every
# test that no other has.
SHARES := figures servers aggregator browser client api kills privacy rest
SHARE_kills := $(addprefix tests/end_to_end/test_,kill_minus_nine.py limits.py demo.py) tests/aggregator/store
SHARE_servers := tests/end_to_end $(addprefix --ignore=,$(filter tests/end_to_end/%,$(SHARE_kills)))
SHARE_browser := tests/browser
SHARE_api := tests/aggregator/api tests/aggregator/pages tests/analysis
SHARE_figures := $(addprefix tests/aggregator/,accounting discovery estimation integrity kernels statistics tallies)
SHARE_aggregator := tests/aggregator $(addprefix --ignore=,$(SHARE_kills) $(SHARE_api) $(SHARE_figures))
SHARE_client := tests/client
SHARE_privacy := tests/privacy tests/shared
SHARE_rest := tests $(addprefix --ignore=,tests/aggregator tests/analysis tests/browser tests/client \
	tests/end_to_end tests/privacy tests/shared)

# Which tests a PART of `make test` selects.
SELECT_plain := -m "not (service or statistics or slow)"
SELECT_ := -m "not slow"
SELECT_slow := -m slow
SELECT_all :=
ALONE := accountant audits matrix spark superset
BENCHMARKS := accuracy discovery sdk soak storage whole

one_of = $(if $(filter-out $(1),$(PART)),$(error PART must be one of $(sort $(1)), got '$(PART)'))

.DEFAULT_GOAL := help
.PHONY: help demo test check field docs serve bench install sbom dist clean \
	$(SHARES:%=.share-%) $(ALONE:%=.test-%) .bench- $(BENCHMARKS:%=.bench-%) \
	.check-lint .check-types .check-types-win32 .check-types-darwin

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.demo ## run the whole road on real data; KEEP=1 leaves the server running
	@$(BIN)/python -m demo $(if $(KEEP),--keep)

test: ## run all but the slow tests; PART=plain, slow, all, browser and others: see CONTRIBUTING.md
	$(call one_of,plain slow all $(SHARES) $(ALONE))
	@$(MAKE) $(JOBS) .test

check: $(VENV)/.dev ## lint, formatting, types and import contracts
	@$(MAKE) $(JOBS) .check-types .check-types-win32 .check-types-darwin .check-lint

field: $(VENV)/.demo ## compare every printed number with the truth, in a simulated deployment; SMALL=1 as in CI
	@$(BIN)/python -m field $(if $(SMALL),--small)

docs: $(VENV)/.docs ## make the documentation site in site/, which works as files
	@$(BIN)/python -m tools.documentation site

serve: $(VENV)/.demo ## run an aggregator on 127.0.0.1, with its data in STORE=deniable.db
	@$(BIN)/deniable serve --store $(STORE)

bench: ## measure speed, beside the naive way and other projects; PART=accuracy, discovery, sdk, soak, storage or whole
	$(call one_of,$(BENCHMARKS))
	@$(MAKE) --no-print-directory .bench-$(PART)

install: ## install what tests need besides Python, on Debian or Ubuntu: PART=chromium, node, postgresql, redis or strace, or all
	@.ci/install $(PART)

sbom: $(VENV)/.demo ## write the parts list of the wheel, docs/reviewer/deniable.cdx.json
	@$(BIN)/python -m tools.sbom

dist: $(RELEASE)/.release ## build sdist and wheel of the last commit twice, compare them, and print their hashes
	@$(RELEASE)/bin/python -m tools.release

clean: ## remove environments, caches and build products
	@rm -rf .venv* site build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Parts of `make check`.
.check-lint:
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/lint-imports
.check-types:
	@$(BIN)/mypy --strict
.check-types-win32 .check-types-darwin: .check-types-%:
	@$(BIN)/mypy --strict --platform $* --cache-dir .mypy_cache/$* -p deniable -p deniable_shared

# Parts of `make test`.
ifneq ($(filter $(ALONE),$(PART)),)
.test: .test-$(PART)
else
.test: $(addprefix .share-,$(or $(filter $(SHARES),$(PART)),$(SHARES)))
endif

# Where a part has none of a share's tests, pytest says 5.
$(SHARES:%=.share-%): .share-%: $(VENV)/.test
	@$(if $(SMALL),DENIABLE_SMALL_TESTS=1 )$(BIN)/python -m pytest -q $(SELECT_$(PART)) $(SHARE_$*) \
		$(if $(SELECT_$(PART)),|| [ $$? -eq 5 ])

# Compares `deniable cost` with dp_accounting.
.test-accountant: $(VENV)/.test $(ACCOUNTANT)/.accountant
	@$(BIN)/python -m pytest tests/aggregator/accounting/test_reference.py

# Runs costly audits and records with which sources they passed, so that CI need not run them again.
.test-audits: $(VENV)/.test
	@$(BIN)/python -m tests.audits

# Runs a deployment with many versions of what it needs, in environments that uv makes.
.test-matrix: $(VENV)/.test
	@$(BIN)/python -m tests.matrix

# Needs Java 17 and 900 MB.
.test-spark: $(SPARK)/.spark
	@$(SPARK)/bin/python -m pytest tests/end_to_end/test_spark.py

# Asks STORE's estimates through Apache Superset, which takes 1 GB.
.test-superset: $(SUPERSET)/.superset
	@$(SUPERSET)/bin/python tools/try_superset.py $(STORE)

# Parts of `make bench`.
.bench-: $(VENV)/.demo $(PEERS)/.peers
	@$(BIN)/python -m benchmarks
.bench-accuracy: $(VENV)/.demo $(PEERS)/.peers
	@$(BIN)/python -m benchmarks.accuracy $(if $(QUICK),--quick)
.bench-sdk: $(VENV)/.demo $(SDKS)/.deniable $(SDKS)/.others
	@$(BIN)/python -m benchmarks.client_sdk $(if $(QUICK),--quick)
.bench-storage: $(VENV)/.demo
	@$(BIN)/python -m benchmarks.storage
.bench-discovery: $(VENV)/.benchmarks $(PEERS)/.peers
	@$(BIN)/python -m benchmarks.discovery
	@$(BIN)/python -m benchmarks.discovery --lists
	@$(BIN)/python -m benchmarks.discovery.forged
.bench-soak: $(VENV)/.demo
	@$(BIN)/python -m benchmarks.soak
.bench-whole: $(VENV)/.dev
	@$(BIN)/python -m benchmarks.whole $(if $(QUICK),--seconds 8)

$(UV): | $(BIN)/python
	@$(BIN)/python $(PIP_INSTALL) --no-deps --target $(@:/bin/uv=) uv==$(UV_VERSION) \
		|| echo "uv does not install here: pip does its work"

# Each environment's extras contain those of the one before, so a stamp also stands for them.
$(VENV)/.demo: pyproject.toml | $(BIN)/python $(UV)
	@echo "Installing Deniable into $(VENV)"
	@$(call install,$(VENV),-e '.[aggregator]')
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python $(UV)
	@echo "Installing Deniable and what makes its documentation into $(VENV)"
	@$(call install,$(VENV),-e '.[docs]')
	@touch $@ $(VENV)/.demo

$(VENV)/.benchmarks: pyproject.toml | $(BIN)/python $(UV)
	@echo "Installing Deniable and the words that benchmarks measure with into $(VENV)"
	@$(call install,$(VENV),-e '.[benchmarks]')
	@touch $@ $(VENV)/.demo

$(VENV)/.test: pyproject.toml | $(BIN)/python $(UV)
	@echo "Installing Deniable and its test tools into $(VENV)"
	@$(call install,$(VENV),-e '.[test]')
	@touch $@ $(VENV)/.docs $(VENV)/.demo

$(VENV)/.dev: pyproject.toml | $(BIN)/python $(UV)
	@echo "Installing Deniable and its development tools into $(VENV)"
	@$(call install,$(VENV),-e '.[dev]')
	@touch $@ $(VENV)/.test $(VENV)/.docs $(VENV)/.demo

# Superset and Spark are too large for the environment of the other tests.
$(SUPERSET)/.superset: | $(SUPERSET)/bin/python $(UV)
	@echo "Installing Apache Superset into $(SUPERSET)"
	@$(call install,$(SUPERSET),apache-superset psycopg2-binary rich cachetools 'flask-caching<2.4')
	@touch $@

$(SPARK)/.spark: pyproject.toml | $(SPARK)/bin/python $(UV)
	@echo "Installing Deniable and Spark into $(SPARK)"
	@$(call install,$(SPARK),-e '.[spark]' 'pytest>=8.3' 'hypothesis>=6.120' 'trustme>=1.2')
	@touch $@

# What builds a release is pinned, each file by its hash.
$(RELEASE)/.release: tools/release/requirements.txt | $(RELEASE)/bin/python $(UV)
	@echo "Installing what builds a release into $(RELEASE)"
	@$(call install,$(RELEASE),--require-hashes -r $<)
	@touch $@

# pure-ldp does not declare all that it imports, and neither takes what is current. A peer that does
# not install is left out.
PEER_NEEDS := numpy==2.2.6 xxhash==3.8.2 scikit-learn statsmodels

$(ACCOUNTANT)/.accountant: Makefile | $(ACCOUNTANT)/bin/python $(UV)
	@echo "Installing dp_accounting into $(ACCOUNTANT)"
	@$(call install,$(ACCOUNTANT),'dp-accounting>=0.6')
	@touch $@

$(PEERS)/.peers: Makefile | $(PEERS)/bin/python $(UV)
	@echo "Installing the projects to compare with into $(PEERS)"
	@for peer in pure-ldp multi-freq-ldpy opendp; do \
		$(call install,$(PEERS),$(PEER_NEEDS) $$peer) \
			|| echo "$$peer does not install here: measuring without it"; done
	@touch $@

# Every SDK has an environment of its own, so that what it brings can be counted. One that does not
# install is left out. Deniable is installed as its users install it, from a wheel.
SDK_NAMES := posthog sentry-sdk opentelemetry-sdk segment-analytics-python glean-sdk
SDK_NEEDS_opentelemetry-sdk := opentelemetry-exporter-otlp-proto-http

$(SDKS)/.others: Makefile | $(SDK_NAMES:%=$(SDKS)/%/bin/python) $(UV)
	@$(foreach sdk,$(SDK_NAMES),echo "Installing $(sdk) into $(SDKS)/$(sdk)"; \
		$(call install,$(SDKS)/$(sdk),$(sdk) $(SDK_NEEDS_$(sdk))) \
			|| echo "$(sdk) does not install here: measuring without it";)
	@touch $@

$(SDKS)/.deniable: pyproject.toml $(shell find client shared -name '*.py') | $(SDKS)/deniable/bin/python $(UV)
	@echo "Installing Deniable into $(SDKS)/deniable"
	@$(call install,$(SDKS)/deniable,--force-reinstall .)
	@touch $@

$(BIN)/python $(PEERS)/bin/python $(SPARK)/bin/python $(SUPERSET)/bin/python $(ACCOUNTANT)/bin/python $(RELEASE)/bin/python $(SDK_NAMES:%=$(SDKS)/%/bin/python) $(SDKS)/deniable/bin/python:
	@test -n "$(PYTHON)" || { echo "Deniable needs Python 3.11 or newer, and none was found." \
		"If it has another name: make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"Deniable needs Python 3.11 or newer, and $(PYTHON) is " + sys.version.split()[0])'
	@$(PYTHON) -m venv $(@:/bin/python=) || { rm -rf $(@:/bin/python=); exit 1; }
