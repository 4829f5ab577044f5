"""Random problems with reactions between eigenvalues beside coefficients that vary, matrices and Robin sides, known u.

Of the parts of `varied`: u = ΠX_i(x_i) vanishes where it is fixed, and on a Robin side the value is what u makes of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.domains import generate
from tests.support.varied import DOMAINS, NAMES, SIDES, Wavy, constant, factor

SIZES = {1: (12, 30), 2: (8, 13), 3: (3, 5)}
KINDS = ("number", "scalar", "matrix")


def random_case(rng: np.random.Generator, d: int) -> tuple[Any, str, np.ndarray, np.ndarray]:
    """A problem, its solution as text, two points and the values there."""
    kind, free = KINDS[int(rng.integers(len(KINDS)))], bool(rng.random() < 0.6)
    free = free or kind == "number"
    X = [factor(rng, NAMES[i], free and i == 0) for i in range(d)]
    u = "*".join(f[0] for f in X)
    first = ["*".join(X[i][int(i == j)] for i in range(d)) for j in range(d)]
    second = [["*".join(X[i][(i == j) + (i == k)] for i in range(d)) for k in range(d)] for j in range(d)]
    scale = float(np.round(10.0 ** rng.uniform(-1.0, 1.0), 3))
    A = [[constant(0.0, d)] * d for _ in range(d)]
    one = constant(scale, d) if kind == "number" else Wavy.random(rng, d, scale, round(0.3 * scale, 4))
    for i in range(d):
        A[i][i] = one if kind != "matrix" else Wavy.random(rng, d, scale * (1.0 + 0.5 * i), round(0.2 * scale, 4))
    if kind == "matrix" and d > 1:
        A[0][1] = A[1][0] = Wavy.random(rng, d, round(0.3 * scale, 4), round(0.1 * scale, 4))
    most = {1: 80.0, 2: 60.0, 3: 25.0}[d]
    depth = -round(float(rng.uniform(2.0, most)) * scale, 3)
    c = constant(depth, d) if kind == "number" else Wavy.random(rng, d, depth, round(0.2 * depth, 4))
    there = [(i, j) for i in range(d) for j in range(d) if A[i][j].text != "(0.0)"]
    flux = "+".join(f"{A[0][j].text}*{first[j]}" for i, j in there if i == 0)
    slopes = [f"{A[i][j].slopes[i]}*{first[j]}" for i, j in there if A[i][j].slopes[i] != "0"]
    div = "+".join([f"{A[i][j].text}*{second[i][j]}" for i, j in there] + slopes)
    fixed = [s for s in SIDES[d] if not (free and s == "right")]
    alpha = f"({round(float(10.0 ** rng.uniform(-2.0, 1.0)) * scale, 4)}*(1+0.5*{NAMES[d - 1]}))"
    numbers = kind == "number"
    problem = pp.fem.ReactionDiffusion(
        generate(DOMAINS[d], int(rng.integers(*SIZES[d]))),
        f"-({div})+{c.text}*{u}",
        scale if numbers else A[0][0].text if kind == "scalar" else [[a.text for a in row] for row in A],
        depth if numbers else c.text,
        dict.fromkeys(fixed, 0.0),
        robin={"right": (alpha, f"{flux}+{alpha}*{u}")} if free else None,
        degree=int(rng.integers(1, 3)),
    )
    P = rng.uniform(0.3, 0.7, (2, d))
    return problem, u, P, parse(u)(P)
