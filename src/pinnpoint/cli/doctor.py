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
from pinnpoint.base.machine import free_memory
from pinnpoint.base.version import __version__
from pinnpoint.rounding.matrices import compiled
from pinnpoint.solvers.amg import Multigrid
from pinnpoint.solvers.cholmod import Cholmod
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
    "crepes": "conformal",
    "pyamg": "amg",
    "scikit-sparse": "cholmod",
    "pypardiso": "pardiso",
    "cvxopt": "cvxopt",
}
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
    for name, backend in SOLVERS.items():
        print(f"solver {name:8} {_state(backend)}")
    print(f"compiled kernels: {'numba' if compiled() is not None else 'none, numpy fall-backs are used'}")
    print(f"processors: {os.cpu_count()}")
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        print(f"memory: {size / 2**30:.1f} GiB, free {free_memory() / 2**30:.1f} GiB")
    return 0


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
    return "works" if worst < 1e-6 else f"broken: it left a residual of {worst:.1e}"
