# Everything a contributor types. A bare `make` prints this list.
#   make PYTHON=python3.12 setup     another Python
#   make test ARGS="-k merge -x"     more words for pytest
#   make run ARGS="--port 9000"      more words for `punchlist serve`

PYTHON ?= python3
ARGS ?=

BIN := .venv/bin
STAMP := .venv/.installed
BENCH_STAMP := .venv-bench/.installed
AGENTS := $(or $(PUNCHLIST_AGENTS_DIR),$(CURDIR)/.agents)
PYTEST := $(BIN)/pytest -n 2 --dist worksteal

# Of requirements.lock, the entry of uv alone: name, version and hashes.
UV_ENTRY := awk '/^[A-Za-z0-9]/ { wanted = /^uv==/ } wanted' requirements.lock

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup run test test-web test-postgres test-agents agents check storm bench docs lock

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## Make .venv with everything that is needed, once

run: $(STAMP) ## Serve the page with the agents of this machine, and print its link
	@$(BIN)/python tools/run.py $(ARGS)

test: $(STAMP) ## Run the tests at small sizes
	$(PYTEST) -m "not storm and not agents and not web and not postgres" $(ARGS)

test-web: $(STAMP) ## Run the tests of the pages in Chromium, which has to be installed
	$(PYTEST) -m "web and not storm" $(ARGS) tests/web

test-postgres: $(STAMP) ## Run the tests on a real PostgreSQL, which a package of Python brings
	$(PYTEST) -m "postgres and not storm" $(ARGS) tests/postgres

test-agents: $(STAMP) agents ## Run the tests with the real agents, against scripted model APIs
	PUNCHLIST_AGENTS_DIR="$(AGENTS)" $(PYTEST) -m "agents and not storm" $(ARGS) tests/agents

# The copy of package.json is made last, so that an install that was cut short is done again.
agents: ## Install the agents that the tests run, pinned, into .agents (or $PUNCHLIST_AGENTS_DIR)
	@cmp -s tests/agents/package.json "$(AGENTS)/.installed" || { \
		command -v npm >/dev/null || { echo "\`make agents\` needs npm: install Node.js first." >&2; exit 1; }; \
		mkdir -p "$(AGENTS)" && cp tests/agents/package.json "$(AGENTS)/package.json" && \
		npm install --prefix "$(AGENTS)" --no-package-lock --no-audit --no-fund --loglevel=error && \
		cp tests/agents/package.json "$(AGENTS)/.installed"; }

check: $(STAMP) ## Lint, format, types, import layers, file sizes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/check_sizes.py

storm: $(STAMP) ## Run all tests at the large sizes: kills, full disks, many processes
	PUNCHLIST_STORM=1 $(PYTEST) -m "not agents" -o timeout=3600 $(ARGS)

bench: $(BENCH_STAMP) ## Measure against peers in one run; writes benchmarks/RESULTS.md
	.venv-bench/bin/python -m benchmarks $(ARGS)

docs: $(STAMP) ## Write the pages and types that the program knows, and run what README.md and docs/ show
	$(BIN)/python tools/write_docs.py
	$(BIN)/python tools/write_api.py
	$(BIN)/python tools/write_stubs.py
	$(BIN)/python -m tools.draw_top
	$(BIN)/python -m tools.draw_rows
	$(BIN)/python tools/check_docs.py

lock: $(STAMP) ## Resolve the newest versions anew into both lock files
	$(call lock,--group dev,requirements.lock)
	$(call lock,--group bench --constraint requirements.lock,benchmarks/requirements.lock)

define lock
@PATH="$$PATH:$(CURDIR)/$(BIN)" uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url pyproject.toml $(1) --output-file $(2)
endef

# $(call install,folder,lock file): packages by hash, then the project itself, editable; all byte code compiled.
# A `uv` on PATH is used; else the pinned one in .venv.
define install
@export PATH="$$PATH:$(CURDIR)/$(BIN)"; \
uv pip sync --quiet --python $(1)/bin/python --require-hashes --compile-bytecode $(2) && \
uv pip install --quiet --python $(1)/bin/python --no-deps --no-build-isolation --editable . && \
$(1)/bin/python -m compileall -q src
endef

# `--without-pip` because some systems ship `venv` without `ensurepip`; the pip of $(PYTHON) then does its work.
define make_venv
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "Punchlist needs Python 3.11 or newer, and \`$(PYTHON)\` is not: name one, as in \`make PYTHON=python3.12 setup\`." >&2; exit 1; }
@$(PYTHON) -c 'import venv' 2>/dev/null || { \
	echo "\`$(PYTHON)\` has no module \`venv\`: install it (on Debian and Ubuntu the package python3-venv), then \`make setup\` again." >&2; exit 1; }
@$(PYTHON) -m venv --clear --without-pip $(1)
endef

$(STAMP): pyproject.toml requirements.lock
	@echo "Setting up .venv, about a minute: Python packages by their hashes, once."
	$(call make_venv,.venv)
	@command -v uv >/dev/null || { \
		$(PYTHON) -c 'import pip' 2>/dev/null || { \
			echo "Neither \`uv\` is on PATH nor has \`$(PYTHON)\` the module \`pip\`: install one of them, then \`make setup\` again." >&2; exit 1; }; \
		$(UV_ENTRY) > .venv/uv.lock && \
		$(PYTHON) -m pip --python .venv/bin/python install --quiet --disable-pip-version-check --require-hashes -r .venv/uv.lock; }
	$(call install,.venv,requirements.lock)
	@touch $@

$(BENCH_STAMP): $(STAMP) benchmarks/requirements.lock
	$(call make_venv,.venv-bench)
	$(call install,.venv-bench,benchmarks/requirements.lock)
	@touch $@
