# SPDX-License-Identifier: GPL-2.0-or-later
# Two commands matter: `make demo` and `make test`. `make help` lists the rest.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --quiet --disable-pip-version-check
# only files of the listed SHA-256 are installed; this project is built with what is installed
LOCKED := install --require-hashes -r
OURS := --no-deps --no-build-isolation
# tests/conftest.py says how many tests run at once; tests of a group share a worker and a job
# byte code is kept: workers, and the commands that tests begin, read what another has compiled
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n auto --dist loadgroup
# the study that `make study` runs, and how many members of its ensemble; empty: all
STUDY := quickstart
MEMBERS :=
# 1: `make test` runs every job of a board, and takes none from an earlier run (tests/support/outcomes.py)
ANEW :=
# of `make test-changed`: the commit that the change is counted from
SINCE :=
# of `make fuzz`
MINUTES := 10
JOBS := 1
TARGETS :=
CASE :=
# the Debian releases of `make fresh`, and the commands that it runs there
RELEASE := bookworm trixie
COMMANDS := make demo && make test
# of `make golden`; CHECK=1: it compares and writes nothing
BOARDS := apf27
CHECK :=
# what `make fresh-wheel` tries
TRY := quickstart own
# what `make test-arm` runs; the rest was not tried there
ON_ARM := tests/board $(addprefix tests/device/test_,tracers_known.py tracers_commands.py \
	tracers_others.py fsram.py simnand.py) tests/trial/test_golden.py
C_SOURCES := $(shell find device tests docs/examples -name '*.[ch]')

.PHONY: help setup build demo study wheel test test-changed test-long test-search test-kernels test-arm lint clean
.PHONY: golden fuzz fresh fresh-container fresh-wheel
.PHONY: checked packages packages-build packages-test lock-python

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: packages $(VENV)/run ## make the environment: nandlab in .venv/bin

build: packages-build ## build our programs for this machine: build/ffsmark, build/filetree
	@$(MAKE) -s -j $$(nproc) -C device/programs OUT=$(CURDIR)/build

demo: setup ## print the published quickstart, run it here, and tell whether that gave the same
	@echo "The answer as it was published:"
	@$(BIN)/nandlab show quickstart
	@echo && echo "Now the same is run here."
	@run=$$($(BIN)/nandlab run quickstart $(MEMBERS:%=--members %) | tail -n 1) && \
	[ -n "$$run" ] && \
	echo "report: $$($(BIN)/nandlab report $$run)" && \
	echo "published, and here:" && \
	{ $(BIN)/nandlab compare quickstart $$run --brief || [ $$? = 1 ]; } && \
	$(BIN)/nandlab show $$run | tail -n 1

study: setup ## run a study, print its results and its report's path: make study STUDY=ffsmark-2015 (MEMBERS=1: a short run)
	@run=$$($(BIN)/nandlab run $(STUDY) $(MEMBERS:%=--members %) | tail -n 1) && \
	[ -n "$$run" ] && \
	echo "report: $$($(BIN)/nandlab report $$run)" && \
	$(BIN)/nandlab show $$run

