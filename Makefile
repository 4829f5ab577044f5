PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
ONE := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
NEEDED := all,test,lint,torch
WANTED := docs,compare,predictors,equinox,neuralop,pyvista,pardiso
comma := ,

.PHONY: demo test quick test-machines test-minimum test-mpi bench studies docs lint browser viewer clean

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -e .
	touch $@

# Torch first, or its huge build for graphics cards comes along. One step if everything is there, else what is there.
$(VENV)/.test: pyproject.toml scripts/libraries.sh
	sh scripts/libraries.sh
	$(PYTHON) -m venv $(VENV)
	$(PIP) install torch==2.13.0 || $(PIP) install torch
	$(PIP) install -e ".[$(NEEDED),$(WANTED)]" || { $(PIP) install -e ".[$(NEEDED)]" && \
	  for extra in $(subst $(comma), ,$(WANTED)); do \
	    $(PIP) install -e ".[$$extra]" || echo "the extra $$extra is missing: its tests are skipped"; done; }
	$(PIP) install -e ".[cholmod]" || echo "scikit-sparse was not built: the tests of CHOLMOD are skipped"
	touch $@

$(VENV)-minimum/.done: pyproject.toml scripts/minimum.py
	$(PYTHON) -m venv $(VENV)-minimum
	$(VENV)-minimum/bin/python -m pip --disable-pip-version-check -q install $$($(PYTHON) scripts/minimum.py)
	$(VENV)-minimum/bin/python -m pip --disable-pip-version-check -q install --no-deps -e .
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
	$(ONE) NUMBA_NUM_THREADS=2 $(BIN)/python -m pytest -n 2 --dist worksteal

quick: $(VENV)/.test
	$(ONE) $(BIN)/python -m pytest -q -n 2 --dist worksteal --quick

test-machines: $(VENV)/.test
	$(ONE) $(BIN)/python scripts/machines.py

test-minimum: $(VENV)-minimum/.done
	$(ONE) $(VENV)-minimum/bin/python scripts/machines.py --here

test-mpi:
	tests_mpi/environment.sh $(VENV)-mpi
	test ! -e $(VENV)-mpi/.done || $(VENV)-mpi/bin/python -m pytest -q -c tests_mpi/pytest.ini tests_mpi
	test ! -e $(VENV)-mpi/.done || $(VENV)-mpi/bin/python -m pytest -q tests/unit/solvers/test_solvers.py -k petsc

bench: $(VENV)/.test
	$(BIN)/python benchmarks/run.py

studies: $(VENV)/.test
	$(PIP) install -e ".[pardiso]" || echo "no PARDISO: multigrid solves the large brackets instead, in hours"
	$(BIN)/pinnpoint reproduce --all --out studies/results
	$(BIN)/python studies/rounding_misses.py
	$(BIN)/python studies/nonlinear_balls.py
	$(BIN)/python studies/continuous.py
	$(BIN)/python studies/solids.py
	$(BIN)/python studies/lift_campaign.py
	$(BIN)/python studies/train_benchmark.py
	$(BIN)/python studies/out_of_distribution.py
	$(BIN)/python studies/load_family.py --quick

docs: $(VENV)/.test
	$(BIN)/python docs/check.py
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

clean:
	rm -rf $(VENV) $(VENV)-minimum $(VENV)-mpi docs/_build build dist .pytest_cache .mypy_cache .ruff_cache
