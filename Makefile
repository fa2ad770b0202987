# `make` alone lists the targets. Needs Python 3.11+, Java 17+ and make; nothing else is installed globally.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup lint test test-slow bench demo docs lock clean

VENV := .venv
BIN := $(VENV)/bin
# Stamps, so that a change redoes only the step it concerns.
PACKAGES := $(VENV)/.stamp-packages
PROJECT := $(VENV)/.stamp-project
READY := $(VENV)/.stamp-ready
NODE_MODULES := console/node_modules/.stamp
CONSOLE := src/snowmelt/serve/console/static/.stamp
CONSOLE_SOURCES := $(shell find console -path console/node_modules -prune -o -type f -print)
# Node.js comes from PyPI, as everything else does.
NPM := PATH="$(abspath $(BIN)):$$PATH" $(BIN)/npm --prefix console --no-update-notifier

# Where it is set, every process that a test starts would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

# Each candidate is run, not just looked up: version managers put names on PATH that do not start.
FIND_PYTHON = for python in $(PYTHON) python3 python3.13 python3.12 python3.11 python; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; python=; done; \
	test -n "$$python" || { echo "Snowmelt needs Python 3.11 or newer: install one, or name it with 'make setup PYTHON=...'." >&2; exit 1; }

# Asked before anything is downloaded; engine/jars.py asks again at each start, where Make is not involved.
FIND_JAVA = java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; \
	major=$$("$$java" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p'); \
	test "$${major:-0}" -ge 17 || { echo "Snowmelt needs Java 17 or newer (found: $${major:-none}): install one, or point JAVA_HOME at it." >&2; exit 1; }

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(READY) ## virtual environment, locked packages, the console's page, Spark's jars (does nothing when up to date)

$(PACKAGES): requirements-dev.lock
	@$(FIND_JAVA)
	@$(FIND_PYTHON); test -x $(BIN)/python || "$$python" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

$(PROJECT): pyproject.toml $(PACKAGES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(NODE_MODULES): console/package-lock.json console/.npmrc $(PACKAGES)
	$(NPM) ci --ignore-scripts --silent
	@touch $@

$(CONSOLE): $(CONSOLE_SOURCES) $(NODE_MODULES)
	$(NPM) run --silent build -- --logLevel warn
	@touch $@

$(READY): $(CONSOLE) src/snowmelt/engine/jars.lock src/snowmelt/engine/object_stores/jars.lock src/snowmelt/ingest/cdc/jars.lock src/snowmelt/ingest/cdc/binlog/jars.lock src/snowmelt/ingest/cdc/kafka/jars.lock $(PROJECT)
	$(BIN)/python -c 'import sys; from snowmelt.engine.jars import main; sys.exit(main())'
	@touch $@

lint: $(READY) ## ruff, strict mypy, import layers and circles, no data directory in the tree
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.knots
	$(NPM) run --silent typecheck
	$(NPM) run --silent lint
	@! git ls-files | grep -E '(^|/)(state\.db|snowmelt-data|_delta_log|\.venv)(/|$$)' || { echo "These belong to a data directory or an environment: git rm --cached them." >&2; exit 1; }

# Two processes, each with one Spark session for all its tests: starting one costs more than most tests.
test: $(READY) ## the tests of every day
	$(NPM) run --silent test
	$(BIN)/pytest -m "not slow" --numprocesses 2 --dist loadfile --no-loadscope-reorder

test-slow: $(READY) ## crash loops and long random runs
	$(BIN)/pytest -m slow

bench: $(READY) ## measure Snowmelt beside plain Spark
	$(BIN)/python -m benchmarks

demo: $(READY) ## a live PostgreSQL shop, captured, kept as a dimension, summed up, and checked (DEMO="--for 90s")
	$(BIN)/snowmelt demo $(DEMO)

docs: $(READY) ## regenerate the reference pages
	$(BIN)/python -m tools.docs

LOCK = $(BIN)/uv pip compile pyproject.toml --quiet $(if $(UPGRADE),--upgrade) --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-emit-find-links --no-header

lock: $(READY) ## bring the lock files in line with pyproject.toml (UPGRADE=1: newest versions)
	$(LOCK) --output-file requirements.lock
	$(LOCK) --all-extras --group dev --output-file requirements-dev.lock

clean: ## remove build output and caches (keeps .venv)
	rm -rf build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf spark-warehouse metastore_db derby.log
	find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
