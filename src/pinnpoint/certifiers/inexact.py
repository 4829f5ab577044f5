"""Certificates for early-stopped and iterative linear algebra."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, attributes, number, per_query, set_fields, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.claims import Claim
from pinnpoint.certifiers.base import AbstractCertifier, AbstractMethod
from pinnpoint.certifiers.core import Core
from pinnpoint.certifiers.exact import signed
from pinnpoint.certifiers.green import GreenVectors, green_vectors
from pinnpoint.certifiers.ground import Ground, Observation, Outcome
from pinnpoint.certifiers.proof import prove
from pinnpoint.certifiers.setup import krylov_solver, solver_for
from pinnpoint.rounding.arithmetic import up
from pinnpoint.rounding.balls import Ball
from pinnpoint.rounding.bounds import Coercivity
from pinnpoint.solvers.choice import Choice
from pinnpoint.solvers.protocol import Solver
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries

CORRECTIONS = ("adjoint", "primal", "both")


@dataclass(frozen=True, eq=False)
class Inexact(AbstractMethod):
    """Iterative adjoints and early-stopped corrections, with certified allowances for what they leave.

    ``"adjoint"`` (paper, prop. inexact_adjoint_certificate): g̃ from an iteration, s = ℓ̂ − Âᵀg̃, centre
    ℓᵀU − g̃ᵀr, allowance |sᵀÂ⁻¹r| ≤ δ_adj ‖r‖_W.

    ``"primal"`` (paper, prop. inexact_primal_correction): ẽ from an iteration on Âe = r, centre
    ℓᵀ(U − Zẽ), allowance σ δ_prim with δ_prim = ‖r − Âẽ‖_W (‖·‖_{Ĥ⁻¹} of the normal residual for least squares).

    ``"both"``: the adjoint certificate at the corrected state; the allowance is the product of both defects.

    *Guarantee:* deterministic, from a verified or declared coercivity bound; the defects are recomputed, no
    solver's word is taken. *Cost:* as many iterations as asked for.

    Parameters
    ----------
    correct
        ``"adjoint"``, ``"primal"`` or ``"both"``.
    tolerance, iterations
        Of the adjoint iterations.
    primal_tolerance, primal_iterations
        Of the primal iteration.
    sharpen
        Bound defects in the energy norm through so many more iterations each instead of α^(−½)‖·‖, which can be
        100 times too large; 0 switches it off. The iterations only decide how tight the bound is.
    coercivity
        A bound of the caller's own, Ĥ ⪰ αP or (Â+Âᵀ)/2 ⪰ αP; verified by a factorization where None.
    sigma
        Upper bounds σ̄ ≥ σ of the caller's own for ``"primal"``; no adjoint is then solved.
    solver
        For the adjoints: None (CG, GMRES, or CG on the normal equations), ``"direct"``, ``"lsmr"``, or an object.
    refine
        Keep adjoints as pairs of floats; worthwhile with accurate solvers.
    rounding
        Cover floating-point rounding.
    """

    correct: str = "adjoint"
    tolerance: float = 1e-6
    iterations: int | None = None
    primal_tolerance: float = 1e-6
    primal_iterations: int | None = None
    sharpen: int = 20
    coercivity: Coercivity | float | None = None
    sigma: Any = None
    solver: Any = None
    refine: bool = False
    rounding: bool = True

    __repr__ = brief

    def __post_init__(self) -> None:
        if self.correct not in CORRECTIONS:
            raise InputError(f"correct: must be one of {', '.join(CORRECTIONS)}; got {self.correct!r}")
        for name, value in attributes(self, "tolerance", "primal_tolerance").items():
            set_fields(self, **{name: number(name, value, low=0.0, high=1.0)})
        for name, value in attributes(self, "iterations", "primal_iterations", "sharpen").items():
            if value is not None or name == "sharpen":
                set_fields(self, **{name: whole(name, value)})
        if self.sigma is not None and self.correct != "primal":
            raise InputError("sigma: only the primal certificate takes sensitivities from outside")

    def _prepare(self, system: LinearSystem, queries: Queries) -> InexactCertifier:
        """Adjoint iterations, unless sensitivities were given, and the coercivity bound."""
        core = Core(system, rounding=self.rounding)
        adjoint: Solver
        choice: Choice | None = None
        if self.solver is None:
            adjoint = krylov_solver(core, self.tolerance, self.iterations)
        else:
            adjoint, choice = solver_for(core, self.solver, len(queries))
        few = krylov_solver(core, 0.0, self.sharpen) if self.sharpen else None
        proof = prove(core, adjoint, self.coercivity, sharpen=few)
        ground = Ground(core, queries, *core.functionals(queries), adjoint, proof, choice)
        claims: tuple[Claim, ...] = ()
        green: GreenVectors | None = None
        if self.sigma is not None:
            sigma = per_query("sigma", self.sigma, len(queries), sign="nonnegative")
            claims = (Claim("σ̄ bounds the sensitivity of every query", "declared"),)
        else:
            green = green_vectors(ground, adjoint, refine=self.refine)
            sigma = green.sigma
        primal = krylov_solver(core, self.primal_tolerance, self.primal_iterations)
        return InexactCertifier(ground, self.correct, green, sigma, primal, claims)


@dataclass(frozen=True, eq=False)
class InexactCertifier(AbstractCertifier):
    """`Inexact`, prepared."""

    ground: Ground
    correct: str
    green: GreenVectors | None
    sigma: Vector
    primal: Solver
    claims: tuple[Claim, ...]
    name: str = "inexact"

    __repr__ = brief

    def _discrete(self, seen: Observation) -> Outcome:
        if self.correct == "adjoint":
            return self._adjoint(seen, seen)
        return (
            self._primal(seen) if self.correct == "primal" else self._adjoint(seen, self._corrected(seen, self.primal))
        )

    def _adjoint(self, seen: Observation, at: Observation) -> Outcome:
        core = self.ground.core
        if self.green is None or self.green.left is None or at.right is None:
            raise CertificationError("inexact: adjoints and a coercivity bound are needed")
        pairing = self.green.pair(at.rho, enclose=core.rounding)
        center = at.value - pairing if core.rounding else Ball(at.value.hi - pairing.hi)
        allowance = np.asarray(up(self.green.left * at.right))  # proofs.md, step 1b; paper, eq. B.28
        correction = seen.value.hi - center.hi
        terms = {"correction": np.abs(correction), "algebra": allowance}
        details = {"delta_adjoint": self.green.delta}
        return Outcome(
            center,
            terms,
            ("algebra",),
            correction=correction,
            sigma=self.sigma,
            claims=self.claims,
            details=details,
        )

    def _primal(self, seen: Observation) -> Outcome:
        at = self._corrected(seen, self.primal)
        delta = self._effective_norm(at)  # paper, eq. B.24
        correction = seen.value.hi - at.value.hi
        terms = {"correction": np.abs(correction), "algebra": np.asarray(up(self.sigma * delta))}  # paper, eq. B.25
        return Outcome(
            at.value,
            terms,
            ("algebra",),
            correction=correction,
            sigma=self.sigma,
            claims=self.claims,
            details={"delta_primal": delta},
        )

    def _bias(self, tau: Ball) -> tuple[Vector, Vector] | None:
        return None if self.green is None else signed(self.ground, self.green, tau)
