# Needs Python >= 3.11, git and make; everything else goes into .venv, at the versions of constraints.txt.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt

.PHONY: help demo test models clean

help:
	@echo "make demo    install the base package (no torch) and show GPOEO on a simulated GPU"
	@echo "make test    install everything the tests need; lint, check types and imports, run the tests"
	@echo "make models  fit again the models that come with the package, one for each simulated GPU"
	@echo "make clean   remove .venv and the caches"

demo: $(VENV)/.base-installed
	@$(BIN)/gpoeo demo

test: $(VENV)/.test-installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest

# Bit for bit what is there, unless the simulator, the training suite or the trainer has changed.
models: $(VENV)/.base-installed
	$(BIN)/python -m gpoeo_policies.gpoeo.shipping

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist

# Stamps: a second call installs nothing unless the packages wanted have changed.
$(VENV)/.pip-upgraded: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --quiet --upgrade pip
	@touch $@

$(VENV)/.base-installed: $(VENV)/.pip-upgraded pyproject.toml
	$(INSTALL) --quiet --editable .
	@touch $@

$(VENV)/.test-installed: $(VENV)/.pip-upgraded pyproject.toml
	$(INSTALL) --quiet --editable '.[learn]' --group test
	@touch $(VENV)/.base-installed $@
