# Every task is one word; `make` lists them. CI calls the same words.
SHELL := /bin/bash
PYTHON ?= python3
ARGS ?=
# How many tests run side by side: by default three for two CPUs. 0: in one process, which starts sooner.
WORKERS ?= auto

VENV := .venv
BIN := $(VENV)/bin
UV := VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv
NPM := cd frontend && npm
COMPOSE := $(shell docker compose version >/dev/null 2>&1 && echo docker compose || echo docker-compose)
FRONTEND_SOURCES := $(shell find frontend/src frontend/public frontend/index.html frontend/vite.config.ts -type f 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help run demo frontend test test-python test-quick test-images durations catalogue test-frontend test-compat check lint lint-python lint-frontend format images up down base-image api bench bench-app locks clean

help: ## List the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/.product frontend/dist/index.html ## Set up what the product needs and start it on http://localhost:3000
	@exec $(BIN)/slipway serve $(ARGS)

demo: $(VENV)/.product ## Do the main job headless with the recorded model (ARGS="--sandbox docker|process")
	@exec $(BIN)/slipway demo $(ARGS)

frontend: frontend/dist/index.html ## Build the front end

test: test-python test-frontend ## Run every test: Python, front end, real browser

test-python: $(VENV)/.dev frontend/node_modules/.dev frontend/dist/index.html ## Run all Python and end-to-end tests (ARGS="-k name")
	$(BIN)/python scripts/with_test_services.py $(BIN)/pytest -n $(WORKERS) --budgets $(ARGS)

test-quick: $(VENV)/.dev ## Run the tests that need neither databases nor Docker nor a browser (ARGS="-k name")
	$(BIN)/pytest -n $(WORKERS) --lane quick $(ARGS)

catalogue: $(VENV)/.dev ## Write the catalogue of models anew from the list that comes with litellm
	$(BIN)/python scripts/catalogue.py

test-images: $(VENV)/.dev ## Build the sandbox images of the tests (ARGS=slim builds only this one)
	$(BIN)/python -m tests.support.sandbox_image $(ARGS)

durations: ## Keep what the tests took in the last run, for the order of the next ones
	cp .pytest_cache/durations.json tests/durations.json

test-frontend: frontend/node_modules/.dev ## Run the front end's tests
	$(NPM) test

test-compat: $(VENV)/.dev ## Drive our agent server with the unmodified openhands-sdk (needs a Python 3.12 beside ours)
	$(BIN)/python scripts/compat.py $(ARGS)

check: lint test ## All that a change has to pass

lint: lint-python lint-frontend ## Formatting, lint, types, layers

lint-python: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

lint-frontend: frontend/node_modules/.dev
	$(NPM) run lint
	$(NPM) run typecheck
	$(NPM) run generate:check

format: $(VENV)/.dev ## Format the Python code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

images: $(VENV)/.product ## Build the sandbox image (ARGS="--flavour slim"; the server does it too, when first needed)
	@exec $(BIN)/slipway images build $(ARGS)

up: ## Build the images of docker-compose.yml, start everything, and print a sign-in link
	$(COMPOSE) up --detach --build
	@containers/app/wait-for-sign-in.sh "$(COMPOSE)"

down: ## Stop what `make up` started; all data stays
	$(COMPOSE) down

base-image: ## Make the base image from Debian packages, for machines without an image registry
	containers/base/build.sh

api: $(VENV)/.dev frontend/node_modules/.dev ## Regenerate the OpenAPI documents and the front end's types
	$(BIN)/python -m app_server.openapi > docs/openapi/app_server.json
	$(BIN)/python -m agent_runtime.server.openapi > docs/openapi/agent_server.json
	$(BIN)/python -m agent_runtime.server.event_schemas > docs/openapi/events.json
	$(BIN)/python -m app_server.sandbox_host.openapi > docs/openapi/sandbox_host.json
	$(NPM) run generate

bench: $(VENV)/.dev ## Measure the agent server beside its peer (ARGS="--quick | --only steps | --ours-only")
	$(BIN)/python -m benchmarks $(ARGS)

bench-app: $(VENV)/.dev frontend/dist/index.html ## Measure starts of the app server and of sandboxes, the LLM gateway, long conversations, searches, floods, webhooks and deliveries
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.sandboxes
	$(BIN)/python -m benchmarks.llm_gateway
	$(BIN)/python -m benchmarks.long_run
	$(BIN)/python -m benchmarks.long_conversation
	$(BIN)/python -m benchmarks.searches
	$(BIN)/python -m benchmarks.floods
	$(BIN)/python -m benchmarks.webhooks
	$(BIN)/python -m benchmarks.deliveries

locks: $(VENV)/.dev ## Resolve the dependency locks anew
	$(UV) pip compile -q --universal --generate-hashes --no-header --no-annotate -o requirements-sandbox.lock --extra jupyter pyproject.toml
	$(UV) pip compile -q --universal --generate-hashes --no-header --no-annotate -o requirements.lock --extra server --extra jupyter pyproject.toml
	$(UV) pip compile -q --universal --generate-hashes --no-header --no-annotate -o requirements-dev.lock --extra server --extra jupyter --group dev pyproject.toml
	$(UV) pip compile --no-config -q --universal --generate-hashes --no-header --no-annotate -o containers/sandbox/node.lock containers/sandbox/node.in
	$(UV) pip compile --no-config -q --universal --generate-hashes --no-header --no-annotate -o containers/sandbox/python.lock containers/sandbox/python.in
	$(UV) pip compile --no-config -q --python-version 3.12 --override tests/compat/overrides.txt --generate-hashes --no-header --no-annotate -o tests/compat/requirements.lock tests/compat/requirements.in

clean: ## Remove what was built and installed here (never your data in ~/.slipway)
	rm -rf $(VENV) .venv-compat frontend/node_modules frontend/dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.bootstrap: requirements-bootstrap.lock
	@$(PYTHON) scripts/check_python.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-bootstrap.lock
	@touch $@

$(VENV)/.product: $(VENV)/.bootstrap requirements.lock pyproject.toml scripts/prune_environment.py
	$(UV) pip install --quiet --no-deps --compile-bytecode --require-hashes -r requirements.lock
	$(BIN)/python scripts/prune_environment.py
	$(UV) pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.product requirements-dev.lock
	$(UV) pip install --quiet --no-deps --require-hashes -r requirements-dev.lock
	@touch $@

# `npm ci` refuses a lock that lacks other platforms' binaries, which some registries do not carry.
frontend/node_modules/.product: frontend/package-lock.json
	@node scripts/check-node.cjs
	cd frontend && { npm ci --omit=dev 2>/dev/null || npm install --no-save --omit=dev; }
	@touch $@

frontend/node_modules/.dev: frontend/package-lock.json
	@node scripts/check-node.cjs
	cd frontend && { npm ci 2>/dev/null || npm install --no-save; }
	@touch $@ frontend/node_modules/.product

frontend/dist/index.html: frontend/node_modules/.product frontend/package.json $(FRONTEND_SOURCES)
	$(NPM) run build --silent -- --logLevel warn
	@touch $@
