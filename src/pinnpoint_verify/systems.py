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
from pinnpoint_verify.domains import named, side_of, sides_agree
from pinnpoint_verify.formulas import formula, plain
from pinnpoint_verify.reader import Array, Bundle, larger, need, smaller
from pinnpoint_verify.reference import rule
from pinnpoint_verify.robin_matrix import robin_matrix
from pinnpoint_verify.rows import is_number
from pinnpoint_verify.rules import Rule, stored_rule

Row = dict[str, Any]
KINDS = ("reaction-diffusion", "elasticity", "semilinear")
COEFFICIENTS = {False: ("diffusion", "reaction"), True: ("young", "poisson")}
"""Of scalar and of elastic problems."""
LOOSE = 1e-9
"""Of the largest entry of ℓ."""
CLOSE = 1e-10
"""Of the largest entry of a row, and of the terms of a load."""
BESIDE = 2.0**-50 * np.array([1.0, -1.0, 2.0])
"""How far beside a point data are looked at, relative to each coordinate."""
PART, MOST = 5_000, 4_000_000
"""Cells at a time, and entries of their matrices."""


class Where(Protocol):
    """Nodes and cells of a bundle."""

    count: int
    d: int
    n: int
    degree: int
    nodes: Array
    cells: Array
    same: Any

    @property
    def rim(self) -> Array:
        """Facets of one cell only, as sorted vertices."""

    def nodes_of(self, simplices: Array) -> Array:
        """Nodes of simplices."""

    def shapes(self, bary: Array) -> Array:
        """Basis functions."""


@dataclass(frozen=True)
class Found:
    """The matrix over all entries, the load and what it may be off by, where they are known; what was not compared."""

    K: Any = None
    load: Array | None = None
    slack: Array | None = None
    rules: tuple[str, ...] = ()
    """The rules that A and b were made again with."""
    blind: tuple[str, ...] = ()
    """What there was nothing to compare with."""
    law: tuple[Array, Array] | None = None
    """Lamé's λ and μ of every cell, of an elastic body whose material the case says."""

    def sum_agrees(self, d: Discrete, on: Array, stored: Array, constant: float, name: str) -> None:
        """The ℓ of a flux or reaction is a sum of columns of K, which is symmetric, the constant the load there."""
        columns = d.rows[:, on]
        gap = np.abs(stored[d.free] - columns.sum(axis=1)).max()
        need(gap <= LOOSE * larger(1e-300, abs(columns).max()), f"{name!r}: ℓ is not that of the group")
        if self.K is not None:
            gap = np.abs(stored - self.K[on].sum(axis=0)).max()
            need(gap <= LOOSE * abs(self.K).max(), f"{name!r}: ℓ is not that of the group (sampled)")
        if self.load is not None and self.slack is not None:
            off = abs(constant + self.load[on].sum())
            need(off <= float(np.sum(self.slack[on])), f"{name!r}: the constant is not the load on the group (sampled)")


class Stored:
    """What a bundle has of its discrete system beside A and b: rules, facets of loads, coefficients by cells."""

    def __init__(self, bundle: Bundle, at: Where) -> None:
        words = {"cells": at.d, "mass": at.d, "facets": at.d - 1}
        self.rules = {word: stored_rule(bundle, word, m) for word, m in words.items()}
        need(len({rule is None for rule in self.rules.values()}) == 1, "rule: not all of them are stored")
        self.cells, self.facets, edge = at.cells, list[Array](), at.rim
        if "mesh/own" in bundle:  # with vertices in the order that the rules are for
            self.cells = bundle("mesh/own", *at.cells.shape, whole=at.n)
            need(np.array_equal(np.sort(self.cells, axis=1), at.cells), "mesh/own: other cells")
        while f"mesh/load{len(self.facets)}" in bundle:
            name = f"mesh/load{len(self.facets)}"
            F = bundle(name, None, at.d, whole=at.n)
            own = np.sort(F, axis=1)
            both = np.unique(np.concatenate([edge, own]), axis=0)
            fits = len(F) and np.array_equal(np.unique(own, axis=0), own)
            need(fits, f"{name}: facets that are not different, or not in order, or none")
            need(len(both) == len(edge), f"{name}: not on the boundary")
            self.facets.append(F)
        every = [word for words in COEFFICIENTS.values() for word in words]
        self.filed: dict[str, Array] = {}  # coefficients by cells from files, where they are at hand
        self.by_cell = {w: bundle(f"system/{w}", len(at.cells)) for w in every if f"system/{w}" in bundle}

    def order_agrees(self, case: Row, certificate: Row, degree: int) -> None:
        """The rules are at least of the order that the case asks for, or that is taken unless told."""
        asked = case["certificate"].get("quadrature")
        usual = {1: 2 if case["problem"].get("kind") == "elasticity" else 4, 2: 6}[degree]
        order = usual if asked is None else asked
        order = larger(order, 8) if case["certificate"].get("lift") else order  # residuals are less smooth
        said = certificate["problem"]["quadrature"]
        need(type(order) is int and said == order, f"certificate: the order of quadrature is {order!r}")
        for word, own in self.rules.items():
            least = larger(order, 2 * degree) if word == "mass" else order
            fits = own is None or own.order >= least
            need(fits, f"rule/{word}: not exact for polynomials of degree {least}")


