"""Networks from safetensors, ONNX and torch: what is read is exact, what is not understood is refused."""

from __future__ import annotations

import json
import struct
from itertools import pairwise

import numpy as np
import pytest

from pinnpoint.base.errors import InputError
from pinnpoint.models import MLP, from_torch, load_network
from pinnpoint.models.networks.safetensors import read_safetensors
from tests.support.network_files import field, gemms, node, onnx, safetensors, state, tensor

X = np.random.default_rng(9).uniform(-1.0, 1.0, (40, 2))


def layers(widths=(2, 5, 4, 1), seed=0):
    rng = np.random.default_rng(seed)
    pairs = list(pairwise(widths))
    return [rng.normal(size=(m, n)) for n, m in pairs], [rng.normal(size=m) for _, m in pairs]


# ---- safetensors


@pytest.mark.parametrize("dtype", ["F64", "F32", "F16", "BF16"])
def test_safetensors_are_read_exactly(tmp_path, dtype):
    W, b = layers((2, *[3] * 11, 1))  # twelve layers: 10 comes after 9
    kept = {"F64": lambda a: a, "F32": lambda a: a.astype(np.float32), "F16": lambda a: a.astype(np.float16),
            "BF16": lambda a: (a.astype("<f4").view("<u4") >> 16 << 16).view("<f4")}[dtype]  # fmt: skip
    path = tmp_path / "net.safetensors"
    path.write_bytes(safetensors(state(W, b), dtype, __metadata__={"format": "pt"}))
    net = load_network(path, "sin", "unit-box")
    assert (net.activation, net.factor) == ("sin", "unit-box")
    for read, given in zip((*net.weights, *net.biases), (*W, *b), strict=True):
        np.testing.assert_array_equal(read, kept(given).astype(float))


def test_names_of_layers(tmp_path):
    W, b = layers((2, 3, 3, 1))
    path = tmp_path / "net.safetensors"
    named = {"enter.weight": W[0], "enter.bias": b[0], "mid.weight": W[1], "out.weight": W[2], "out.bias": b[2]}
    path.write_bytes(safetensors(named))
    with pytest.raises(InputError, match="do not say their order; say layers"):
        load_network(path, "tanh")
    net = load_network(path, "tanh", layers=["enter", "mid", "out"])
    np.testing.assert_array_equal(net.biases[1], np.zeros(3))
    np.testing.assert_allclose(net(X), MLP(W, [b[0], np.zeros(3), b[2]])(X))
    with pytest.raises(InputError, match=r"only layers with .weight and .bias are read; got mid.weight"):
        load_network(path, "tanh", layers=["enter", "out"])
    with pytest.raises(InputError, match=r"inner.weight is missing"):
        load_network(path, "tanh", layers=["enter", "inner", "out"])
    with pytest.raises(InputError, match="activation: say which"):
        load_network(path)
    path.write_bytes(safetensors(state(W, b) | {"scale": np.ones(2)}))
    with pytest.raises(InputError, match="got scale beside"):
        load_network(path, "tanh")
    twice = {"a.0.b.1.weight": W[0], "a.1.b.0.weight": W[1]}
    path.write_bytes(safetensors(twice))
    with pytest.raises(InputError, match="do not say their order"):
        load_network(path, "tanh")


def entry(start, stop, dtype="F64", shape=(1,)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, stop]}


@pytest.mark.parametrize(
    ("table", "body", "message"),
    [
        ({"a": entry(0, 16)}, 16, "has 16 bytes for the shape"),
        ({"a": entry(0, 8)}, 4, "leaves the file"),
        ({"a": entry(8, 16)}, 16, "not stored next to"),
        ({"a": entry(0, 8), "b": entry(0, 8)}, 8, "not stored next to"),
        ({"a": entry(0, 8)}, 9, "1 bytes at its end"),
        ({"a": entry(0, 8, "I64")}, 8, "must be of F64, F32"),
        ({"a": entry(0, -8, shape=(-1,))}, 8, "whole numbers"),
        ({"a": entry(0, 8, shape=(True,))}, 8, "whole numbers"),
        ({"a": {"dtype": "F64"}}, 8, "must have dtype, shape and data_offsets"),
        ({"a": 3}, 8, "must have dtype, shape and data_offsets"),
        ([1], 8, "no object"),
    ],
)
def test_bad_tables_of_safetensors_are_refused(tmp_path, table, body, message):
    head = json.dumps(table).encode()
    path = tmp_path / "bad.safetensors"
    path.write_bytes(struct.pack("<Q", len(head)) + head + bytes(body))
    with pytest.raises(InputError, match=message):
        read_safetensors(path)


