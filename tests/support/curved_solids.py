"""Plane solids between two circles with stresses in closed form."""

from __future__ import annotations

import numpy as np

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh

YOUNG, POISSON = 1.0, 0.3


def quarter(inner, outer, layers, around):
    """A quarter of a ring: groups inner, outer, bottom, left."""
    r, angle = np.linspace(inner, outer, layers + 1), np.linspace(0.0, 0.5 * np.pi, around + 1)
    c, s = np.cos(angle), np.sin(angle)
    c[-1], s[0] = 0.0, 0.0
    X = np.stack([np.outer(r, c).ravel(), np.outer(r, s).ravel()], axis=1)
    n = around + 1
    i, j = (a.ravel() for a in np.meshgrid(np.arange(layers), np.arange(around), indexing="ij"))
    a, b, c, d = i * n + j, (i + 1) * n + j, (i + 1) * n + j + 1, i * n + j + 1
    even = ((i + j) % 2 == 0)[:, None]
    one = np.where(even, np.stack([a, b, c], axis=1), np.stack([a, b, d], axis=1))
    two = np.where(even, np.stack([a, c, d], axis=1), np.stack([b, c, d], axis=1))
    line, up = np.arange(around), np.arange(layers)
    groups = {
        "inner": np.stack([line, line + 1], axis=1),
        "outer": layers * n + np.stack([line, line + 1], axis=1),
        "bottom": np.stack([up * n, (up + 1) * n], axis=1),
        "left": np.stack([up * n + around, (up + 1) * n + around], axis=1),
    }
    return Mesh(X, np.concatenate([one, two]), {}, groups)


def curves(inner, outer, names=("inner", "outer")):
    """Both circles."""
    return {names[0]: pp.Circle((0, 0), inner), names[1]: pp.Circle((0, 0), outer)}


def lame(layers, degree=2, curved=True, **more):
    """The ring ½–1 in plane stress, a pressure of one inside."""
    geometry = {"geometry": curves(0.5, 1.0)} if curved else {}
    return pp.fem.Elasticity(
        quarter(0.5, 1.0, layers, 2 * layers),
        young=YOUNG,
        poisson=POISSON,
        plane="stress",
        degree=degree,
        fixed={"bottom": (None, 0.0), "left": (0.0, None)},
        traction={"inner": ("2*x", "2*y")},
        **geometry,
        **more,
    )


def lame_truth(X):
    """u_x and σ_xx."""
    X = np.asarray(X)
    A, r = 0.25 / 0.75, np.hypot(*X.T)
    move = A / YOUNG * ((1.0 - POISSON) * r + (1.0 + POISSON) / r)
    c, s = X[:, 0] / r, X[:, 1] / r
    return move * c, A * (1.0 - 1.0 / r**2) * c * c + A * (1.0 + 1.0 / r**2) * s * s


C2, S2 = "((x**2 - y**2)/(x**2 + y**2))", "(2*x*y/(x**2 + y**2))"
C4, S4, R2 = f"(2*{C2}**2 - 1)", f"(2*{S2}*{C2})", "(x**2 + y**2)"
KIRSCH = (
    f"(1 - (1.5*{C2} + {C4})/{R2} + 1.5*{C4}/{R2}**2)",
    f"(-(0.5*{S2} + {S4})/{R2} + 1.5*{S4}/{R2}**2)",
    f"(-(0.5*{C2} - {C4})/{R2} - 1.5*{C4}/{R2}**2)",
)
"""σ_xx, σ_xy, σ_yy of a plate with a hole of radius one, pulled along x."""


def kirsch(layers, curved=True):
    """Its part 1 < r < 3, pulled by its own stresses."""
    pull = f"(x*{KIRSCH[0]} + y*{KIRSCH[1]})/3", f"(x*{KIRSCH[1]} + y*{KIRSCH[2]})/3"
    return pp.fem.Elasticity(
        quarter(1.0, 3.0, layers, 2 * layers),
        young=YOUNG,
        poisson=POISSON,
        plane="stress",
        degree=2,
        fixed={"bottom": (None, 0.0), "left": (0.0, None)},
        traction={"outer": pull},
        geometry=curves(1.0, 3.0) if curved else None,
    )


def kirsch_truth(X):
    """u_x and σ_xx."""
    X = np.asarray(X)
    r, t = np.hypot(*X.T), np.arctan2(X[:, 1], X[:, 0])
    k, mu = (3.0 - POISSON) / (1.0 + POISSON), YOUNG / (2.0 * (1.0 + POISSON))
    c, c3, c4 = np.cos(t), np.cos(3.0 * t), np.cos(4.0 * t)
    move = (r * (k + 1.0) * c + 2.0 / r * ((1.0 + k) * c + c3) - 2.0 / r**3 * c3) / (8.0 * mu)
    return move, 1.0 - (1.5 * np.cos(2.0 * t) + c4) / r**2 + 1.5 * c4 / r**4


def gripped(mesh, degree=2, curved=True):
    """The ring ½–1 held at its inner circle and pulled by one along the normal of the outer one."""
    return pp.fem.Elasticity(
        mesh,
        young=YOUNG,
        poisson=POISSON,
        plane="stress",
        degree=degree,
        fixed={"hole": 0.0},
        traction={"outer": ("x", "y")},
        geometry=curves(0.5, 1.0, ("hole", "outer")) if curved else None,
    )


def gripped_truth(X):
    """u_x and σ_xx: u_r = Ar − A/(4r)."""
    X = np.asarray(X)
    a, b = YOUNG / (1.0 - POISSON), YOUNG / (1.0 + POISSON)
    A, r = 1.0 / (a + 0.25 * b), np.hypot(*X.T)
    c, s = X[:, 0] / r, X[:, 1] / r
    along, around = A * (a + 0.25 * b / r**2), A * (a - 0.25 * b / r**2)
    return A * (r - 0.25 / r) * c, along * c * c + around * s * s
