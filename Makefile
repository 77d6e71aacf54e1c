# The two commands of a newcomer: `make up` and `make test`. Everything else: `make help`.
# Plain enough for the make 3.81 of macOS. Settings come from the environment: PORT, NEEDS_YOU_STATE, DATABASE_URL …

SHELL := /bin/sh
PYTHON := .venv/bin/python
export PYTHONUNBUFFERED := 1
# Python keeps what it compiled, whatever the shell says: a test run starts two hundred processes.
export PYTHONDONTWRITEBYTECODE :=

# The first Python that is new enough. A name may exist and not run (version managers), so each is tried.
FIND_PYTHON = for python in "$$NEEDS_YOU_PYTHON" python3 python3.14 python3.13 python3.12 python3.11 python; do \
	if [ -n "$$python" ] && "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	then break; fi; python=; done; \
	if [ -z "$$python" ]; then echo "Needs You needs Python 3.11 or newer, and none was found." >&2; exit 1; fi

.PHONY: help up install install-dev browser test test-fast check format conformance bench chaos clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | while IFS='|' read -r name text; do \
		printf '  make %-12s %s\n' "$$name" "$$text"; done

up: install ## Start everything and print the sign-in link (PORT=8000; ARGS="--world none")
	@exec $(PYTHON) manage.py up $(ARGS)

install: ## Make .venv with what running needs
	@$(FIND_PYTHON); exec "$$python" scripts/install.py run

install-dev: ## Make .venv with what tests and checks need too
	@$(FIND_PYTHON); exec "$$python" scripts/install.py dev

browser: install-dev
	@$(PYTHON) -m tests.browser

test: install-dev browser ## Run every test, those in a real browser beside the others
	@$(PYTHON) -m tests.run $(ARGS)

test-fast: install-dev ## Run the tests that need no browser
	@$(PYTHON) -m tests.run --no-browser $(ARGS)

check: install-dev ## Lint, types, layers, migrations, house style, templates
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	.venv/bin/lint-imports
	$(PYTHON) manage.py check --fail-level WARNING
	$(PYTHON) -m pytest -q -p no:randomly tests/test_project.py
	.venv/bin/djlint templates --check --quiet
	.venv/bin/djlint templates --lint --quiet

format: install-dev ## Let the formatters have their way
	$(PYTHON) -m ruff check --fix-only .
	$(PYTHON) -m ruff format .
	.venv/bin/djlint templates --reformat --quiet || true

conformance: install-dev ## Run the real clients of each protocol against a live server
	@$(PYTHON) -m tests.conformance.run

bench: install-dev ## Measure, each figure beside its yardstick; writes bench.json
	@$(PYTHON) -m bench.run

chaos: install-dev ## Break it while it works, and look whether anything was lost
	@$(PYTHON) -m tests.chaos.run

clean: ## Remove what can be made again; data and .venv stay
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis test-results build *.egg-info
	find agents asks workspace tests bench scripts -name __pycache__ -type d -prune -exec rm -rf {} +
