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
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e '.[tables,timm,transformers,robustbench,dashboard,attacks,pytest,sklearn,torchmetrics,mlflow,wandb,s3,ray]' --group test --group fuzz --group check --group docs
	@touch $(STAMP)

# The demo needs nothing but the package itself: its own environment, without torch.
DEMO := .venv-demo
$(DEMO)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $(DEMO)/.installed

# axe-core, which the browser tests put into a page; where npm is missing they say so and skip.
AXE := tests/faces/node_modules/.installed
$(AXE): tests/faces/package.json
	@if command -v npm > /dev/null; then npm install --prefix tests/faces --no-package-lock --no-audit --no-fund --silent && touch $(AXE); fi

demo: $(DEMO)/.installed ## audit the embedded zoo of digit classifiers, end to end
	$(DEMO)/bin/gfscore demo

# Two processes on two cores: threads of their libraries would only wait for each other. Each takes half of the files and steals from
# the other in the end: what a file starts (a browser, a server, a cluster) is started once. What is compiled is kept, empty as the
# variable is: some images forbid it, and then each of the hundreds of processes that the tests start would compile all it imports.
TESTS := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist worksteal --durations 10

test: $(STAMP) $(AXE) ## run the tests, doctests included
	$(TESTS) -m 'not long'

test-long: $(STAMP) $(AXE) ## run every test, the long ones too
	$(TESTS)

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
	$(BIN)/python benchmarks/attacks.py
	$(BIN)/python benchmarks/ray_engine.py

docs: $(STAMP) ## build the documentation into site/
	$(BIN)/mkdocs build --strict

clean: ## remove everything that make made
	rm -rf $(VENV) $(DEMO) site build dist gfscore-demo tests/artefacts tests/faces/node_modules
