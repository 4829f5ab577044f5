"""Darcy data as people have them: coefficients on pictures and, where there are any, the data set's own solutions."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, number, plain
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.base.files import PathLike, require_file
from pinnpoint.fem.data.grids import GRIDS, PLACES, GridMap, require_pixels
from pinnpoint.io.stores import HDF5, dataset, open_hdf5
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh

NAMES = {".pt": ("x", "y"), ".mat": ("coeff", "sol"), ".h5": ("nu", "tensor"), ".npz": ("kappa", "solution")}
"""The coefficient and the solution as these files usually call them; HDF5 as PDEBench does."""
SUFFIXES = (".pt", ".pth", ".mat", *HDF5, ".npz")
COORDINATES = ("x-coordinate", "y-coordinate")
AXES = {"xy": "first along x, then along y", "yx": "first along y, then along x"}
UNIT_SQUARE = ((0.0, 1.0), (0.0, 1.0))
MEANINGS = (
    "grid: say what the stored κ means: 'cells' (one number a pixel), 'nodes' (at the corners of pixels, of which the "
    "mean is taken) or 'bilinear' (the same, interpolated to the middles of the mesh's cells)"
)


@dataclass(frozen=True, eq=False)
class DarcyData:
    """Coefficients and solutions on pictures, with what was said about them.

    Attributes
    ----------
    kappa
        (S, n_x, n_y): ``kappa[s, i, j]`` stands at the i-th place along x and the j-th along y.
    solution
        The data set's solutions on the same kind of grid; None where it has none.
    grid
        What κ on the grid means, see `fem.from_grid`. The certificate is for κ that is constant on cells of the mesh.
    at
        Where solutions stand: at "nodes" or at the middles of "cells".
    told
        File, names, convention, order of the axes and values, as strings: for reports. Coordinates that an HDF5 file
        holds are told here and not used: where they are not of the unit square, give `on` a mesh and a box.
    """

    kappa: Vector
    solution: Vector | None
    grid: str
    at: str
    told: Mapping[str, str]

    __repr__ = brief

    def __len__(self) -> int:
        return len(self.kappa)

    def mesh(self) -> Mesh:
        """The unit square with a square for each pixel."""
        nx, ny = self.kappa.shape[1:]
        if nx != ny:
            raise InputError(f"kappa: pictures are {nx} × {ny}, no square; give a mesh of your own to `on`")
        return generate("square", nx if self.grid == "cells" else nx - 1)

    def on(self, mesh: Mesh | None = None, box: ArrayLike = UNIT_SQUARE) -> tuple[Vector, Vector | None]:
        """κ on the cells (S, C) and solutions at the nodes (S, N) of a mesh, by default `mesh`.

        Parameters
        ----------
        mesh
            Must cover the box, with each of its cells inside one pixel: another mesh would be of another problem.
        box
            Lower and upper end of the data's domain along each axis; the unit square by default.
        """
        mesh = self.mesh() if mesh is None else mesh
        require_pixels(mesh, self.kappa.shape[1:], self.grid, box)
        kappas = GridMap.of_cells(mesh, self.kappa.shape[1:], self.grid)(self.kappa)
        if self.solution is None:
            return kappas, None
        return kappas, GridMap.of_nodes(mesh, self.solution.shape[1:], self.at)(self.solution)


def read_darcy(
    path: PathLike,
    *,
    grid: str | None = None,
    low: float | None = None,
    high: float | None = None,
    at: str | None = None,
    axes: str = "xy",
    coefficient: str | None = None,
    solution: str | None = None,
    rows: slice = slice(None),
) -> DarcyData:
    """Read coefficients and solutions of a Darcy data set; nothing in the file is executed.

    Parameters
    ----------
    path
        ``.pt`` tensors as neuraloperator ships them (extra ``torch``; read with ``weights_only``), ``.mat`` files
        (``piececonst…``; those of version 7.3 with the extra ``mesh``), HDF5 as PDEBench's (extra ``mesh``), ``.npz``.
    grid
        What κ at a stored place means: "cells", "nodes" or "bilinear". It must be said: data sets do not say it.
    low, high
        κ where the file has 0 and 1, or truth values, which say nothing of it: the literature has 3 and 12, a public
        generator 4 and 12. With other files of two values they are put in place of these; the `rows` must hold both.
    at
        Where solutions stand, "nodes" or "cells"; by default where κ stands.
    axes
        Which coordinate the first and the second axis of a picture go along: "xy", or "yx" where rows of the picture
        are y. With the wrong one instances are mirrored at the diagonal, their solutions too: a source or queries
        that are not alike on both sides are then about another problem.
    coefficient, solution
        Names of the arrays, where they are not "x", "y" (.pt), "coeff", "sol" (.mat), "nu", "tensor" (HDF5), "kappa",
        "solution" (.npz).
    rows
        Which instances; of HDF5 files only these are read.
    """
    grid, at = _meant(grid, at, axes)
    target = require_file(path, "data file")
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"data file '{target}': '{suffix}' files are not read (known: {', '.join(SUFFIXES)})")
    kind = ".pt" if suffix == ".pth" else ".h5" if suffix in HDF5 else suffix
    names = tuple(given or usual for given, usual in zip((coefficient, solution), NAMES[kind], strict=True))
    found = {".pt": _torch, ".mat": _matlab, ".h5": _hdf5, ".npz": _numpy}[kind](target, names, rows)
    if names[0] not in found:
        raise InputError(f"coefficient: '{target}' has no array '{names[0]}'; name one of those that it holds")
    if solution is not None and names[1] not in found:
        raise InputError(f"solution: '{target}' has no array '{names[1]}'")
    stored = _pictures(found[names[0]], "coefficient")
    u = None if names[1] not in found else _pictures(found[names[1]], "solution").astype(np.float64)
    if u is not None and len(u) != len(stored):
        raise InputError(f"solution: must have as many instances as the coefficient, {len(stored)}; got {len(u)}")
    kappa, values = _values(stored, low, high)
    if axes == "yx":
        kappa, u = kappa.swapaxes(1, 2), None if u is None else u.swapaxes(1, 2)
    told = {"file": target.name, "coefficient": names[0], "grid": grid, "at": at, "axes": AXES[axes], "values": values}
    told |= _coordinates(target) if kind == ".h5" else {}
    return DarcyData(kappa, u, grid, at, told | ({} if u is None else {"solution": names[1]}))


def _coordinates(path: Path) -> dict[str, str]:
    """What PDEBench's files say of their places, in words: nothing is taken from it."""
    with open_hdf5(path) as file:
        found = {name: np.asarray(file[name]) for name in COORDINATES if name in file}
    ends = [f"{name} {a.min():g} to {a.max():g}" for name, a in found.items() if a.size and a.dtype.kind in "fiu"]
    return {"coordinates": f"{', '.join(ends)} in the file; not used: the domain is that of the mesh"} if ends else {}


