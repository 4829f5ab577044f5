"""What flows must be for b·n to be one number on both sides of every facet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression
from pinnpoint.formulas.vanishing import Polynomial, TooLongError, atom, number, restricted
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.media.coefficients import Coefficients

NUMBER = "It may depend on coordinates that are the same on both sides, to the last digit: write it without the others"


def require_continuous(coefficients: Coefficients, T: Topology, mesh: Mesh, glued: tuple[Index, Index] | None) -> None:
    """Refuse b whose normal component jumps between regions, or may do so between facets that are glued.

    B(v, v) has ½∫_F [b·n]v² on every facet where b·n jumps, and the dual problem's fluxes jump by [b·n]z there; the
    theorem is for fields without such jumps. On a facet across an axis that component of b alone counts.

    Parameters
    ----------
    glued
        Vertex numbers of facets (n, d) and of those that they are glued to, in the same order; b·n is known to agree
        where it depends on coordinates alone that do.
    """
    if not coefficients.convective:
        return
    d = mesh.dim
    flows = [b if b is not None else (0.0,) * d for b in coefficients.convection]
    one, two = T.facet_cells.T
    between = np.flatnonzero(two >= 0)
    between = between[coefficients.regions[one[between]] != coefficients.regions[two[between]]]
    V = T.points[T.facets[between]]
    pairs = np.stack([coefficients.regions[one[between]], coefficients.regions[two[between]]], axis=1)
    for a, b in np.unique(np.sort(pairs, axis=1), axis=0):
        here = (np.sort(pairs, axis=1) == (a, b)).all(axis=1)
        differs = np.array([not _same(flows[a][i], flows[b][i]) for i in range(d)])
        # varying.md, step 1e
        _refuse(np.any(across(V[here]) & differs, axis=1), V[here], "jumps between two groups of cells")
    if glued is not None and len(glued[0]):
        first, second = (mesh.points[facets] for facets in glued)
        apart = np.any(first != second, axis=1)  # by axes
        used = np.array([np.any([_axes(b[i], d) for b in flows], axis=0) for i in range(d)])
        moves = across(first) & (apart[:, None, :] & used[None]).any(axis=2)  # varying.md, step 1e
        for k in np.flatnonzero(moves.any(axis=1)):
            moves[k] &= not _agree(tuple(flows), first[k], second[k], moves[k])
        _refuse(np.any(across(first) & moves, axis=1), first, "may jump at a periodic pair", NUMBER)


def across(V: Vector) -> Mask:
    """Components that the normals of facets with vertices (n, d, d) may have, (n, d)."""
    if V.shape[2] == 1:
        return np.ones((len(V), 1), dtype=bool)
    flat = np.ptp(V, axis=1) == 0.0
    return np.asarray(np.where(flat.any(axis=1)[:, None], flat, True))


def _agree(flows: Sequence[Any], one: Vector, two: Vector, components: Mask) -> bool:
    """Whether components of all fields are the same formula on two facets that are apart along axes they lie across."""
    d, apart = one.shape[1], np.any(one != two, axis=0)
    if np.any(np.ptp(one, axis=0)[apart]) or np.any(np.ptp(two, axis=0)[apart]):
        return False
    coordinates = [[number(float(V[0, i])) if apart[i] else atom("at", i) for i in range(d)] for V in (one, two)]
    fields = [b[i] for b in flows for i in np.flatnonzero(components) if callable(b[i])]
    try:  # varying.md, step 1e
        return all(isinstance(b, Expression) and _equal(b, *coordinates) for b in fields)
    except TooLongError:
        return False


def _equal(given: Expression, one: Sequence[Polynomial], two: Sequence[Polynomial]) -> bool:
    return restricted(given, one) == restricted(given, two)


def _refuse(bad: Any, V: Vector, what: str, remedy: str = "Give one field for all cells") -> None:
    if np.any(bad):
        raise InputError(
            f"convection: its component along the normal {what}, for example at "
            f"{V[int(np.argmax(bad))].mean(axis=0).tolist()}; the continuous target needs one that does not. "
            f"{remedy}, or say target='discrete'"
        )


def _axes(given: Any, d: int) -> list[bool]:
    """Along which axes a component may change."""
    if not callable(given):
        return [False] * d
    return [name in given.variables_used for name in "xyz"[:d]] if isinstance(given, Expression) else [True] * d


def _same(a: Any, b: Any) -> bool:
    """Whether two numbers or formulas are the same as written."""
    if isinstance(a, Expression) and isinstance(b, Expression):
        return a.text.split() == b.text.split()
    return not callable(a) and not callable(b) and a == b
