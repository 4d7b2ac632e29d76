# Commands for people who work with Slicewise. `make` alone lists them.
SHELL := /bin/bash
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
VERSIONS ?= 1.37
# How many test processes; each has its own servers.
JOBS ?= 2
LOCK := requirements/run.lock
DEVLOCK := requirements/dev.lock
# uv installs in seconds what pip takes a minute for. Where there is no uv, or it cannot
# (a registry that only pip's settings name), pip does.
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --require-hashes
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes
COMPILE := $(BIN)/uv pip compile --generate-hashes --quiet --no-annotate --no-header --python-version 3.11

.PHONY: help setup dev engine demo stop check types style fix test test-browser test-cluster bench audit lock messages openapi

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/.uv: requirements/uv.lock
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 is needed: install it, or say PYTHON=/path/to/python3.11" >&2; exit 2; }
	@test -x $(BIN)/python || { echo "Making the virtual environment in $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@$(PIP) -r $< || echo "Without uv this takes longer"
	@touch $@

$(VENV)/.run: $(LOCK) $(VENV)/.uv
	@echo "Installing what the product runs on (up to half a minute)"
	@$(UV) --compile-bytecode -r $(LOCK) || $(PIP) -r $(LOCK)
	@touch $@

$(VENV)/.dev: $(DEVLOCK) $(VENV)/.run
	@echo "Installing what checks and tests need"
	@$(UV) -r $(DEVLOCK) || $(PIP) -r $(DEVLOCK)
	@touch $@

setup: $(VENV)/.run engine ## the virtual environment, the engine and the message catalogues
	@$(BIN)/python scripts/messages.py compile

dev: setup $(VENV)/.dev ## setup, and what checks and tests need

engine: $(VENV)/.run ## build the engine; VERSIONS=all for every supported minor
	@$(BIN)/python engine/build.py --versions $(VERSIONS)

demo: setup ## a running portal on a simulated cluster; Ctrl-C stops it. CLUSTER=real for a real control plane
	@$(BIN)/python -m portal.supervisor $(if $(CLUSTER),--cluster $(CLUSTER)) $(if $(PORT),--port $(PORT))

stop: ## stop the embedded Postgres, Valkey and engines
	@$(BIN)/python manage.py stop_embedded

check: dev ## format, lint, types, imports, migrations, templates
	@$(MAKE) --no-print-directory -j2 -Otarget types style

types:
	@$(BIN)/mypy .

style:
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/djade --check $$(git ls-files 'templates/*.html')
	@PYTHONPATH=. $(BIN)/lint-imports
	@$(BIN)/python manage.py makemigrations --check --dry-run
	@$(BIN)/python manage.py check --fail-level WARNING
	@$(BIN)/python scripts/messages.py check

fix: dev ## put format and simple lint right
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format . ; $(BIN)/djade $$(git ls-files 'templates/*.html')

test: dev ## everything that needs no real control plane and no browser; FULL=1 for more examples
	@$(BIN)/python engine/build.py --versions all
	@FULL=$(FULL) $(BIN)/pytest -n $(JOBS) --dist load --maxschedchunk 2 -m "not cluster and not browser" $(ARGS)

test-browser: dev ## the main job in Chromium
	@$(BIN)/pytest -m browser tests/browser $(ARGS)

test-cluster: dev ## the same claims shown on real control planes; FULL=1 for the long walks
	@$(BIN)/python engine/build.py --versions 1.34,1.37
	@$(BIN)/python -m tests.cluster.build
	@FULL=$(FULL) $(BIN)/pytest -m cluster tests/cluster tests/contract tests/agreement tests/guides tests/integration/watcher $(ARGS)

bench: dev ## measure, as ratios against a reference in the same run
	@$(BIN)/python -m tests.bench

audit: dev ## ask the vulnerability databases about everything pinned; ARGS for mirrors
	@$(BIN)/python scripts/audit.py $(ARGS)

lock: $(VENV)/.uv ## resolve requirements/*.in again
	@$(COMPILE) requirements/uv.in -o requirements/uv.lock
	@$(COMPILE) requirements/run.in -o $(LOCK)
	@$(COMPILE) requirements/dev.in -c $(LOCK) -o $(DEVLOCK)

openapi: dev ## write docs/openapi.json anew
	@$(BIN)/python manage.py openapi

messages: dev ## collect strings to translate into locale/ko
	@$(BIN)/python scripts/messages.py update
