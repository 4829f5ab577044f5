"""The stored A, b and fixed values against the case, where it has numbers or formulas and says where they hold.

Nothing here is part of a proof, and nothing here can make a bundle verify: it can only refuse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from pinnpoint_verify.checker import Discrete, areas, means, quadratic
from pinnpoint_verify.domains import named, outer, side_of, sides_agree
from pinnpoint_verify.formulas import formula, plain
from pinnpoint_verify.reader import Array, Bundle, need
from pinnpoint_verify.reference import rule
from pinnpoint_verify.rows import is_number

Row = dict[str, Any]
KINDS = ("reaction-diffusion", "elasticity", "semilinear")
CLOSE = 1e-10
"""Of the largest entry."""
PART = 5_000
"""Cells at a time."""


class Where(Protocol):
    """Nodes and cells of a bundle."""

    count: int
    d: int
    n: int
    degree: int
    nodes: Array
    cells: Array

    def nodes_of(self, simplices: Array) -> Array:
        """Nodes of sorted simplices."""

    def shapes(self, bary: Array) -> Array:
        """Basis functions."""


@dataclass(frozen=True)
class Found:
    """The matrix over all entries and the load with its slack, where they are known."""

    K: Any = None
    load: Array | None = None
    slack: float = 0.0


def system_agrees(bundle: Bundle, d: Discrete, at: Where, case: Row) -> Found:
    """A, b and what is fixed are those of the case; lifts and decks have nothing to compare with."""
    problem = case["problem"]
    if "prediction" not in case:
        return Found()
    kind = problem.get("kind")
    fits = kind in KINDS and (kind == "elasticity") == (at.count > 1)
    need(fits and (kind == "semilinear") == ("system/cubic" in bundle), "case.json: another kind of problem")
    need(kind == "semilinear" or "cubic" not in problem, "cubic: not part of the case")
    if "deck" in problem:
        return Found()
    for key in ("dirichlet", "neumann", "force"):
        for group in problem.get(key) or {}:  # those of no query have no facets here, but they have names
            sides_agree(at.nodes, {group: _facets(group, at, case)}, case)
    K = _matrix(d, at, problem)
    if case["certificate"].get("lift"):
        return Found(K)
    _fixed(d, at, case)
    return Found(K, *_load(d, at, case))


def _facets(group: str, at: Where, case: Row) -> Array:
    F, on = outer(at.cells), side_of(group, at.nodes, case)
    return F if on is None else F[np.all(on[F], axis=1)]


def _matrix(d: Discrete, at: Where, problem: Row) -> Any:
    """A of numbers, on every cell by the gradients of barycentric coordinates; λ's share of the cells."""
    words = ("young", "poisson") if at.count > 1 else ("diffusion", "reaction")
    first, second = (plain(problem.get(word)) for word in words)
    if is_number(problem.get("cubic")):
        X, m = at.nodes[at.cells], at.d
        volumes = np.abs(np.linalg.det(X[:, 1:] - X[:, :1])) / math.factorial(m)
        w = problem["cubic"] * volumes * 6.0 * math.factorial(m) / math.factorial(m + 4)
        need(np.all(np.abs(w - d.w) <= CLOSE * w), "cubic: not that of the case (sampled)")
    if not (is_number(first) and is_number(second)):
        return None
    K, T = sp.csr_array((d.N, d.N)), at.nodes_of(at.cells)
    dofs = (at.count * T[:, :, None] + np.arange(at.count)).reshape(len(T), -1)
    for start in range(0, len(T), PART):
        local = _local(at, slice(start, start + PART), float(first), float(second), problem.get("plane", "strain"))
        here = dofs[start : start + PART]
        i, j = np.broadcast_to(here[:, :, None], local.shape), np.broadcast_to(here[:, None, :], local.shape)
        K = K + sp.csr_array((local.ravel(), (i.ravel(), j.ravel())), shape=K.shape)
    far = abs(K[d.free] - d.rows).max()
    need(far <= CLOSE * abs(K).max(), "a: is not the matrix of the mesh and the coefficients (sampled)")
    return K


def _local(at: Where, part: slice, first: float, second: float, plane: str) -> Array:
    """Matrices of cells (n, p·i, q·j): κ∇u·∇v + c u v, or 2μ ε:ε + λ div div."""
    m, X = at.d, at.nodes[at.cells[part]]
    E = X[:, 1:] - X[:, :1]
    inverse, volumes = np.linalg.inv(E).swapaxes(1, 2), np.abs(np.linalg.det(E)) / math.factorial(m)
    grad = np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1)
    hats, rises = (x.m for x in quadratic(np.eye(at.nodes_of(at.cells[:1]).shape[1]), m, at.degree))
    slopes = 2.0 * np.einsum("pjk,nkc->npjc", rises, grad)
    D = np.einsum("npjc,jk,nqke->npcqe", slopes, means(m, 2).m, slopes, optimize=True)
    D = D * volumes[:, None, None, None, None]
    flat = np.einsum("npcqc->npq", D)
    if at.count == 1:
        mass = np.einsum("pjk,jklm,qlm->pq", hats, means(m, 4).m, hats)
        return np.asarray(first * flat + second * mass * volumes[:, None, None])
    need(plane in ("strain", "stress"), "case.json: neither plane strain nor stress")
    lam, mu = first * second / ((1.0 + second) * (1.0 - 2.0 * second)), first / (2.0 * (1.0 + second))
    lam = 2.0 * lam * mu / (lam + 2.0 * mu) if plane == "stress" and m == 2 else lam
    whole = lam * D + mu * D.transpose(0, 1, 4, 3, 2) + mu * np.einsum("npq,ij->npiqj", flat, np.eye(m))
    return np.asarray(whole.reshape(len(X), hats.shape[0] * m, -1))


