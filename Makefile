PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: demo test test-mpi bench studies docs lint browser viewer clean

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -e .
	touch $@

$(VENV)/.test: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install torch==2.13.0 || $(PIP) install torch
	$(PIP) install -e ".[all,test,lint,torch]"
	$(PIP) install -e ".[docs,compare]" || echo "Sphinx or pyMOR is missing: the tests of the site and of the comparison are skipped"
	$(PIP) install -e ".[predictors]" || echo "some libraries of the predictors are missing: their tests are skipped"
	$(PIP) install -e ".[neuralop]" || echo "neuraloperator is missing: its example is skipped"
	touch $@

demo: $(VENV)/.core
	$(BIN)/pinnpoint demo

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

browser:
	sh scripts/browser.sh

viewer:
	sh scripts/viewer.sh

test: $(VENV)/.test lint browser
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=2 $(BIN)/python -m pytest -n 2 --dist worksteal

test-mpi:
	tests_mpi/environment.sh $(VENV)-mpi
	test ! -e $(VENV)-mpi/.done || $(VENV)-mpi/bin/python -m pytest -q -c tests_mpi/pytest.ini tests_mpi

bench: $(VENV)/.test
	$(BIN)/python benchmarks/run.py

studies: $(VENV)/.test
	$(PIP) install -e ".[pardiso]" || echo "no PARDISO: multigrid solves the large brackets instead, in hours"
	$(BIN)/pinnpoint reproduce --all --out studies/results
	$(BIN)/python studies/rounding_misses.py
	$(BIN)/python studies/nonlinear_balls.py
	$(BIN)/python studies/continuous.py
	$(BIN)/python studies/lift_campaign.py
	$(BIN)/python studies/train_benchmark.py
	$(BIN)/python studies/out_of_distribution.py
	$(BIN)/python studies/load_family.py --quick

docs: $(VENV)/.test
	$(BIN)/python docs/check.py
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

clean:
	rm -rf $(VENV) $(VENV)-mpi docs/_build build dist .pytest_cache .mypy_cache .ruff_cache
