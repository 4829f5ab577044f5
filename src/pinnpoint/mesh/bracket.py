"""A jet-engine-type bracket: a base plate with four bolt holes, two lugs with a pin hole, ribs; in mm.

Gmsh meshes it at any size; a small one travels with the package.
"""

from __future__ import annotations

import logging
import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.mesh.mesh import Mesh

LENGTH, WIDTH, THICKNESS, CORNER = 160.0, 100.0, 10.0, 12.0
"""The plate, in mm: along x, along y, from z = 0 up; its corners are round."""
BOLTS = ((-64.0, -34.0), (64.0, -34.0), (64.0, 34.0), (-64.0, 34.0))
BOLT_RADIUS = 6.0
PIN = (0.0, 0.0, 58.0)
"""The middle of the pin, whose axis is y."""
PIN_RADIUS, LUG_RADIUS, LUG_FOOT = 10.0, 20.0, 36.0
LUGS = ((-24.0, -12.0), (12.0, 24.0))
"""Where the lugs lie along y."""
SUNK = 4.0
"""How deep lugs and ribs reach into the plate, and ribs into lugs, before all are united."""
FEWEST, MOST = 2_000, 2_500_000
WITHIN = 0.15
TRIES = 6
SIZES = (
    (16.0, 1953),
    (14.0, 2130),
    (12.0, 2688),
    (10.0, 3438),
    (8.0, 4587),
    (6.0, 7197),
    (4.5, 12894),
    (3.5, 22065),
    (2.5, 50601),
    (1.8, 115440),
    (1.3, 274161),
    (0.75, 1254048),
    (0.58, 2600000),
)
"""Edge lengths and the dofs that they gave."""
OPTIONS = {
    "General.Terminal": 0,
    "General.NumThreads": 1,
    "Geometry.OCCUnionUnify": 1,
    "Mesh.RandomSeed": 1,
    "Mesh.ElementOrder": 1,
    "Mesh.Algorithm": 6,
    "Mesh.Algorithm3D": 10,
    "Mesh.Optimize": 1,
    "Mesh.OptimizeNetgen": 0,
    "Mesh.OptimizeThreshold": 0.4,
    "Mesh.MeshSizeFromCurvature": 16,
    "Mesh.MeshSizeExtendFromBoundary": 0,
    "Mesh.MeshSizeFromPoints": 0,
}
log = logging.getLogger(__name__)


def bracket_mesh(cells: int | None = None, dofs: int | None = None) -> Mesh:
    """Mesh the bracket; the same arguments and the same Gmsh give the same mesh. Needs the extra ``mesh``.

    Without arguments it is the mesh that travels with the package, 5,070 dofs, and needs nothing.

    Groups: ``bolt1`` to ``bolt4`` (walls of the bolt holes) and ``bolts``, all four; ``pin`` (walls of the pin hole in
    both lugs); ``base`` (the plate's underside); ``surface`` (everything else).

    Parameters
    ----------
    cells
        Edges along the plate's length of 160 mm.
    dofs
        Instead: displacements that stay free when the bolt holes are clamped, met within 15 %; 2,000 to 2,500,000.
    """
    if cells is not None and dofs is not None:
        raise InputError("cells: give cells or dofs, not both")
    if cells is None and dofs is None:
        return small_bracket()
    length = 0.0 if cells is None else LENGTH / _whole("cells", cells, 10, 280)
    wanted = 0 if dofs is None else _whole("dofs", dofs, FEWEST, MOST)
    gmsh = import_gmsh()
    with _session(gmsh):
        walls = _build(gmsh)
        if not wanted:
            return _mesh(gmsh, length, walls)
        aim, found = float(wanted), 0
        for _ in range(TRIES):
            mesh = _mesh(gmsh, edge_length(aim), walls)
            found = free_dofs(mesh)
            log.info("bracket: edges of %.3f mm give %d dofs, %d wanted", edge_length(aim), found, wanted)
            if abs(found / wanted - 1.0) <= WITHIN:
                return mesh
            aim *= wanted / found
    raise InputError(f"dofs: no mesh within 15 % of {wanted}, the last had {found}; try another number")


def small_bracket() -> Mesh:
    """The mesh that travels with the package: ``bracket_mesh(dofs=5000)`` by Gmsh 4.15."""
    with files("pinnpoint.data").joinpath("bracket.npz").open("rb") as stream, np.load(stream) as saved:
        groups = {name.removeprefix("group_"): saved[name] for name in saved.files if name.startswith("group_")}
        groups["bolts"] = np.concatenate([groups[f"bolt{i + 1}"] for i in range(len(BOLTS))])
        return Mesh(saved["points"], saved["cells"], None, groups)


def free_dofs(mesh: Mesh) -> int:
    """Displacements that stay free when the bolt holes are clamped."""
    return 3 * (len(mesh.points) - len(np.unique(mesh.facets("bolts"))))


