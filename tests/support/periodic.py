"""Random periodic problems on boxes with known solutions."""

from __future__ import annotations

from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh

SIDES = {1: ("left", "right"), 2: ("bottom", "top"), 3: ("front", "back")}
SIZES = {1: (12, 24), 2: (6, 10), 3: (3, 4)}


def random_case(rng: Any, d: int) -> tuple[Any, Any, np.ndarray, str]:
    """u = a + s sin 2π(k·x + φ), k whole, on a box with some axes glued; the others have given values or fluxes."""
    degree = int(rng.integers(1, 3))
    n = int(rng.choice(SIZES[d]))
    mesh = pp.io.generate({1: "interval", 2: "square", 3: "cube"}[d], n)
    if d == 2 and rng.random() < 0.5:
        mesh = shuffled(rng, mesh)
    k, a, s, phase = rng.integers(-1, 2, d), *np.round(rng.normal(size=2), 3), round(rng.uniform(), 3)
    argument = " + ".join(f"({int(ki)})*{x}" for ki, x in zip(k, "xyz", strict=False)) + f" + {phase}"
    u, slope = f"({a} + ({s})*sin(2*pi*({argument})))", f"({s})*2*pi*cos(2*pi*({argument}))"
    kappa, c = float(rng.choice([0.3, 2.0])), float(rng.choice([0.0, 1.0, 20.0]))
    tables: dict[str, dict[str, Any]] = {"periodic": {}, "dirichlet": {}, "neumann": {}}
    for axis in range(d):
        one, two = SIDES[axis + 1]
        kind = rng.choice(["periodic", "dirichlet", "neumann"], p=[0.6, 0.2, 0.2])
        if kind == "periodic" or (axis == d - 1 and not tables["periodic"]):
            pair = (one, two) if rng.random() < 0.5 else (two, one)
            tables["periodic"][pair[0]] = pair[1]
        elif kind == "dirichlet":
            tables["dirichlet"] |= {one: u, two: u}
        else:
            flux = f"{kappa}*({int(k[axis])})*{slope}"
            tables["neumann"] |= {one: f"-({flux})", two: flux}
    c = c if c or tables["dirichlet"] else 1.0
    source = f"({kappa}*4*pi**2*{int((k**2).sum())})*({s})*sin(2*pi*({argument})) + {c}*{u}"
    problem = pp.fem.ReactionDiffusion(mesh, source, kappa, c, degree=degree, **tables)
    X = rng.uniform(0.2, 0.8, (2, d))
    return problem, problem.points(X), a + s * np.sin(2.0 * np.pi * (X @ k + phase)), f"{tables} P{degree} n={n}"


def shuffled(rng: Any, mesh: Mesh) -> Mesh:
    """The same mesh with other numbers of its nodes: vertices of pairs then come in other orders."""
    order = rng.permutation(len(mesh.points))
    place = np.argsort(order)
    groups = {name: place[facets] for name, facets in mesh.facet_groups.items()}
    return Mesh(mesh.points[order], place[mesh.cells], facet_groups=groups)
