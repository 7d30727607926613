# Each target sets up what it needs (.ci/env). PYTHON=python3.12 chooses another Python.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; exit; }; done; echo python3)
VENV ?= .venv
BIN := $(VENV)/bin
PORT ?= 8000
python = $(firstword $(wildcard $(HOME)/.pyenv/versions/$(1).*/bin/python /usr/local/bin/python$(1)) python$(1))
# Two more than there are cores: half of the tests wait for processes.
WORKERS = $(shell $(BIN)/python -c 'import os; print(min(6, 2 + (os.cpu_count() or 1)))')
CHOSEN = not long and not mutants and not rarely

.PHONY: learn book pdf epub zip cards record record-both verify release-check release serve env sync format test test-long test-peers mutants check pins env-newest test-newest audit speed clean system

# FRESH=1 executes every cell here; otherwise what book/outputs/ has for the cells as they are is taken from there.
book: env  ## write _build/html/{en,zh-Hans,zh-Hant}/
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m publish.build $(if $(FRESH),--fresh) $(EDITIONS)

pdf epub zip: book  ## the book to take along, in _build/: PDF (with Chromium), EPUB, the site as one zip; EDITIONS=en
	@$(BIN)/python -m publish.print $@ $(EDITIONS)

# What .github/workflows/book.yml puts online; BOOK_SITE, BOOK_VERSION and BOOK_REPOSITORY say where (publish/pages/published.py).
cards: book  ## a picture for each chapter, for whoever shares a link to it (with Chromium)
	@$(BIN)/python -m publish.print $@ $(EDITIONS)

# WHAT=list says of everything recorded how old it is, what it needs, and what has changed since; WHAT=ch13_wire or
# WHAT='*_plans' runs those recorders instead (book/recordings.toml).
record: env  ## execute the cells of all PAGES, write their outputs to book/outputs/
	@$(BIN)/python -m publish.record$(if $(WHAT), --what '$(WHAT)') $(PAGES)

# The two pairs of book/recordings.toml, in environments of their own: what the newest JAX prints is what the book shows,
# and what the oldest prints otherwise stands below it.
record-both:
	@$(MAKE) record VENV=.venv-3.13 PYTHON='$(call python,3.13)'
	@$(MAKE) record VENV=.venv-3.11 PYTHON='$(call python,3.11)'

# After a change in the tools: each cell whose outputs are now others, on PAGES or all that do not measure.
verify: env  ## execute the cells, compare with what is recorded; SINCE=main: pages that reach what changed since
	@$(BIN)/python -m publish.verify$(if $(SINCE), --since '$(SINCE)') $(PAGES)

# Whether this commit can be released: tag, changelog, clean tree, the wheel in empty environments. RELEASING.md.
release-check: env
	@$(BIN)/python -m publish.release '$(TAG)'
	@WHEEL="$$(echo _build/release/*.whl)" $(BIN)/python -m pytest tests/start/test_package.py -m long -q

