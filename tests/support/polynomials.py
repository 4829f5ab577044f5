"""Displacements that are polynomials with rational coefficients: their stresses and loads, exactly."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product

import numpy as np

AXES = "xyz"


class Polynomial:
    """Σ c x^i y^j z^k with Fractions c."""

    def __init__(self, terms):
        self.terms = {p: Fraction(c) for p, c in terms.items() if c}

    def __add__(self, other):
        found = defaultdict(Fraction, self.terms)
        for p, c in other.terms.items():
            found[p] += c
        return Polynomial(found)

    def __mul__(self, other):
        if not isinstance(other, Polynomial):
            return Polynomial({p: c * Fraction(other) for p, c in self.terms.items()})
        found = defaultdict(Fraction)
        for (p, c), (q, e) in product(self.terms.items(), other.terms.items()):
            found[tuple(a + b for a, b in zip(p, q, strict=True))] += c * e
        return Polynomial(found)

    __rmul__ = __mul__

    def slope(self, axis):
        """The derivative along an axis."""
        return Polynomial(
            {tuple(e - (i == axis) for i, e in enumerate(p)): c * p[axis] for p, c in self.terms.items() if p[axis] > 0}
        )

    def __call__(self, x):
        """The exact value at a point of floats."""
        X = [Fraction(float(v)) for v in x]
        total = Fraction(0)
        for p, c in self.terms.items():
            for v, e in zip(X, p, strict=True):
                c = c * v**e
            total += c
        return total

    @property
    def text(self):
        """As a formula that is the polynomial exactly."""
        parts = []
        for p, c in self.terms.items():
            powers = [f"{a}**{e}" if e > 1 else a for a, e in zip(AXES, p, strict=False) if e]
            parts.append("*".join([f"({c.numerator}/{c.denominator})", *powers]))
        return " + ".join(parts) or "0"


def one(d):
    """The constant 1 in d variables."""
    return Polynomial({(0,) * d: 1})


def coordinate(axis, d):
    """The variable of an axis."""
    return Polynomial({tuple(int(i == axis) for i in range(d)): 1})


def bubble(d):
    """Zero on the boundary of the unit square or cube."""
    found = one(d)
    for i in range(d):
        x = coordinate(i, d)
        found = found * x * (one(d) + -1 * x)
    return found


def random_polynomial(rng, d, degree):
    """Coefficients that are small fractions."""
    powers = [p for p in product(range(degree + 1), repeat=d) if sum(p) <= degree]
    return Polynomial({p: Fraction(int(rng.integers(-9, 10)), int(rng.integers(1, 6))) for p in powers})


def strain(u, i, j):
    """ε_ij."""
    return Fraction(1, 2) * (u[i].slope(j) + u[j].slope(i))


def stress(u, lam, mu, i, j):
    """σ_ij for exact Lamé numbers."""
    d = len(u)
    found = 2 * mu * strain(u, i, j)
    if i == j:
        for k in range(d):
            found = found + lam * u[k].slope(k)
    return found


def body(u, lam, mu):
    """−∇·σ."""
    d = len(u)
    found = []
    for i in range(d):
        total = Polynomial({})
        for j in range(d):
            total = total + stress(u, lam, mu, i, j).slope(j)
        found.append(-1 * total)
    return found


def lame(young, poisson, plane="strain"):
    """Exact Lamé numbers of floats."""
    E, nu = Fraction(float(young)), Fraction(float(poisson))
    mu = E / (2 * (1 + nu))
    lam = E * nu / (1 - nu * nu) if plane == "stress" else E * nu / ((1 + nu) * (1 - 2 * nu))
    return lam, mu


def box_mean(p):
    """The exact mean over the unit square or cube."""
    total = Fraction(0)
    for powers, c in p.terms.items():
        for e in powers:
            c = c / (e + 1)
        total += c
    return total


def face_mean(p, axis, side):
    """The exact mean over a face of the unit square or cube."""
    total = Fraction(0)
    for powers, c in p.terms.items():
        for i, e in enumerate(powers):
            c = c * (1 if e == 0 else side) if i == axis else c / (e + 1)
        total += c
    return total


def distorted(mesh, rng, amount):
    """The same mesh of the unit box with its inner vertices moved."""
    from pinnpoint.mesh.mesh import Mesh

    X = np.array(mesh.points)
    inside = np.all((X > 1e-9) & (X < 1 - 1e-9), axis=1)
    h = 1.0 / round(len(X) ** (1.0 / X.shape[1]) - 1)
    X[inside] += amount * h * rng.uniform(-0.5, 0.5, X[inside].shape)
    groups = {
        name: mesh.facets(name)
        for name in ("left", "right", "bottom", "top", "front", "back")
        if name in mesh.facet_groups
    }
    return Mesh(X, mesh.cells, facet_groups=groups)