def _meant(grid: str | None, at: str | None, axes: str) -> tuple[str, str]:
    """What was said of the pictures, checked."""
    if grid not in GRIDS:
        raise InputError(f"{MEANINGS}; got {'nothing' if grid is None else repr(grid)}")
    at = ("cells" if grid == "cells" else "nodes") if at is None else at
    if at not in PLACES:
        raise InputError(f"at: must be one of {', '.join(PLACES)}; got {at!r}")
    if axes not in AXES:
        raise InputError(f"axes: must be one of {', '.join(AXES)}; got {axes!r}")
    return grid, at


def _values(stored: Any, low: float | None, high: float | None) -> tuple[Vector, str]:
    """κ with its two values where they are said, and words for that."""
    found = np.unique(stored) if stored.dtype == bool else np.unique(stored.ravel()[: 2**20])
    truth = stored.dtype == bool or bool(np.isin(found, (0.0, 1.0)).all())
    if low is None and high is None:
        if truth:
            raise InputError(
                "low, high: the file holds truth values (0 and 1), not κ; say which κ they stand for, such as low=3, "
                "high=12 (the literature) or low=4, high=12 (a public generator)"
            )
        return stored.astype(np.float64), "as stored"
    if low is None or high is None:
        raise InputError("low, high: must be given together")
    low, high = number("low", low, above=0.0), number("high", high, above=0.0)
    two = np.unique(stored)
    if len(two) > 2:
        raise InputError(f"low, high: the file holds {len(two)} different values, not two; leave low and high out")
    if len(two) < 2 and not truth:
        raise InputError(
            f"low, high: the instances that were read hold one value, {two[0]:g}, which does not say whether it is the "
            "low or the high one; read all rows, or such as hold both"
        )
    return np.where(stored == (True if truth else two[-1]), high, low), f"{low:g} and {high:g} for {two.tolist()}"


def _pictures(given: Any, name: str) -> Any:
    """(S, n_x, n_y), without axes of channels."""
    a = np.asarray(given)
    if a.ndim == 4 and 1 in (a.shape[1], a.shape[3]):
        a = a[:, 0] if a.shape[1] == 1 else a[..., 0]
    if a.ndim != 3 or not a.size or a.dtype.kind not in "fiub":
        raise InputError(f"{name}: must be numbers of shape (instances, n_x, n_y); got {a.dtype} of shape {a.shape}")
    return a


def _torch(path: Path, names: tuple[str, ...], rows: slice) -> dict[str, Any]:
    try:
        import torch
    except ImportError as error:
        raise DependencyMissingError(f"'{path}': .pt files need torch: pip install 'pinnpoint[torch]'") from error
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch has no one type for what it refuses
        why = str(error).splitlines()[0][:80]
        raise InputError(
            f"data file '{path}': is no file of tensors alone, and others can run code ({why}); save "
            "{'x': …, 'y': …} with torch.save"
        ) from error
    if not isinstance(loaded, Mapping):
        raise InputError(f"data file '{path}': must hold a dictionary of tensors; got {type(loaded).__name__}")
    return {name: plain(loaded[name][rows]) for name in names if isinstance(loaded.get(name), torch.Tensor)}


def _matlab(path: Path, names: tuple[str, ...], rows: slice) -> dict[str, Any]:
    from scipy.io import loadmat

    try:
        loaded = loadmat(path, variable_names=list(names))
    except NotImplementedError:  # version 7.3, which is HDF5 with its axes reversed
        with open_hdf5(path) as file:
            return {name: dataset(file, name, path)[..., rows].T for name in names if name in file}
    except (ValueError, TypeError, OSError, KeyError, zlib.error) as error:
        raise InputError(f"data file '{path}': is no MATLAB file ({str(error)[:100]})") from error
    return {name: loaded[name][rows] for name in names if name in loaded}


def _hdf5(path: Path, names: tuple[str, ...], rows: slice) -> dict[str, Any]:
    with open_hdf5(path) as file:
        return {name: dataset(file, name, path)[rows] for name in names if name in file}


def _numpy(path: Path, names: tuple[str, ...], rows: slice) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name][rows] for name in names if name in archive.files}
    except (ValueError, OSError, EOFError, KeyError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"data file '{path}': is no .npz archive of plain arrays ({str(error)[:100]})") from error
