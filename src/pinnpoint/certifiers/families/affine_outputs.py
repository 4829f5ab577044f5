"""Outputs of systems with parameters in their matrix, by the thousand: intervals from reduced states and duals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.derived import magnitudes
from pinnpoint.certificates.population import CERTIFIED, Population, joined
from pinnpoint.certifiers.families.affine import AffineSystem, Side, sides
from pinnpoint.rounding.arithmetic import down, gamma, norm_up, require_round_to_nearest, up
from pinnpoint.systems.derived import Derived

CHUNK = 1024
"""Parameters at once."""
RANGE = 1e-100, 1e100
"""Parameters beyond these could overflow in a sum."""
REDUCED = "the reduced state is the prediction"
OUTPUTS = "the outputs that were given are the prediction; energy errors are those of the reduced state"


@dataclass(frozen=True, eq=False)
class AffineCertifier:
    """Reduced states and duals of Σ μ_q A_q U = b, and intervals of outputs of its solution.

    *Guarantee:* deterministic, rounding covered ([operators](operators.md), section 10), for every μ > 0: outside of
    the range that the bases are made for intervals grow by themselves. The target is the discrete one: the solution
    for the sum of the stored terms, in real arithmetic. *Cost:* per parameter products with matrices of the rank's
    size, whatever the mesh.

    Attributes
    ----------
    sides
        The problem's, then one a query.
    values
        Of the queries against the problem's basis, (Q, r).
    works, forms
        Of the load against each dual basis, (r′,), and of the terms between both bases, (G, r′, r).
    """

    names: tuple[str, ...]
    system: AffineSystem
    sides: tuple[Side, ...]
    values: Vector
    works: tuple[Vector, ...]
    forms: tuple[Vector, ...]
    constants: Vector
    notes: tuple[str, ...] = ()
    derived: tuple[Derived, ...] = ()

    __repr__ = brief

    @classmethod
    def of(
        cls,
        system: AffineSystem,
        names: tuple[str, ...],
        constants: Vector,
        drawn: Vector,
        rank: int,
        notes: tuple[str, ...] = (),
        derived: tuple[Derived, ...] = (),
    ) -> AffineCertifier:
        """Bases of a rank from parameters (T, G); which ones does not matter for proofs."""
        made = sides(system, drawn, rank)
        V = made[0].basis
        images = [np.asarray(A @ V) for A in system.terms]
        works = tuple(system.b @ s.basis for s in made[1:])
        forms = tuple(np.stack([s.basis.T @ image for image in images]) for s in made[1:])
        return cls(names, system, made, np.asarray(system.L @ V), works, forms, constants, notes, derived)

    def certify_many(self, parameters: ArrayLike, outputs: ArrayLike | None = None) -> Population:
        """Intervals of the queries for rows of μ, (S, terms).

        Parameters
        ----------
        outputs
            Somebody's predicted values of the queries, (S, Q), which become `value`; those of the reduced state by
            default. `error` is the relative energy error of the reduced state in any case, so that ``accepted`` then
            needs a query. A row that holds NaN or
            infinity is refused with its reason. Magnitudes follow from their components, and are further columns.
        """
        require_round_to_nearest()
        mu, G, Q = floats("parameters", parameters), len(self.system.terms), len(self.names)
        if mu.ndim != 2 or mu.shape[1] != G or not len(mu):
            raise InputError(f"parameters: must have shape (instances, {G}); got {mu.shape}")
        given = None if outputs is None else floats("outputs", outputs)
        if given is not None and given.shape != (len(mu), Q):
            raise InputError(f"outputs: must have shape {(len(mu), Q)}; got {given.shape}")
        parts = []
        for a in range(0, len(mu), CHUNK):
            parts.append(self._some(mu[a : a + CHUNK], a, None if given is None else given[a : a + CHUNK]))
        return self._with_magnitudes(parts[0] if len(parts) == 1 else joined(parts))

    def _with_magnitudes(self, found: Population) -> Population:
        """With a column for each magnitude of components."""
        for one in self.derived:
            at = [found.names.index(name) for name in one.of]
            center, radius = found.center[:, at], found.radius[:, at]
            low, high = magnitudes(np.asarray(down(center - radius)), np.asarray(up(center + radius)))
            known = np.isfinite(high)
            middle = np.where(known, 0.5 * (low + high), 0.0)
            half = np.where(known, up(np.maximum(high - middle, middle - low), 4), math.inf)
            value = np.sqrt((found.value[:, at] ** 2).sum(axis=1))
            found = replace(
                found,
                names=(*found.names, one.name),
                center=np.column_stack([found.center, middle]),
                radius=np.column_stack([found.radius, half]),
                value=np.column_stack([found.value, value]),
            )
        return found

    def _some(self, given: Vector, first: int, outputs: Vector | None) -> Population:
        with np.errstate(invalid="ignore"):
            good = np.isfinite(given).all(axis=1) & (given.min(axis=1) > RANGE[0]) & (given.max(axis=1) < RANGE[1])
        mu = np.where(good[:, None], given, 1.0)
        said = np.ones(len(mu), dtype=bool)
        if outputs is not None:
            said = np.asarray(np.isfinite(outputs).all(axis=1))
            outputs = np.where(said[:, None], outputs, 0.0)
        theta = self.system.ends(mu)
        own = self.sides[0]
        c = own.coefficients(mu)
        t, slip, low, high = own.norms(mu, c)
        with np.errstate(all="ignore"):
            energy, energy_low = up(high / np.sqrt(theta[0]), 4), down(low / np.sqrt(theta[1]), 4)
            norm = self._size(mu, c, np.asarray(energy))
            center, radius = self._outputs(mu, c, theta, (t, slip, high))
            error = np.where(norm[0] > 0.0, up(energy / norm[0]), math.inf)
            lower = np.maximum(down(energy_low / norm[1]), 0.0)
        lost = (theta[0] <= 0.0) | ~np.isfinite(energy)
        found = Population(
            self.names,
            np.arange(first, first + len(mu)),
            error,
            lower,
            np.asarray(energy),
            np.maximum(energy_low, 0.0),
            norm[1],
            norm[0],
            error,
            center + self.constants,
            np.asarray(up(radius + 4.0 * gamma(2) * np.abs(self.constants), 8)),
            value=c @ self.values.T + self.constants if outputs is None else outputs,
            overwritten=np.zeros(len(mu)),
            steps=np.zeros(len(mu), dtype=np.intp),
            contrast=mu.max(axis=1) / mu.min(axis=1),
            status=(CERTIFIED,) * len(mu),
            notes=(*self.notes, REDUCED if outputs is None else OUTPUTS),
            outputs=outputs is not None,
            target="discrete",
        )
        reasons = dict.fromkeys(np.flatnonzero(lost).tolist(), "parameters: rounding leaves nothing; rescale them")
        reasons |= dict.fromkeys(np.flatnonzero(~said).tolist(), "outputs: hold NaN or infinity")
        reasons |= dict.fromkeys(np.flatnonzero(~good).tolist(), "parameters: must be finite, > 0 and of moderate size")
        return found.refused(reasons)

    def _size(self, mu: Vector, c: Vector, away: Vector) -> tuple[Vector, Vector]:
        """‖U‖ of the true solution in the energy norm, from below and above."""
        own, n = self.sides[0], len(self.system.b)
        square = _forms(mu, own.galerkin[0], c, c)
        size = np.abs(c)
        wrong = gamma(2 * n) * 1.01 * (size @ own.lengths) * np.einsum("sq,qj,sj->s", mu, own.images, size)
        high = up(np.sqrt(np.maximum(square, 0.0) + up(wrong, 16)) + away, 8)
        low = down(np.sqrt(np.maximum(down(square - up(wrong, 16)), 0.0)) - away, 8)
        return np.maximum(low, 0.0), np.asarray(high)

    def _outputs(
        self, mu: Vector, c: Vector, theta: tuple[Vector, Vector], own: tuple[Vector, Vector, Vector]
    ) -> tuple[Vector, Vector]:
        """Centres and radii without the queries' constants."""
        (t, slip, high), first, system = own, self.sides[0], self.system
        n, (G, r) = len(system.b), first.images.shape
        less, more = 1.0 / theta[1], 1.0 / theta[0]
        middle, half = 0.5 * (more + less), 0.5 * (more - less) + 4.0 * gamma(2) * more
        center, radius = np.empty((len(mu), len(self.names))), np.empty((len(mu), len(self.names)))
        size = np.abs(c)
        reach = size @ first.lengths, norm_up(system.b) + np.einsum("sq,qj,sj->s", mu, first.images, size)
        for k, side in enumerate(self.sides[1:]):
            z = side.coefficients(mu)
            td, slip_d, _, high_d = side.norms(mu, z)
            rows = min(t.shape[1], td.shape[1])
            pair = np.einsum("si,si->s", t[:, :rows], td[:, :rows])
            form = _forms(mu, self.forms[k], z, c)
            center[:, k] = c @ self.values[k] + z @ self.works[k] - form + middle * pair  # operators.md, step 10b
            loose = first.residuals.delta + 2.0 * gamma(rows + 8)
            off = loose * high * high_d + slip_d * high + slip * (high_d + slip_d)  # operators.md, step 10c
            weight = norm_up(self.system.L[k]) * reach[0] + (np.abs(z) @ side.lengths) * reach[1]
            rounding = gamma(2 * n + 2 * G * r * len(side.lengths) + 64) * 1.01 * weight  # operators.md, step 10d
            last = 16.0 * gamma(1) * (np.abs(center[:, k]) + np.abs(middle * pair))
            radius[:, k] = up(half * high * high_d + middle * off + rounding + last, 64)
        lost = ~(np.isfinite(center) & np.isfinite(radius))
        return np.where(lost, 0.0, center), np.where(lost, math.inf, radius)


def _forms(mu: Vector, terms: Vector, z: Vector, c: Vector) -> Vector:
    """Σ μ_q zᵀ A_q c of every instance, in any order."""
    matrices = (mu @ terms.reshape(len(terms), -1)).reshape(len(mu), *terms.shape[1:])
    return np.asarray((z * np.matmul(matrices, c[:, :, None])[..., 0]).sum(axis=1))
