"""Displacements and their gradients at a point, or averaged over a ball, as integrals of u and of the body force.

Let B be the ball of radius R about x₀, with λ, μ constant in B, s = |x − x₀|²/R², and

    ϱ = (a + bs)(1 − s)³ = A₃(1 − s)³ + A₄(1 − s)⁴,      ∫ϱ = 1,      ∫ϱ s R² = 0.

N is the radial function with −ΔN = δ_{x₀} − ϱ and N(R) = 0, Q = r^{−d} ∫₀^r N t^{d−1} dt, and θ = 1/(1 − ν) =
2(λ + μ)/(λ + 2μ). Then, with e = (x − x₀)/r,

    Φ_k = (1/2μ) { A e_k − D (e·e_k) e },      A = 2N − θQ,      D = θ(N − dQ) = θ r Q',

vanishes with its gradient at R and solves Navier's equations with the body force (δ − ϱ) e_k, so that

    u_k(x₀) = ∫ϱ u_k + ∫ f·Φ_k,      ∂_l u_k(x₀) = ∫ϱ ∂_l u_k − ∫ f·∂_lΦ_k.

For averages over the ball of radius r₀ ≤ R its uniform density stands for δ, and ∫ϱ s R² = d r₀²/(d + 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb

from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.transfer.elastic.radial import DIGITS, Ringed, Terms, antiderived, at, combined, derived, shifted
from pinnpoint.transfer.points.decimals import Enclosed, precision
from pinnpoint.transfer.points.radial_series import euler_beta, sphere_measure


@dataclass(frozen=True)
class Kelvin:
    """ϱ and Φ_k of the module's text; `kelvin_of` makes one.

    Attributes
    ----------
    d, lam, mu
        Dimension, 2 or 3, and Lamé's parameters in the ball, exactly these floats; in plane stress the reduced λ.
    radius, average
        R, and r₀ (0 for a point).
    """

    d: int
    lam: float
    mu: float
    radius: float
    average: float

    __repr__ = brief

    @cached_property
    def density(self) -> tuple[Fraction, Fraction]:
        """ω R^d A₃ and ω R^d A₄, exactly; ω is the measure of the unit sphere."""
        x, inner = Fraction(self.d, 2), (Fraction(self.average) / Fraction(self.radius)) ** 2
        second = self.d * inner / (self.d + 2)
        # ∫ (1 − s)^k s^i over the unit ball is (ω/2) B(k + 1, d/2 + i)
        (p, q), (r, t) = (tuple(euler_beta(k, x + i) / 2 for k in (3, 4)) for i in (0, 1))
        det = p * t - q * r
        return (t - q * second) / det, (p * second - r) / det  # elasticity.md, step 8b

    @cached_property
    def inside(self) -> tuple[Fraction, ...]:
        """c_j of the mass Σ c_j s^{d/2+j} that ϱ has inside the radius r."""
        first, second = self.density
        p = [(-1) ** j * (first * comb(3, j) + second * comb(4, j)) for j in range(5)]
        return tuple(c / (2 * j + self.d) for j, c in enumerate(p))  # elasticity.md, step 8c

    @property
    def _heavy(self) -> float:
        """Upper bound of 1 + |mass| inside any radius."""
        return 3.0 + float(sum(abs(c) for c in self.inside))

    @property
    def of_rounded_displacement(self) -> float:
        """Upper bound of ∫|Φ_k − Φ̂_k|/ε for the kernel Φ̂ of λ and μ that are off by a relative error ε."""
        return 16.0 * self._heavy * self.radius**2 / self.mu  # elasticity.md, step 9f

    @property
    def of_rounded_gradient(self) -> float:
        """The same of ∂_lΦ_k."""
        return 300.0 * self._heavy * self.radius / self.mu  # elasticity.md, step 9f

    @cached_property
    def theta(self) -> Enclosed:
        """θ = 1/(1 − ν) = 2(λ + μ)/(λ + 2μ)."""
        with precision(DIGITS):
            lam, mu = Enclosed.of(self.lam), Enclosed.of(self.mu)
            return (lam + mu) * 2 / (lam + mu * 2)  # elasticity.md, step 8a

    @cached_property
    def split(self) -> Enclosed:
        """σ = r₀/R."""
        with precision(DIGITS):
            return Enclosed.of(self.average) / Enclosed.of(self.radius)

    @cached_property
    def potential(self) -> tuple[Terms, Terms]:
        """ω N of the unit ball, inside σ and beyond."""
        with precision(DIGITS):
            one = Enclosed.of(1)
            singular: Terms = {(0, 1): -one} if self.d == 2 else {(-1, 0): one}
            rest = {(2 * j + 2, 0): Enclosed.of(c / (2 * j + 2)) for j, c in enumerate(self.inside)}
            outer = combined((one, singular), (one, rest))
            constant = -at(outer, one)
            outer = combined((one, outer), (one, {(0, 0): constant}))  # elasticity.md, step 8c
            if not self.average:
                return {}, outer
            lump = one
            for _ in range(self.d):
                lump = lump / self.split
            start = at(singular, self.split) + self.split * self.split * lump / 2
            source = {(0, 0): start + constant, (2, 0): -lump / 2}
            return combined((one, source), (one, rest)), outer  # elasticity.md, step 8d

    @cached_property
    def mean(self) -> tuple[Terms, Terms]:
        """ω Q of the unit ball, inside σ and beyond."""
        with precision(DIGITS):
            inner, outer = (self._averaged(terms) for terms in self.potential)
            if self.average:
                missing = -self.split * self.split / (2 * (self.d + 2))
                outer = combined((Enclosed.of(1), outer), (Enclosed.of(1), {(-self.d, 0): missing}))
            return inner, outer  # elasticity.md, step 8d

    def _averaged(self, terms: Terms) -> Terms:
        """ρ^{−d} ∫₀^ρ g t^{d−1} dt."""
        return shifted(antiderived(shifted(terms, self.d - 1)), -self.d)

    @cached_property
    def parts(self) -> tuple[Ringed, Ringed]:
        """A/2μ and D/2μ: f·Φ_k is the first times f_k, minus the second times (f·e) e_k."""
        with precision(DIGITS):
            two, theta = Enclosed.of(2), self.theta
            straight = [combined((two, N), (-theta, Q)) for N, Q in zip(self.potential, self.mean, strict=True)]
            turned = [combined((theta, shifted(derived(Q), 1))) for Q in self.mean]
            return self._ringed(straight, 2), self._ringed(turned, 2)  # elasticity.md, step 8a

    @cached_property
    def slopes(self) -> tuple[Ringed, Ringed, Ringed]:
        """A'/2μ, (D' − 2D/r)/2μ and D/(2μr), the radial functions of ∂_lΦ_k."""
        with precision(DIGITS):
            two, theta = Enclosed.of(2), self.theta
            straight = [
                combined((two, derived(N)), (-theta, derived(Q)))
                for N, Q in zip(self.potential, self.mean, strict=True)
            ]
            over = [combined((theta, derived(Q))) for Q in self.mean]
            turned = [combined((Enclosed.of(1), derived(shifted(g, 1))), (-two, g)) for g in over]
            return self._ringed(straight, 1), self._ringed(turned, 1), self._ringed(over, 1)  # elasticity.md, step 8f

    def _ringed(self, terms: list[Terms], power: int) -> Ringed:
        """The functions over 2μω R^{d−power}."""
        scale = Enclosed.of(1) / (Enclosed.of(self.mu) * 2 * sphere_measure(self.d))
        for _ in range(self.d - power):
            scale = scale / Enclosed.of(self.radius)
        return Ringed(self.d, self.radius, scale, terms[0], terms[1], self.split)


def kelvin_of(d: int, lam: float, mu: float, radius: float, average: float = 0.0) -> Kelvin:
    """The kernel of values at a point (average = 0), or of averages over a ball of the radius `average`.

    *Assumes:* the ball of the radius lies in the domain, and λ and μ are constant in it.
    """
    lam, mu, radius, average = float(lam), float(mu), float(radius), float(average)
    if d not in (2, 3):
        raise InputError(f"d: must be 2 or 3; got {d!r}")
    for name, x in (("mu", mu), ("radius", radius)):
        if not 1e-60 < x < 1e60:
            raise InputError(f"{name}: must be positive and within 1e±60; got {x!r}")
    if not (2.0 * mu + d * lam > 0.0 and lam < 1e60):
        raise InputError(f"lam: 2μ + {d}λ must be positive, and λ below 1e60; got λ = {lam!r}, μ = {mu!r}")
    if not 0.0 <= average <= radius:
        raise InputError(f"average: must be between 0 and the ball's radius {radius!r}; got {average!r}")
    if 0.0 < average < 1e-9 * radius:
        raise InputError(f"average: {average!r} is below 1e-9 of the radius; ask for the point value")
    return Kelvin(d, lam, mu, radius, average)
