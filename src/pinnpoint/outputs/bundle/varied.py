"""Witnesses of coefficients that vary inside cells: their models on cells, and lower bounds."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.fem.curved.bent import Turned
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.bent.places import back
from pinnpoint.outputs.bundle.document import text
from pinnpoint.outputs.bundle.files import Writer
from pinnpoint.rounding.arithmetic import TINY, gamma
from pinnpoint.systems.goals import Extreme, Point
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.geometry import orders, path_order
from pinnpoint.taylor.spaces import MANY
from pinnpoint.taylor.tables import bernstein
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.equilibrated import Witness
from pinnpoint.transfer.goals import Functional
from pinnpoint.transfer.media.coefficients import Coefficients, Field
from pinnpoint.transfer.media.medium import Medium, Piece
from pinnpoint.transfer.media.varying_points import fixed_zero
from pinnpoint.transfer.nonlinear.monotone import Witness as Nonlinear
from pinnpoint.transfer.points.places import cell_of

MOST_REGIONS = 64
"""Regions with coefficients of their own that a bundle has formulas for."""
CLEAR = 1e-9
"""How far above zero the models of a reaction must be for their size."""


def varied_obstacle(witness: Witness | Nonlinear) -> str:
    """Why the checker cannot prove what rests on coefficients that vary inside cells; empty where it can."""
    model = witness.route.model
    given, turned = model.coefficients, witness.route.indefinite if isinstance(witness, Witness) else None
    if turned is not None and model.medium is not None:
        return "problem: a reaction between eigenvalues beside coefficients that vary has no witnesses for the checker"
    if given is None:
        return ""
    if any(isinstance(goal, Extreme) for goal in witness.route.queries.goals or ()):
        return "queries: largest errors and values where coefficients vary have no witnesses for the checker"
    return _of_coefficients(given) or _of_problem(model, witness)


def _of_coefficients(given: Coefficients) -> str:
    parts = [part for row in words(given).values() for part in row]
    if len(given.diffusion) > MOST_REGIONS:
        return f"problem: coefficients of more than {MOST_REGIONS} kinds of cells have no witnesses for the checker"
    if any(x is None for part in parts for x in _leaves(part)):
        return "problem: coefficients that are no formulas have no witnesses for the checker"
    return ""


def _of_problem(model: Continuum, witness: Witness | Nonlinear) -> str:
    given = model.coefficients
    assert given is not None
    if any(not (J.known or J.acts) for J in witness.route.goals):
        return "problem: points beside jumps of coefficients that vary have no witnesses for the checker"
    if witness.compared:
        return "problem: where coefficients vary, intervals cut by known bounds have no witnesses for the checker"
    unsure = given.convective and not (all(_number(c) for c in given.reaction) or _clear(model.medium))
    if witness.mismatch > 0.0 and unsure:
        return (
            "problem: Dirichlet data that the elements do not meet exactly have no witnesses for the checker beside "
            "convection where the reaction's models touch zero; give numbers as data or as reaction, or a finer mesh"
        )
    return ""


def components(field: Field | None) -> list[Density]:
    """The components of a load on gradients; none where there is no such load."""
    if field is None:
        return []

    def one(a: Vector, c: int) -> Vector:
        return np.ascontiguousarray(a[..., c])

    return [
        Density(
            one(field.coefficients, c),
            one(field.high, c),
            one(field.error1, c),
            one(field.error2, c),
            field.cells,
            field.proved,
        )
        for c in range(field.high.shape[1])
    ]


def _number(c: Any) -> bool:
    """Whether a reaction is a number ≥ 0, or none."""
    return c is None or (isinstance(text(c), float) and text(c) >= 0.0)


def _clear(own: Medium | None) -> bool:
    """Whether the models of c are above zero by more than the checker may find their errors to be."""
    assert own is not None
    beta, error = _bernstein(own.reaction, path_order(own.vertices))
    return bool(np.all(beta.min(axis=1) > 2.0 * error + CLEAR * np.abs(beta).max(axis=1)))


def _leaves(given: Any) -> list[Any]:
    return [x for row in given for x in _leaves(row)] if isinstance(given, list) else [given]


def words(given: Coefficients) -> dict[str, list[Any]]:
    """A, b and c of each region in the words of a case; None for what is no formula."""

    def said(what: Any) -> Any:
        if isinstance(what, tuple) and isinstance(what[0], tuple) and isinstance(what[0][0], Turned):
            what = what[0][0].given  # by the map of a curved domain: what was given there
        return [said(x) for x in what] if isinstance(what, tuple) else 0.0 if what is None else text(what)

    table = {"diffusion": [said(A) for A in given.diffusion], "reaction": [said(c) for c in given.reaction]}
    return table | ({"convection": [said(b) for b in given.convection]} if given.convective else {})


def medium(out: Writer, model: Continuum) -> dict[str, Any]:
    """Regions with their formulas, models of all coefficients, lower bounds of c − ½∇·b, and R of matrices."""
    if model.medium is None:
        return {}
    own, given, d = model.medium, model.medium.coefficients, model.d
    out.array("medium/region", given.regions)
    out.array("medium/floor", own.floor)
    pieces = {"a": own.diffusion[0][0]}
    if not given.scalar:
        out.array("medium/metric", own.metric.R)
        pieces = {f"a{i}{j}": own.diffusion[i][j] for i in range(d) for j in range(i, d)}
    pieces["c"] = own.reaction
    if own.convection is not None:
        pieces |= {f"b{i}": b for i, b in enumerate(own.convection)} | {"t": own.transposed}
    which = path_order(own.vertices)
    for name, piece in pieces.items():
        beta, error = _bernstein(piece, which)
        out.array(f"medium/{name}_beta", beta)
        out.array(f"medium/{name}_error", error)
    return {"medium": words(given)}


def _bernstein(piece: Piece, which: Index) -> tuple[Vector, Vector]:
    """Bernstein coefficients (C, M) of models in the cells' own order of vertices, and bounds of the errors."""
    S, C = piece.space, piece.C
    if S.size == 1:
        return np.broadcast_to(C.T, (len(which), 1)), np.broadcast_to(piece.e, len(which))
    beta = (bernstein(S.d, S.q)[0] @ C).T
    error = (piece.e + gamma(S.size + 6) * np.abs(C).sum(axis=0)) * MANY + TINY  # taylor.md, step 6f
    index = sorted(a for a in product(range(S.q + 1), repeat=S.d + 1) if sum(a) == S.q)
    at = {a: k for k, a in enumerate(index)}
    found = np.empty_like(beta)
    for k, order in enumerate(orders(S.d)):
        here = which == k
        found[here] = beta[here][:, [at[tuple(a[i] for i in order)] for a in index]]
    return found, np.asarray(error)


def diffusion_at(model: Continuum, goal: Any, J: Functional) -> float | None:
    """κ at a point, of a kernel where it varies; of matrices 1."""
    given = model.coefficients
    if given is None or not isinstance(goal, Point) or not np.isfinite(J.ball):
        return None
    if model.ground is not None:
        cell, given = int(back(model.ground.bends, np.array([goal.at]))[0][0]), model.ground.coefficients
    else:
        cell = cell_of(model.topology, np.array(goal.at))
    kappa = given.diffusion[int(given.regions[cell])]
    if isinstance(kappa, tuple):
        d = model.d
        plain = all(kappa[i][i] == kappa[0][0] for i in range(d))
        plain = plain and all(fixed_zero(kappa[i][j]) for i in range(d) for j in range(d) if i != j)
        kappa = kappa[0][0] if plain else 1.0
    return float(kappa(np.array([goal.at]))[0]) if isinstance(kappa, Expression) else float(kappa)  # type: ignore[arg-type]