def system_agrees(bundle: Bundle, d: Discrete, at: Where, case: Row) -> Found:
    """A, b and what is fixed are those of the case; lifts and decks have nothing to compare with."""
    problem, stored = case["problem"], Stored(bundle, at)
    filed, lift = "prediction" in case, bool(case["certificate"].get("lift"))
    if not filed:
        load, slack, blind = (None, None, ["b"]) if lift else _load(d, at, case, stored)
        said = at.count == 1 and "diffusion" in problem
        K, left = matrix(d, at, problem, stored) if said else (None, ["A"])
        return Found(K, load, slack, _words(stored, slack), (*left, *blind))
    kind = problem.get("kind")
    fits = kind in KINDS and (kind == "elasticity") == (at.count > 1)
    bent = "system/cubic" in bundle or "system/shapes" in bundle
    need(fits and (kind == "semilinear") == bent, "case.json: another kind of problem")
    need(kind == "semilinear" or "cubic" not in problem, "cubic: not part of the case")
    stored.order_agrees(case, bundle.json["certificate.json"], at.degree)
    if "deck" in problem:
        return Found(blind=("A and b of a deck",))
    for group in problem.get("dirichlet") or {}:  # those of no query have no facets here, but they have names
        sides_agree(at.nodes, {group: _facets(group, at, case)}, case)
    K, blind = matrix(d, at, problem, stored)
    law = _law(at, problem, stored)
    if lift:
        return Found(K, blind=(*blind, "b of what a lifted prediction leaves"))
    _fixed(d, at, case)
    load, slack, more = _load(d, at, case, stored)
    if not named(case) and any(problem.get(word) for word in ("dirichlet", "neumann", "robin", "force")):
        more.append("which facets the groups of the mesh are")
    return Found(K, load, slack, _words(stored, slack), (*blind, *more), law)


def _words(stored: Stored, slack: Array | None) -> tuple[str, ...]:
    used = slack is not None and stored.rules["cells"] is not None
    return tuple(f"{word}: {rule.words}" for word, rule in stored.rules.items() if rule is not None) if used else ()


def _facets(group: str, at: Where, case: Row) -> Array:
    F, on = at.rim, side_of(group, at.nodes, case)
    return F if on is None else F[np.all(on[F], axis=1)]


def _coefficient(word: str, at: Where, problem: Row, stored: Stored) -> Any:
    """A number for every cell: that of the case, or one of its table where the bundle says which; else a text."""
    if word in stored.filed:
        return stored.filed[word]
    given = plain(problem.get(word))
    if is_number(given):
        return np.full(len(at.cells), float(given))
    if not isinstance(given, dict):
        return given
    values, here = list(given.values()), stored.by_cell.get(word)
    if here is None:
        return None
    need(all(map(is_number, values)) and np.array_equal(np.unique(values), np.unique(here)), f"{word}: not the case's")
    return here


