SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup run test real check bench soak manifests reference doctor lock format proto

help: ## list these targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## make .venv with the locked dependencies

$(STAMP): requirements.lock pyproject.toml
	@echo "setting up $(VENV) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make setup PYTHON=/path/to/python3.11" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

run: setup ## a landscape on this machine (Ctrl-C stops it)
	@$(BIN)/espalier dev

test: setup ## every test that can run here
	@if [ "$$CI" = true ]; then $(MAKE) --no-print-directory real; fi
	@status=0; export ESPALIER_AUDIT=$$(mktemp -d); \
	$(BIN)/python -m pytest -n auto --durations=10 tests/unit tests/properties || status=1; \
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not alone" --durations=20 tests/behaviour tests/faults || status=1; \
	$(BIN)/python -m pytest -m alone --durations=10 tests/behaviour tests/faults || status=1; \
	$(BIN)/python -m pytest tests/audit || status=1; \
	rm -r $$ESPALIER_AUDIT; exit $$status

real: setup ## build the real control planes from their Go modules, once
	@$(BIN)/python -m webhook.dev.planes.build

check: setup ## format, lint, types, import contracts
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

format: setup ## let ruff format and fix what it can
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: setup ## benchmarks, written to benchmarks/results/
	@$(BIN)/python -m benchmarks

soak: setup ## full fault campaigns (long)
	@ESPALIER_SOAK=1 $(BIN)/python -m pytest --timeout=0 -q tests/faults tests/properties \
	  tests/behaviour/test_nodegroups.py tests/behaviour/test_pool_rolls.py \
	  tests/behaviour/test_admission_like_gardener.py

manifests: setup ## regenerate CRDs, RBAC and webhook configurations
	@$(BIN)/espalier manifests --standalone --offline --write manifests

reference: setup ## regenerate docs/reference from the code
	@$(BIN)/python -m webhook.dev.reference docs/reference

PROTOC = $(BIN)/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=.

proto: setup ## regenerate the code behind node groups' wire format
	@$(PROTOC) --grpc_python_out=. webhook/nodegroups/provider.proto
	@$(PROTOC) webhook/nodegroups/node.proto

doctor: setup ## what is missing on this machine
	@$(BIN)/espalier doctor

# Hashed requirements, because plain pip installs them from any package index; the lock file of
# another tool would name the index.
COMPILE = $(BIN)/pip-compile --quiet --allow-unsafe --generate-hashes --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options --strip-extras

lock: ## resolve the dependencies anew, for developers and for the image
	@$(COMPILE) --extra dev --extra test --output-file requirements.lock pyproject.toml
	@$(COMPILE) --constraint requirements.lock --output-file requirements-runtime.lock pyproject.toml
