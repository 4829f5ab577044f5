"""Sensitivities from Gaussian probes: a fixed number of solves, however many queries there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import scipy.linalg as dense
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pinnpoint.base.arrays import Matrix, Vector, number, set_fields, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.claims import Claim, Guarantee
from pinnpoint.certifiers.base import AbstractCertifier, AbstractMethod
from pinnpoint.certifiers.core import Core
from pinnpoint.certifiers.green import lay_ground
from pinnpoint.certifiers.ground import Ground, Observation, Outcome
from pinnpoint.rounding.arithmetic import up
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.bounds import Coercivity
from pinnpoint.solvers.direct import DENSE_UP_TO
from pinnpoint.solvers.protocol import answer
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries

QUANTILE_SLACK = 1e-9
"""The χ² quantile is lowered by this factor, far above the error of its evaluation."""


@dataclass(frozen=True, eq=False)
class Randomized(AbstractMethod):
    """σ_i ≤ σ̂_i⁺ for all K queries together with probability 1 − δ (paper, sec. randomized_sensitivity).

    With Ĥψ = ÂᵀW^½z and z standard normal, ℓ̂ᵀψ is normal with variance σ², so m σ̂²/σ² is exactly χ²_m, and
    σ̂⁺ = σ̂ (m / q_{δ/K,m})^½ with the lower quantile q. The corrected centre comes from one primal solve, whose
    remaining residual is counted: c = ℓᵀ(U − Zẽ), radius σ̂⁺ ‖r − Âẽ‖_W. Any square root of W may be used.

    *Guarantee:* probabilistic, over the probes only, simultaneously for all queries and for every state
    certified with one preparation. Rademacher probes have no exact calibration: an estimate. *Assumes:* the
    generator's numbers are independent standard normals. *Cost:* `probes` solves, then one per state.

    Parameters
    ----------
    probes, delta, seed
        Number m of probes, failure probability δ, seed of the generator.
    correct
        Centre at the corrected value (one solve per state); False for the norm-only interval around the value.
    distribution
        ``"gaussian"`` or ``"rademacher"``.
    refine
        Keep the probes' solutions as pairs of floats: one more solve each, and a rough coercivity does no harm.
    rounding, coercivity, solver
        As in `Exact`.
    """

    probes: int = 16
    delta: float = 0.05
    seed: int = 0
    correct: bool = True
    distribution: str = "gaussian"
    rounding: bool = True
    coercivity: Coercivity | float | None = None
    solver: Any = None
    refine: bool = False

    __repr__ = brief

    def __post_init__(self) -> None:
        set_fields(self, probes=whole("probes", self.probes, low=1), seed=whole("seed", self.seed))
        set_fields(self, delta=number("delta", self.delta, above=0.0, high=1.0))
        if self.distribution not in ("gaussian", "rademacher"):
            raise InputError(f"distribution: must be 'gaussian' or 'rademacher'; got {self.distribution!r}")

    def _prepare(self, system: LinearSystem, queries: Queries) -> RandomizedCertifier:
        """Draw the probes, solve for them and calibrate."""
        ground = lay_ground(system, queries, rounding=self.rounding, solver=self.solver, coercivity=self.coercivity)
        rng = np.random.default_rng(self.seed)
        size = (int(self.probes), system.M)
        z = rng.standard_normal(size) if self.distribution == "gaussian" else rng.choice([-1.0, 1.0], size)
        squares = _probe_squares(ground, z, refine=self.refine)
        factor = inflation(int(self.probes), self.delta, ground.K)
        sigma = np.asarray(up(np.sqrt(up(squares / self.probes)) * factor, 8))  # paper, eq. 5.46
        return RandomizedCertifier(ground, self, sigma)


def inflation(probes: int, delta: float, queries: int) -> float:
    """(m / q_{δ/K,m})^½ with q the lower δ/K quantile of χ²_m; infinite where the quantile underflows."""
    quantile = (
        2.0 * float(scipy.special.gammaincinv(0.5 * probes, delta / queries)) * (1.0 - QUANTILE_SLACK)
    )  # proofs.md, step 7a
    return float("inf") if not quantile > 0.0 else float(np.sqrt(probes / quantile) * (1.0 + 2.0**-48))


def _probe_squares(ground: Ground, z: Vector, *, refine: bool) -> Vector:
    """Upper bounds of Σ_t (ℓ̂ᵀψ_t)², with the defect of each probe's solve counted."""
    core, stability = ground.core, ground.proof.stability
    assert ground.solver is not None
    root = WeightRoot(core)
    slack = np.zeros(ground.K)
    if stability is not None:
        slack = np.array([stability.left(e) for e in ground.ell])
    total = np.zeros(ground.K)
    for t in z:
        right = root.right_hand_side(t)  # proofs.md, step 7a; paper, eq. 5.40
        psi = Ball(answer(ground.solver.solve, right.hi).copy())
        if refine and stability is not None:
            psi = Ball(psi.hi, -answer(ground.solver.solve, _probe_defect(core, psi, right).hi))
        value, error = ground.L.affine(core.direction(psi)).rounded()
        size = np.abs(value)
        if stability is not None:
            # ℓ̂ᵀ(ψ̃ − ψ) = ℓ̂ᵀB⁻¹(Bψ̃ − right-hand side)
            defect = _probe_defect(core, psi, right)
            size = up(size + error + up(slack * stability.right(defect)))  # proofs.md, step 7b
        total = np.asarray(up(total + up(size * size)))  # paper, eq. 5.43
    return total


