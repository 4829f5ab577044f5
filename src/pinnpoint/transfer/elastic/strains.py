"""Displacement states on a chunk of cells: values, strains and stresses with bounds of their rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.transfer.elastic.reference import voigt
from pinnpoint.transfer.energy.cells import COUNT, State
from pinnpoint.transfer.energy.geometry import Shapes


@dataclass(frozen=True, eq=False)
class Strains:
    """A state u_h on some cells.

    Attributes
    ----------
    parts
        Its components.
    strain, stress
        ε(u_h) and Cε(u_h) at the vertices, (n, d + 1, ns).
    wide, tall
        Upper bounds of the exact and the computed entries of `strain` and of `stress`, (n,).
    blur, wrong
        Upper bounds of the rounding in any entry of `strain` and of `stress`, (n,).
    """

    parts: tuple[State, ...]
    strain: Vector
    stress: Vector
    wide: Vector
    tall: Vector
    blur: Vector
    wrong: Vector

    @classmethod
    def of(cls, shapes: Shapes, nodal: Vector, degree: int, lam: Vector, mu: Vector) -> Strains:
        """From nodal displacements (n, nodes, d) in the cells' order."""
        d, n = shapes.d, len(nodal)
        parts = tuple(State.of(shapes, np.ascontiguousarray(nodal[:, :, c].T), degree) for c in range(d))
        e = np.empty((n, d + 1, len(voigt(d))))
        for v, (a, b) in enumerate(voigt(d)):
            one = parts[a].slopes[:, b]
            e[:, :, v] = (one if a == b else 0.5 * (one + parts[b].slopes[:, a])).T
        s = 2.0 * mu[:, None, None] * e
        diagonal = [v for v, (a, b) in enumerate(voigt(d)) if a == b]
        s[..., diagonal] += (lam[:, None] * e[..., diagonal].sum(axis=-1))[..., None]
        # elasticity.md, step 9b
        blur = up(np.max([part.size for part in parts], axis=0) * (shapes.slack + gamma(COUNT)), 4)
        wrong = up((2.0 * mu + d * np.abs(lam)) * blur, 8)
        wide, tall = (up(np.abs(x).max(axis=(1, 2)) + off) for x, off in ((e, blur), (s, wrong)))
        return cls(parts, e, s, wide, tall, blur, wrong)

    @property
    def top(self) -> Vector:
        """Upper bounds of |u_c|, (d, n)."""
        return np.stack([part.top for part in self.parts])


def mean_of_linear(one: Vector, two: Vector) -> Vector:
    """Means of τ : ε for tensors that are linear on cells, by their values at the vertices, (n, d + 1, ns)."""
    m = one.shape[1]
    d = m - 1
    twice = np.array([1.0 if a == b else 2.0 for a, b in voigt(d)])
    own = np.einsum("nav,nav,v->n", one, two, twice)
    both = np.einsum("nv,nv,v->n", one.sum(axis=1), two.sum(axis=1), twice)
    return np.asarray((own + both) / (m * (m + 1)))