def matrix(d: Discrete, at: Where, problem: Row, stored: Stored) -> tuple[Any, list[str]]:
    """A from the coefficients on every cell, by the gradients of barycentric coordinates; λ's share of the cells."""
    words = COEFFICIENTS[at.count > 1]
    first, second = (_coefficient(word, at, problem, stored) for word in words)
    left = _cubic(d, at, problem)
    both: list[Any] = [problem.get(word) for word in words]
    if all(isinstance(table, dict) for table in both) and both[0].keys() == both[1].keys() and first is not None:
        known = np.array([(both[0][group], both[1][group]) for group in both[0]])
        fits = np.any((known[:, :1] == first) & (known[:, 1:] == second), axis=0)
        need(np.all(fits), f"{words[0]}, {words[1]}: not of the same groups")
    tables = [f"which cells the groups of {word} are" for word in words if isinstance(problem.get(word), dict)]
    if problem.get("convection") is not None or isinstance(first, str | list):  # by a rule that is not stored
        return None, ["A of coefficients that vary inside cells", *left]
    rule = stored.rules["mass"]
    if first is None or second is None or isinstance(second, list) or (isinstance(second, str) and rule is None):
        return None, ["A", *left]
    K = assembled(d, at, first, second, problem, stored)
    for k, (alpha, _) in enumerate((problem.get("robin") or {}).values()):
        place, number = len(problem.get("neumann") or {}) + k, plain(alpha)
        if not is_number(number) or place >= len(stored.facets):
            return None, ["A", *left]
        F = stored.facets[place]
        K = K + robin_matrix(at, F, np.full(len(F), float(number)), d.N)
    is_matrix(K, d, at, "a: is not the matrix of the mesh and the coefficients (sampled)")
    return K, [*tables, *left]


def _cubic(d: Discrete, at: Where, problem: Row) -> list[str]:
    """λ's share of the cells; what was not compared, where the case leaves λ of some cells open."""
    if not d.w.size:
        return []
    X, m = at.nodes[at.cells], at.d
    volumes = np.abs(np.linalg.det(X[:, 1:] - X[:, :1])) / math.factorial(m)
    lam = problem.get("cubic")
    share = volumes * 6.0 * math.factorial(m) / math.factorial(m + 4)
    known = list(lam.values()) if isinstance(lam, dict) else [lam]
    if None in known and "kind" not in problem:  # made in Python
        return ["cubic by cells"]
    own = np.array([v for v in known if is_number(v)])
    fits = np.any(np.abs(own[:, None] * share - d.w) <= CLOSE * d.w, axis=0)
    need(len(own) and np.all(fits), "cubic: not that of the case (sampled)")
    return []


def assembled(d: Discrete, at: Where, first: Array, second: Any, problem: Row, stored: Stored) -> Any:
    """The matrix over all entries from coefficients on every cell."""
    K, T, rule = sp.csr_array((d.N, d.N)), at.nodes_of(stored.cells), stored.rules["mass"]
    dofs = (at.count * T[:, :, None] + np.arange(at.count)).reshape(len(T), -1)
    many = larger(1, MOST // (T.shape[1] * at.d) ** 2)
    for start in range(0, len(T), many):  # each sum goes over all of K
        part = slice(start, start + many)
        c = second if isinstance(second, str) else second[part]
        X, plane = at.nodes[stored.cells[part]], problem.get("plane", "strain")
        local, here = _local(at, X, first[part], c, plane, rule), dofs[part]
        i, j = np.broadcast_to(here[:, :, None], local.shape), np.broadcast_to(here[:, None, :], local.shape)
        K = K + sp.csr_array((local.ravel(), (i.ravel(), j.ravel())), shape=K.shape)
    return K


def is_matrix(K: Any, d: Discrete, at: Where, line: str) -> None:
    """Refuse a stored matrix that is not this one, to rounding."""
    far, size = abs(K[d.free] - d.rows).max(axis=1).toarray().ravel(), abs(K[d.free]).max(axis=1).toarray().ravel()
    need(np.all(far <= smaller(CLOSE, 1e-12 * _flatness(at)) * size), line)


def _flatness(at: Where) -> float:
    """The largest condition number of a cell's edges: so many units in the last place its gradients may be off by."""
    X = at.nodes[at.cells]
    E = X[:, 1:] - X[:, :1]
    return float(np.max(np.linalg.norm(E, axis=(1, 2)) * np.linalg.norm(np.linalg.inv(E), axis=(1, 2))))


def _local(at: Where, X: Array, first: Array, second: Any, plane: str, rule: Rule | None) -> Array:
    """Matrices of cells (n, p·i, q·j): κ∇u·∇v + c u v, or 2μ ε:ε + λ div div."""
    m = at.d
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
        own = second[:, None, None] * mass if not isinstance(second, str) else _mass(second, X, hats, rule)
        return np.asarray(first[:, None, None] * flat + own * volumes[:, None, None])
    lam, mu = (one[:, None, None, None, None] for one in _lame(first, second, plane, m))
    whole = lam * D + mu * D.transpose(0, 1, 4, 3, 2) + mu * np.einsum("npq,ij->npiqj", flat, np.eye(m))
    return np.asarray(whole.reshape(len(X), hats.shape[0] * m, -1))


def _lame(young: Array, poisson: Array, plane: str, m: int) -> tuple[Array, Array]:
    """Lamé's λ and μ; in plane stress λ is the reduced one."""
    need(plane in ("strain", "stress"), "case.json: neither plane strain nor stress")
    lam, mu = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)), young / (2.0 * (1.0 + poisson))
    return (2.0 * lam * mu / (lam + 2.0 * mu) if plane == "stress" and m == 2 else lam), mu