def edge_length(dofs: float) -> float:
    """The edge length that should give so many dofs, from `SIZES`."""
    h, found = np.log(np.array(SIZES)).T
    return float(np.exp(np.interp(math.log(dofs), found, h)))


def import_gmsh() -> Any:
    """Gmsh, or a message that says what brings it."""
    try:
        import gmsh
    except ImportError as error:
        raise DependencyMissingError(
            "generate: meshing the bracket needs Gmsh: pip install 'pinnpoint[mesh]'; without it, leave cells and dofs "
            "out for the small bracket that comes with pinnpoint"
        ) from error
    except OSError as error:
        raise DependencyMissingError(
            f"generate: Gmsh is installed but a system library is missing ({error}); on Debian and Ubuntu: apt install "
            "libglu1-mesa libgl1 libxcursor1 libxinerama1 libxft2 libxrender1 libxfixes3"
        ) from error
    return gmsh


@contextmanager
def _session(gmsh: Any) -> Iterator[None]:
    """A model of our own; a session of the caller's is left as it was."""
    ours = not gmsh.isInitialized()
    handlers = {s: signal.getsignal(s) for s in (signal.SIGINT, getattr(signal, "SIGPIPE", signal.SIGINT))}
    if ours:
        gmsh.initialize(readConfigFiles=False, interruptible=False)
        _restore(handlers)
    before = {name: gmsh.option.getNumber(name) for name in (*OPTIONS, "Mesh.MeshSizeMin", "Mesh.MeshSizeMax")}
    current = gmsh.model.getCurrent()
    try:
        for name, value in OPTIONS.items():
            gmsh.option.setNumber(name, value)
        gmsh.model.add("pinnpoint bracket")
        yield
    except Exception as error:
        if isinstance(error, InputError) or type(error) is not Exception:  # Gmsh raises Exception itself
            raise
        raise InputError(f"generate: Gmsh could not mesh the bracket ({error}); try another size") from error
    finally:
        if ours:
            gmsh.finalize()
            _restore(handlers)
        else:
            gmsh.model.remove()
            gmsh.model.setCurrent(current)
            for name, value in before.items():
                gmsh.option.setNumber(name, value)


def _restore(handlers: dict[Any, Any]) -> None:
    """Gmsh resets SIGPIPE, and then a broken pipe would end the process; only the main thread can set it again."""
    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():
            if handler is not None:
                signal.signal(number, handler)


def _build(gmsh: Any) -> dict[str, list[int]]:
    """Make the solid; returns the surfaces of each group."""
    occ = gmsh.model.occ
    plate = occ.addRectangle(-LENGTH / 2, -WIDTH / 2, 0.0, LENGTH, WIDTH, roundedRadius=CORNER)
    solids = [s for s in occ.extrude([(2, plate)], 0.0, 0.0, THICKNESS) if s[0] == 3]
    foot, top = THICKNESS - SUNK, THICKNESS
    for low, high in LUGS:
        solids.append(_lug(occ, low, high))
        side = math.copysign(1.0, low)
        for way in (-1.0, 1.0):  # along the lug, to the ends of the plate
            x = [way * v for v in (LUG_FOOT - 8.0, LUG_FOOT + 22.0, LUG_FOOT + 22.0, LUG_FOOT - 8.0)]
            z = [foot, foot, top, 34.0]
            solids.append(_prism(occ, [(a, (low + high) / 2 - 3.0, b) for a, b in zip(x, z, strict=True)], (0, 6.0, 0)))
        outer = high if side > 0 else low  # across, to the side of the plate
        y = [outer - side * SUNK, outer + side * 20.0, outer + side * 20.0, outer - side * SUNK]
        z = [foot, foot, top, 38.0]
        solids.append(_prism(occ, [(-4.0, a, b) for a, b in zip(y, z, strict=True)], (8.0, 0, 0)))
    web = occ.addBox(-4.0, LUGS[0][1] - SUNK, foot, 8.0, LUGS[1][0] - LUGS[0][1] + 2 * SUNK, 22.0 - foot)
    body, _ = occ.fuse([solids[0]], [*solids[1:], (3, web)])
    holes = [(3, occ.addCylinder(x, y, -1.0, 0.0, 0.0, THICKNESS + 2.0, BOLT_RADIUS)) for x, y in BOLTS]
    holes.append((3, occ.addCylinder(PIN[0], -WIDTH / 2, PIN[2], 0.0, WIDTH, 0.0, PIN_RADIUS)))
    body, _ = occ.cut(body, holes)
    occ.synchronize()
    if len(body) != 1:
        raise InputError(f"generate: Gmsh made {len(body)} solids of the bracket; update Gmsh")
    return _walls(gmsh)