def _parts(given: Any, count: int) -> list[Any]:
    """Data by component; None where one is free."""
    parts = list(given) if isinstance(given, list) else [given] * count
    need(len(parts) == count, "case.json: data with another number of components")
    return [None if part in (None, "free") else part for part in parts]


def _fixed(d: Discrete, at: Where, case: Row) -> None:
    """Every fixed entry has the value of a group that it may belong to; sides of named domains are fixed as a whole."""
    groups = case["problem"].get("dirichlet") or {}
    edge = np.zeros(len(at.nodes), dtype=bool)
    edge[np.unique(at.nodes_of(outer(at.cells)))] = True
    values, most, known, own = np.zeros(d.N), np.zeros(d.N, dtype=bool), True, np.zeros(len(at.nodes), dtype=bool)
    values[d.fixed] = d.held
    size, good = float(np.abs(d.held).max(initial=0.0)), np.zeros(d.N, dtype=bool)
    for name in sorted(groups, key=lambda group: group == "boundary"):  # which the others override
        on = edge if name == "boundary" else side_of(name, at.nodes, case)
        known, here = known and on is not None, edge if on is None else on & edge
        for k, part in enumerate(_parts(groups[name], at.count)):
            if part is None:
                continue
            some = np.nonzero(here & ~own if name == "boundary" else here)[0]
            dofs = at.count * some + k
            close = np.abs(formula(part, at.nodes[some]) - values[dofs]) <= CLOSE * size
            good[dofs[close]] = True
            most[at.count * np.nonzero(here)[0] + k] = True
        own |= here if on is not None else False
    fits = np.array_equal(np.nonzero(most)[0], d.fixed) if known else np.all(most[d.fixed])
    need(fits, "free: other entries are fixed than in the case")
    need(np.all(good[d.fixed]), "fixed: values are not those of the case (sampled)")


def _load(d: Discrete, at: Where, case: Row) -> tuple[Array | None, float]:
    """The load by quadrature, on the boundary where its data are known; what two rules differ by is allowed."""
    problem = case["problem"]
    given = problem.get("body") if at.count > 1 else problem.get("source")
    if at.count == 1 and "source" in problem and given is None:  # a function without a formula
        return None, 0.0
    loads = [(at.cells, at.d, given if given is not None else 0.0)]
    sure = not problem.get("force")
    for name, data in (problem.get("neumann") or {}).items():
        on = side_of(name, at.nodes, case)
        sure = sure and on is not None
        if on is not None:
            loads.append((_facets(name, at, case), at.d - 1, data))
    if not named(case):
        sure = sure and not problem.get("neumann")
    fine, rough = np.zeros(d.N), np.zeros(d.N)
    for simplices, m, data in loads:
        for k, part in enumerate(_parts(data, at.count)):
            fine[k :: at.count] += _integrals(at, simplices, m, part, 6)
            rough[k :: at.count] += _integrals(at, simplices, m, part, 2 if at.degree == 1 else 3)
    rows = np.ones(d.N, dtype=bool)
    if not sure:
        rows = np.repeat(~np.isin(np.arange(len(at.nodes)), at.nodes_of(outer(at.cells))), at.count)
    some = rows[d.free]
    slack = 10.0 * float(np.abs(fine - rough).max()) + 1e-11 * float(np.abs(fine).max())
    if np.abs(fine - rough).max() > 1e-2 * np.abs(fine).max():  # no rule sees such data, the producing side's neither
        return None, slack
    far = float(np.abs(fine[d.free] - d.b)[some].max(initial=0.0))
    need(far <= slack, "b: is not that of the case (sampled)")
    return fine if sure else None, slack


def _integrals(at: Where, simplices: Array, m: int, data: Any, n: int) -> Array:
    """∫ f φ_i over simplices of dimension m."""
    found = np.zeros(len(at.nodes))
    if data is None or plain(data) == 0.0:
        return found
    bary, weights = rule(m, n)
    hats = quadratic(np.eye(at.nodes_of(simplices[:1]).shape[1]), m, at.degree if m else 1)[0].m
    hats = np.einsum("pjk,qj,qk->qp", hats, bary, bary)
    for start in range(0, len(simplices), PART):
        T = simplices[start : start + PART]
        X = at.nodes[T]
        E = X[:, 1:] - X[:, :1]
        size = np.abs(np.linalg.det(E)) / math.factorial(m) if m == at.d else areas(X).m
        f = formula(data, np.einsum("qi,nic->nqc", bary, X))
        np.add.at(found, at.nodes_of(T), size[:, None] * ((f * weights) @ hats))
    return found
