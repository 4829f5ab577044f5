"""Random problems bounded by surfaces, with known solutions: studies/curved_surfaces.py [--count N] [--out FILE].

Balls, ellipsoids as level sets and pipes with caps, points from the middle to close beside the surface, values, fluxes
or exchange given there; each problem is kept as soon as it is done, and a run goes on where the last one stopped.
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


def main() -> None:
    """Problems one by one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=280.0)
    parser.add_argument("--out", type=Path, default=OUT)
    told = parser.parse_args()
    rows = json.loads(told.out.read_text()) if told.out.exists() else []
    start = time.process_time()
    for number in range(len(rows), told.count):
        if time.process_time() - start > told.seconds:
            break
        made, X, truth, what = problem(np.random.default_rng([2026, number]), number)
        found = pp.certify(made, made.space.U0, made.points(X))
        off = np.abs(found.center - truth) / found.radius
        rows.append(
            {
                "what": what,
                "missed": int((~found.contains(truth)).sum()),
                "radius": [float(x) for x in found.radius],
                "off/radius": [float(x) for x in off],
                "ball": [float(x) for x in found.details["ball_radius"]],
            }
        )
        told.out.write_text(json.dumps(rows, indent=1) + "\n")
        print(number, rows[-1]["what"], rows[-1]["missed"], rows[-1]["radius"], rows[-1]["off/radius"], flush=True)


if __name__ == "__main__":
    main()
