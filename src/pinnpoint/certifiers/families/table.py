"""What every load contributes to every query: enclosed once, combined at O(K p) a load."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from pinnpoint.base.arrays import Vector, floats, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.assembly import NEGLECTED
from pinnpoint.certificates.claims import Claim, Guarantee
from pinnpoint.certifiers.base import AbstractCertifier
from pinnpoint.certifiers.ground import Outcome
from pinnpoint.rounding.arithmetic import TINY, gamma, require_range, up
from pinnpoint.solvers.protocol import Solver, answer


@dataclass(frozen=True, eq=False)
class Table:
    """ℓ_iᵀU*(μ) = t_i0 + Σ_k μ_k t_ik with |t_ik − center_ik| ≤ Σ terms_ik.

    t_i0 belongs to b₀ and the prescribed values, t_ik to F_k with homogeneous constraints: the target is affine in μ,
    so enclosing p + 1 columns once encloses it for every μ. Each column is certified like any state, at a state that
    the solver found, so defects of the solves are counted by the method and nothing is trusted.

    In floating point fl(Σ μ_k c_k) differs from the sum by at most γ_{p+2} Σ |μ_k c_k|, whatever the order of the
    additions and with or without fused products.
    """

    center: Vector
    terms: Mapping[str, Vector]
    guarantee: Guarantee
    confidence: float
    claims: tuple[Claim, ...]
    sigma: Vector | None
    covered: bool
    """Whether rounding is covered."""

    __repr__ = brief

    @property
    def loads(self) -> int:
        """Number p of loads."""
        return int(self.center.shape[1]) - 1

    def coefficients(self, mu: object) -> Vector:
        """μ as (S, p), checked."""
        m = floats("mu", mu)
        m = m[None, :] if m.ndim == 1 else m
        if m.ndim != 2 or m.shape[1] != self.loads:
            raise InputError(f"mu: must have shape (states, {self.loads}), one number per load; got {m.shape}")
        if not np.all(np.isfinite(m)):
            raise InputError(f"mu: row {int(np.argmin(np.isfinite(m).all(axis=1)))} holds NaN or infinity")
        require_range("mu", m)
        return m

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is refused by whoever asks
    def combine(self, mu: Vector) -> tuple[Vector, dict[str, Vector]]:
        """Centres and radius terms for rows of μ, each (S, K)."""
        center = np.ascontiguousarray(self.center.T)
        size, p = np.abs(mu), self.loads
        found = mu @ center[1:]  # families.md, step 2
        found += center[0]
        slack = 1.0 + 2.0 * gamma(p + 3)
        terms = {}
        for name, term in self.terms.items():
            rows = np.ascontiguousarray(term.T)
            total = size @ rows[1:]
            total += rows[0]
            total *= slack
            total += (p + 1) * TINY
            terms[name] = total
        if self.covered:
            rows = np.abs(center)
            rounding = size @ rows[1:]
            rounding += rows[0]
            rounding *= gamma(p + 2) * slack  # families.md, step 2
            rounding += (p + 2) * TINY
            rounding += terms.get("rounding", 0.0)
            rounding *= 1.0 + 16.0 * 2.0**-53
            terms["rounding"] = rounding
        return found, terms


def fill(certifier: AbstractCertifier, F: Vector, base: Vector) -> Table:
    """Certify b₀ with the prescribed values, then every F_k with homogeneous constraints."""
    core = certifier.ground.core
    if core.rounding:
        require_range("loads", F, base)
    bare = _homogeneous(certifier)
    columns = [_certified(certifier, base, certifier._solver)]
    columns += [_certified(bare, f, certifier._solver) for f in F]  # families.md, step 1
    parts = [certifier._rounded(out) for out in columns]
    names = list(dict.fromkeys(name for _, _, counted in parts for name in counted))
    zero = np.zeros(certifier.ground.K)
    worst = max(columns, key=lambda out: list(Guarantee).index(out.guarantee))
    claims = [Claim(f"discrete target: {core.system.target}")]
    claims.append(Claim("load: the sum of the stored loads times μ, in real arithmetic"))
    claims += [Claim(note) for note in (*certifier.ground.queries.notes, *core.system.space.notes)]
    claims += [*certifier.ground.proof.claims, *dict.fromkeys(c for out in columns for c in out.claims)]
    if not core.rounding:
        claims.append(NEGLECTED)
    return Table(
        np.stack([center for center, _, _ in parts], axis=1),
        {n: np.stack([terms[n] if n in counted else zero for _, terms, counted in parts], axis=1) for n in names},
        worst.guarantee,
        min(out.confidence for out in columns),
        tuple(claims),
        columns[0].sigma,
        core.rounding,
    )


def _homogeneous(certifier: AbstractCertifier) -> AbstractCertifier:
    """The same prepared method for zero prescribed values, constants and data errors of the right-hand side."""
    ground = certifier.ground
    queries = copy.copy(ground.queries)
    set_fields(queries, constants=np.zeros(ground.K))
    bare: AbstractCertifier = replace(  # every certifier is a dataclass with its ground
        certifier,  # type: ignore[type-var]
        ground=replace(ground, core=ground.core.homogeneous(), queries=queries),
    )
    return bare


def _certified(certifier: AbstractCertifier, b: Vector, solver: Solver) -> Outcome:
    """The method's own proof for one right-hand side, at the best state its solver finds."""
    core = certifier.ground.core
    y = np.zeros(core.system.n)
    seen = certifier._see(y, core.expand(y), core.load(b))
    for _ in range(2):
        if np.any(seen.rho.hi):
            y = y - answer(solver.solve, seen.rho.hi)
            if core.rounding:
                require_range("state of a load", y)
            seen = certifier._see(y, core.expand(y), seen.b)
    return certifier._discrete(seen)


def total(terms: Mapping[str, Vector], shape: tuple[int, ...]) -> Vector:
    """Sum of the terms, rounded up."""
    radius = np.zeros(shape)
    for term in terms.values():
        radius += term
    return np.asarray(np.where(np.isnan(radius), np.inf, up(radius, 2 * len(terms) + 2)))