# All that a release attaches, in _build/release/. Nothing is uploaded: .github/workflows/release.yml does that.
release: release-check pdf epub
	@cp _build/*-'$(TAG:v%=%)'-*.pdf _build/*-'$(TAG:v%=%)'-*.epub _build/release/ && ls _build/release

serve: env  ## show the book on 127.0.0.1
	@$(BIN)/python -m publish.serve --port $(PORT)

learn: env  ## solve the exercises: each save is checked; OPTIONS=ch03, OPTIONS='--lang zh-Hans', OPTIONS=--plain
	@$(BIN)/python -m lessons learn $(OPTIONS)

env:  ## only make the environment; PINS=no: of the newest versions, not of those in constraints.txt
	@PINS='$(PINS)' sh .ci/env '$(VENV)' '$(PYTHON)'

sync: env  ## fill the pages from lessons/, derive zh-Hant
	@$(BIN)/python -m publish.sync

format: env  ## lay out the code: 80 columns in lessons/ and solutions/, 120 elsewhere
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# Hundreds of processes import our modules, and pytest rewrites each test: compiled once, they are kept, whatever the
# environment says of bytecode.
# SINCE=main: what a change since then can affect (tests/support/since.py); all of it runs before a change lands.
# As root it first installs the programs that some tests use from the system, and says which and why: SYSTEM=no does not.
# While `make check` is at work on one core, another reads all tests: pytest rewrites them once, and not in each worker.
test: env  ## style, types, pages, lessons, tools; SINCE=main: what a change since then can affect
	@sh .ci/system $(if $(filter no,$(SYSTEM)),--missing)
	@$(if $(SINCE),,env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest tests --collect-only -qq >/dev/null 2>&1 &) \
		$(BIN)/python -m publish.check; said=$$?; wait; exit $$said
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest tests -m "$(CHOSEN)" -n $(WORKERS) --dist worksteal -rs --durations=25 \
		$(if $(SINCE),--since '$(SINCE)')

# What takes minutes or makes environments of its own, and what says in another way what `make test` says: once a week, before
# a release, and by hand for what a change touches. PART=2/3: the second third of it.
test-long: env
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest tests -m "long and not rarely" -n $(WORKERS) --dist loadfile -rs --durations=25 \
		$(if $(PART),--group $(subst /, --splits ,$(PART))) $(if $(SINCE),--since '$(SINCE)')

# Each small change of each right answer, over ten seeds: it must be told from the answer (CONTRIBUTING.md).
# And what says once more what `make test-long` says: other editions, more random programs.
mutants: env
	@$(BIN)/python -m pytest tests -m "mutants or rarely" -n $(WORKERS) --dist worksteal

# JAX's own multi-process tests under minipod's plug-in and under their own launcher; git clone github.com/jax-ml/jax first.
test-peers: env  ## COPY=the folder of that clone: each verdict that differs
	@$(BIN)/uv pip install --quiet --python $(BIN)/python absl-py
	@$(BIN)/python tests/peers/jax_multiprocess.py '$(COPY)'

check: env  ## all that can be said without running anything: code, types, floors, imports, pages, Chinese
	@$(BIN)/python -m publish.check

# The browser and Chinese fonts, for the tests that look at pages; the book itself needs neither.
system:
	@sh .ci/system

# Needs Node.js, and the npm registry once. PAGES='en/index zh-Hans/ch03_sharding' instead of one of each kind.
audit: book  ## Lighthouse and axe on the built book: one table
	@$(BIN)/python -m publish.audit.run_audit $(PAGES)

# The check of a chapter beside what is not ours of it, in turns: ratios, for no clock is like another. No test asks.
speed: env  ## how many times (import jax + an empty pytest) pytest lessons/ch03_sharding takes; CHAPTERS='ch03 ch07'
	@$(BIN)/python -m publish.audit.speed $(CHAPTERS)

# constraints.txt anew, for Python 3.11.0 and all that is newer: the newest of everything.
pins: env
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11.0 --extra test --extra pods --extra launchers \
		--no-annotate --no-emit-package minipod --custom-compile-command "make pins" pyproject.toml --output-file constraints.txt

# The newest Python on this machine, with the newest of everything: no pin holds.
env-newest:
	@newest=$$(for p in "$$HOME"/.pyenv/versions/3.1[1-9]*/bin/python /usr/local/bin/python3.1[1-9] /usr/bin/python3.1[1-9]; do \
		[ ! -x "$$p" ] || echo "$$("$$p" -c 'import sys; print("%d.%02d" % sys.version_info[:2])') $$p"; done \
		| sort | tail -1 | cut -d' ' -f2-); \
	newest=$${newest:-$(PYTHON)}; echo "with $$newest"; \
	$(MAKE) env VENV=.venv-newest PYTHON="$$newest" PINS=no

# There every page is executed, too, and compared with what the book shows.
test-newest: env-newest
	@$(MAKE) test VENV=.venv-newest PINS=no CHOSEN='page or (not long and not mutants and not rarely)'

clean:  ## remove what was built; answers/ stays
	rm -rf _build .cache .pytest_cache .ruff_cache *.egg-info