def _law(at: Where, problem: Row, stored: Stored) -> tuple[Array, Array] | None:
    if at.count == 1:
        return None
    young, poisson = (_coefficient(word, at, problem, stored) for word in COEFFICIENTS[True])
    if young is None or poisson is None:
        return None
    return _lame(young, poisson, problem.get("plane", "strain"), at.d)


def _mass(c: str, X: Array, hats: Array, rule: Rule | None) -> Array:
    """Means of c u v by the stored rule, c a formula."""
    assert rule is not None
    phi = np.einsum("pjk,qj,qk->qp", hats, rule.bary, rule.bary)
    values = formula(c, np.einsum("qi,nic->nqc", rule.bary, X))
    return np.asarray(np.einsum("nq,q,qi,qj->nij", values, rule.weights, phi, phi, optimize=True))


def _parts(given: Any, count: int) -> list[Any]:
    """Data by component; None where one is free."""
    parts = list(given) if isinstance(given, list) else [given] * count
    need(len(parts) == count, "case.json: data with another number of components")
    return [None if part in (None, "free") else part for part in parts]


def _fixed(d: Discrete, at: Where, case: Row) -> None:
    """Every fixed entry has the value of a group that it may belong to; sides of named domains are fixed as a whole."""
    groups = case["problem"].get("dirichlet") or {}
    edge = np.zeros(len(at.nodes), dtype=bool)
    edge[np.unique(at.nodes_of(at.rim))] = True
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
    if at.same is not None:  # nodes that stand for nothing are fixed at zero, or as those that stand for them
        idle = np.nonzero(at.same != np.arange(len(at.same)))[0]
        most[idle], good[idle] = True, (values[idle] == 0.0) | (values[idle] == values[at.same[idle]])
    fits = np.array_equal(np.nonzero(most)[0], d.fixed) if known else np.all(most[d.fixed])
    need(fits, "free: other entries are fixed than in the case")
    need(np.all(good[d.fixed]), "fixed: values are not those of the case (sampled)")


def loads_of(at: Where, case: Row, stored: Stored) -> tuple[list[tuple[Array, str, Any]], list[str], Array]:
    """Data on cells and facets; what they leave out of b, and nodes where b is not known for that."""
    problem, lost, blind = case["problem"], np.zeros(len(at.nodes), dtype=bool), list[str]()
    given = problem.get("body", 0.0) if at.count > 1 else problem.get("source")
    loads = [(stored.cells, "cells", given if given is not None else 0.0)]
    if problem.get("expansion") is not None or isinstance(given, dict):
        return [(stored.cells, "cells", 0.0)], ["b of loads that cells have"], np.ones(len(at.nodes), dtype=bool)
    if given is None or ("prediction" not in case and at.count > 1):  # a function, or nothing is said of it
        return loads, ["b"], np.ones(len(at.nodes), dtype=bool)
    robin = [(name, pair[1]) for name, pair in (problem.get("robin") or {}).items()]
    groups = [*(problem.get("neumann") or {}).items(), *robin, *(problem.get("force") or {}).items()]
    fits = len(stored.facets) == len(groups) or (stored.rules["cells"] is None and not stored.facets)
    need(fits, "mesh: another number of loads than in the case")
    for k, (name, data) in enumerate(groups):
        F = stored.facets[k] if stored.facets else _facets(name, at, case)
        total = k >= len(problem.get("neumann") or {}) + len(robin)
        if total and data.get("even") is True:
            size = float(areas(at.nodes[F]).m.sum())
            data = [force / size for force in data["force"]]
        sides_agree(at.nodes, {name: F}, case)
        known = stored.facets or side_of(name, at.nodes, case) is not None
        if isinstance(data, dict) and known:
            loads.append((F, "spread", data))
            continue
        if not known or data is None:
            blind.append(f"b on the group {name!r}")
            lost[np.unique(at.nodes_of(F))] = True
            continue
        loads.append((F, "facets", data))
    return loads, blind, lost


