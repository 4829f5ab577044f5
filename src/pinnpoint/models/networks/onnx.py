"""Networks in ONNX files: chains of Gemm, or MatMul and Add, with one activation between them.

Read without the onnx package. Everything else is refused by its name, since a node, an attribute, a function or a
tensor that is passed over would make another network of it.
"""

from __future__ import annotations

import math
import os
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.models.networks.protobuf import Message, message, name_of, parts, text, varints
from pinnpoint.models.networks.safetensors import SIZES, decoded

KINDS = {1: "F32", 11: "F64", 10: "F16", 16: "BF16"}
BENDS = {"Tanh": "tanh", "Sin": "sin", "Sigmoid": "sigmoid", "Softplus": "softplus"}
ATTRIBUTES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((*BENDS, "MatMul", "Add", "Identity"), ()),
    "Gelu": ("approximate",),
    "Gemm": ("alpha", "beta", "transA", "transB"),
    "Transpose": ("perm",),
    "Constant": ("value",),
}
"""What the nodes that are read may say."""


@dataclass(frozen=True)
class Node:
    """One operation of the graph."""

    kind: str
    name: str
    inputs: tuple[str, ...]
    output: str
    attributes: dict[str, Message]

    def refused(self, why: str) -> InputError:
        """What to say of a node that is not read."""
        return InputError(
            f"onnx: node {self.name or self.output!r} ({self.kind}): {why}; a chain of Gemm, or MatMul and Add, with "
            "Tanh, Sin, Sigmoid, Softplus or Gelu between is read"
        )

    def whole(self, name: str, default: int) -> int:
        """A whole number among the attributes."""
        found = varints(self.attributes[name].get(3, [])) if name in self.attributes else []
        return found[-1] if found else default


