"""Random problems bounded by surfaces, with known solutions: studies/curved_surfaces.py [--first N] [--count N].

Blocks whose lid, or lid and floor, are parts of spheres, cylinders, shells or level sets, blocks of second-order
tetrahedra, and whole balls, ellipsoids and pipes; points from the middle to close beside the surface; values, fluxes or
exchange given there. Each problem is kept as soon as it is done, and a run goes on where the last one stopped.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.middles import Middles
from pinnpoint.mesh.round import ball_mesh

OUT = Path(__file__).parent / "results" / "curved_surfaces.json"
KINDS = ("values", "fluxes", "exchange")


def stretched(n: int, axes: tuple[float, float, float]) -> tuple[Mesh, str]:
    """A ball's mesh with other half axes, and the name of its boundary."""
    mesh = ball_mesh(n)
    (group,) = mesh.facet_groups
    return Mesh(mesh.points * np.array(axes), mesh.cells, {}, {group: mesh.facet_groups[group]}), group


def pipe(around: int, layers: int) -> tuple[Mesh, str]:
    """The cylinder x² + y² < 1, 0 < z < 1, from a disc's mesh; its side is "side"."""
    disc = pp.io.generate("disc", around)
    count, z = len(disc.points), np.linspace(0.0, 1.0, layers + 1)
    X = np.concatenate([np.column_stack([disc.points, np.full(count, h)]) for h in z])
    T = np.sort(disc.cells, axis=1)
    cells = []
    for k in range(layers):
        low, high = T + k * count, T + (k + 1) * count
        cells += [
            np.column_stack([low, high[:, 2]]),
            np.column_stack([low[:, :2], high[:, 1:]]),
            np.column_stack([low[:, :1], high]),
        ]
    mesh = Mesh(X, np.concatenate(cells))
    facets = mesh.boundary
    on = np.abs(np.hypot(*X[:, :2].T) - 1.0) < 1e-9
    flat = np.ptp(X[facets][:, :, 2], axis=1) == 0.0
    return Mesh(X, mesh.cells, {}, {"side": facets[on[facets].all(axis=1) & ~flat]}), "side"


BLOCKS = ("cap", "shell", "roof", "level set", "second order")


def block(
    rng: np.random.Generator, kind: str, n: int
) -> tuple[Mesh, dict[str, Any], dict[str, tuple[str, str, str]], Any]:
    """The unit square below a surface: its mesh, surfaces, formulas φ of the outward normals, and heights of points."""
    flat = pp.io.generate("cube", n)
    x, y, _ = flat.points.T
    R, r = round(float(rng.uniform(1.6, 3.0)), 2), round(float(rng.uniform(1.2, 1.5)), 2)
    a, b = rng.uniform(0.05, 0.12, 2).round(3).tolist()

    def dome(x: Any, y: Any, R: float, centre: float) -> Any:
        return np.sqrt(R * R - (x - 0.5) ** 2 - (y - 0.5) ** 2) + centre

    low: Any = np.zeros_like
    shapes: dict[str, Any]
    if kind == "roof":
        shapes, normals = (
            {"back": pp.Cylinder((0.5, 0.0, 1.0 - R), (0, 1, 0), R)},
            {"back": ("x - 0.5", "0", f"z - {1 - R}")},
        )

        def top(x: Any, y: Any) -> Any:
            return np.sqrt(R * R - (x - 0.5) ** 2) + 1.0 - R
    elif kind == "level set":
        level = f"z - 1 - {a}*sin(2*x + y) + {b}*y**2"
        shapes, normals = (
            {"back": pp.LevelSet(level)},
            {"back": (f"-2*{a}*cos(2*x + y)", f"-{a}*cos(2*x + y) + 2*{b}*y", "1")},
        )

        def top(x: Any, y: Any) -> Any:
            return 1.0 + a * np.sin(2.0 * x + y) - b * y * y
    elif kind == "shell":
        shapes = {"front": pp.Sphere((0.5, 0.5, -r), r), "back": pp.Sphere((0.5, 0.5, -r), r + 1.0)}
        normals = {"front": ("0.5 - x", "0.5 - y", f"-z - {r}"), "back": ("x - 0.5", "y - 0.5", f"z + {r}")}

        def top(x: Any, y: Any) -> Any:
            return dome(x, y, r + 1.0, -r)

        def low(x: Any, y: Any) -> Any:
            return dome(x, y, r, -r)
    else:
        shapes, normals = {"back": pp.Sphere((0.5, 0.5, 1.0 - R), R)}, {"back": ("x - 0.5", "y - 0.5", f"z - {1 - R}")}

        def top(x: Any, y: Any) -> Any:
            return dome(x, y, R, 1.0 - R)

    def height(X: Any) -> Any:
        under = low(X[:, 0], X[:, 1]) if kind == "shell" else np.zeros(len(X))
        return under + X[:, 2] * (top(X[:, 0], X[:, 1]) - under)

    points = np.stack([x, y, height(flat.points)], axis=1)
    groups = {name: flat.facets(name) for name in flat.facet_groups}
    mesh = Mesh(points, flat.cells, {}, groups)
    if kind == "second order":
        edges = np.unique(np.sort(mesh.facets("back")[:, [[0, 1], [1, 2], [0, 2]]].reshape(-1, 2), axis=1), axis=0)
        middle = points[edges].mean(axis=1)
        middle[:, 2] = top(middle[:, 0], middle[:, 1])
        mesh, shapes = Mesh(points, flat.cells, {}, groups, middles=Middles(edges, middle)), {}
    return mesh, shapes, normals, height


