"""Where −1 lies among the eigenvalues that a negative reaction moves: counts of negative pivots.

Let q = max(−c, 0) on each cell, a(v, w) = ∫κ∇v·∇w + c⁺vw and λ_1 ≤ λ_2 ≤ … the eigenvalues of a(v, ·) = λ(qv, ·) over
functions that vanish on Γ_D; B = a − (q·, ·) is the form of the problem. It is *separated* where m is known with

    λ_m ≤ λ̄ < 1 < λ̲ ≤ λ_{m+1}.

For a number c = −k² these are the eigenvalues of −∇·(κ∇·) divided by k².
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.rounding.arithmetic import UNIT, down, gamma, up
from pinnpoint.rounding.inertia import Inertia, inertia
from pinnpoint.rounding.matrices import product_up
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.anchors import DIRICHLET
from pinnpoint.transfer.everywhere.crouzeix_raviart import assemble
from pinnpoint.transfer.everywhere.mesh_constant import interpolation_constant
from pinnpoint.transfer.media.medium import place
from pinnpoint.transfer.spectrum.conforming import conforming
from pinnpoint.transfer.spectrum.forms import Forms
from pinnpoint.transfer.spectrum.nonconforming import LEAST, Nonconforming, sinking, with_positive

Found = TypeVar("Found")
CLOSE = 1e-6
"""Shifts keep this relative distance from a computed eigenvalue."""
RESERVE = 1e-5
"""Share of the distance from 1 that is given away."""
FAR = 1e4
"""Refinement by more than this is not proposed."""
FEW = 200
"""Unknowns up to which all eigenvalues are computed."""
TRIES = 4
"""Shifts that are tried where pivots break down."""
BUDGET = {1: 1_000_000, 2: 250_000, 3: 40_000}
"""Cells up to which pivots are counted, by dimension."""


@dataclass(frozen=True)
class Separation:
    """m, λ̄ and λ̲ with what proves them.

    Attributes
    ----------
    count
        m.
    below, above
        λ̄ < 1, zero where m = 0, and λ̲ > 1.
    floor
        ℓ with ‖v‖_a² ≥ ℓ‖v‖₂².
    weight
        Upper bound of q.
    shifts
        The θ of the counts from above and from below, and that of ℓ; None where none was needed.
    wide
        Whether the counts have coefficients that vary, Robin terms or periodic pairs: other programs do not.
    """

    count: int
    below: float
    above: float
    floor: float
    weight: float
    shifts: tuple[float | None, float | None, float | None] = (None, None, None)
    wide: bool = False

    @property
    def low(self) -> float:
        """t₋ ≤ 0."""
        return 0.0 if self.count == 0 else -float(up(self.below / down(1.0 - self.below), 8))  # indefinite.md, step 1b

    @property
    def high(self) -> float:
        """t₊ ≥ 1."""
        return float(up(self.above / down(self.above - 1.0), 8))  # indefinite.md, step 1b

    @property
    def gain(self) -> float:
        """1/β, an upper bound of |1 − 1/λ_j|⁻¹ over all j."""
        return max(-self.low, self.high)  # indefinite.md, step 1b

    @property
    def claim(self) -> str:
        """In words."""
        if self.shifts == (None, None, None):
            return f"the reaction lies below the spectrum: λ₁ ≥ {self.above:.6g} times it (bounding box)"
        low = f"λ_{self.count} ≤ {self.below:.6g} < 1 < " if self.count else ""
        return (
            f"the reaction is separated from the spectrum: {low}λ_{self.count + 1} ≥ {self.above:.6g} times it "
            "(counts of negative pivots)"
        )


def separation(model: Continuum) -> Separation:
    """Separate a problem whose reaction is negative somewhere, or refuse it.

    *Guarantee:* deterministic, rounding included. *Cost:* nothing where the box around Ω is enough; else four sparse
    factorizations of quadratic and Crouzeix–Raviart elements.
    """
    forms = Forms.of(model)
    most = float(forms.sink.top.max())
    exchange = model.exchange
    gripped = exchange is not None and bool(np.any(exchange.weight > 0.0))
    if not (np.any(model.kind == DIRICHLET) or gripped):
        raise InputError(
            "reaction: is negative, and no boundary group is Dirichlet; the continuous target of such problems needs "
            "one, or a Robin group with a coefficient > 0. Say target='discrete'"
        )
    box = model.anchors.friedrichs
    if math.isfinite(box):
        above = _wider(float(down(1.0 / up(most * box * box, 8))))  # indefinite.md, step 2a
        if above > 1.0 + 1e-9:
            return Separation(0, 0.0, above, float(down(1.0 / up(box * box, 4))), most, wide=model.medium is not None)
    if len(model.kappa) > BUDGET[model.d]:
        raise InputError(
            f"reaction: the eigenvalues around it are counted on meshes of up to {BUDGET[model.d]} cells in "
            f"{model.d}D; this one has {len(model.kappa)}. Take a coarser mesh, or say target='discrete'"
        )
    if model.gluing is not None and model.folded:
        raise InputError(
            "reaction: below zero beside periodic pairs two cells may have one facet in common; refine the mesh across "
            "the pairs, or say target='discrete'"
        )
    sides = exchange is not None or model.gluing is not None
    if model.medium is None and sides and np.any(model.kind == DIRICHLET):
        try:  # indefinite.md, step 2f
            space = Nonconforming.of(model, forms, grip=False)
            floor, start = _floor(model, space)
            above, second = _from_below(model, space, forms, 0, math.inf)
            return Separation(0, 0.0, above, floor, most, (None, second, start))
        except InputError:
            pass
        except CertificationError:
            pass
    space = Nonconforming.of(model, forms, grip=True)
    floor, start = _floor(model, space)
    count, below, first, beyond = _from_above(model, forms, floor)
    above, second = _from_below(model, space, forms, count, beyond)
    wide = model.medium is not None or sides
    return Separation(count, below, above, floor, most, (first, second, start), wide)  # indefinite.md, step 1a


def _floor(model: Continuum, space: Nonconforming) -> tuple[float, float | None]:
    """ℓ with ‖v‖_a² ≥ ℓ‖v‖₂² and its θ, by the box or by counting."""
    box = model.anchors.friedrichs
    return (float(down(1.0 / up(box * box, 4))), None) if math.isfinite(box) else _first(model, space)


def _from_above(model: Continuum, forms: Forms, floor: float) -> tuple[int, float, float | None, float]:
    """m, λ̄ and its θ by quadratic elements, and a computed eigenvalue beyond 1."""
    space = conforming(model, forms)
    least = float(down(floor * space.floor, 4))  # of the stiffness: indefinite.md, step 2d

    def count(theta: float) -> tuple[int, float]:
        """The count at a shift, and the share of the stiffness that may be missing from it."""
        C, off = _pencil(space.stiffness, space.mass, theta)
        found = inertia(C, float(up(off + space.stiffness_error + theta * space.mass_error)))
        return found.negative, float(up(found.defect / least))

    beyond = _nearest(space.stiffness, space.mass, 1.0, "LA")
    if _at_last(model, count, 1.0, -CLOSE)[1][0] == 0:
        return 0, 0.0, None, beyond
    near = _nearest(space.stiffness, space.mass, 1.0, "SA")
    theta, (m, share) = _at_last(model, count, near * (1.0 + CLOSE), CLOSE)
    below = float(up(theta / down(1.0 - share))) if share < 0.5 else math.inf  # indefinite.md, step 2d
    below = _wider(below)
    if not (m and below < 1.0):
        raise _refusal(model, f"quadratic elements have the eigenvalue {near:.9g} times it", 1.0 / abs(1.0 - near))
    return m, below, theta, beyond


def _from_below(model: Continuum, space: Nonconforming, forms: Forms, m: int, beyond: float) -> tuple[float, float]:
    """λ̲ and its θ by Crouzeix–Raviart elements, for a given m."""
    top = np.asarray(np.maximum(forms.sink.top, LEAST * float(forms.sink.top.max())))
    M, floor, loose = sinking(model, space.plain, forms.sink, top)
    C2 = float(up(interpolation_constant(model.topology, np.asarray(down(forms.spare / top))) ** 2))
    excess = C2 / max(1.0 - 1.0 / max(beyond, 1.0), 1e-300)
    A, wrong, lost = with_positive(model, space, forms)
    C2 = float(up(C2 / down(1.0 - lost)))
    if not C2 < 1.0:
        raise _refusal(model, f"the cells are too large, C_h² is {C2:.3g} of 1 over it", excess)
    theta = _nearest(A, M, 1.0 / (1.0 - C2), "LA") * (1.0 - CLOSE)
    if not math.isfinite(theta):
        why = f"all {A.shape[0]} eigenvalues of nonconforming elements are below {1.0 / (1.0 - C2):.6g} times it"
        raise _refusal(model, why, excess)

    def count(theta: float) -> Inertia:
        C, off = _pencil(A, M, theta)
        return inertia(C, float(up(wrong + off)))

    theta, found = _at_last(model, count, theta, -CLOSE)
    # indefinite.md, step 2c
    low = float(down(theta * down(1.0 - loose) - up(found.defect / float(floor.min())), 8))
    above = _wider(float(down(low / up(1.0 + up(C2 * max(low, 0.0)), 4))))  # indefinite.md, step 2b
    if found.negative > m or not above > 1.0:
        why = (
            f"{m} of them are proved to be below it, and at most {found.negative} below {max(above, 1.0):.6g} times it"
        )
        raise _refusal(model, why, excess)
    return above, theta


def _at_last(model: Continuum, count: Callable[[float], Found], theta: float, step: float) -> tuple[float, Found]:
    """A count at a shift, or at one near it, where a leading part of the matrix is singular by chance."""
    for k in range(TRIES):
        try:
            return theta * (1.0 + k * step), count(theta * (1.0 + k * step))
        except CertificationError:
            continue
    size, h = len(model.kappa), float(model.anchors.diameter.max())
    raise InputError(
        f"reaction: {_fall(model)} could not be compared with the eigenvalues of {_operator(model)}: on "
        f"this mesh of {size} cells the pivots of A − θM break down at θ = {theta:.9g} times it; change the mesh, for "
        f"example to cells of a diameter of {0.5 * h:.2g}, these have {h:.2g}, or say target='discrete'"
    )


def first_eigenvalue(model: Continuum) -> tuple[float, float]:
    """A lower bound of λ_1 of −∇·(A∇·), by Crouzeix–Raviart elements, and its shift; Robin facets are free."""
    if len(model.kappa) > BUDGET[model.d]:
        raise InputError(
            f"target: the first eigenvalue is bounded on meshes of up to {BUDGET[model.d]} cells in {model.d}D; this "
            f"one has {len(model.kappa)}. Take a coarser mesh, or say target='discrete'"
        )
    space = assemble(model.topology, model.kappa, model.kind == DIRICHLET)
    wrong = float(up(product_up(space.stiffness_error, np.ones(space.size)).max()))
    return _first(model, Nonconforming(space, space.stiffness, wrong), model.kappa)


def _first(model: Continuum, space: Nonconforming, spare: Vector | None = None) -> tuple[float, float]:
    """ℓ ≤ λ_1 of −∇·(A∇·), where part of the boundary is free, and its θ."""
    plain, A = space.plain, space.stiffness
    near = _nearest(A, plain.mass, 0.0, "LA")
    C2 = float(up(interpolation_constant(model.topology, Forms.of(model).spare if spare is None else spare) ** 2))
    C, off = _pencil(A, plain.mass, near * (1.0 - CLOSE))
    try:
        found = inertia(C, float(up(space.wrong + off)))
    except CertificationError as error:
        raise CertificationError(f"reaction: the first eigenvalue could not be bounded ({error}); refine") from error
    theta = near * (1.0 - CLOSE) * (1.0 - plain.mass_slack)
    low = float(down(theta - up(found.defect / float(plain.mass_floor.min())), 8))
    if found.negative or not low > 0.0:
        raise CertificationError("reaction: the first eigenvalue could not be bounded; refine the mesh")
    return float(down(low / up(1.0 + C2 * low, 4))), near * (1.0 - CLOSE)  # indefinite.md, step 2b


def _wider(eigenvalue: float) -> float:
    """A bound moved towards 1 by a little of its distance: another program can then prove it."""
    return eigenvalue - RESERVE * (eigenvalue - 1.0)


def _pencil(A: Any, M: Any, theta: float) -> tuple[Any, float]:
    """A − θM, bitwise symmetric, and a bound of the norm of its rounding."""
    C = sp.csr_array(A - theta * M)
    size = product_up(sp.csr_array(abs(A) + theta * abs(M)), np.ones(A.shape[0]))
    return sp.csr_array((C + C.T) * 0.5), float(up(gamma(6) * float(size.max()) + 4.0 * UNIT * float(size.max())))


def _nearest(A: Any, M: Any, shift: float, which: str) -> float:
    """The computed eigenvalue of (A, M) next above the shift ("LA") or below it ("SA"); not trusted."""
    n = A.shape[0]
    if n <= FEW:  # M may vanish nearly everywhere
        import scipy.linalg as dense

        inverse = dense.eigh(M.toarray(), A.toarray(), eigvals_only=True)
        values = 1.0 / inverse[inverse > 1e-14 * abs(inverse).max()]
        found = values[values > shift] if which == "LA" else values[values < shift]
        return float(found.min() if which == "LA" else found.max()) if found.size else math.inf
    try:
        lu = spla.splu(sp.csc_array(A - shift * M))
        inverse = spla.LinearOperator((n, n), matvec=lu.solve, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(n)
        values = spla.eigsh(
            sp.csc_array(A),
            1,
            sp.csc_array(M),
            sigma=shift,
            which=which,
            OPinv=inverse,
            v0=start,
            tol=1e-9,
            return_eigenvectors=False,
        )
    except (spla.ArpackNoConvergence, RuntimeError) as error:
        raise CertificationError(f"reaction: no eigenvalue near it was found ({error}); change the mesh") from error
    return float(values[0])


def _refusal(model: Continuum, why: str, excess: float) -> InputError:
    """The reaction is not separated; `excess` is what C_h² is against what it may be."""
    h = float(model.anchors.diameter.max())
    todo = "it may be an eigenvalue itself: change it"
    if excess < FAR:
        todo = f"it needs cells of a diameter of about {0.8 * h / math.sqrt(max(excess, 1.0)):.2g}, these have {h:.2g}"
    return InputError(
        f"reaction: {_fall(model)} is not separated from the eigenvalues of {_operator(model)}: {why}; {todo}, or say "
        "target='discrete'"
    )


def _fall(model: Continuum) -> str:
    """The least value of the reaction, with the place of one that varies."""
    if model.medium is None:
        return repr(float(model.reaction.min()))
    worst = int(np.argmin(model.medium.floor))
    return f"which falls to {float(model.medium.floor[worst]):.6g} near {place(model.medium.vertices[worst])}, it"


def _operator(model: Continuum) -> str:
    """The eigenvalue problem in words."""
    if model.medium is None:
        return "−∇·(κ∇u) = λu"
    return "−∇·(A∇u) + c⁺u = λc⁻u"
