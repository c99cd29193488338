# Two commands: `make demo` shows it, `make test` proves it. Both need a bare Debian 12 machine and root, or KUBECONFIG.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

UV_VERSION := 0.13.9
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/fairlane
UV_HOME := $(CACHE)/uv/$(UV_VERSION)
UV := $(UV_HOME)/bin/uv
PYTHON := .venv/bin/python
export PYTHONUNBUFFERED := 1
export UV_PYTHON_DOWNLOADS := never
export MYPY_CACHE_DIR := $(CACHE)/mypy

# However it ends, no cluster of its own stays behind; it tidies itself on Ctrl-C, this is for the case that it was killed.
WITH_CLUSTER := trap '$(PYTHON) -m e2e.cluster down --abandoned' EXIT;

.PHONY: help setup check generate flags unit test demo bench-judge bench-judge-peers bench-failures bench-memory bench-plan cluster cluster-down

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */\1|/' | column -t -s '|'

setup: .venv/.done  ## the Python environment of this checkout

.venv/.done: pyproject.toml uv.lock | $(UV)
	@echo "installing Python packages"
	@$(UV) sync --frozen --all-extras
	@touch $@

# into a folder of its own and renamed, so that one which was interrupted is not taken for whole
$(UV):
	@echo "installing uv $(UV_VERSION), which installs everything else"
	@python3 -m venv --clear $(UV_HOME).make || { echo "on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(UV_HOME).make/bin/pip install --progress-bar off --disable-pip-version-check uv==$(UV_VERSION)
	@rm -rf $(UV_HOME) && mv $(UV_HOME).make $(UV_HOME)

check: setup  ## lint, types, layers, generated files in step
	@.venv/bin/ruff check .
	@echo "checking types (a minute without a cache)"
	@.venv/bin/mypy
	@.venv/bin/mypy -p e2e -p bench -p tools
	@PYTHONPATH=operator .venv/bin/lint-imports
	@PYTHONPATH=operator $(PYTHON) -m fairlane.api.crd --check
	@PYTHONPATH=operator $(PYTHON) -m fairlane.api.docs --check
	@$(PYTHON) -m tools.flags --check

generate: setup  ## write the CRDs and the reference of fields from the types
	@PYTHONPATH=operator $(PYTHON) -m fairlane.api.crd
	@PYTHONPATH=operator $(PYTHON) -m fairlane.api.docs

# WHEELS="vllm==0.34.0" downloads and reads releases first, WHEELS=all those that were read before; PARSER=<python that has vLLM> reads kinds and choices.
flags: setup  ## write the data of vLLM's flags; WHEELS="vllm==0.34.0" reads that release first
	@$(PYTHON) -m tools.flags --wheels "$(WHEELS)" --parser "$(PARSER)"

unit: setup  ## the tests that need nothing and take seconds
	@$(PYTHON) -m pytest -q tests/unit

test: setup check  ## everything: unit, contract, shell, then the scenarios on a real cluster
	@$(PYTHON) -m e2e.cluster build
	@$(PYTHON) -m pytest -q -n 2 --dist worksteal tests --durations=25
	@$(WITH_CLUSTER) $(PYTHON) -m e2e.scenarios

demo: setup  ## two lanes of real vLLM, a good change promoted, a bad one rolled back
	@$(WITH_CLUSTER) $(PYTHON) -m e2e.demo

bench-judge: setup  ## the judge on simulated traffic beside the rules of others; the tables and the plot of docs/judge.md (half an hour)
	@$(PYTHON) -m bench.judge
	@$(PYTHON) -m bench.judge.pauses

bench-judge-peers: setup  ## bad changes of real vLLM, judged beside the real Argo Rollouts and Flagger (two hours)
	@$(WITH_CLUSTER) $(PYTHON) -m bench.peers

bench-failures: setup  ## canaries of real vLLM that fail to load in five ways: what Fairlane makes of each, and how soon (ten minutes)
	@$(WITH_CLUSTER) $(PYTHON) -m bench.failures

bench-memory: setup  ## the KV cache that real vLLM has, beside what is computed before it loads (three minutes)
	@$(PYTHON) -m bench.memory

bench-plan: setup  ## the time of `fairlane plan` for every example (half a minute)
	@$(PYTHON) -m bench.plan

cluster: setup  ## start the local cluster and leave it up
	@$(PYTHON) -m e2e.cluster up

cluster-down: setup  ## end it; nothing of it stays but the cache
	@$(PYTHON) -m e2e.cluster down