def part_of_block(rng: np.random.Generator, number: int) -> tuple[Any, np.ndarray, np.ndarray, str]:
    """A random problem on a block, points, the truth there, and what it is."""
    a, b = rng.uniform(-1.0, 1.0, 2).round(2).tolist()
    s, q = rng.uniform(0.3, 1.2, 2).round(2).tolist()
    wave, turn = f"exp({a}*x)*sin({s}*y + {b})", f"exp({a}*x)*cos({s}*y + {b})"
    u, slope = f"(2 + {wave} + {q}*z**2)", (f"{a}*{wave}", f"{s}*{turn}", f"{2 * q}*z")
    c, kappa = float(rng.choice([0.0, 1.0, 4.0])), float(rng.choice([0.5, 1.0, 3.0]))
    kind, shape = KINDS[number % 3], BLOCKS[number // 3 % len(BLOCKS)]
    mesh, shapes, normals, height = block(rng, shape, 3)
    kind = "values" if shape == "second order" else kind  # the file's own surface has no normal in closed form
    given: dict[str, Any] = {"dirichlet": {group: u for group in mesh.facet_groups}}
    for group, n in normals.items():
        if kind == "values":
            break
        del given["dirichlet"][group]
        size = " + ".join(f"({v})**2" for v in n)
        flux = f"{kappa}*(" + " + ".join(f"({g})*({v})" for g, v in zip(slope, n, strict=True)) + f")/sqrt({size})"
        name, value = ("neumann", flux) if kind == "fluxes" else ("robin", (2.0, f"{flux} + 2*{u}"))
        given.setdefault(name, {})[group] = value
    f = f"-{kappa}*({a * a - s * s}*{wave} + {2 * q}) + {c}*{u}"
    if shapes:
        given["geometry"] = shapes
    made = pp.fem.ReactionDiffusion(mesh, f, kappa, reaction=c, degree=2, **given)
    X = rng.uniform(0.3, 0.7, (2, 3))
    X[1, 2] = rng.uniform(0.75, 0.9) if number % 4 == 0 else X[1, 2]
    X[:, 2] = height(X)
    truth = 2.0 + np.exp(a * X[:, 0]) * np.sin(s * X[:, 1] + b) + q * X[:, 2] ** 2
    return made, X, truth, f"{shape}, {kind}"


def problem(rng: np.random.Generator, number: int) -> tuple[Any, np.ndarray, np.ndarray, str]:
    """A random problem, points, the truth there, and what it is."""
    a, b = rng.uniform(-1.0, 1.0, 2).round(2).tolist()
    s = round(float(rng.uniform(0.3, 1.2)), 2)
    u = f"exp({a}*x)*sin({s}*y + {b}) + {b}*z"
    ux, uy, uz = f"{a}*exp({a}*x)*sin({s}*y + {b})", f"{s}*exp({a}*x)*cos({s}*y + {b})", f"{b}"
    c, kind, shape = float(rng.choice([0.0, 1.0, 4.0])), KINDS[number % 3], number // 3 % 3
    r = rng.uniform(0.0, 0.97, 3)
    turn = rng.normal(size=(3, 3))
    unit = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    axes = (1.0, 1.0, 1.0) if shape == 0 else tuple(rng.uniform(0.85, 1.15, 3).round(2).tolist())
    if shape < 2:
        mesh, group = stretched(5, axes)
        x, y, z = (f"{v}/{h}**2" for v, h in zip("xyz", axes, strict=True))
        own: Any = pp.Sphere((0, 0, 0), 1) if shape == 0 else pp.LevelSet(f"x*{x} + y*{y} + z*{z} - 1")
        X = r[:, None] * unit * np.array(axes)
    else:
        mesh, group = pipe(6, 5)
        own, (x, y, z) = pp.Cylinder((0, 0, 0), (0, 0, 1), 1), ("x", "y", "0")
        flat = unit[:, :2] / np.linalg.norm(unit[:, :2], axis=1, keepdims=True)
        X = np.column_stack([r[:, None] * flat, 0.2 + 0.6 * r])
    out = f"(({ux})*{x} + ({uy})*{y} + ({uz})*{z})/sqrt(({x})**2 + ({y})**2 + ({z})**2)"
    more: dict[str, Any] = {"dirichlet": {"boundary": u}}
    if kind != "values" and (c > 0.0 or shape == 2):
        more = {"dirichlet": {}} if shape < 2 else {"dirichlet": {"caps": u}}
        more |= {"neumann": {group: out}} if kind == "fluxes" else {"robin": {group: (2.0, f"{out} + 2*({u})")}}
        if shape == 2:
            rim = {tuple(sorted(f)) for f in mesh.facet_groups[group].tolist()}
            caps = np.array([f for f in mesh.boundary.tolist() if tuple(sorted(f)) not in rim])
            mesh = Mesh(mesh.points, mesh.cells, {}, {group: mesh.facet_groups[group], "caps": caps})
    else:
        kind = "values"
    f = f"-({a**2 - s**2})*exp({a}*x)*sin({s}*y + {b}) + {c}*({u})"
    made = pp.fem.ReactionDiffusion(mesh, f, reaction=c, geometry={group: own}, **more)
    truth = np.exp(a * X[:, 0]) * np.sin(s * X[:, 1] + b) + b * X[:, 2]
    return made, X, truth, f"{('sphere', 'ellipsoid', 'cylinder')[shape]}, {kind}"


def row(number: int) -> dict[str, Any]:
    """The intervals of one problem; the last nine of every 75 are whole bodies of linear elements."""
    make = problem if number % 75 >= 66 else part_of_block
    made, X, truth, what = make(np.random.default_rng([2026, number]), number)
    found = pp.certify(made, made.space.U0, made.points(X))
    proved = found.guarantee == "deterministic"
    return {
        "what": what,
        "missed": int((~found.contains(truth)).sum()) if proved else len(truth),
        "share": [float(x) for x in found.radius / np.abs(truth)],
        "off/radius": [float(x) for x in np.abs(found.center - truth) / found.radius],
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Of intervals."""
    share = [x for row in rows for x in row["share"]]
    return {
        "problems": len(rows),
        "intervals": len(share),
        "missed": sum(row["missed"] for row in rows),
        "narrower than 1 %": sum(x < 0.01 for x in share),
        "narrower than 10 %": sum(x < 0.1 for x in share),
        "median share": float(np.median(share)),
        "worst off/radius": max(x for row in rows for x in row["off/radius"]),
    }


def main() -> None:
    """Problems one by one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=75)
    parser.add_argument("--seconds", type=float, default=540.0)
    parser.add_argument("--out", type=Path, default=OUT)
    told = parser.parse_args()
    rows = json.loads(told.out.read_text(encoding="utf-8"))["rows"] if told.out.exists() else {}
    start = time.process_time()
    for number in (n for n in range(told.first, told.count) if str(n) not in rows):
        if time.process_time() - start > told.seconds:
            break
        rows[str(number)] = row(number)
        found = summary(list(rows.values()))
        told.out.write_text(json.dumps({"campaign": found, "rows": rows}) + "\n", encoding="utf-8")
        print(number, rows[str(number)], flush=True)
    print(json.dumps(summary(list(rows.values())), indent=1))


if __name__ == "__main__":
    main()
