"""Meshes of standard domains."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from itertools import permutations

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector, frozen, set_fields
from pinnpoint.base.errors import InputError
from pinnpoint.base.tables import ReadOnly
from pinnpoint.mesh.bracket import bracket_mesh
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.round import annulus_mesh, disc_mesh

MAX_CELLS = 20_000_000
BRIDGE = (3.0 / 8.0, 5.0 / 8.0)
"""The dumbbell's bridge lies between these heights."""
SIDES = (("left", "right"), ("bottom", "top"), ("front", "back"))
"""Names of the sides of a box, by axis: x, y, z."""


def generate(kind: str, cells: int | None = None, *, dofs: int | None = None) -> Mesh:
    """Mesh a standard domain.

    ========= ============================================================ =====================================
    kind      domain                                                       boundary groups
    ========= ============================================================ =====================================
    interval  (0, 1)                                                       left, right
    square    (0, 1)²                                                      left, right, bottom, top
    cube      (0, 1)³                                                      those, front (z = 0), back (z = 1)
    lshape    (−1, 1)² without [0, 1] × [−1, 0]                            left, right, bottom, top, reentrant
    dumbbell  (0, 1)², (2, 3) × (0, 1) and the bridge [1, 2] × (3/8, 5/8)  left, right, bottom, top, bridge
    frame     (−1, 1)² without [−½, ½]²                                    left, right, bottom, top, hole
    disc      the unit disc's polygon: for the disc itself give geometry   rim
    annulus   that of the ring between the circles of radii ½ and 1        hole, outer
    fichera   (−1, 1)³ without [0, 1]³                                     those of the cube, reentrant
    bracket   `io.bracket`: plate, bolt holes, lugs, ribs, in mm           bolt1 … bolt4, bolts, pin, base, surface
    ========= ============================================================ =====================================

    Parameters
    ----------
    kind
        The domain.
    cells
        Grid cells per unit length, 32 unless told (in the dumbbell rounded across the bridge, exact for multiples of
        8; in the frame the next even number); a grid cell is 1 interval, 2 triangles or 6 tetrahedra, all along the
        same diagonal. In the bracket: edges along its length.
    dofs
        Of the bracket alone, instead of cells: the free displacements wanted, met within 15 %. A bracket with neither
        is the small one that travels with the package; others are meshed by Gmsh, extra ``mesh``.
    """
    if kind == "bracket":
        return bracket_mesh(cells, dofs)
    if kind not in KINDS:
        close = get_close_matches(str(kind), [*KINDS, "bracket"], 1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        raise InputError(f"generate: unknown domain {kind!r}{hint} (known: {', '.join(KINDS)}, bracket)")
    if dofs is not None:
        raise InputError(f"dofs: only for 'bracket'; give cells for '{kind}'")
    cells = 32 if cells is None else cells
    build, per_unit, dim = KINDS[kind]
    if isinstance(cells, bool) or not isinstance(cells, int | np.integer):
        raise InputError(f"cells: must be a whole number; got {cells!r}")
    most = int((MAX_CELLS / per_unit) ** (1.0 / dim) + 1e-9)
    if not 1 <= cells <= most:
        raise InputError(f"cells: must lie between 1 and {most} for '{kind}'; got {cells}")
    return build(int(cells))


def _box(dim: int) -> Callable[[int], Mesh]:
    def build(n: int) -> Mesh:
        mesh = _grid([np.linspace(0.0, 1.0, n + 1)] * dim)
        return _named(mesh, _sides(mesh))

    return build


def _reentrant(dim: int) -> Callable[[int], Mesh]:
    """(−1, 1)² without its lower right quarter, or (−1, 1)³ without its last eighth."""

    def build(n: int) -> Mesh:
        keep = np.ones((2 * n,) * dim, dtype=bool)
        keep[(slice(n, None), slice(n)) if dim == 2 else (slice(n, None),) * 3] = False
        mesh = _grid([np.linspace(-1.0, 1.0, 2 * n + 1)] * dim, keep)
        corner = np.any(np.all(mesh.points[mesh.boundary] == 0.0, axis=1), axis=1)
        return _named(mesh, _sides(mesh) | {"reentrant": mesh.boundary[corner]})

    return build


def _frame(n: int) -> Mesh:
    n = (n + 1) // 2  # per half
    keep = np.ones((4 * n, 4 * n), dtype=bool)
    keep[n : 3 * n, n : 3 * n] = False
    mesh = _grid([np.linspace(-1.0, 1.0, 4 * n + 1)] * 2, keep)
    hole = np.all(np.abs(mesh.points[mesh.boundary]) <= 0.5, axis=(1, 2))
    return _named(mesh, _sides(mesh) | {"hole": mesh.boundary[hole]})


def _dumbbell(n: int) -> Mesh:
    across, aside = max(1, round(n * (BRIDGE[1] - BRIDGE[0]))), max(1, round(n * BRIDGE[0]))
    y = np.concatenate(
        [
            np.linspace(0.0, BRIDGE[0], aside + 1),
            np.linspace(*BRIDGE, across + 1)[1:],
            np.linspace(BRIDGE[1], 1.0, aside + 1)[1:],
        ]
    )
    keep = np.ones((3 * n, len(y) - 1), dtype=bool)
    keep[n : 2 * n, :aside] = False
    keep[n : 2 * n, aside + across :] = False
    mesh = _grid([np.linspace(0.0, 3.0, 3 * n + 1), y], keep)
    X = mesh.points[mesh.boundary]
    walls = np.all(X[..., 1] == BRIDGE[0], axis=1) | np.all(X[..., 1] == BRIDGE[1], axis=1)
    return _named(mesh, _sides(mesh) | {"bridge": mesh.boundary[walls]})


def _grid(lines: list[Vector], keep: Mask | None = None) -> Mesh:
    """Kuhn's triangulation of the kept cells of a tensor grid: each cell is cut along the same diagonal."""
    shape = tuple(len(line) for line in lines)
    number = np.arange(np.prod(shape)).reshape(shape)
    X = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, len(lines))
    low = number[tuple(slice(-1) for _ in lines)]
    low = low.ravel() if keep is None else low[keep]
    strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(lines))]
    cells = np.stack([_path(low, [strides[a] for a in order], order) for order in permutations(range(len(lines)))], 1)
    used, renumbered = np.unique(cells, return_inverse=True)
    return Mesh.trusted(X[used], renumbered.reshape(-1, len(lines) + 1).astype(np.intp, copy=False), {}, {})


