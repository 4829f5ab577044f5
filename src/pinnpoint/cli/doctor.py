"""`pinnpoint doctor`: what is installed and what works."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
from typing import Any

from pinnpoint.rounding.matrices import compiled
from pinnpoint.version import __version__

PACKAGES = {
    "numpy": "",
    "scipy": "",
    "scikit-fem": "",
    "meshio": "",
    "numba": "fast",
    "pandas": "frame",
    "h5py": "mesh",
    "matplotlib": "plot",
    "torch": "torch",
    "onnxruntime": "onnx",
    "jax": "jax",
    "deepxde": "deepxde",
    "scikit-learn": "sklearn",
    "starlette": "serve",
    "uvicorn": "serve",
    "pyarrow": "parquet",
    "crepes": "conformal",
}


def add(commands: Any) -> None:
    """Register the command."""
    commands.add_parser("doctor", help="what is installed, which extras work").set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print versions, extras, threads and memory."""
    print(f"pinnpoint {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    for name, extra in PACKAGES.items():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found = f"not installed (pip install 'pinnpoint[{extra}]')" if extra else "not installed, but required"
        print(f"{name:12} {found}")
    print(f"compiled kernels: {'numba' if compiled() is not None else 'none, numpy fall-backs are used'}")
    print(f"processors: {os.cpu_count()}")
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        print(f"memory: {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB")
    return 0