def _probe_defect(core: Core, psi: Ball, right: Ball) -> Ball:
    if core.system.is_square:
        return core.reduced.affine(psi, right)
    return core.symmetric_map.affine(psi, right)


class WeightRoot:
    """A factor C with W = C Cᵀ, and B⁻¹-ready right-hand sides: C⁻ᵀz for square systems, ÂᵀCz otherwise.

    Cov(ψ) = Ĥ⁻¹ for both: (Â⁻¹C⁻ᵀ)(·)ᵀ = Â⁻¹W⁻¹Â⁻ᵀ, and Ĥ⁻¹ÂᵀCCᵀÂĤ⁻¹. For the energy weight W⁻¹ = S is
    factored instead. Diagonal roots are off by two roundings, far less than `QUANTILE_SLACK`; a computed Cholesky
    factor is taken at its word, and the certificate lists it as declared.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        w = core.system.weight
        self.kind = "energy" if core.is_energy else ("diagonal" if w is None or isinstance(w, np.ndarray) else "matrix")
        if self.kind != "diagonal":
            S = core.matrix if self.kind == "energy" else w
            S = sp.csc_array((S + S.T) * 0.5)
            self._factor = _factor(S)

    def right_hand_side(self, z: Vector) -> Ball:
        """C⁻ᵀz or ÂᵀCz."""
        core, w = self.core, self.core.system.weight
        if self.kind == "energy":
            return exact(self._factor(z, False))
        if self.kind == "matrix":
            if core.system.is_square:
                return exact(self._factor(z, True))
            return core.reduced.T.affine(exact(self._factor(z, False)))
        root = np.ones(core.system.M) if w is None else np.sqrt(w)
        if core.system.is_square:
            return exact(z / root)
        return core.reduced.T.affine(exact(root * z))


def _factor(S: Matrix) -> Any:
    """(z, inverse) ↦ C z or C⁻ᵀ z for S = C Cᵀ."""
    if S.shape[0] <= DENSE_UP_TO:
        C = np.linalg.cholesky(S.toarray())
        return lambda z, inverse: np.asarray(dense.solve_triangular(C, z, lower=True, trans="T") if inverse else C @ z)
    lu = spla.splu(
        S, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True, "Equil": False}
    )
    d = lu.U.diagonal()
    if not (np.array_equal(lu.perm_r, lu.perm_c) and float(d.min()) > 0.0):
        raise CertificationError("weight: no Cholesky factor; the matrix is not positive definite")
    L, p = sp.csr_array(lu.L), lu.perm_r  # S[p⁻¹][:, p⁻¹] = L D Lᵀ
    root = np.sqrt(d)
    Lt = sp.csr_array(L.T)

    def apply(z: Vector, inverse: bool) -> Vector:
        if inverse:
            return np.asarray(spla.spsolve_triangular(Lt, z / root, lower=False, unit_diagonal=True)[p])
        return np.asarray((L @ (root * z))[p])

    return apply


@dataclass(frozen=True, eq=False)
class RandomizedCertifier(AbstractCertifier):
    """`Randomized`, prepared."""

    ground: Ground
    method: Randomized
    sigma: Vector
    name: str = "randomized"

    green = None

    __repr__ = brief

    def _discrete(self, seen: Observation) -> Outcome:
        method, ground = self.method, self.ground
        assert ground.solver is not None
        at = self._corrected(seen, ground.solver) if method.correct else seen
        length = self._effective_norm(at)
        bound = np.asarray(up(self.sigma * length)) if length > 0.0 else np.zeros(ground.K)
        gaussian = method.distribution == "gaussian"
        correction = seen.value.hi - at.value.hi if method.correct else None
        terms = {"algebra" if method.correct else "norm": bound}
        if correction is not None:
            terms["correction"] = np.abs(correction)
        what = "independent standard normal" if gaussian else "independent random signs"
        return Outcome(
            at.value,
            terms,
            ("algebra" if method.correct else "norm",),
            guarantee=Guarantee.PROBABILISTIC if gaussian else Guarantee.ESTIMATE,
            confidence=1.0 - method.delta,
            correction=correction,
            sigma=self.sigma,
            claims=self._claims(what),
        )

    def _claims(self, what: str) -> tuple[Claim, ...]:
        drawn = Claim(f"the {self.method.probes} probes (seed {self.method.seed}) are {what} numbers", "declared")
        weight = self.ground.core.system.weight
        if weight is None or isinstance(weight, np.ndarray):
            return (drawn,)
        return drawn, Claim("the weight's computed Cholesky factor is exact", "declared")