def test_damaged_safetensors_are_refused(tmp_path):
    path = tmp_path / "bad.safetensors"
    good = safetensors(state(*layers()))
    for raw in (b"", b"abc", struct.pack("<Q", 2**60) + b"{}", struct.pack("<Q", 9) + b'{"a":1}  '[:5]):
        path.write_bytes(raw)
        with pytest.raises(InputError, match="safetensors file"):
            read_safetensors(path)
    path.write_bytes(struct.pack("<Q", 15) + b'{"a":1,"a": 2} ')
    with pytest.raises(InputError, match="stands twice"):
        read_safetensors(path)
    path.write_bytes(struct.pack("<Q", 200_000) + b"[" * 200_000)
    with pytest.raises(InputError, match="not JSON"):
        read_safetensors(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_safetensors(tmp_path / "none.safetensors")
    survived(path, good, lambda: load_network(path, "tanh"))


def survived(path, good, load):
    """Any damage is refused or read as other numbers; nothing else happens."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        raw = bytearray(good)
        for k in rng.integers(0, len(raw), rng.integers(1, 4)):
            raw[k] = int(rng.integers(0, 256))
        path.write_bytes(bytes(raw[: rng.integers(1, len(raw) + 1)]) if rng.random() < 0.3 else bytes(raw))
        try:
            load()
        except InputError:
            continue


# ---- ONNX, written here by hand


@pytest.mark.parametrize("kind", ["raw32", "raw64", "float", "double"])
def test_onnx_is_read_exactly(tmp_path, kind):
    W, b = layers()
    path = tmp_path / "net.onnx"
    path.write_bytes(onnx(*gemms(W, b, "Sin", kind)))
    net = load_network(path)
    assert net.activation == "sin"
    for read, given in zip((*net.weights, *net.biases), (*W, *b), strict=True):
        np.testing.assert_array_equal(read, given if "64" in kind or kind == "double" else given.astype(np.float32))


def test_onnx_with_products_sums_constants_and_transposes(tmp_path):
    W, b = layers()
    nodes = [
        node("MatMul", ["x", "w0"], "p"),
        node("Add", ["b0", "p"], "z"),
        node("Gelu", ["z"], "h", approximate="tanh"),
        node("Constant", [], "w1", value=tensor("", W[1], "raw64")),
        node("Transpose", ["w1"], "w1t"),
        node("MatMul", ["h", "w1t"], "z1"),
        node("Gelu", ["z1"], "h1", approximate="tanh"),
        node("Gemm", ["h1", "w2", "b2"], "end"),
        node("Identity", ["end"], "y"),
    ]
    tensors = [tensor("w0", W[0].T, "raw64"), tensor("b0", b[0][None], "raw64"), tensor("w2", W[2].T, "raw64")]
    tensors.append(tensor("b2", b[2], "raw64"))
    path = tmp_path / "net.onnx"
    path.write_bytes(onnx(nodes, tensors, inputs=("x", "w0")))
    net = load_network(path, factor="unit-box")
    np.testing.assert_allclose(net(X), MLP(W, [b[0], 0.0 * b[1], b[2]], "gelu-tanh", "unit-box")(X), rtol=1e-14)


def refused_graphs():
    W, b = layers()
    nodes, tensors = gemms(W, b)
    yield "node '/h0' .Relu.*is not read there", onnx(*gemms(W, b, "Relu"))
    yield "must end in 'y', linear", onnx([*nodes[:-1], node("Gemm", ["h1", "w2", "b2"], "q", transB=1)], tensors)
    yield "must end in 'q', linear", onnx([*nodes, node("Tanh", ["y"], "q")], tensors, outputs=("q",))
    yield "alpha and beta must be one", onnx([node("Gemm", ["x", "w0", "b0"], "y", alpha=2.0)], tensors)
    yield "alpha and beta must be one", onnx([node("Gemm", ["x", "w0", "b0"], "y", transA=1)], tensors)
    yield "does not continue the chain", onnx([nodes[0], node("Add", ["z0", "x"], "y")], tensors)
    yield "does not continue the chain", onnx([nodes[0], node("Mul", ["z0", "z0"], "y")], tensors)
    yield "is not read there", onnx([node("Tanh", ["x"], "y")], tensors)
    yield "one activation throughout", onnx([*nodes[:3], node("Sin", ["z1"], "h1"), nodes[4]], tensors)
    yield "one input and one output", onnx(nodes, tensors, inputs=("x", "t"))
    yield "one graph", b""
    yield "stored in another file", onnx(nodes, [*tensors, tensor("e", [1.0]) + field(14, 1)])
    yield "has 4 bytes for the shape", onnx(nodes, [*tensors, field(1, 2) + tensor("e", [1.0])])
    custom = node("Gemm", ["x", "w0", "b0"], "y") + field(7, "com.acme")
    yield "of the standard set", onnx([custom], tensors)
    yield "one number for each of 5 outputs", onnx([node("Gemm", ["x", "w0", "b1"], "z0", transB=1)], tensors)
    yield "must be the running value times", onnx([node("Gemm", ["w0", "x", "b0"], "y")], tensors)
    bare = field(5, field(1, "alpha"))  # an attribute without a value is zero
    yield "alpha and beta must be one", onnx([node("Gemm", ["x", "w0", "b0"], "y") + bare], tensors)
    twice = node("Gemm", ["x", "w0", "b0"], "y", transB=1) + field(5, field(1, "transB") + field(3, 0))
    yield "attribute 'given twice' is not read", onnx([twice], tensors)
    yield "attribute 'axis' is not read", onnx([node("Add", ["x", "b0"], "y", axis=1)], tensors)
    yield "attribute 'alpha' is not read", onnx(*gemms(W, b, "Sigmoid", alpha=2.0))
    yield "approximate must be 'none' or 'tanh'", onnx(*gemms(W, b, "Gelu", approximate="quick"))
    yield "no node uses the tensor 'scale'", onnx(nodes, [*tensors, tensor("scale", [2.0])])
    yield "functions of its own", onnx(nodes, tensors) + field(25, field(1, "Tanh"))
    yield "training information", onnx(nodes, tensors) + field(20, b"")
    yield "made once; w0 is made again", onnx(nodes, [*tensors, tensor("w0", W[0] * 2.0)])
    yield "made once; z0 is made again", onnx([nodes[0], *nodes], tensors)
    yield "made once; b0 is made again", onnx([node("Constant", [], "b0", value=tensor("", b[0])), *nodes], tensors)
    yield "stored in parts or twice", onnx(nodes, [*tensors[1:], tensor("w0", W[0], "float") + field(9, b"1")])
    yield "is not UTF-8", onnx(nodes, tensors, inputs=(b"\xff",))
    overload = node("Tanh", ["x"], "y") + field(8, "other")
    yield "of the standard set", onnx([overload], tensors)
    referred = node("Gemm", ["x", "w0", "b0"], "y") + field(5, field(1, "beta") + field(2, 1.0) + field(21, "b"))
    yield "attribute by reference", onnx([referred], tensors)
    yield "one input and one output", onnx(nodes, tensors, outputs=("y", "h0"))
    yield r"\(Clip\).*is not read there", onnx([*nodes[:-1], node("Clip", ["h1"], "c"), nodes[-1]], tensors)


@pytest.mark.parametrize(("message", "raw"), list(refused_graphs()), ids=lambda v: v[:20] if isinstance(v, str) else "")
def test_what_is_not_understood_of_onnx_is_refused(tmp_path, message, raw):
    path = tmp_path / "bad.onnx"
    path.write_bytes(raw)
    with pytest.raises(InputError, match=message):
        load_network(path)


def test_damaged_onnx_is_read_or_refused_in_words(tmp_path):
    path = tmp_path / "bad.onnx"
    survived(path, onnx(*gemms(*layers())), lambda: load_network(path))


# ---- torch, and files in general


@pytest.mark.optional
def test_state_dicts_are_read_with_their_activation():
    torch = pytest.importorskip("torch")
    W, b = layers()
    given = {k: torch.tensor(v) for k, v in state(W, b, "{}").items()}
    np.testing.assert_array_equal(from_torch(given, "sin")(X), MLP(W, b, "sin")(X))
    with pytest.raises(InputError, match="activation: say which"):
        from_torch(given)
    with pytest.raises(InputError, match="module: must be a torch module"):
        from_torch(3)
    with pytest.raises(InputError, match="must be floating point"):
        from_torch({"0.weight": np.ones((1, 2), dtype=int)}, "tanh")
    del given["2.bias"]
    with pytest.raises(InputError, match="2 has no bias, which other layers have"):
        from_torch(given, "sin")
    assert not from_torch(given, "sin", layers=["0", "2", "4"]).biases[1].any()


def test_files_by_their_ending(tmp_path):
    net = MLP(*layers(), "gelu", "unit-box")
    path = net.save(tmp_path / "net.npz")
    np.testing.assert_array_equal(load_network(path)(X), net(X))
    with pytest.raises(InputError, match="has gelu and unit-box"):
        load_network(path, "tanh")
    with pytest.raises(InputError, match=r"layers: net.npz holds their order"):
        load_network(path, layers=["a"])
    with pytest.raises(InputError, match=r"must end in .npz, .safetensors or .onnx.*a pickle.*save_file"):
        load_network(tmp_path / "net.pt")


def test_an_array_of_no_layer_is_refused(tmp_path):
    W, b = layers()
    fields = {f"{kind}_{k}": a for kind, each in (("weights", W), ("biases", b)) for k, a in enumerate(each)}
    np.savez(tmp_path / "net.npz", **fields, biases_3=b[0], activation=np.array("tanh"), factor=np.array("none"))
    with pytest.raises(InputError, match="biases_3: belongs to no layer"):
        load_network(tmp_path / "net.npz")
