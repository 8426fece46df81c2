# `make` or `make help` lists the targets.  All of them set up their own environment from a bare Python >= 3.11.
SHELL := /bin/bash
VENV ?= .venv
BIN := $(VENV)/bin
# One process more than there are cores: many tests wait for processes of their own.
WORKERS ?= $(shell python3 -c 'import os; print((os.cpu_count() or 1) + 1)')
PYTEST_ARGS ?= -n $(WORKERS) --dist worksteal
RECORDED ?= out/tilegym
MINUTES ?= 10
LAUNCHES ?= 10000
PER_KIND ?= 1
MISTAKES ?= 3000
JOBS ?= 2
SEED ?= 1

# Tests and tools start many processes: compiled once, and not by each of them, whatever the surroundings say.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help check test oracle proofs lint format docs bench fuzz contracts mutants seeds soak dist clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

check: ## prove the showcase kernels and refute a racy one
	@tools/environment.sh $(VENV)
	@echo "== Kernels that must be proved: corpus/showcase"
	@$(BIN)/tileverify check corpus/showcase
	@echo
	@echo "== The published head permutation with two swapped store indices, which must be refuted"
	@status=0; $(BIN)/tileverify check corpus/racy/permute_swapped.py::permute_swapped::as-many-tiles-as-heads || status=$$?; \
	if [ $$status -ne 1 ]; then echo "make check: expected exit status 1 (refuted), got $$status" >&2; exit 1; fi
	@echo "== As expected: everything in corpus/showcase proved, the racy permutation refuted."

test: ## run the tests
	@tools/environment.sh $(VENV) test
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

oracle: ## run the tests that need the assembler and its disassembler
	@tools/environment.sh $(VENV) test,assemble
	@$(BIN)/python -m pytest $(PYTEST_ARGS) -m assembler --assembler

proofs: ## check the theorem behind `proved` with Coq, which is installed if it can be
	@python3 -m tools.check_proofs

lint: ## check style (ruff) and types (mypy --strict)
	@tools/environment.sh $(VENV) dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: ## format and apply safe lint fixes
	@tools/environment.sh $(VENV) dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: ## build the documentation into site/, strictly
	@tools/environment.sh $(VENV) docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: ## what the checker makes of the launches recorded in RECORDED
	@tools/environment.sh $(VENV) test
	@[ -d "$(RECORDED)" ] || { echo "make bench: nothing recorded in '$(RECORDED)'; record launches as" \
	  "benchmarks/tilegym/drive.py says, or name another folder with RECORDED=DIR" >&2; exit 2; }
	@$(BIN)/python -m benchmarks.real.report $(RECORDED)

fuzz: ## feed the decoder 100,000 mutated files
	@tools/environment.sh $(VENV) test
	@$(BIN)/python -m pytest -m fuzz --fuzz-inputs 100000

contracts: ## do guard, prover and printed clauses mean the same launches?  LAUNCHES, SEED
	@tools/environment.sh $(VENV) test
	@$(BIN)/python -m campaigns.readings.campaign --count $(LAUNCHES) --seed $(SEED)

mutants: ## break kernels as people do, and in every way known: refuted, and never green?  MISTAKES, PER_KIND, SEED, JOBS
	@tools/environment.sh $(VENV) test
	@$(BIN)/python -m campaigns.mistakes.campaign --count $(MISTAKES) --seed $(SEED) --jobs $(JOBS)
	@$(BIN)/python -m campaigns.mutants.campaign --per-kind $(PER_KIND) --seed $(SEED) --jobs $(JOBS)

seeds: ## the corpus under 20 solver seeds and 3 resource limits, which takes hours
	@tools/environment.sh $(VENV) test
	@$(BIN)/python -m campaigns.seeds --jobs $(JOBS)

soak: ## tests with random inputs at length, then generated and changed kernels, programs and files for MINUTES; SEED
	@tools/environment.sh $(VENV) test
	@$(BIN)/python -m pytest $(PYTEST_ARGS) -m "hypothesis or random" --long
	@$(BIN)/python -m campaigns.seeds --seeds 3 --limits 0.1,1 --jobs $(JOBS)
	@$(BIN)/python -m campaigns.soak --minutes $(MINUTES) --seed $(SEED)

dist: ## build sdist and wheel into dist/
	@tools/environment.sh $(VENV) test
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist

clean: ## remove the environment, caches and built files
	@rm -rf $(VENV) build dist site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find src tests campaigns -name __pycache__ -type d -prune -exec rm -rf {} +
