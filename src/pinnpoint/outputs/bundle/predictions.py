"""Predictions that are kept as they are, by their formulas or weights, and which of them the checker follows."""

from __future__ import annotations

import ast
from typing import Any

from pinnpoint.models.lifts import Lift
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.outputs.bundle.document import FOLLOWED, text
from pinnpoint.outputs.bundle.files import Writer

ACTIVATIONS = ("tanh", "sin", "sigmoid", "silu")
"""Of networks of space and time that the checker follows."""


def kept(out: Writer, lift: Any, place: str = "lift/") -> dict[str, Any]:
    """The prediction itself where it is a network or a formula, so that what it leaves can be compared."""
    if not isinstance(lift, Lift):
        return {"kind": "opaque"}
    u = lift.prediction
    about: dict[str, Any] = {"kind": "formula", "factor": _text(lift.factor), "offset": _text(lift.offset)}
    if not isinstance(u, MLP):
        return about | {"formula": text(u)}
    for k, (W, b) in enumerate(zip(u.weights, u.biases, strict=True)):
        out.array(f"{place}w{k}", W)
        out.array(f"{place}b{k}", b)
    inputs = None if lift.inputs is None else [text(f) for f in lift.inputs]
    about |= {"kind": "network", "layers": len(u.weights), "activation": u.activation}
    return about | {"box": u.factor == "unit-box", "inputs": inputs}


def lift_obstacle(lift: Lift) -> str:
    """Why the checker cannot follow a prediction of space and time; empty where it can."""
    u = lift.prediction
    if isinstance(u, MLP) and u.activation not in ACTIVATIONS:
        return f"prediction: the checker follows networks with {', '.join(ACTIVATIONS)}; got {u.activation}"
    for given in (lift.factor, lift.offset, *(lift.inputs or ()), *(() if isinstance(u, MLP) else (u,))):
        said = None if given is None else text(given)
        if given is not None and said is None:
            return "problem: the checker follows numbers, formulas and networks; got a function"
        if not called(said) <= FOLLOWED:
            return f"problem: the checker follows smooth functions on boxes, not {sorted(called(said) - FOLLOWED)}"
    return ""


def called(said: Any) -> set[str]:
    """Names of the functions that a formula uses."""
    tree = ast.walk(ast.parse(str(said), mode="eval"))
    return {node.func.id for node in tree if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}


def _text(given: Any) -> Any:
    return None if given is None else text(given)
