# Every task of the project. Two are the README's: make demo, make test.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
ARGS ?=
# Processes that run tests, each with servers of its own.
WORKERS ?= 2
# The tests have servers of their own: a demo that is running keeps its buffer.
DEMO := CAPTURE_EMBEDDED=1 $(RUN)
TEST := CAPTURE_EMBEDDED=1 CAPTURE_EMBEDDED_DIR=.embedded/test $(RUN)
STATIC := $(shell find static -type f 2>/dev/null)
SOURCES := capture_site capture_sdk capture viewer examples tests bench manage.py

.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    poker agents play, and the pages show what they knew, were told, answered and sent"
	@echo "             (ARGS=\"--hands 120 --tables 3\" and more: docs/demo.md)"
	@echo "make test    every test, against real servers and a real browser"
	@echo "make check   style, types, imports, outbound lint, Django's checks, missing migrations"
	@echo "make bench   what recording a turn costs, beside a bare minimum and three tracing SDKs (bench/README.md)"
	@echo "make setup   the part that installs, into $(VENV)"
	@echo "make clean   remove what was installed and everything the embedded servers hold"

setup: $(VENV)/.ready

# Made last, so that an interrupted setup is taken up again.
$(VENV)/.ready: requirements.txt requirements-dev.txt
	@command -v "$(PYTHON)" >/dev/null 2>&1 || { \
	    echo "error: $(PYTHON) is not installed: install Python 3.11 or newer, or name one with PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "error: $$("$(PYTHON)" -V 2>&1) is too old: Python 3.11 or newer is needed, name one with PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "error: $(PYTHON) has no venv module: install it (on Debian the package python3-venv)" >&2; exit 1; }
	@if ! $(RUN) -m pip --version >/dev/null 2>&1; then \
	    "$(PYTHON)" -m venv --clear $(VENV) || { \
	    echo "error: $(VENV) could not be made here: is the folder writable, and is there room on the disk?" >&2; exit 1; }; fi
	@echo "installing the pinned requirements into $(VENV)" >&2
	@$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt >&2 || { \
	    echo "error: the requirements could not be installed: the lines above say why" >&2; exit 1; }
	@touch $@

staticfiles/.collected: $(VENV)/.ready $(STATIC)
	@$(TEST) manage.py collectstatic --noinput --verbosity 0
	@touch $@

demo: setup staticfiles/.collected
	@$(DEMO) manage.py migrate --verbosity 0
	@$(DEMO) manage.py demo $(ARGS)

test: setup staticfiles/.collected
	@$(TEST) -m pytest --numprocesses $(WORKERS) --dist loadfile $(ARGS)

check: setup
	@$(RUN) -m ruff check $(SOURCES)
	@$(RUN) -m ruff format --check --quiet $(SOURCES)
	@$(TEST) -m mypy
	@$(VENV)/bin/lint-imports
	@$(RUN) -m capture_sdk.lint capture_sdk examples
	@$(TEST) manage.py check
	@$(TEST) manage.py makemigrations --check --dry-run
	@$(RUN) -m tests.rooms

bench: setup staticfiles/.collected
	@$(RUN) -m bench $(ARGS)

clean:
	@for note in .embedded/elsewhere .embedded/test/elsewhere; do \
	    if [ -f "$$note" ]; then while IFS= read -r each; do rm -rf -- "$$each"; done < "$$note"; fi; done
	rm -rf $(VENV) .bench .embedded staticfiles .mypy_cache .ruff_cache .pytest_cache