wheel: setup ## build dist/nandlab-*.whl, which needs no checkout: pip install it
	@$(PIP) wheel $(OURS) -w dist . && ls dist/*.whl

test: checked ## run all checks and tests (ANEW=1: no outcome of a board's job is taken from before)
	@ANEW=$(ANEW) $(PYTEST)

test-changed: checked ## run the tests that a change can reach (SINCE=COMMIT; default: since this branch left main)
	@files=$$($(BIN)/python tests/support/changed.py $(SINCE)) && \
	if [ -n "$$files" ]; then $(PYTEST) $$files; fi

test-long: packages-test $(VENV)/dev ## run the long tests of file systems, repetition and tracers (hours)
	@echo "sequences, random work on one file, full disks, power cuts, mtd-utils, repetition, tracers: takes hours"
	@$(PYTEST) -m long --durations=0

test-search: packages-test $(VENV)/dev build ## draw new examples for the property tests (half an hour; a failure prints its example)
	@$(PYTEST) -m 'not board and not browser and not long' --hypothesis-profile=search

golden: setup ## make the golden figures anew, and print what moved (BOARDS="apf27 apf27-arm"; CHECK=1: write nothing)
	@PYTHONPATH=tests:$$PYTHONPATH $(BIN)/python -m support.goldenset $(CHECK:%=--check) $(BOARDS)

fuzz: packages-test $(VENV)/dev ## damaged input for all that reads files (MINUTES=60; JOBS=2; TARGETS="runs chips"; CASE=SEED: one)
	@PYTHONPATH=tests:$$PYTHONPATH $(BIN)/python -m fuzz $(TARGETS) --jobs $(JOBS) --minutes $(MINUTES) $(CASE:%=--case %)

test-kernels: packages-test $(VENV)/dev ## run the board's tests on Linux 5.10 and 6.12 too (takes twice as long as make test)
	@for board in apf27-5.10 apf27-6.12; do \
		echo "on $$board"; \
		NANDLAB_TEST_BOARD=$$board $(PYTEST) -m 'board and not long' || exit 1; \
	done

test-arm: packages-test $(VENV)/dev ## run the tests of boards, tracers and the simulated chip on the ARM board
	@NANDLAB_TEST_BOARD=apf27-arm $(PYTEST) -m 'board and not long' $(ON_ARM)

fresh: ## run make demo and make test in bare Debians, as root (RELEASE=trixie; KEEP=1 keeps them)
	@for release in $(RELEASE); do setup/fresh $$release '$(COMMANDS)' || exit; done

fresh-wheel: ## try the wheel and the pages of docs/own in bare Debians, as root (TRY=own: a part; TRY=worker, TRY=farm: campaigns)
	@for release in $(RELEASE); do setup/fresh $$release 'setup/try-wheel $(TRY)' || exit; done

fresh-container: ## run the Containerfile's steps in the bare Debian that it names, as root
	@setup/fresh "$$(sed -n 's/^ARG BASE=debian://p' Containerfile)" \
		"$$(sed -nE 's/^(RUN|CMD) //p' Containerfile)"

# packages wait for the network and the disk, and mypy has one core
checked: $(VENV)/run
	@$(MAKE) -s -j2 -O packages-test lint
	@$(MAKE) -s build

lint: $(VENV)/dev ## check style and types of all code
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/clang-format --dry-run --Werror $(C_SOURCES)

clean: ## remove build/ and .venv/; the cache stays (nandlab doctor names it)
	rm -rf build $(VENV)

packages:
	@setup/install-packages setup/apt-run.txt

packages-build:
	@setup/install-packages setup/apt-run.txt setup/apt-build.txt

packages-test:
	@setup/install-packages setup/apt-run.txt setup/apt-test.txt

$(VENV)/run: pyproject.toml setup/python-run.txt
	@$(MAKE) -s packages
	@echo "making $(VENV): Python packages of some 300 MB, which pip names as it fetches them"
	@python3 -m venv $(VENV)
	@$(BIN)/pip --disable-pip-version-check $(LOCKED) setup/python-run.txt
	@$(PIP) install $(OURS) -e .
	@touch $@

$(VENV)/dev: $(VENV)/run setup/python-dev.txt
	@$(PIP) $(LOCKED) setup/python-dev.txt
	@touch $@

# a list's versions stay where pyproject.toml allows them: remove the list to take the newest
UV := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	--no-annotate pyproject.toml --group build
lock-python: $(VENV)/dev ## write setup/python-*.txt anew: Python packages with versions and SHA-256
	@$(UV) -o setup/python-run.txt
	@$(UV) --extra dev -o setup/python-dev.txt
	@$(UV) --extra distributed --group farm -o setup/python-farm.txt
