# `make help` lists the targets. Each of them first makes the environment, .venv, if it is not there (.ci/env).
# PYTHON=python3.12 chooses a different Python, VENV=FOLDER a different environment.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; exit; }; done; echo python3)
VENV ?= .venv
BIN := $(VENV)/bin
PORT ?= 8000
KINDS ?= pdf epub zip
# Two more than there are cores, but at most six, because half of the tests wait for processes.
WORKERS = $(shell $(BIN)/python -c 'import os; print(min(6, 2 + (os.cpu_count() or 1)))')
CHOSEN = not long and not rarely

.PHONY: help learn book serve print env format sync check test test-long record verify release-check

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

learn: env  ## solve the exercises; your answer is checked each time you save (OPTIONS=ch03, OPTIONS='--lang zh-Hans', OPTIONS=--plain)
	@$(BIN)/python -m lessons learn $(OPTIONS)

# The outputs in book/outputs/ are used for every page whose cells have not changed since they were recorded.
book: env  ## write the book to _build/html (FRESH=1 runs every cell, EDITIONS=en writes one edition)
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m publish.build $(if $(FRESH),--fresh) $(EDITIONS)

serve: env  ## serve the built book on 127.0.0.1 (PORT=8000)
	@$(BIN)/python -m publish.serve --port $(PORT)

# KINDS=cards draws a preview picture for each chapter, which appears when a link is shared (.github/workflows/book.yml).
print: book  ## make a PDF, an EPUB and a zip file of the site in _build (KINDS=pdf, EDITIONS=en); needs Chromium
	@for kind in $(KINDS); do $(BIN)/python -m publish.print $$kind $(EDITIONS) || exit; done

env:  ## make the environment and nothing else (PINS=no: the newest versions instead of those in constraints.txt)
	@PINS='$(PINS)' sh .ci/env '$(VENV)' '$(PYTHON)'

format: env  ## format the code: 80 columns in lessons and solutions, 120 elsewhere
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

sync: env  ## copy code and exercises from lessons into the pages, and derive zh-Hant
	@$(BIN)/python -m publish.sync

check: env  ## check code, types, imports, pages and language without running anything (about 15 seconds)
	@$(BIN)/python -m publish.check

# Hundreds of processes import our modules, and pytest rewrites each test: bytecode is compiled once and kept, even if
# the environment says not to. While `make check` keeps one core busy, a second process collects the tests, so that
# pytest rewrites them once and not in each worker.
# As root, this first installs the system programs that some tests use, and says which and why; SYSTEM=no lists them.
test: env  ## run the tests that must pass before a change lands (SINCE=main: only those that the change can affect)
	@sh .ci/system $(if $(filter no,$(SYSTEM)),--missing)
	@$(if $(SINCE),,env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest tests --collect-only -qq >/dev/null 2>&1 &) \
		$(BIN)/python -m publish.check; status=$$?; wait; exit $$status
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest tests -m "$(CHOSEN)" -n $(WORKERS) --dist worksteal -rs --durations=25 \
		$(if $(SINCE),--since '$(SINCE)')

test-long: env  ## run the tests that take minutes, as the weekly run and each release do (SINCE=main, PART=2/3)
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest tests -m "long and not rarely" -n $(WORKERS) --dist loadfile -rs --durations=25 \
		$(if $(PART),--group $(subst /, --splits ,$(PART))) $(if $(SINCE),--since '$(SINCE)')

# WHAT=ch13_wire or WHAT='*_plans' runs those recorders (book/recordings.toml).
record: env  ## run the cells of PAGES and keep their outputs in book/outputs (WHAT=NAME: run a recorder)
	@$(BIN)/python -m publish.record$(if $(WHAT), --what '$(WHAT)') $(PAGES)

verify: env  ## run the cells of PAGES and name those whose output differs from the recorded one (SINCE=main)
	@$(BIN)/python -m publish.verify$(if $(SINCE), --since '$(SINCE)') $(PAGES)

# RELEASING.md
release-check: env  ## check that this commit can be released as TAG=v1.2.3, and try its wheels in empty environments
	@$(BIN)/python -m publish.release '$(TAG)'
	@WHEEL="$$(echo _build/release/one_program_many_devices-*.whl)" $(BIN)/python -m pytest tests/start/test_package.py -m long -q
