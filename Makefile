# Every target works from a bare clone with Python 3.11: the environment is made on first use.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
MYPY := cd build/unpacked && MYPYPATH=. ../../$(BIN)/mypy --config-file ../../pyproject.toml --cache-dir ../../.mypy_cache -p hrmdoc \
	$(if $(PYTHON_AS),--python-version $(PYTHON_AS) --enable-error-code deprecated)
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup demo check test test-slow lint types format smoke fuzz attacks mutants bench soak chaos accuracy docs clean unpacked

help: ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(READY): pyproject.toml setup.py constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)

setup: $(READY) ## create .venv with the tested set of packages

demo: $(READY) ## a fault, its diagnosis, the patch, the healthy rerun, the report
	$(BIN)/hrmdoc demo

check: lint ## lint, types, and the tests of what changed against main, in under 90 seconds
	$(MYPY)
	$(BIN)/python .ci/changed.py | xargs -r $(BIN)/python -m pytest -q -n 2 --dist loadfile

test: $(READY) ## all tests
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

test-slow: $(READY) ## the tests that take minutes of compilation
	$(BIN)/python -m pytest -q -m minutes

lint: $(READY) ## ruff, the ceiling of complexity, tests that assert nothing, the rules' own check, and the layer contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python .ci/complexity.py
	$(BIN)/python .ci/asserts.py
	$(BIN)/hrmdoc rules check
	@$(MAKE) --no-print-directory unpacked
	cd build/unpacked && PYTHONPATH=. ../../$(BIN)/lint-imports --config ../../pyproject.toml --no-cache

types: $(READY) ## mypy, strict, on the unpacked wheel; PYTHON_AS=3.14: as that Python, and nothing deprecated there
	@$(MAKE) --no-print-directory unpacked
	$(MYPY)

unpacked: # the wheel as it would be installed: an editable install hides hrmdoc.trainer from static tools
	@rm -rf build/unpacked build/wheel build/lib && mkdir -p build/unpacked build/wheel
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w build/wheel .
	@$(BIN)/python -m zipfile -e build/wheel/hrmdoc-*.whl build/unpacked

format: $(READY) ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

fuzz: $(READY) ## ten minutes of damaged bytes for every reader
	$(BIN)/python -m tests.fuzz.harness --minutes 10

attacks: $(READY) ## the attacks that hrmdoc is held to, as a table of tried and held
	$(BIN)/python -m tests.attacks

mutants: $(READY) ## change the code of ROOM (examination, readers/csv.py, ...) and name what no test notices
	$(BIN)/python -m tests.mutants $(ROOM)

docs: $(READY) ## the manual as a site in build/site; fails on a link that leads nowhere
	$(BIN)/python docs/make/site.py

smoke: $(READY) ## build the wheel, install it in a fresh environment, use it
	$(BIN)/python tests/smoke.py

bench: $(READY) ## speed, as ratios against named alternatives
	$(BIN)/python -m benchmarks.speed

soak: $(READY) ## kill a training run 200 times and see it come back
	$(BIN)/python tests/soak.py

chaos: $(READY) ## break what can break around a watched run, and see that nothing is lost or told twice
	$(BIN)/python -m tests.chaos

accuracy: $(READY) ## how often the doctor is right, on the fault lab
	$(BIN)/python -m benchmarks.lab --matrix small

clean: ## remove what was built
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