def _load(d: Discrete, at: Where, case: Row, stored: Stored) -> tuple[Array | None, Array | None, list[str]]:
    """The load again, by the stored rules and to rounding; without rules what two others differ by is allowed."""
    loads, blind, lost = loads_of(at, case, stored)
    if np.all(lost):
        return None, None, blind
    found, slack = np.zeros(d.N), np.zeros(d.N)
    for simplices, where, data in loads:
        if where == "spread":
            nodes = np.unique(at.nodes_of(simplices))
            forces = spread(at.nodes[nodes], data)
            found.reshape(-1, at.count)[nodes] += forces
            slack.reshape(-1, at.count)[nodes] += 10.0 * CLOSE * np.abs(forces).max()
            continue
        m, own = simplices.shape[1] - 1, stored.rules[where]
        for k, part in enumerate(_parts(data, at.count)):
            if own is not None:
                more, off = _integrals(at, simplices, part, own.bary, own.weights)
            else:
                (more, off), (less, _) = (_integrals(at, simplices, part, *rule(m, n)) for n in (6, 1 + at.degree))
                off = off + 10.0 * float(np.abs(more - less).max(initial=0.0))
            found[k :: at.count] += more
            slack[k :: at.count] += off
    if stored.rules["cells"] is None:
        blind.append("b, for which no rule is stored, but for samples")
        if slack.max() > 0.1 * np.abs(found).max():  # no rule sees such data, the producing side's neither
            return None, None, blind
        slack = np.full(d.N, slack.max())
    some = np.repeat(~lost, at.count)[d.free]
    far = np.abs(found[d.free] - d.b)
    need(np.all(far[some] <= slack[d.free][some]), "b: is not that of the case (sampled)")
    return found if not np.any(lost) else None, slack, blind


def spread(X: Array, data: Row) -> Array:
    """Nodal forces f_i = F/n + ω × r_i about the nodes' mean, with the moment that is asked for about a point."""

    def three(v: Any) -> Array:
        v = np.asarray(v, dtype=float)
        return v if v.shape[-1] == 3 else np.concatenate([v, np.zeros((*v.shape[:-1], 1))], axis=-1)

    d, moment, center = X.shape[1], data.get("moment"), X.mean(axis=0)
    need(len(data["force"]) == d and len(moment or data["force"]) in (1, d), "force: another number of components")
    turn = np.zeros(3) if moment is None else np.array([0.0, 0.0, moment[0]]) if d == 2 else np.array(moment)
    F, R, at = three(data["force"]), three(X - center), data.get("at")
    J = np.sum(R * R) * np.eye(3) - R.T @ R
    values, axes = np.linalg.eigh(J)
    held = values > 1e-12 * larger(float(values[-1]), 1e-300)  # the others leave the nodes where they are
    turn = turn + np.cross(three((center if at is None else np.array(at)) - center), F)
    omega = axes[:, held] @ ((axes[:, held].T @ turn) / values[held])
    return np.asarray((F / len(X) + np.cross(omega, R))[:, :d])


def _integrals(at: Where, simplices: Array, data: Any, bary: Array, weights: Array) -> tuple[Array, Array]:
    """∫ f φ_i over simplices by a rule, and what another order of rounding may change of it.

    The points have roundings of their own: f is looked at beside them too.
    """
    found, slack, m = np.zeros(len(at.nodes)), np.zeros(len(at.nodes)), simplices.shape[1] - 1
    if data is None or plain(data) == 0.0:
        return found, slack
    hats = quadratic(np.eye(at.nodes_of(simplices[:1]).shape[1]), m, at.degree if m else 1)[0].m
    hats = np.einsum("pjk,qj,qk->qp", hats, bary, bary)
    for start in range(0, len(simplices), PART):
        T = simplices[start : start + PART]
        X = at.nodes[T]
        E = X[:, 1:] - X[:, :1]
        size = np.abs(np.linalg.det(E)) / math.factorial(m) if m == at.d else areas(X).m
        P = np.einsum("qi,nic->nqc", bary, X)
        f, on = formula(data, P), at.nodes_of(T)
        beside = formula(data, P * (1.0 + BESIDE[: at.d])) - f
        np.add.at(found, on, size[:, None] * ((f * weights) @ hats))
        off = (CLOSE * np.abs(f) + 16.0 * np.abs(beside)) * weights
        np.add.at(slack, on, size[:, None] * (off @ np.abs(hats)))
    need(np.all(np.isfinite(found)), "b: the data of the case are not finite (sampled)")
    return found, slack