def _lug(occ: Any, low: float, high: float) -> tuple[int, int]:
    """A tapered plate whose sides run into a round top without a kink."""
    x, z = PIN[0], PIN[2]
    down = z - THICKNESS
    angle = math.acos(LUG_RADIUS / math.hypot(LUG_FOOT, down)) - math.atan2(down, LUG_FOOT)
    c, s = LUG_RADIUS * math.cos(angle), LUG_RADIUS * math.sin(angle)
    foot = THICKNESS - SUNK
    corners = [(-LUG_FOOT, foot), (LUG_FOOT, foot), (LUG_FOOT, THICKNESS), (x + c, z + s), (x - c, z + s)]
    points = [occ.addPoint(a, low, b) for a, b in [*corners, (-LUG_FOOT, THICKNESS)]]
    middle = occ.addPoint(x, low, z)
    lines = [occ.addLine(points[i], points[i + 1]) for i in range(3)]
    lines += [occ.addCircleArc(points[3], middle, points[4]), occ.addLine(points[4], points[5])]
    lines.append(occ.addLine(points[5], points[0]))
    face = occ.addPlaneSurface([occ.addCurveLoop(lines)])
    return next(s for s in occ.extrude([(2, face)], 0.0, high - low, 0.0) if s[0] == 3)  # type: ignore[no-any-return]


def _prism(occ: Any, corners: list[tuple[float, float, float]], along: tuple[float, float, float]) -> tuple[int, int]:
    points = [occ.addPoint(*p) for p in corners]
    lines = [occ.addLine(points[i], points[(i + 1) % len(points)]) for i in range(len(points))]
    face = occ.addPlaneSurface([occ.addCurveLoop(lines)])
    return next(s for s in occ.extrude([(2, face)], *along) if s[0] == 3)  # type: ignore[no-any-return]


def _walls(gmsh: Any) -> dict[str, list[int]]:
    """Surfaces by group, told apart by their bounding boxes."""
    groups: dict[str, list[int]] = {f"bolt{i + 1}": [] for i in range(len(BOLTS))}
    groups |= {"pin": [], "base": [], "surface": []}
    for _, tag in gmsh.model.getEntities(2):
        box = np.array(gmsh.model.getBoundingBox(2, tag)).reshape(2, 3)
        middle, size = box.mean(axis=0), box[1] - box[0]
        name = "surface"
        near = np.hypot(*(np.array(BOLTS) - middle[:2]).T)
        if near.min() < BOLT_RADIUS and size[:2].max() < 2.1 * BOLT_RADIUS and size[2] > 0.5 * THICKNESS:
            name = f"bolt{int(np.argmin(near)) + 1}"
        elif np.hypot(*(middle - PIN)[[0, 2]]) < PIN_RADIUS and size[[0, 2]].max() < 2.1 * PIN_RADIUS and size[1] > 1.0:
            name = "pin"
        elif box[1, 2] < 0.1:
            name = "base"
        groups[name].append(tag)
    missing = [name for name, tags in groups.items() if not tags]
    if missing:
        raise InputError(f"generate: the bracket has no surface for {', '.join(missing)}; update Gmsh")
    return groups | {"bolts": [tag for i in range(len(BOLTS)) for tag in groups[f"bolt{i + 1}"]]}


def _mesh(gmsh: Any, h: float, walls: dict[str, list[int]]) -> Mesh:
    gmsh.model.mesh.clear()
    gmsh.option.setNumber("Mesh.MeshSizeMin", 0.5 * h)
    gmsh.option.setNumber("Mesh.MeshSizeMax", h)
    gmsh.model.mesh.generate(3)
    tags, X, _ = gmsh.model.mesh.getNodes()
    number = np.zeros(int(tags.max()) + 1, dtype=np.intp)
    number[tags.astype(np.intp)] = np.arange(len(tags))
    cells = number[_elements(gmsh, 4, -1)]
    facets = {name: number[np.concatenate([_elements(gmsh, 2, s) for s in each])] for name, each in walls.items()}
    return _compact(X.reshape(-1, 3), cells, facets)


def _elements(gmsh: Any, kind: int, tag: int) -> Index:
    """Node tags of triangles (kind 2) or tetrahedra (kind 4)."""
    _, nodes = gmsh.model.mesh.getElementsByType(kind, tag)
    return np.asarray(nodes, dtype=np.intp).reshape(-1, 3 if kind == 2 else 4)


def _compact(X: Vector, cells: Index, facets: dict[str, Index]) -> Mesh:
    """Without the points that no cell uses, such as centres of arcs."""
    used, flat = np.unique(cells, return_inverse=True)
    number = np.full(len(X), -1, dtype=np.intp)
    number[used] = np.arange(len(used))
    return Mesh(X[used], flat.reshape(cells.shape), None, {name: number[f] for name, f in facets.items()})


def _whole(name: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(f"{name}: must be a whole number; got {value!r}")
    if not low <= value <= high:
        raise InputError(f"{name}: must lie between {low} and {high} for 'bracket'; got {value}")
    return int(value)