def read_onnx(path: str | os.PathLike[str], factor: str = "none") -> MLP:
    """The network of an ONNX file."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read; {error.strerror}") from error
    model = message(data)
    graphs = parts(model.get(7, []))
    if len(graphs) != 1:
        raise InputError(f"{path}: must be an ONNX model with one graph; found {len(graphs)}")
    graph = message(graphs[0])
    for where, number, what in ((model, 25, "functions of its own"), (model, 20, "training information"),
                                (graph, 15, "sparse tensors"), (graph, 14, "quantized tensors")):  # fmt: skip
        if where.get(number):
            raise InputError(f"{path}: has {what}, which can change what its nodes compute; export it without")
    stored = [_tensor(message(t)) for t in parts(graph.get(5, []))]
    nodes = [_node(message(n)) for n in parts(graph.get(1, []))]
    names = [text(message(v).get(1, [])) for v in parts(graph.get(11, []))]
    tensors = dict(stored)
    inputs = [name for name in names if name not in tensors]
    outputs = [text(message(v).get(1, [])) for v in parts(graph.get(12, []))]
    if len(inputs) != 1 or len(outputs) != 1:
        raise InputError(f"{path}: must have one input and one output; got {inputs} and {outputs}")
    made = [name for name, _ in stored] + [node.output for node in nodes] + inputs
    twice = sorted({name for name in made if made.count(name) > 1})
    if twice or len(set(names)) < len(names):
        raise InputError(f"{path}: every tensor must be made once; {', '.join(twice or names)} is made again")
    network = _chain(nodes, tensors, inputs[0], outputs[0], factor)
    unused = sorted(tensors.keys() - {name for node in nodes for name in node.inputs})
    if unused:
        raise InputError(f"{path}: no node uses the tensor {unused[0]!r}; is a part of the network missing?")
    return network


def _chain(nodes: list[Node], tensors: dict[str, Vector], at: str, end: str, factor: str) -> MLP:
    weights: list[Vector] = []
    biases: list[Vector | None] = []
    bends: list[str] = []
    for node in nodes:
        if node.kind == "Constant" or (node.kind == "Transpose" and set(node.inputs) <= set(tensors)):
            tensors[node.output] = _folded(node, tensors)
            continue
        others = [tensors[name] for name in node.inputs if name in tensors]
        if node.inputs.count(at) != 1 or len(others) != len(node.inputs) - 1:
            raise node.refused("does not continue the chain from the input with stored tensors")
        linear = len(weights) == len(bends) + 1
        if node.kind in ("Gemm", "MatMul") and not linear:
            W, bias = _product(node, at, others)
            weights.append(W)
            biases.append(bias)
        elif node.kind == "Add" and linear and biases[-1] is None and len(others) == 1:
            biases[-1] = _spread(node, others[0], len(weights[-1]))
        elif (node.kind in BENDS or node.kind == "Gelu") and linear and not others:
            bends.append(BENDS.get(node.kind) or _gelu(node))
        elif node.kind != "Identity" or others:
            raise node.refused("is not read there")
        at = node.output
    if at != end or not weights or len(bends) != len(weights) - 1:
        raise InputError(f"onnx: the chain ends in {at!r} after {len(weights)} layers, and must end in {end!r}, linear")
    if len(set(bends)) > 1:
        raise InputError(f"onnx: one activation throughout is read; got {', '.join(bends)}")
    full = [np.zeros(len(W)) if b is None else b for W, b in zip(weights, biases, strict=True)]
    return MLP(weights, full, bends[0] if bends else "tanh", factor)


def _product(node: Node, at: str, others: list[Vector]) -> tuple[Vector, Vector | None]:
    """Weights (outputs, inputs) and bias of a Gemm or MatMul of the running value."""
    most = 2 if node.kind == "Gemm" else 1
    if node.inputs[0] != at or not 1 <= len(others) <= most or any(a.ndim > 2 for a in others) or others[0].ndim != 2:
        raise node.refused("must be the running value times a stored matrix")
    across = node.kind == "MatMul" or not node.whole("transB", 0)
    if node.kind == "Gemm" and (node.whole("transA", 0) or not _plain(node)):
        raise node.refused("alpha and beta must be one, transA zero")
    W = others[0].T if across else others[0]
    return W, _spread(node, others[1], len(W)) if len(others) > 1 else None


def _node(m: Message) -> Node:
    given = [message(a) for a in parts(m.get(5, []))]
    attributes = {text(a.get(1, [])): a for a in given}
    inputs = tuple(name_of(v) for v in parts(m.get(1, [])))
    while inputs and not inputs[-1]:  # optional ones that are left out
        inputs = inputs[:-1]
    node = Node(text(m.get(4, [])), text(m.get(3, [])), inputs, text(m.get(2, [])), attributes)
    if len(m.get(2, [])) != 1 or text(m.get(7, [])) not in ("", "ai.onnx") or text(m.get(8, [])) or "" in inputs:
        raise node.refused("must be of the standard set, with one output")
    unknown = sorted(attributes.keys() - set(ATTRIBUTES.get(node.kind, ())))
    if node.kind in ATTRIBUTES and (unknown or len(given) > len(attributes)):
        raise node.refused(f"the attribute {unknown[0] if unknown else 'given twice'!r} is not read")
    if any(a.get(21) for a in given):
        raise node.refused("has an attribute by reference")
    return node


def _tensor(m: Message) -> tuple[str, Vector]:
    name, shape, kind = text(m.get(8, [])), varints(m.get(1, [])), varints(m.get(2, []))
    dtype = KINDS.get(kind[-1] if kind else 0)
    if dtype is None:
        return name, np.zeros((0,))  # shapes and the like; no layer can use it
    if varints(m.get(14, [])) not in ([], [0]) or m.get(13):
        raise InputError(f"onnx: tensor {name!r} is stored in another file; export with the weights inside")
    if m.get(3) or sum(bool(m.get(k)) for k in (4, 5, 7, 9, 10, 11)) > 1:
        raise InputError(f"onnx: tensor {name!r} is stored in parts or twice; export it anew")
    raw = b"".join(parts(m.get(9, [])) or parts(m.get(4 if dtype == "F32" else 10, [])))
    if min(shape, default=0) < 0 or len(raw) != math.prod(shape) * SIZES[dtype]:
        raise InputError(f"onnx: tensor {name!r} has {len(raw)} bytes for the shape {shape} of {dtype}")
    return name, decoded(raw, dtype).reshape(shape)


def _folded(node: Node, tensors: dict[str, Vector]) -> Vector:
    if node.kind == "Transpose":
        if (
            len(node.inputs) != 1
            or tensors[node.inputs[0]].ndim != 2
            or varints(node.attributes.get("perm", {}).get(8, [])) not in ([], [1, 0])
        ):
            raise node.refused("must transpose a matrix")
        return tensors[node.inputs[0]].T
    values = parts(node.attributes.get("value", {}).get(5, []))
    if len(values) != 1:
        raise node.refused("must hold one tensor")
    return _tensor(message(values[0]))[1]


def _plain(node: Node) -> bool:
    one = [struct.pack("<f", 1.0)]
    return all(node.attributes[k].get(2) == one for k in ("alpha", "beta") if k in node.attributes)


def _spread(node: Node, b: Vector, count: int) -> Vector:
    """A bias as ONNX broadcasts it over the outputs."""
    flat = b.reshape(-1)
    if flat.size not in (1, count) or (b.ndim and b.shape[-1] != flat.size) or b.ndim > 2:
        raise node.refused(f"must add one number for each of {count} outputs; got shape {b.shape}")
    return np.array(np.broadcast_to(flat, count))


def _gelu(node: Node) -> str:
    how = text(node.attributes.get("approximate", {}).get(4, [])) or "none"
    if how not in ("none", "tanh"):
        raise node.refused(f"approximate must be 'none' or 'tanh'; got {how!r}")
    return "gelu-tanh" if how == "tanh" else "gelu"
