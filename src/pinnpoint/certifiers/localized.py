"""Local/tail certificates: correct what is near the query, bound the rest by its norm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Matrix, Vector, attributes, floats, matrix, per_query
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.claims import Guarantee
from pinnpoint.certifiers.base import AbstractCertifier, AbstractMethod
from pinnpoint.certifiers.exact import signed
from pinnpoint.certifiers.green import GreenVectors, green_vectors, lay_ground
from pinnpoint.certifiers.ground import Ground, Observation, Outcome
from pinnpoint.certifiers.least_squares import effective_residual
from pinnpoint.certifiers.projectors import MatrixProjector, Projector, Selector
from pinnpoint.rounding.arithmetic import TINY, gamma, up
from pinnpoint.rounding.balls import Ball
from pinnpoint.rounding.bounds import Coercivity
from pinnpoint.rounding.forms import DiagonalForm, pairing
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries


@dataclass(frozen=True, eq=False)
class Localized(AbstractMethod):
    """gᵀr = (Πᵀg)ᵀ(Πr) + ((I−Π)ᵀg)ᵀ((I−Π)r) (paper, prop. local_tail_projector_certificate).

    Centre ℓᵀU − g_locᵀr_loc, radius ‖g_tail‖_{W⁻¹} ‖r_tail‖_W plus algebra and rounding. For overdetermined
    systems r is the effective residual. The certificate also reports χ = ‖g_loc‖_{W⁻¹}, ϑ = ‖g_tail‖_{W⁻¹}, the
    mixed bound |g_locᵀr_loc| + ϑ‖r_tail‖ and the pure-norm bound χ‖r_loc‖ + ϑ‖r_tail‖ in ``details``.

    *Guarantee:* deterministic for any projector; an estimate where ``tail=False`` drops the tail. *Assumes:*
    nothing beyond the system; a projector matrix need not be one to the last bit, 2gᵀ(Π²−Π)r is counted.
    *Cost:* as `Exact`, plus two norms per query and state.

    Parameters
    ----------
    radius
        Rows within this distance of the query are local; one number or one per query. Needs ``row_points`` of
        the system and ``points`` of the queries.
    projectors
        Instead: a boolean array (M,) or (K, M) selecting local rows, one M × M matrix, or one per query.
    tail
        False drops the tail.
    rounding, refine, coercivity, solver
        As in `Exact`.
    """

    radius: Any = None
    projectors: Any = None
    tail: bool = True
    rounding: bool = True
    refine: bool = False
    coercivity: Coercivity | float | None = None
    solver: Any = None

    __repr__ = brief

    def __post_init__(self) -> None:
        if (self.radius is None) == (self.projectors is None):
            raise InputError("radius, projectors: give exactly one of them")

    def _prepare(self, system: LinearSystem, queries: Queries) -> LocalizedCertifier:
        """Green vectors and their local and tail parts."""
        projectors = self._projectors(system, queries)

        ground = lay_ground(system, queries, rounding=self.rounding, solver=self.solver, coercivity=self.coercivity)
        assert ground.solver is not None
        green = green_vectors(ground, ground.solver, refine=self.refine)
        return LocalizedCertifier(ground, green, projectors, self.tail)

    def _projectors(self, system: LinearSystem, queries: Queries) -> list[Projector]:
        K, M = len(queries), system.M
        if self.radius is not None:
            R = per_query("radius", self.radius, K, sign="nonnegative")
            return [Selector(row <= limit) for row, limit in zip(distances(system, queries), R, strict=True)]
        given = self.projectors
        if not sp.issparse(given) and not isinstance(given, list | tuple):
            mask = np.asarray(given)
            if mask.dtype == bool:
                if mask.shape not in ((M,), (K, M)):
                    raise InputError(f"projectors: a mask must have shape ({M},) or ({K}, {M}); got {mask.shape}")
                return [Selector(row) for row in np.broadcast_to(mask, (K, M))]
        each = list(given) if isinstance(given, list | tuple) else [given] * K
        if len(each) != K:
            raise InputError(f"projectors: must be one, or one per query ({K}); got {len(each)}")
        return [MatrixProjector(_square(P, M)) for P in each]


def _square(P: Matrix, M: int) -> Any:
    P = matrix("projectors", P)
    if P.shape != (M, M):
        raise InputError(f"projectors: each must be {M} × {M}, the size of the residual; got {P.shape}")
    defect = abs(P @ P - P)
    worst = float(defect.max()) if defect.nnz else 0.0
    if worst > 1e-8 * max(1.0, float(abs(P).max())):
        raise InputError(f"projectors: not a projector, max |Π² − Π| is {worst:.1e}")
    return P


def distances(system: LinearSystem, queries: Queries) -> Vector:
    """Distance of every residual row to every query, (K, M)."""
    X, Q = system.row_points, queries.points
    if X is None or Q is None:
        missing = "row_points of the LinearSystem" if X is None else "points of the Queries"
        raise InputError(f"radius: localization by distance needs the {missing}; give them, or pass projectors=")
    if X.shape[1] != Q.shape[1]:
        raise InputError(f"points: rows have {X.shape[1]} coordinates, queries {Q.shape[1]}")
    return np.stack([np.sqrt(((X - q) ** 2).sum(axis=1)) for q in Q])


@dataclass(frozen=True, eq=False)
class Sweep:
    """Local/tail bounds over radii; arrays of shape (radii, queries)."""

    radii: Vector
    chi: Vector
    theta: Vector
    local: Vector
    """g_locᵀ r_loc, signed."""
    tail: Vector
    """ϑ ‖r_tail‖_W."""
    center: Vector
    radius: Vector
    """Proved radius around `center`."""
    mixed: Vector
    """Bound of |ℓᵀ(U − U*)| with the signed local part."""
    pure_norm: Vector
    """Bound of |ℓᵀ(U − U*)| from norms alone."""
    guarantee: Guarantee

    __repr__ = brief

    def __post_init__(self) -> None:
        for name, a in attributes(self, "center", "radius", "mixed", "pure_norm", "chi", "theta").items():
            if np.any(np.isnan(a)):
                raise CertificationError(f"sweep: {name} is not a number; the system leaves the range of float64")


@dataclass(frozen=True, eq=False)
class LocalizedCertifier(AbstractCertifier):
    """`Localized`, prepared."""

    ground: Ground
    green: GreenVectors
    projectors: list[Projector]
    tail: bool
    name: str = "localized"

    __repr__ = brief

    def _discrete(self, seen: Observation) -> Outcome:
        return self._split(seen, *self._residual(seen), self.projectors)

    def _split(self, seen: Observation, r: Ball, rest: Vector, projectors: Sequence[Projector]) -> Outcome:
        K, core = self.ground.K, self.ground.core
        local, error, tail, chi, theta, near, split_loss = (np.zeros(K) for _ in range(7))
        orthogonal = np.zeros(K, dtype=bool)
        form = self.ground.proof.form
        for i, projector in enumerate(projectors):
            g = core.green(self.green.ball(i))
            g_near, g_far = projector.split_transposed(g)
            r_near, r_far = projector.split(r)
            local[i], error[i] = pairing(g_near, r_near, enclose=core.rounding)  # proofs.md, step 1d; paper, eq. 5.34
            chi[i], theta[i] = form.dual(g_near), form.dual(g_far)  # paper, eq. 5.37
            near[i] = up(chi[i] * form.norm(r_near))  # paper, eq. 5.36
            tail[i] = up(theta[i] * form.norm(r_far))  # paper, eq. 5.35
            defect, slip = pairing(g, projector.defect(r_near), enclose=core.rounding)
            split_loss[i] = 2.0 * up(abs(defect) + slip)
            orthogonal[i] = projector.is_orthogonal(self.ground.core.system.weight)  # paper, eq. 5.38
        algebra = np.asarray(up(self._algebra(seen) + rest + split_loss))
        terms = {"local": np.abs(local), "tail": tail, "algebra": algebra}
        if core.rounding:
            terms["rounding"] = error
        details = {
            "chi": chi,
            "theta": theta,
            "mixed": np.asarray(up(np.abs(local) + error + tail + algebra, 8)),
            "pure_norm": np.asarray(up(near + tail + error + algebra, 8)),
            "orthogonal": orthogonal,
        }
        return Outcome(
            center=seen.value - Ball(local),
            terms=terms,
            radius_terms=("tail", "algebra") if self.tail else ("algebra",),
            guarantee=Guarantee.DETERMINISTIC if self.tail else Guarantee.ESTIMATE,
            correction=local,
            sigma=self.green.sigma,
            details=details,
        )

    def _residual(self, seen: Observation) -> tuple[Ball, Vector]:
        """The residual that is split, and what the splitting leaves out (least squares only)."""
        core, K = self.ground.core, self.ground.K
        if core.system.is_square:
            return seen.r, np.zeros(K)
        effective = effective_residual(core, self.ground.solver, seen.rho)
        value, error = self.green.pair(effective.rest, enclose=core.rounding).rounded()
        return effective.r, np.asarray(up(np.abs(value) + error))

    def _algebra(self, seen: Observation) -> Vector:
        if seen.right is None or self.green.left is None:
            return np.zeros(self.ground.K)
        return np.asarray(up(self.green.left * seen.right))

    def _bias(self, tau: Ball) -> tuple[Vector, Vector] | None:
        return signed(self.ground, self.green, tau)

    def sweep(self, U: ArrayLike, radii: ArrayLike, *, load: ArrayLike | None = None) -> Sweep:
        """Bounds for many radii at once.

        With an identity or diagonal weight the rows are sorted by distance once per query and every radius is read
        off running sums; other weights are evaluated radius by radius.
        """
        system, queries = self.ground.core.system, self.ground.queries
        radii = np.sort(np.atleast_1d(floats("radii", radii)))
        if not (radii.ndim == 1 and radii.size and np.all(np.isfinite(radii)) and radii[0] >= 0.0):
            raise InputError(f"radii: must be finite numbers ≥ 0; got {radii!r}")
        seen = self.observe(U, load)
        far = distances(system, queries)
        form = self.ground.proof.form
        r, rest = self._residual(seen)
        if isinstance(form, DiagonalForm):
            rows = self._running_sums(r, far, radii, form)
        else:
            rows = self._one_by_one(seen, r, rest, far, radii)
        chi, theta, local, error, near, tail = rows
        algebra = np.asarray(up(self._algebra(seen) + rest))[None, :]
        value, value_error = seen.value.rounded()
        rounding = up(error + value_error + np.abs(value) * 2.0**-52 + np.abs(local) * 2.0**-52, 8)
        if not self.ground.core.rounding:
            rounding = np.zeros_like(local)
        counted = tail if self.tail else np.zeros_like(tail)
        return Sweep(
            radii,
            chi,
            theta,
            local,
            tail,
            value - local,
            np.asarray(up(counted + algebra + rounding, 8)),
            np.asarray(up(np.abs(local) + counted + algebra + rounding, 8)),
            np.asarray(up(near + counted + algebra + rounding, 8)),
            Guarantee.DETERMINISTIC if self.tail else Guarantee.ESTIMATE,
        )

    def _running_sums(self, r: Ball, far: Vector, radii: Vector, form: DiagonalForm) -> Any:
        core, n = self.ground.core, r.size
        rows = [np.zeros((radii.size, self.ground.K)) for _ in range(6)]
        root, inverse_root = form.roots
        for i in range(self.ground.K):
            g = core.green(self.green.ball(i))
            order = np.argsort(far[i], kind="stable")
            at = np.searchsorted(far[i][order], radii, side="right")
            g_size, r_size, g_hi, r_hi = (v[order] for v in (g.magnitude(), r.magnitude(), g.hi, r.hi))
            mass = g_size if inverse_root is None else up(g_size * inverse_root[order])
            energy = r_size if root is None else up(r_size * root[order])
            product = g_hi * r_hi
            # |gr − fl(g_hi r_hi)|, with everything but the leading floats counted by its size
            loss = (g_size - np.abs(g_hi)) * r_size + np.abs(g_hi) * (r_size - np.abs(r_hi)) + TINY
            rows[0][:, i], rows[1][:, i] = _running_norms(mass, at)
            near_energy, far_energy = _running_norms(energy, at)
            rows[2][:, i] = _running(product)[at]
            size = _running(np.abs(product))[at] * (2.0 * gamma(n + 4))
            rows[3][:, i] = up(_running(up(loss, 8))[at] * (1.0 + 2.0 * gamma(n + 4)) + size, 16)
            rows[4][:, i] = up(rows[0][:, i] * near_energy)
            rows[5][:, i] = up(rows[1][:, i] * far_energy)
        return rows

    def _one_by_one(self, seen: Observation, r: Ball, rest: Vector, far: Vector, radii: Vector) -> Any:
        rows = [np.zeros((radii.size, self.ground.K)) for _ in range(6)]
        for j, R in enumerate(radii):
            found = self._split(seen, r, rest, [Selector(row <= R) for row in far])
            local = found.correction
            assert local is not None
            error = found.terms.get("rounding", np.zeros(self.ground.K))
            pure, tail = found.details["pure_norm"], found.terms["tail"]
            near = np.where(np.isinf(pure), np.inf, pure - np.where(np.isinf(tail), 0.0, tail))  # small terms included
            for row, x in zip(
                rows,
                (found.details["chi"], found.details["theta"], local, error, near, tail),
                strict=True,
            ):
                row[j] = x
        return rows


def _running_norms(x: Vector, at: Any) -> tuple[Vector, Vector]:
    """Upper bounds of the norms of the first `at` entries of x ≥ 0 and of the rest, safe from under- and overflow."""
    n, top = x.size, float(np.max(x, initial=0.0))
    if not np.isfinite(top):
        return np.full(len(at), np.inf), np.full(len(at), np.inf)
    scale = np.ldexp(1.0, int(np.frexp(top)[1])) if top > 0.0 else 1.0
    squares = (x / scale) ** 2
    slack = 1.0 + 4.0 * gamma(n + 4)
    both = (_running(squares)[at], _running(squares[::-1])[n - at])
    near, rest = (np.asarray(up(np.sqrt(v * slack + n * TINY) * scale, 8)) for v in both)
    return near, rest


def _running(x: Vector) -> Vector:
    """Sums of the first 0, 1, 2, … entries."""
    return np.concatenate([[0.0], np.cumsum(x)])
