"""PINNacle's elliptic tasks, certified: studies/pinnacle.py [--quick] [--only TEXT] [--out FILE] [--data FOLDER].

The tasks are those of PINNacle (i207M/PINNacle at 6f8d69c). Poisson2d-MS is the paper's −∇·(a∇u) = f with ∂_n u = −u
(the code has a Δu, which says nothing of the flux between blocks), on blocks of side 4 exactly; its numbers are read
from PINNacle's own folder `ref`, which --data names. PoissonInv asks whether its u solves the equation of its a: with
the source that a and u have, and with the one that its code has. Discs are the round ones, and so are balls if ROUND
says so; otherwise these are polyhedra whose corners lie on them, and intervals are of those. Published values (COMSOL,
a dozen of each file) are certified as predictions: what their error is at most, and what it is at least, by proof.

Times are processor seconds of one thread with everything counted, the mesh too.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh

OUT = Path(__file__).parent / "results" / "pinnacle.json"

CLASSIC = [(a * 0.3, b * 0.3, 0.1) for a in (1, -1) for b in (1, -1)]
CLASSIC_VALUES = [
    (-0.41333715710261976, -0.4162073604448225, 0.5892813910626128),
    (-0.32729837339834655, -0.05256744576819877, 0.41375062576364335),
    (-0.09218921630594841, -0.24958538512150588, 0.2526062968350021),
    (0.11171109914819188, -0.32724064732039904, 0.33217968885204013),
    (0.1293226523305848, -0.27995317783485274, 0.21913328450614714),
    (0.04794804528743435, -0.12529690516326963, 0.23428622654476644),
    (-0.09785777915515267, 0.16264845267152284, 0.21958383275289312),
    (0.09853678735805883, 0.0251096317573857, 0.2347118492117997),
    (0.4389091324329796, -0.21095974329350198, 0.5646005406747899),
    (0.2093318091017306, 0.15455086437662047, 0.15889781148870671),
    (0.3561537011041046, -0.00029230548507325785, 0.5054731540747901),
    (0.41447102602017283, 0.4170258032652051, 0.5988379591866395),
]
"""x, y, u from ref/poisson1_cg_data.dat."""

BOLTZMANN = [(0.5, 0.5, 0.2), (0.4, -0.4, 0.4), (-0.2, -0.7, 0.1), (-0.6, 0.5, 0.3)]
BOLTZMANN_VALUES = [
    (-0.9389230732810097, -0.9206256236620091, 0.02633679965240718),
    (-0.7408166854561671, -0.48004358611461123, -0.09921187099641203),
    (0.07763782662025756, -0.8130875380226806, 0.5806674889564177),
    (-0.8218791918615255, 0.19431978443239206, 0.22328430788909684),
    (0.6789457236775943, -0.9353397903283174, 0.7104806662985338),
    (-0.31891176065921806, 0.045257614995744724, -0.19591205889765415),
    (-0.17348218948469807, 0.1971348266250881, -0.11076866177457845),
    (-0.2507580026075922, 0.7077414499945859, 0.27757051990097187),
    (0.4439640733631678, 0.09664138093964081, 1.2992374344724036),
    (0.7326266088449696, 0.05252036545957658, 0.7665744869981308),
    (0.7679502276860739, 0.3827496960584176, 0.08997145050272436),
    (0.9091061661251673, 0.9375528832412895, -0.004586830655674318),
]
"""x, y, u from ref/poisson_boltzmann2d.dat."""
BOLTZMANN_SOURCE = "10*(1 + x**2 + 16 + y**2)*sin(pi*x)*sin(4*pi*y)"

ROUND = True
"""Whether balls are the round ones; otherwise polyhedra whose corners lie on them."""
BALLS = [(0.4, 0.3, 0.6, 0.2), (0.6, 0.7, 0.6, 0.2), (0.2, 0.8, 0.7, 0.1), (0.6, 0.2, 0.3, 0.1)]
BALLS_SOURCE = (
    "20*exp(sin(pi*x) + sin(10*pi*y) + sin(5*pi*z))*(x**2 + y**2 + z**2 - 1)/(x**2 + y**2 + z**2 + 1)"
    " + 100*sin(pi*x)*sin(10*pi*y)*sin(5*pi*z)"
)
BALLS_POINTS = [(0.8, 0.45, 0.25), (0.2, 0.3, 0.25), (0.85, 0.8, 0.8), (0.35, 0.6, 0.3)]

MEDIUM = "1/(1 + x**2 + y**2 + (x-1)**2 + (y-1)**2)"
GUESS = "sin(pi*x)*sin(pi*y)"
INVERSE_POINTS = [(0.2, 0.3), (0.5, 0.5), (0.7, 0.6), (0.35, 0.8)]


def perforated(half: float, discs: Sequence[tuple[float, float, float]], size: float, sides: int) -> Mesh:
    """[−half, half]² without discs, for now regular polygons; groups "outside", and "disc 0" and so on."""
    import gmsh

    gmsh.initialize(interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        geo = gmsh.model.geo
        square = [(-half, -half), (half, -half), (half, half), (-half, half)]
        rings = [square] + [
            [(x + r * math.cos(t), y + r * math.sin(t)) for t in np.arange(sides) * (2.0 * math.pi / sides)]
            for x, y, r in discs
        ]
        loops, lines = [], []
        for k, ring in enumerate(rings):
            near = size if k == 0 else min(size, 2.0 * math.pi * discs[k - 1][2] / sides)
            corners = [geo.addPoint(x, y, 0.0, near) for x, y in ring]
            lines.append([geo.addLine(a, b) for a, b in zip(corners, corners[1:] + corners[:1], strict=True)])
            loops.append(geo.addCurveLoop(lines[-1]))
        surface = geo.addPlaneSurface(loops)
        geo.synchronize()
        gmsh.model.addPhysicalGroup(2, [surface], name="plate")
        gmsh.model.addPhysicalGroup(1, lines[0], name="outside")
        for k, ring in enumerate(lines[1:]):
            gmsh.model.addPhysicalGroup(1, ring, name=f"disc {k}")
        return _meshed(gmsh, 2)
    finally:
        gmsh.finalize()


def cheese(size: float, around: int) -> Mesh:
    """The unit cube without balls, cut at z = ½ into "below" and "above"; surfaces are "ball 0" and so on."""
    import gmsh

    gmsh.initialize(interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        gmsh.option.setNumber("Mesh.MeshSizeMax", size)
        gmsh.option.setNumber("Mesh.MeshSizeFromCurvature", around)
        occ = gmsh.model.occ
        halves = [(3, occ.addBox(0, 0, z, 1, 1, 0.5)) for z in (0.0, 0.5)]
        balls = [(3, occ.addSphere(*ball)) for ball in BALLS]
        left, _ = occ.cut(halves, balls)
        left, _ = occ.fragment(left, [])
        occ.synchronize()
        for name, low in (("below", True), ("above", False)):
            mine = [tag for _, tag in left if (occ.getCenterOfMass(3, tag)[2] < 0.5) is low]
            gmsh.model.addPhysicalGroup(3, mine, name=name)
        round_ones = [tag for _, tag in gmsh.model.getEntities(2) if gmsh.model.getType(2, tag) == "Sphere"]
        for k, (x, y, z, r) in enumerate(BALLS):
            gaps = {tag: math.dist(_on(gmsh, tag), (x, y, z)) - r for tag in round_ones}
            mine = [tag for tag, gap in gaps.items() if abs(gap) < 1e-6]
            gmsh.model.addPhysicalGroup(2, mine, name=f"ball {k}")
        return _meshed(gmsh, 3)
    finally:
        gmsh.finalize()


def _on(gmsh: Any, tag: int) -> list[float]:
    """A point of a surface."""
    low, high = gmsh.model.getParametrizationBounds(2, tag)
    return list(gmsh.model.getValue(2, tag, [0.5 * (a + b) for a, b in zip(low, high, strict=True)]))


def _meshed(gmsh: Any, dimension: int) -> Mesh:
    """The mesh of Gmsh's current model, read as a file of the user's would be."""
    import tempfile

    gmsh.model.mesh.generate(dimension)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "mesh.msh")
        gmsh.write(path)
        return pp.io.read_mesh(path)


def round_holes(
    half: float,
    discs: Sequence[tuple[float, float, float]],
    size: tuple[float, int],
    values: tuple[float, float],
    more: dict[str, Any],
) -> Any:
    """The problem on the square without the discs themselves, with one value outside and one on all discs."""
    names = [f"disc {k}" for k in range(len(discs))]
    given = {"outside": values[0]} | dict.fromkeys(names, values[1])
    circles = {name: pp.Circle((x, y), r) for name, (x, y, r) in zip(names, discs, strict=True)}
    mesh = perforated(half, discs, *size)
    return pp.fem.ReactionDiffusion(mesh, dirichlet=given, degree=2, geometry=circles, **more)


def classic(quick: bool) -> tuple[Any, Any]:
    """Poisson2d-C: Δu = 0, u = 1 outside, 0 on the discs."""
    return round_holes(0.5, CLASSIC, (0.2, 24) if quick else (0.06, 96), (1.0, 0.0), {}), CLASSIC_VALUES


def boltzmann(quick: bool) -> tuple[Any, Any]:
    """Poisson2d-CG: −Δu + 64u = f, u = 0.2 outside, 1 on the discs."""
    more = {"source": BOLTZMANN_SOURCE, "reaction": 64.0}
    return round_holes(1.0, BOLTZMANN, (0.2, 48) if quick else (0.08, 96), (0.2, 1.0), more), BOLTZMANN_VALUES


def three_dimensions(quick: bool) -> tuple[Any, Any]:
    """Poisson3d-CG: −Δu + c u = f, c = 64 below z = ½ and 100 above, zero flux."""
    mesh = cheese(0.25 if quick else 0.1, 14 if quick else 20)
    more = {"geometry": {f"ball {k}": pp.Sphere((x, y, z), r) for k, (x, y, z, r) in enumerate(BALLS)}} if ROUND else {}
    problem = pp.fem.ReactionDiffusion(
        mesh, BALLS_SOURCE, reaction={"below": 64.0, "above": 100.0}, dirichlet={}, degree=1 if quick else 2, **more
    )
    return problem, [(*x, None) for x in BALLS_POINTS]


def blocks(quick: bool, data: Path) -> tuple[Any, Any]:
    """Poisson2d-MS: −∇·(a∇u) = f with a and f by blocks, a∂_n u + a u = 0."""
    a, f = np.loadtxt(data / "poisson_a_coef.dat"), np.loadtxt(data / "poisson_f_coef.dat").reshape(5, 5, 2, 2)
    mesh = pp.io.generate("square", 10 if quick else 40)
    points = 20.0 * mesh.points - 10.0
    at = np.minimum((points[mesh.cells].mean(axis=1) + 10.0) // 4.0, 4).astype(int)
    side = np.minimum((points[mesh.boundary].mean(axis=1) + 10.0) // 4.0, 4).astype(int)
    cells, sides, source, exchange = {}, {}, {}, {}
    for i, j in np.ndindex(5, 5):
        name = f"block {i} {j}"
        cells[name] = np.flatnonzero((at == (i, j)).all(axis=1))
        wave = f"sin(pi*(x + {10 - 4 * i})/4)*sin(pi*(y + {10 - 4 * j})/4)"
        source[name] = f"{float(f[i, j, 0, 0])!r} + {float(f[i, j, 1, 1])!r}*{wave}"
        facets = mesh.boundary[(side == (i, j)).all(axis=1)]
        if len(facets):
            sides[f"side {i} {j}"], exchange[f"side {i} {j}"] = facets, (float(a[i, j]), 0.0)
    made = Mesh(points, mesh.cells, cells, sides)
    kappa = {f"block {i} {j}": float(a[i, j]) for i, j in np.ndindex(5, 5)}
    problem = pp.fem.ReactionDiffusion(made, source, kappa, dirichlet={}, robin=exchange, degree=2)
    return problem, [(x, y, None) for x, y in ((-8.0, -8.0), (-3.5, 0.5), (0.5, 4.2), (4.1, -3.7), (8.0, 8.0))]


def medium(quick: bool, shift: int) -> tuple[Any, Any]:
    """PoissonInv, forward: −∇·(a∇u) = f, u = 0 around; its code has shift = 1, its own a and u need −1."""
    slope = f"(2*x + {shift})*cos(pi*x)*sin(pi*y) + (2*y + {shift})*sin(pi*x)*cos(pi*y)"
    source = f"2*pi**2*{GUESS}*({MEDIUM}) + 2*pi*({slope})*({MEDIUM})**2"
    mesh = pp.io.generate("square", 8 if quick else 32)
    problem = pp.fem.ReactionDiffusion(mesh, source, MEDIUM, degree=2)
    return problem, [(x, y, math.sin(math.pi * x) * math.sin(math.pi * y)) for x, y in INVERSE_POINTS]


def row(make: Callable[[bool], tuple[Any, Any]], tolerance: float, most: int, quick: bool) -> dict[str, Any]:
    """One task: the proved intervals, and what they say of the published values."""
    start = time.process_time()
    problem, known = make(quick)
    X, published = np.array([point[:-1] for point in known]), [point[-1] for point in known]
    found = pp.certify_to(problem, problem.space.U0, problem.points(X), tolerance, max_dofs=most)
    certificate = found.certificate
    told: dict[str, Any] = {
        "dofs": found.problem.space.N,
        "degree": problem.degree,
        "points": len(X),
        "guarantee": str(certificate.guarantee),
        "of": problem.domain,
        "widest": float(certificate.radius.max()),
        "largest value": float(np.abs(certificate.center).max()),
        "intervals": [[float(a), float(b)] for a, b in zip(certificate.lower, certificate.upper, strict=True)],
    }
    if published[0] is not None:
        u = np.array(published)
        told["published, error at most"] = float(np.max(np.maximum(u - certificate.lower, certificate.upper - u)))
        told["published, error at least"] = float(
            np.max(np.maximum(0.0, np.maximum(certificate.lower - u, u - certificate.upper)))
        )
    told["seconds"] = round(time.process_time() - start, 1)
    told["memory [GB]"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)
    return told


def plan(quick: bool, data: Path | None) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Names of the tasks and how each is done."""
    yield "Poisson2d-C", lambda: row(classic, 1e-5, 8_000 if quick else 60_000, quick)
    yield "Poisson2d-CG", lambda: row(boltzmann, 1e-5, 8_000 if quick else 60_000, quick)
    yield "Poisson3d-CG", lambda: row(three_dimensions, 1e-2, 3_000 if quick else 120_000, quick)
    if data is not None:
        yield "Poisson2d-MS", lambda: row(lambda q: blocks(q, data), 1e-3, 3_000 if quick else 60_000, quick)
    yield (
        "PoissonInv, the source of its a and u",
        lambda: row(lambda q: medium(q, -1), 1e-5, 3_000 if quick else 20_000, quick),
    )
    yield (
        "PoissonInv, the source of its code",
        lambda: row(lambda q: medium(q, 1), 1e-5, 3_000 if quick else 20_000, quick),
    )


def main() -> None:
    """Each task in a process of its own, so that memory is its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, as the tests run it")
    parser.add_argument("--only", default="", help="tasks whose names begin so")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--data", type=Path, help="PINNacle's folder ref, for Poisson2d-MS")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    rows = dict(plan(given.quick, given.data))
    if given.one:
        print(json.dumps(rows[given.one](), ensure_ascii=False))
        return
    found = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
    for name in rows:
        if not name.startswith(given.only):
            continue
        command = [sys.executable, __file__, "--one", name, *(["--quick"] if given.quick else [])]
        command += [] if given.data is None else ["--data", str(given.data)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found[name] = json.loads(done.stdout.splitlines()[-1])
        print(name, {k: v for k, v in found[name].items() if k != "intervals"}, flush=True)
        given.out.parent.mkdir(parents=True, exist_ok=True)
        kept = dict(sorted(found.items()))
        given.out.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
