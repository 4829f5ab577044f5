"""Networks as files of safetensors and ONNX, byte by byte, by the formats' own descriptions."""

from __future__ import annotations

import json
import struct

import numpy as np


def safetensors(tensors, dtype="F64", **more):
    """The bytes of a file, by the format's own description."""
    formats = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}
    table, body = {}, b""
    for name, a in tensors.items():
        if dtype == "BF16":
            raw = (np.asarray(a, dtype="<f4").view("<u4") >> 16).astype("<u2").tobytes()
        else:
            raw = np.asarray(a).astype(formats[dtype]).tobytes()
        table[name] = {"dtype": dtype, "shape": list(np.shape(a)), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    table |= more
    head = json.dumps(table).encode()
    return struct.pack("<Q", len(head)) + head + body


def state(W, b, name="net.{}"):
    found = {}
    for k in reversed(range(len(W))):  # the order in the file says nothing
        found |= {f"{name.format(2 * k)}.bias": b[k], f"{name.format(2 * k)}.weight": W[k]}
    return found


def varint(n):
    n &= 2**64 - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, a, kind="raw32"):
    a = np.asarray(a)
    head = b"".join(field(1, n) for n in a.shape) + field(8, name)
    if kind == "raw64":
        return head + field(2, 11) + field(9, a.astype("<f8").tobytes())
    if kind == "float":
        return head + field(2, 1) + field(4, a.astype("<f4").tobytes())
    if kind == "double":
        return head + field(2, 11) + field(10, a.astype("<f8").tobytes())
    return head + field(2, 1) + field(9, a.astype("<f4").tobytes())


def node(kind, inputs, output, **attributes):
    raw = b"".join(field(1, name) for name in inputs) + field(2, output) + field(3, f"/{output}") + field(4, kind)
    for name, value in attributes.items():
        place = {int: 3, float: 2, str: 4, bytes: 5}[type(value)]
        raw += field(5, field(1, name) + field(place, value))
    return raw


def onnx(nodes, tensors, inputs=("x",), outputs=("y",)):
    graph = b"".join(field(1, n) for n in nodes) + field(2, "graph") + b"".join(field(5, t) for t in tensors)
    graph += b"".join(field(11, field(1, i)) for i in inputs) + b"".join(field(12, field(1, o)) for o in outputs)
    return field(1, 9) + field(2, "test") + field(7, graph)


def gemms(W, b, bend="Tanh", kind="raw64", **attributes):
    nodes, tensors, at = [], [], "x"
    for k, (w, v) in enumerate(zip(W, b, strict=True)):
        last = k == len(W) - 1
        tensors += [tensor(f"w{k}", w, kind), tensor(f"b{k}", v, kind)]
        nodes.append(node("Gemm", [at, f"w{k}", f"b{k}"], "y" if last else f"z{k}", transB=1, alpha=1.0, beta=1.0))
        if not last:
            nodes.append(node(bend, [f"z{k}"], f"h{k}", **attributes))
            at = f"h{k}"
    return nodes, tensors
