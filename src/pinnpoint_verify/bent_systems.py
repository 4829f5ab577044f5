"""The stored A and b of a curved domain against the case's data, carried back by the map: docs/curved.md, step 1a.

In the plane, where data are numbers and formulas; second-order meshes in space too. The heights over chords are found
by Newton's method and not by the polynomials of the producing side, so that both agree to `NEAR` and no better.

Nothing here is part of a proof, and nothing here can make a bundle verify: it can only refuse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint_verify.averages import volumes
from pinnpoint_verify.bent import Bent
from pinnpoint_verify.checker import Discrete, areas, quadratic
from pinnpoint_verify.formulas import formula, plain
from pinnpoint_verify.reader import Array, Bundle, need
from pinnpoint_verify.reference import rule
from pinnpoint_verify.systems import Found, Stored, Where, loads_of

Row = dict[str, Any]
NEAR = 1e-6
"""How far the two programs' maps may be apart, against the terms of an entry."""
POINTS = (5, 7)
"""Gauss points along a side of the two rules whose difference stands for what a rule misses of A."""
FIXED = "what is fixed, of a curved domain"


def bent_system_agrees(bundle: Bundle, d: Discrete, at: Where, bent: Bent, case: Row) -> Found:
    """Refuse A or b of other data, or of another map, than the case's."""
    stored, problem = Stored(bundle, at), case["problem"]
    lift = bool(case["certificate"].get("lift"))
    if lift or (at.d == 3 and bent.groups):  # there the producing side's polynomials are of low degree
        return Found(blind=("A and b, of a curved domain", FIXED))
    blind = [] if _matrix_agrees(d, at, bent, problem, stored) else ["A, of a curved domain"]
    return Found(blind=(*blind, *_load_agrees(d, at, bent, case, stored), FIXED))


def _matrix_agrees(d: Discrete, at: Where, bent: Bent, problem: Row, stored: Stored) -> bool:
    """Whether there was something to compare with."""
    given = [plain(problem.get(word)) for word in ("diffusion", "reaction")]
    if any(x is None or isinstance(x, dict) for x in given) or problem.get("robin") or problem.get("convection"):
        return False
    K, again = (_assembled(d, at, bent, given, stored.cells, n) for n in POINTS)
    size = abs(again).max(axis=1).toarray().ravel()[d.free]
    slack = 10.0 * abs(again - K).max(axis=1).toarray().ravel()[d.free] + NEAR * size
    far = abs(again[d.free] - d.rows).max(axis=1).toarray().ravel()
    need(np.all(far <= slack), "a: is not the matrix of the curved domain and the coefficients (sampled)")
    return True


def _assembled(d: Discrete, at: Where, bent: Bent, given: list[Any], cells: Array, n: int) -> Any:
    """∫ cof(J)ᵀ(K∘Φ)cof(J)/det J ∇φ_i·∇φ_j + (c∘Φ) det J φ_iφ_j by a rule."""
    (bary, weights), V, m = rule(at.d, n), at.nodes[cells], at.d
    X = np.einsum("qi,nic->nqc", bary, V)
    Y, J = bent.at(X, np.arange(len(cells)))
    det, inverse = np.linalg.det(J), np.linalg.inv(J)
    entries = (
        given[0] if isinstance(given[0], list) else [[given[0] if i == j else 0.0 for j in range(m)] for i in range(m)]
    )
    K = np.stack([np.stack([_values(x, Y) for x in row], axis=-1) for row in entries], axis=-2)
    A = np.einsum("nqix,nqxy,nqjy,nq->nqij", inverse, K, inverse, det, optimize=True)  # curved.md, step 1a
    flat = np.linalg.inv(V[:, 1:] - V[:, :1]).swapaxes(1, 2)
    grad = np.concatenate([-flat.sum(axis=1, keepdims=True), flat], axis=1)
    hats, rises = (x.m for x in quadratic(np.eye(at.nodes_of(cells[:1]).shape[1]), m, at.degree))
    phi = np.einsum("pjk,qj,qk->qp", hats, bary, bary)
    slopes = 2.0 * np.einsum("pjk,qj,nkc->nqpc", rises, bary, grad, optimize=True)
    local = np.einsum("nqpi,nqij,nqrj,q->npr", slopes, A, slopes, weights, optimize=True)
    local = local + np.einsum("nq,q,qp,qr->npr", _values(given[1], Y) * det, weights, phi, phi, optimize=True)
    local, T = local * volumes(V)[:, None, None], at.nodes_of(cells)
    i, j = np.broadcast_to(T[:, :, None], local.shape), np.broadcast_to(T[:, None, :], local.shape)
    return sp.csr_array((local.ravel(), (i.ravel(), j.ravel())), shape=(d.N, d.N))


def _values(given: Any, Y: Array) -> Array:
    return np.asarray(formula(plain(given), Y), dtype=float)


def _load_agrees(d: Discrete, at: Where, bent: Bent, case: Row, stored: Stored) -> list[str]:
    """Of b, by the stored rules; what there was nothing to compare with."""
    parts, blind, lost = loads_of(at, case, stored)
    if np.all(lost) or any(where == "spread" or stored.rules[where] is None for _, where, _ in parts):
        return ["b, of a curved domain"]
    found, slack = np.zeros(d.N), np.zeros(d.N)
    owner = {key: c for c, key in _facets_of(stored.cells, at.d)} if len(parts) > 1 else {}
    for simplices, where, data in parts:
        own = stored.rules[where]
        assert own is not None
        V, m = at.nodes[simplices], simplices.shape[1] - 1
        X = np.einsum("qi,nic->nqc", own.bary, V)
        if where == "cells":
            Y, J = bent.at(X, np.arange(len(simplices)))
            size = volumes(V)[:, None] * np.linalg.det(J)
        else:
            Y, longer = bent.area(X, np.array([owner[tuple(F)] for F in np.sort(simplices, axis=1).tolist()]), V)
            size = areas(V).m[:, None] * longer
        hats = quadratic(np.eye(at.nodes_of(simplices[:1]).shape[1]), m, at.degree if m else 1)[0].m
        phi, on = np.einsum("pjk,qj,qk->qp", hats, own.bary, own.bary), at.nodes_of(simplices)
        f = _values(data, Y)
        off = NEAR * np.abs(f) + 16.0 * np.abs(_values(data, Y * (1.0 + NEAR)) - f)
        np.add.at(found, on, (f * size * own.weights) @ phi)  # curved.md, step 1a
        np.add.at(slack, on, (off * size * own.weights) @ np.abs(phi))
    some = ~lost[d.free]
    far = np.abs(found[d.free] - d.b)
    need(np.all(far[some] <= slack[d.free][some]), "b: is not that of the case on the curved domain (sampled)")
    return blind


def _facets_of(cells: Array, m: int) -> list[tuple[int, tuple[int, ...]]]:
    """Every facet of every cell, with the cell's number."""
    return [(c, tuple(sorted(T[:k] + T[k + 1 :]))) for c, T in enumerate(cells.tolist()) for k in range(m + 1)]
