"""`pinnpoint doctor`: what is installed and what works."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.errors import DependencyMissingError
from pinnpoint.base.free_memory import free_memory
from pinnpoint.base.version import __version__
from pinnpoint.rounding.matrices import compiled
from pinnpoint.solvers.amg import Multigrid
from pinnpoint.solvers.cholmod import Cholmod, on_reference_blas
from pinnpoint.solvers.direct import SparseLU
from pinnpoint.solvers.pardiso import Pardiso
from pinnpoint.solvers.petsc import Petsc
from pinnpoint.solvers.protocol import Solver
from pinnpoint.solvers.wheel_cholmod import WheelCholmod

PACKAGES = {
    "numpy": "",
    "scipy": "",
    "meshio": "",
    "numba": "fast",
    "pandas": "frame",
    "h5py": "mesh",
    "matplotlib": "plot",
    "scikit-fem": "skfem",
    "gmsh": "mesh",
    "distributed": "dask",
    "torch": "torch",
    "onnxruntime": "onnx",
    "jax": "jax",
    "deepxde": "deepxde",
    "scikit-learn": "sklearn",
    "starlette": "serve",
    "uvicorn": "serve",
    "pyarrow": "parquet",
    "zarr": "zarr",
    "crepes": "conformal",
    "pyamg": "amg",
    "scikit-sparse": "cholmod",
    "pypardiso": "pardiso",
    "cvxopt": "cvxopt",
}
WORKS = "works"
SOLVERS: dict[str, Callable[[Any], Solver]] = {
    "superlu": SparseLU,
    "cholmod": Cholmod,
    "pardiso": Pardiso,
    "cvxopt": WheelCholmod,
    "amg": Multigrid,
    "petsc": Petsc,
}


def run(arguments: argparse.Namespace) -> int:
    """Print versions, extras, threads and memory."""
    print(f"pinnpoint {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    for name, extra in PACKAGES.items():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found = f"not installed (pip install 'pinnpoint[{extra}]')" if extra else "not installed, but required"
        print(f"{name:13} {found}")
    states = {name: _state(backend) for name, backend in SOLVERS.items()}
    for name, state in states.items():
        print(f"solver {name:8} {state}")
    print(f"compiled kernels: {'numba' if compiled() is not None else 'none, numpy fall-backs are used'}")
    print(f"processors: {os.cpu_count()}")
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        print(f"memory: {size / 2**30:.1f} GiB, free {free_memory() / 2**30:.1f} GiB")
    working = {name for name, state in states.items() if state == WORKS}
    advice = faster(working, compiled=compiled() is not None, reference="cholmod" in working and on_reference_blas())
    for line in advice or ["nothing that pinnpoint knows of"]:
        print(f"would make it faster: {line}")
    return 0


def faster(solvers: set[str], *, compiled: bool, reference: bool = False) -> list[str]:
    """What to install, the most telling first; figures are of two cores, against what is there without it."""
    found = []
    if reference:
        found.append(
            "OpenBLAS in the place of the reference BLAS that CHOLMOD uses (Debian: apt-get install "
            "libopenblas0-pthread): its factors of solids take several times less time"
        )
    if not solvers & {"cholmod", "pardiso", "cvxopt"}:
        found.append(
            "pip install 'pinnpoint[cvxopt]' (GPL-3, 21 MB): a Cholesky factor in 1.3 s instead of 4.8 for plane "
            "elasticity with 400,000 unknowns, in 4 s instead of 124 for a solid with 90,000"
        )
    if not compiled:
        found.append(
            "pip install 'pinnpoint[fast]': compiled kernels; a state of 400,000 unknowns is certified in 19 ms "
            "instead of 135"
        )
    if not solvers & {"amg", "petsc"}:
        found.append(
            "pip install 'pinnpoint[amg]': multigrid, for solids of more than 400,000 unknowns whose factors do not fit"
        )
    return found


def _state(backend: Callable[[Any], Solver]) -> str:
    """Whether a solver solves a small system."""
    A = sp.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(700, 700)).tocsr()
    try:
        x = backend(A).solve(np.ones(700))
    except DependencyMissingError as error:
        return f"not installed: {str(error).removeprefix('solver: ')}"
    except Exception as error:  # whatever a broken installation does is what is to be told
        return f"broken: {type(error).__name__}: {error}"
    worst = float(np.max(np.abs(A @ x - 1.0)))
    return WORKS if worst < 1e-6 else f"broken: it left a residual of {worst:.1e}"
