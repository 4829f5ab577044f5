"""A prediction that was lifted, u = offset + factor · prediction: its value, slopes and Laplacian at points.

In plain floats: what is stored is compared with it, and nothing is proved from it. Δ(uv) = uΔv + vΔu + 2∇u·∇v and
Δh(u) = h′(u)Δu + h″(u)|∇u|².
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from scipy.special import ndtr

from pinnpoint_verify.checker import Discrete, areas
from pinnpoint_verify.formulas import plain, syntax
from pinnpoint_verify.reader import Array, Bundle, larger, need, smaller
from pinnpoint_verify.reference import directions, rule
from pinnpoint_verify.rows import is_number, near, same

Row = dict[str, Any]
BLOCK = 8192
"""Points at a time."""


class Jet:
    """Values (…,), slopes (d, …) and Laplacians (…,)."""

    def __init__(self, v: Array, g: Array, lap: Array) -> None:
        self.v, self.g, self.lap = v, g, lap

    def __add__(self, b: Jet) -> Jet:
        return Jet(self.v + b.v, self.g + b.g, self.lap + b.lap)

    def __mul__(self, b: Jet) -> Jet:
        lap = self.v * b.lap + b.v * self.lap + 2.0 * (self.g * b.g).sum(axis=0)
        return Jet(self.v * b.v, self.v * b.g + b.v * self.g, lap)

    def bent(self, h: Callable[[Array], tuple[Array, Array, Array]]) -> Jet:
        """A function of it, by its value and two derivatives."""
        v, first, second = h(self.v)
        return Jet(v, first * self.g, first * self.lap + second * (self.g**2).sum(axis=0))

    def where(self, choice: Array, b: Jet) -> Jet:
        """The other one where the choice does not hold."""
        return Jet(*(np.where(choice, x, y) for x, y in ((self.v, b.v), (self.g, b.g), (self.lap, b.lap))))


def constant(x: float, like: Jet) -> Jet:
    """A number."""
    return Jet(np.full_like(like.v, x), np.zeros_like(like.g), np.zeros_like(like.v))


def _tanh(z: Array) -> tuple[Array, Array, Array]:
    t = np.tanh(z)
    return t, 1.0 - t * t, -2.0 * t * (1.0 - t * t)


def _sigmoid(z: Array) -> tuple[Array, Array, Array]:
    t, first, second = _tanh(0.5 * z)
    return 0.5 + 0.5 * t, 0.25 * first, 0.125 * second


def _normal(z: Array) -> tuple[Array, Array, Array]:
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return ndtr(z), density, -z * density


def _gate(z: Array) -> tuple[Array, Array, Array]:
    root = math.sqrt(2.0 / math.pi)
    t, first, second = _tanh(root * (z + 0.044715 * z**3))
    a, b = root * (1.0 + 0.134145 * z * z), root * 0.26829 * z
    return 0.5 + 0.5 * t, 0.5 * first * a, 0.5 * (second * a * a + first * b)


def _gated(gate: Callable[[Array], tuple[Array, Array, Array]]) -> Callable[[Array], tuple[Array, Array, Array]]:
    def bent(z: Array) -> tuple[Array, Array, Array]:
        g, first, second = gate(z)
        return z * g, g + z * first, 2.0 * first + z * second

    return bent


ACTIVATIONS: dict[str, Callable[[Array], tuple[Array, Array, Array]]] = {
    "tanh": _tanh,
    "sin": lambda z: (np.sin(z), np.cos(z), -np.sin(z)),
    "sigmoid": _sigmoid,
    "softplus": lambda z: (np.logaddexp(0.0, z), *_sigmoid(z)[:2]),
    "silu": _gated(_sigmoid),
    "gelu": _gated(_normal),
    "gelu-tanh": _gated(_gate),
}
FUNCTIONS: dict[str, Callable[[Array], tuple[Array, Array, Array]]] = {
    "sin": lambda z: (np.sin(z), np.cos(z), -np.sin(z)),
    "cos": lambda z: (np.cos(z), -np.sin(z), -np.cos(z)),
    "tan": lambda z: (np.tan(z), 1.0 + np.tan(z) ** 2, 2.0 * np.tan(z) * (1.0 + np.tan(z) ** 2)),
    "sinh": lambda z: (np.sinh(z), np.cosh(z), np.sinh(z)),
    "cosh": lambda z: (np.cosh(z), np.sinh(z), np.cosh(z)),
    "tanh": _tanh,
    "exp": lambda z: (np.exp(z), np.exp(z), np.exp(z)),
    "log": lambda z: (np.log(z), 1.0 / z, -1.0 / z**2),
    "sqrt": lambda z: (np.sqrt(z), 0.5 / np.sqrt(z), -0.25 * z**-1.5),
    "abs": lambda z: (np.abs(z), np.sign(z), np.zeros_like(z)),
    "asin": lambda z: (np.arcsin(z), (1.0 - z * z) ** -0.5, z * (1.0 - z * z) ** -1.5),
    "acos": lambda z: (np.arccos(z), -((1.0 - z * z) ** -0.5), -z * (1.0 - z * z) ** -1.5),
    "atan": lambda z: (np.arctan(z), 1.0 / (1.0 + z * z), -2.0 * z / (1.0 + z * z) ** 2),
}


def formula_jet(given: Any, x: list[Jet]) -> Jet:
    """A number, or a formula of the coordinates."""

    def walk(node: Any) -> Jet:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return constant(float(node.value), x[0])
        if isinstance(node, ast.Name) and node.id in ("pi", "e"):
            return constant(getattr(math, node.id), x[0])
        if isinstance(node, ast.Name) and node.id in ("x", "y", "z")[: len(x)]:
            return x["xyz".index(node.id)]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            return walk(node.operand) * constant(-1.0 if isinstance(node.op, ast.USub) else 1.0, x[0])
        if isinstance(node, ast.BinOp):
            return binary(node.op, walk(node.left), walk(node.right))
        known = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
        need(known and (node.func.id in FUNCTIONS or node.func.id in ("min", "max")), "formula: unknown part")
        first, *more = [walk(a) for a in node.args]
        if node.func.id in FUNCTIONS:
            need(not more, "formula: a function of one number")
            return first.bent(FUNCTIONS[node.func.id])
        for a in more:
            first = first.where((first.v < a.v) == (node.func.id == "min"), a)
        return first

    return walk(syntax(given)) if isinstance(given, str) else constant(float(given), x[0])


def binary(op: ast.operator, a: Jet, b: Jet) -> Jet:
    """+ − × ÷ and powers."""
    minus = Jet(-b.v, -b.g, -b.lap)
    if isinstance(op, ast.Add | ast.Sub):
        return a + (b if isinstance(op, ast.Add) else minus)
    if isinstance(op, ast.Mult):
        return a * b
    if isinstance(op, ast.Div):
        return a * b.bent(lambda z: (1.0 / z, -1.0 / z**2, 2.0 / z**3))
    need(isinstance(op, ast.Pow), "formula: unknown part")
    if np.any(b.g):
        return (a.bent(FUNCTIONS["log"]) * b).bent(FUNCTIONS["exp"])
    p = float(b.v.flat[0]) if b.v.size else 1.0
    return a.bent(lambda z: tuple(k * z**q if k else 0.0 * z for k, q in ((1.0, p), (p, p - 1), (p * (p - 1), p - 2))))


class Lift:
    """A prediction by what a bundle has of it."""

    def __init__(self, bundle: Bundle, said: Row, place: str = "lift/") -> None:
        need(said["kind"] in ("formula", "network"), "lift: an unknown kind of prediction")
        keys = {"formula": {"formula"}, "network": {"layers", "activation", "box", "inputs"}}[said["kind"]]
        need(said.keys() == keys | {"kind", "factor", "offset"}, "lift: a key is missing, or belongs to another kind")
        self.said, self.layers = said, list[tuple[Array, Array]]()
        for k in range(said.get("layers", 0)):
            W = bundle(f"{place}w{k}", None, None)
            self.layers.append((W, bundle(f"{place}b{k}", len(W))))

    def __call__(self, X: Array, along: Array | None = None) -> Jet:
        """At points (…, d); slopes, and the sum of second derivatives, are along the axes or along these directions."""
        along = np.eye(X.shape[-1]) if along is None else along
        P = np.asarray(X).reshape(-1, X.shape[-1])
        parts = [self._block(P[a : a + BLOCK], along) for a in range(0, larger(1, len(P)), BLOCK)]
        v, g, lap = (np.concatenate([getattr(p, k) for p in parts], axis=-1) for k in ("v", "g", "lap"))
        return Jet(v.reshape(X.shape[:-1]), g.reshape(len(along), *X.shape[:-1]), lap.reshape(X.shape[:-1]))

    def _block(self, P: Array, along: Array) -> Jet:
        n, d = P.shape
        x = [Jet(P[:, i], np.repeat(along[:, i][:, None], n, axis=1), np.zeros(n)) for i in range(d)]
        u = self._network(x) if self.layers else formula_jet(self.said["formula"], x)
        for key, join in (("factor", Jet.__mul__), ("offset", Jet.__add__)):
            u = u if self.said[key] is None else join(formula_jet(self.said[key], x), u)
        return u

    def _network(self, x: list[Jet]) -> Jet:
        fed = x if self.said["inputs"] is None else [formula_jet(f, x) for f in self.said["inputs"]]
        h = Jet(*(np.stack([getattr(j, k) for j in fed], axis=-2) for k in ("v", "g", "lap")))
        need(self.said["activation"] in ACTIVATIONS, "lift: an unknown activation")
        for k, (W, b) in enumerate(self.layers):
            h = Jet(W @ h.v + b[:, None], W @ h.g, W @ h.lap)
            h = h.bent(ACTIVATIONS[self.said["activation"]]) if k < len(self.layers) - 1 else h
        need(len(h.v) == 1, "lift: the network has several outputs")
        u = Jet(h.v[0], h.g[:, 0], h.lap[0])
        for coordinate in x if self.said["box"] else ():
            u = coordinate * (constant(1.0, u) + coordinate * constant(-1.0, u)) * u
        return u


def own_value(lift: Lift, goal: Row, V: Array, n: int) -> tuple[float, float]:
    """Its value or derivative at a point, its average over a ball, a block or simplices V; and its size there.

    Averages are those of a rule of n points.
    """
    X, weights = np.array([goal.get("at", [])], dtype=float), np.ones(1)
    if goal["kind"] == "ball":
        d = X.shape[1]
        unit, share = directions(d, n)
        t, w = np.polynomial.legendre.leggauss(n)
        r = 0.5 * (t + 1.0)
        X = X + goal["average"] * (r[:, None, None] * unit).reshape(-1, d)
        weights = ((0.5 * w * d * r ** (d - 1))[:, None] * share).ravel()
    elif goal["kind"] == "patch":
        bary, w = rule(V.shape[1] - 1, n)
        area = areas(V).m
        X, weights = np.einsum("qi,nic->nqc", bary, V), area[:, None] / area.sum() * w
    elif goal["kind"] == "block":
        t, w = np.polynomial.legendre.leggauss(n)
        X = X + 0.5 * float(goal["side"]) * np.array(list(product(t, repeat=X.shape[1])))
        weights = np.array([float(np.prod(x)) for x in product(0.5 * w, repeat=X.shape[1])])
    elif goal["kind"] == "cells":
        bary, w = rule(V.shape[1] - 1, smaller(n, 8))
        size = np.abs(np.linalg.det(V[:, 1:] - V[:, :1]))
        X, weights = np.einsum("qi,nic->nqc", bary, V), size[:, None] / size.sum() * w
    u = lift(X)
    values = u.g[goal["axis"]] if goal["kind"] == "gradient" else u.v
    return float(np.sum(values * weights)), float(np.abs(values).max(initial=0.0))


def lift_agrees(lift: Lift | None, d: Discrete, rows: list[Row], goals: list[Row], case: Row, nodes: Array) -> None:
    """The prediction that was lifted is the case's; values and raw values, which verdicts are of, are its own."""
    for row, goal in zip(rows, goals, strict=True):
        own, error = goal["own"]
        fits = near(row["raw"], own, 1e-14, error)
        need(fits, f"{row['name']!r}: raw is not the value of the prediction that was lifted, {own!r}")
    if lift is None:
        return
    said_agrees(lift.said, case.get("prediction"))
    V = np.array(lift(nodes).v)
    V[d.fixed] += d.held  # which are what it leaves of the data
    values, sizes = d.L @ V + d.constants, abs(d.L) @ np.abs(V) + np.abs(d.constants)
    for row, value, size in zip(rows, values.tolist(), sizes.tolist(), strict=True):
        fits = near(row["value"], value, 0.0, 1e-9 * size + 1e-300)
        need(fits, f"{row['name']!r}: value is not that of the prediction that was lifted, {value!r} (sampled)")


def said_agrees(said: Row, given: Row | None) -> None:
    """A lift's words are those of a case's prediction, as far as that has them; in Python there is none."""
    if given is None:
        return
    source, same = given["source"], "lift: not the prediction of the case"
    if source in ("expression", "zero"):
        own = plain(given["expression"] if source == "expression" else 0.0)
        need(said["kind"] == "formula" and alike([said["formula"]], [own]), same)
    else:
        need(said["kind"] == "network" and source in ("torch", "onnx", "model"), same)
        need(given.get("activation") in (None, said["activation"]), f"{same}, another activation")
        need(said["inputs"] is None and not said["box"], f"{same}, which has no inputs or box of its own")
    need(said["offset"] is None and alike([said["factor"]], [plain(given.get("factor"))]), f"{same}, another factor")


def alike(a: list[Any], b: list[Any]) -> bool:
    """Whether data are the same; a number may be evaluated in another order."""
    return len(a) == len(b) and all(
        same(x, y) or (is_number(y) and near(x, y, 1e-15)) for x, y in zip(a, b, strict=True)
    )
