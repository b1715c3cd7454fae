# Each target sets up .venv by itself, once: the stamp is renewed when the dependencies change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test test-long check format bench docs clean

help: ## say what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/make \1|\2/' | column -t -s '|'

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[tables]' --group test --group check --group docs
	@touch $(STAMP)

demo: $(STAMP) ## run the main job: the paper, recomputed from its own numbers
	$(BIN)/gfscore reproduce cifar10 --from-published
	$(BIN)/gfscore reproduce imagenet --from-published

test: $(STAMP) ## run the tests, doctests included
	$(BIN)/python -m pytest -n 2 -m 'not long'

test-long: $(STAMP) ## run every test, the long ones too
	$(BIN)/python -m pytest -n 2

check: $(STAMP) ## check format, lint, types and the rules of who imports whom
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP) ## put the code into its format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP) ## measure speed, as ratios side by side in one run
	$(BIN)/python benchmarks/run.py

docs: $(STAMP) ## build the documentation into site/
	$(BIN)/mkdocs build --strict

clean: ## remove everything that make made
	rm -rf $(VENV) site build dist