def _path(low: Index, steps: list[int], order: tuple[int, ...]) -> Index:
    """One simplex of each cell: from its low corner to its high one along the axes in the given order."""
    vertices: Index = low[:, None] + np.concatenate([[0], np.cumsum(steps)])
    odd = np.linalg.det(np.eye(len(order))[list(order)]) < 0
    if odd:  # all simplices positively oriented
        vertices[:, [0, 1]] = vertices[:, [1, 0]]
    return vertices


def _sides(mesh: Mesh) -> dict[str, Index]:
    """Boundary facets on the sides of the bounding box."""
    X = mesh.points[mesh.boundary]
    groups = {}
    for axis, names in enumerate(SIDES[: mesh.dim]):
        for name, value in zip(names, (mesh.points[:, axis].min(), mesh.points[:, axis].max()), strict=True):
            groups[name] = mesh.boundary[np.all(X[..., axis] == value, axis=1)]
    return groups


def _named(mesh: Mesh, groups: dict[str, Index]) -> Mesh:
    frozen(*groups.values())
    set_fields(mesh, facet_groups=ReadOnly(groups))  # parts of its boundary, so there is nothing to validate again
    return mesh


KINDS: dict[str, tuple[Callable[[int], Mesh], int, int]] = {
    "interval": (_box(1), 1, 1),
    "square": (_box(2), 2, 2),
    "cube": (_box(3), 6, 3),
    "lshape": (_reentrant(2), 6, 2),
    "dumbbell": (_dumbbell, 5, 2),
    "frame": (_frame, 6, 2),
    "fichera": (_reentrant(3), 42, 3),
    "disc": (disc_mesh, 6, 2),
    "annulus": (annulus_mesh, 10, 2),
}
"""Domain to its builder, its simplices at one grid cell per unit, and its dimension."""
