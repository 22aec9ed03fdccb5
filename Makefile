# make demo   from a fresh clone to a recalled memory        make lint   style, types, rooms
# make test   lint, then unit tests and promises             make lock   pin the dependencies anew (UPGRADE=1: newest)
# make test-slow  soak, long crash rounds, benchmark runs    make bench  speed and recall, as ratios
# make docs   write what is generated from the code
PYTHON ?= python3
BIN := .venv/bin
# -qq: errors only; machines with extra package indexes would print two warnings for every package.
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check

export PIP_ROOT_USER_ACTION := ignore
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME

.PHONY: demo test test-slow encoder lint lock docs bench clean
.DELETE_ON_ERROR:
.NOTPARALLEL:

# Without the encoder everything works, on words alone: no network is no reason to fail.
demo: .venv/installed
	-@$(BIN)/engram model install
	@$(BIN)/engram demo

PYTEST := ENGRAM_MODELS=$(CURDIR)/.venv/models $(BIN)/pytest --numprocesses auto --dist loadfile

test: lint encoder
	$(PYTEST) -m "not slow"

test-slow: .venv/installed encoder
	$(PYTEST) -m slow

encoder: .venv/installed
	-@ENGRAM_MODELS=$(CURDIR)/.venv/models $(BIN)/engram model install

lint: .venv/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: .venv/installed
	@mkdir -p docs
	@$(BIN)/engram config --markdown > docs/settings.md.new
	@mv docs/settings.md.new docs/settings.md
	@$(BIN)/python tools/reference.py > docs/reference.md.new
	@mv docs/reference.md.new docs/reference.md

bench: .venv/installed
	@$(BIN)/engram bench

# Versions already in the lock are kept unless UPGRADE is set. One lock for Python 3.11 to 3.14 on every platform.
lock: .venv/locked
	@$(BIN)/uv pip compile pyproject.toml --group dev --extra keychain --universal --python-version 3.11 \
		--generate-hashes --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade) \
		--quiet --output-file requirements.lock
	@echo 'mcp>=1.20,<2' | $(BIN)/uv pip compile - --universal --python-version 3.11 --no-annotate \
		--generate-hashes --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade) \
		--quiet --output-file tests/serve/mcp1.lock
	@! grep -nE '://|^ *(-i|-f|--index-url|--extra-index-url|--find-links)|@ */' requirements.lock tests/serve/mcp1.lock

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Two stamps: a changed pyproject costs a second, only a changed lock makes the environment anew.
.venv/installed: pyproject.toml .venv/locked
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@$(PIP) check
	@touch $@

.venv/locked: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' || { \
		echo "Engram needs Python 3.11 to 3.14, but $(PYTHON) is: $$($(PYTHON) --version 2>&1)" >&2; \
		echo "Name another one: make PYTHON=python3.13 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments: install its venv package (Debian: apt-get install python3-venv)" >&2; \
		exit 1; }
	@echo "Installing what requirements.lock names into .venv …"
	@$(PYTHON) -m venv --clear .venv
	@$(PIP) install --no-compile --require-hashes --requirement requirements.lock
	@touch $@
