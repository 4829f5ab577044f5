"""The paper's manufactured benchmarks: problems with known solutions, and the places they are asked at."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Vector
from pinnpoint.fem import ReactionDiffusion, Semilinear
from pinnpoint.io import generate
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries

HILL, SPREAD = (0.7, 0.35), 0.12
"""u* = x(1−x)y(1−y) exp(−|(x, y) − HILL|²/SPREAD²) + 0.1 sin(3πx) sin(2πy) (paper, app. experimental-configuration)."""


def _factor(t: str, middle: float) -> tuple[str, str]:
    """t(1−t) exp(−(t−m)²/s²) and its second derivative, as formulas: (p″ + 2p′w′ + p(w′² + w″)) eʷ."""
    d, s2 = f"({t}-{middle})", SPREAD**2
    bell, hat = f"exp(-{d}**2/{s2!r})", f"{t}*(1-{t})"
    slope = f"(-2*{d}/{s2!r})"
    second = f"((-2) + 2*(1-2*{t})*{slope} + {hat}*({slope}**2 - 2/{s2!r}))"
    return f"{hat}*{bell}", f"{second}*{bell}"


(_X, _XX), (_Y, _YY) = _factor("x", HILL[0]), _factor("y", HILL[1])
SOURCE = f"1.3*pi**2*sin(3*pi*x)*sin(2*pi*y) - ({_XX})*({_Y}) - ({_X})*({_YY})"
WAVE = "(sin(pi*x) + 0.3*sin(3*pi*x))"
WAVE_SOURCE = f"pi**2*sin(pi*x) + 2.7*pi**2*sin(3*pi*x) + 20*{WAVE}**3"


def square(cells: int) -> ReactionDiffusion:
    """−Δu = f on the unit square, u = 0 on its boundary."""
    return ReactionDiffusion(generate("square", cells), source=SOURCE)


def exact(X: Vector) -> Vector:
    """u* of `square` at points (N, 2)."""
    x, y = X[:, 0], X[:, 1]
    bell = np.exp(-((x - HILL[0]) ** 2 + (y - HILL[1]) ** 2) / SPREAD**2)
    return np.asarray(x * (1 - x) * y * (1 - y) * bell + 0.1 * np.sin(3 * np.pi * x) * np.sin(2 * np.pi * y))


def places() -> Vector:
    """Twelve interior nodes that the meshes of 8, 16, 24 and 32 cells share, then twelve points on no grid."""
    rng = np.random.default_rng(7)
    inner = np.stack(np.meshgrid(np.arange(1, 8), np.arange(1, 8)), axis=-1).reshape(-1, 2) / 8.0
    return np.concatenate([rng.permutation(inner)[:12], rng.uniform(0.06, 0.94, (12, 2))])


def overdetermined(cells: int) -> tuple[ReactionDiffusion, LinearSystem, Queries]:
    """Linear elements on `square`, tested by the hat functions of the mesh refined once: more equations than unknowns.

    Returns the problem on the mesh, the system of its free values, and the queries at `places`.
    """
    coarse, fine = square(cells), square(2 * cells)
    prolong = coarse.points(fine.nodes.points).L
    rows, columns = np.asarray(fine.space.free), np.asarray(coarse.space.free)
    A = sp.csr_array((fine.A[rows] @ prolong)[:, columns])
    return coarse, LinearSystem(A, fine.b[rows]), Queries(coarse.points(places()).L[:, columns])


def line(nodes: int) -> Semilinear:
    """−u″ + 20u³ = f on (0, 1) with so many interior nodes, u = 0 at both ends."""
    return Semilinear(generate("interval", nodes + 1), cubic=20.0, source=WAVE_SOURCE)


def wave(X: Vector) -> Vector:
    """u* of `line` at points (N, 1); the paper does not state its own, this is our choice."""
    return np.asarray(np.sin(np.pi * X[:, 0]) + 0.3 * np.sin(3 * np.pi * X[:, 0]))


STATIONS = np.array([0.1, 0.23, 0.31, 0.42, 0.5, 0.66, 0.77, 0.9])[:, None]
"""Eight query points on the line."""
