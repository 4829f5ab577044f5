"""A flux for a source that is one number, by a formula: what stream functions of networks are counted from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.operators import numbers
from pinnpoint.fem.families.population_certifier import PopulationCertifier
from pinnpoint.fem.problem import ScalarProblem
from pinnpoint.transfer.operators.prepared import Prepared


@dataclass(frozen=True, eq=False)
class SourceFlux:
    """σ₀ = −f (x − c)/2 on triangles, c the middle of the domain: a flux with ∇·σ₀ = −f, for f that is one number.

    σ₀ + curl ψ has the divergence −f whatever ψ is ([operators](operators.md), step 1a). On a triangle
    σ₀ − σ₀(x̄) = −f (x − x̄)/2 is orthogonal to all that is constant, and ∫|x − x̄|² = |K| Σ|edges|²/36 (step 1b).

    Attributes
    ----------
    cells, slopes, areas
        The triangles' nodes (C, 3), gradients of the hat functions (C, 3, 2), areas (C,).
    flux
        σ₀ at the triangles' centres, (C, 2).
    tail
        |σ₀ − σ₀(x̄)|², its mean on each triangle, (C,).
    free
        1 at nodes inside, 0 on the boundary, (N,).
    """

    cells: Index
    slopes: Vector
    areas: Vector
    flux: Vector
    tail: Vector
    free: Vector
    source: float

    __repr__ = brief

    @classmethod
    def of(cls, problem: ScalarProblem) -> Self:
        """For a problem on triangles; refused where the source is no number or the solution does not vanish."""
        mesh, given = problem.mesh, problem.given
        f = numbers(given["source"])
        if mesh.dim != 2 or isinstance(f, bool) or not isinstance(f, int | float | np.number):
            raise InputError("problem: must have triangles and a source that is one number; certify others by steps")
        at = np.unique(mesh.boundary)
        zero = len(problem.held.facets(mesh)) == len(mesh.boundary) and not np.any(problem.space.U0)
        more = problem.reaction is not None or "convection" in given
        if not zero or more or len(problem.nodes.points) != len(mesh.points):
            raise InputError(
                "problem: must have linear elements, neither reaction nor convection, and the value 0 on its whole "
                "boundary; certify others by steps"
            )
        X = mesh.points[mesh.cells]
        e = X[:, [2, 0, 1]] - X[:, [1, 2, 0]]
        double = e[:, 0, 0] * e[:, 1, 1] - e[:, 0, 1] * e[:, 1, 0]
        slopes = np.stack([-e[..., 1], e[..., 0]], axis=-1) / double[:, None, None]
        middle = 0.5 * (mesh.points.min(axis=0) + mesh.points.max(axis=0))
        free = np.ones(len(mesh.points))
        free[at] = 0.0
        tail = 0.25 * f * f * (e * e).sum(axis=(1, 2)) / 36.0
        return cls(mesh.cells, slopes, 0.5 * np.abs(double), -0.5 * f * (X.mean(axis=1) - middle), tail, free, float(f))

    def shift(self, certifier: PopulationCertifier) -> Vector:
        """What is added to a ψ that counts from σ₀, so that it counts from the certifier's own flux."""
        if not isinstance(certifier.prepared, Prepared):
            raise InputError("certifier: stream functions need two dimensions and one load; certify by steps")
        return self.stream(certifier.prepared.loads[0].flux)

    def stream(self, base: Vector) -> Vector:
        """The ψ with σ₀ = base + curl ψ, for another flux of the same divergence by its values at the centres (C, 2).

        Found by least squares and never trusted: any ψ makes an equilibrated flux.
        """
        wanted = self.flux - base
        C, N = len(self.cells), len(self.free)
        rows, columns = np.repeat(np.arange(C), 3), self.cells.ravel()
        dx, dy = (sp.csr_array((self.slopes[..., d].ravel(), (rows, columns)), shape=(C, N)) for d in (0, 1))
        weight = sp.diags_array(self.areas)
        A = sp.csc_array(dx.T @ weight @ dx + dy.T @ weight @ dy)
        b = dy.T @ (self.areas * wanted[:, 0]) - dx.T @ (self.areas * wanted[:, 1])
        psi = np.zeros(N)
        psi[1:] = splu(A[1:, 1:]).solve(b[1:])
        return psi
