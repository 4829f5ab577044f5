"""Networks without torch: values, derivatives, files, and the trained PINN with its hidden bump."""

from __future__ import annotations

import runpy
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from pinnpoint.base.errors import InputError
from pinnpoint.models import MLP
from pinnpoint.models.networks import hidden_bump
from pinnpoint.models.networks import mlp as mlp_module
from tests import ROOT


def network(dim=2, outputs=1, activation="tanh", factor="unit-box", seed=0):
    rng = np.random.default_rng(seed)
    widths = (dim, 7, 5, outputs)
    W = [rng.normal(size=(m, n)) * 1.3 for n, m in pairwise(widths)]
    return MLP(W, [rng.normal(size=m) for m in widths[1:]], activation, factor)


def square(n):
    line = np.linspace(0.0, 1.0, n)
    return np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)


@pytest.fixture(scope="module")
def bump():
    return hidden_bump.load()


# ---- the trained network


def test_collocation_loss_is_tiny(bump):
    assert bump.collocation.shape == (81, 2)
    assert bump.loss < 1e-12
    assert np.abs(bump.network.laplacian(bump.collocation) + bump.source(bump.collocation)).max() < 1e-5


def test_value_between_the_samples_is_visibly_wrong(bump):
    at = bump.worst_point[None]
    assert np.linalg.norm(bump.collocation - at, axis=1).min() > 0.05
    assert bump.network(at)[0] - bump.exact(at)[0] > 0.4  # the true solution is at most 1
    X = square(201)
    error = np.abs(bump.network(X) - bump.exact(X))
    far = np.linalg.norm(X - at, axis=1) > 0.1
    assert error[far].max() < 0.01  # the rest of the square looks solved
    assert np.linalg.norm(X[np.argmax(error)] - at[0]) < 0.01


def test_loss_and_bump_see_each_other_only_between_the_samples(bump):
    """The residual at the bump is huge: the equation is violated, the samples just never ask there."""
    at = bump.worst_point[None]
    assert abs(bump.network.laplacian(at)[0] + bump.source(at)[0]) > 1000.0


def test_boundary_values_are_exactly_zero(bump):
    t = np.linspace(0.0, 1.0, 301)
    for axis in (0, 1):
        for end in (0.0, 1.0):
            X = np.insert(t[:, None], axis, end, axis=1)
            assert np.all(bump.network(X) == 0.0)


def test_texts_say_the_same_as_the_functions(bump):
    names = {"sin": np.sin, "pi": np.pi}
    X = np.random.default_rng(3).random((20, 2))
    for text, function in ((bump.source_text, bump.source), (bump.exact_text, bump.exact)):
        value = eval(text, {"__builtins__": {}}, names | {"x": X[:, 0], "y": X[:, 1]})
        np.testing.assert_allclose(value, function(X), rtol=1e-14)
    assert "81" in bump.description


def test_file_is_small_and_travels_with_the_package(bump):
    path = Path(mlp_module.__file__).parents[2] / "data" / hidden_bump.FILE
    assert path.stat().st_size < 50_000
    again = MLP.load(path)  # the further arrays are passed over
    X = square(11)
    assert np.array_equal(again(X), bump.network(X))


@pytest.mark.optional
def test_same_values_as_torch(bump, tmp_path):
    """The training script's own network and residual, given the shipped weights; then its quick form from scratch."""
    torch = pytest.importorskip(
        "torch", reason="needs torch: compares with its evaluation, and trains in the quick form"
    )
    path = ROOT / "studies" / "train_hidden_bump.py"
    script = runpy.run_path(str(path))
    u = script["Network"]("tanh", 1.0).double()
    with torch.no_grad():
        for layer, W, b in zip(u.layers, bump.network.weights, bump.network.biases, strict=True):
            layer.weight.copy_(torch.tensor(W.copy()))
            layer.bias.copy_(torch.tensor(b.copy()))
    X = np.vstack([bump.collocation, bump.worst_point])
    at = torch.tensor(X)
    np.testing.assert_allclose(bump.network(X), u(at).detach().numpy(), rtol=1e-12, atol=1e-13)
    r = bump.network.laplacian(X) + bump.source(X)
    np.testing.assert_allclose(r, script["residual"](u, at).detach().numpy(), rtol=1e-10, atol=1e-9)
    out = tmp_path / "quick.npz"
    subprocess.run([sys.executable, str(path), "--quick", "--out", str(out)], check=True, capture_output=True)
    assert MLP.load(out)(bump.worst_point[None])[0] - bump.exact(bump.worst_point[None])[0] > 0.3


# ---- values and derivatives


@pytest.mark.parametrize("activation", ["tanh", "sin"])
@pytest.mark.parametrize("factor", ["none", "unit-box"])
@pytest.mark.parametrize(("dim", "outputs"), [(1, 1), (2, 1), (3, 1), (2, 3)])
def test_derivatives_agree_with_differences(dim, outputs, activation, factor):
    u = network(dim, outputs, activation, factor)
    X = np.random.default_rng(1).random((40, dim))
    value, gradient, laplacian = u.derivatives(X)
    np.testing.assert_allclose(value, u(X), rtol=1e-13, atol=1e-14)
    h, total = 1e-3, 0.0
    for i in range(dim):
        e = h * np.eye(dim)[i]
        far = [u(X + k * e) for k in (-2, -1, 1, 2)]
        slope = (far[0] - 8.0 * far[1] + 8.0 * far[2] - far[3]) / (12.0 * h)
        total = total + (-far[0] + 16.0 * far[1] - 30.0 * value + 16.0 * far[2] - far[3]) / (12.0 * h * h)
        np.testing.assert_allclose(gradient[:, i], slope, atol=1e-7)
    np.testing.assert_allclose(laplacian, total, atol=2e-6)
    np.testing.assert_array_equal(laplacian, u.laplacian(X))


def test_laplacian_of_the_trained_network_agrees_with_differences(bump):
    X = np.vstack([bump.collocation[::7], bump.worst_point, bump.worst_point + 0.013])
    h, u = 5e-4, bump.network
    total = np.zeros(len(X))
    for e in h * np.eye(2):
        total += (-u(X - 2 * e) + 16 * u(X - e) - 30 * u(X) + 16 * u(X + e) - u(X + 2 * e)) / (12.0 * h * h)
    np.testing.assert_allclose(u.laplacian(X), total, rtol=1e-5, atol=1e-3)


def test_a_known_network_has_its_values():
    u = MLP([[[2.0]], [[3.0]]], [[0.5], [-1.0]], "sin", "unit-box")
    x = np.array([0.25, 0.75])
    np.testing.assert_allclose(u(x), x * (1 - x) * (3 * np.sin(2 * x + 0.5) - 1), rtol=1e-15)
    affine = MLP([[[1.0, 2.0]]], [[3.0]])
    assert affine([[1.0, 1.0]])[0] == 6.0
    assert affine.laplacian([[1.0, 1.0]])[0] == 0.0


def test_chunks_do_not_show(monkeypatch):
    u, X = network(), square(9)
    whole = u.derivatives(X)
    monkeypatch.setattr(mlp_module, "CHUNK", 10)
    for a, b in zip(whole, u.derivatives(X), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-15)
    assert u(np.zeros((0, 2))).shape == (0,)
    assert network(outputs=3)(X).shape == (81, 3)
    assert network(outputs=3).derivatives(X)[1].shape == (81, 2, 3)


def test_weights_cannot_be_changed():
    W = [np.ones((1, 2))]
    u = MLP(W, [[0.0]])
    W[0][:] = 7.0
    assert u([[1.0, 1.0]])[0] == 2.0
    with pytest.raises(ValueError, match="read-only"):
        u.weights[0][0, 0] = 1.0


# ---- files


@pytest.mark.parametrize("activation", ["tanh", "sin"])
def test_a_saved_network_comes_back_bit_by_bit(tmp_path, activation):
    u = network(3, 2, activation, "none")
    v = MLP.load(u.save(tmp_path / "net.npz", note=np.array("more")))
    assert (v.activation, v.factor, v.dim, v.outputs) == (activation, "none", 3, 2)
    for a, b in zip((*u.weights, *u.biases), (*v.weights, *v.biases), strict=True):
        assert np.array_equal(a, b)
    assert [p.name for p in tmp_path.iterdir()] == ["net.npz"]
    for name, array in (("weights_0", np.ones(1)), ("biases_9", np.ones(1)), ("thing", np.array([{}]))):
        with pytest.raises(InputError, match=name):
            u.save(tmp_path / "net.npz", **{name: array})


def good():
    return {
        "weights_0": np.ones((4, 2)),
        "biases_0": np.zeros(4),
        "weights_1": np.ones((1, 4)),
        "biases_1": np.zeros(1),
        "activation": np.array("tanh"),
        "factor": np.array("none"),
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weights_0": np.full((4, 2), np.nan)}, r"weights\[0\]: must be finite"),
        ({"biases_1": np.array([np.inf])}, r"biases\[1\]: must be finite"),
        ({"weights_1": np.ones((1, 3))}, r"weights\[1\]: must have 4 columns"),
        ({"weights_1": np.ones(4)}, r"weights\[1\]: must be a matrix"),
        ({"weights_0": np.ones((4, 0))}, r"weights\[0\]: must be a matrix"),
        ({"biases_0": np.zeros(3)}, r"biases\[0\]: must have 4 entries"),
        ({"biases_1": None}, "biases_1: missing"),
        ({"weights_0": None, "weights_1": None}, "weights_0: missing"),
        ({"weights_0": None}, "weights_0: missing"),
        ({"weights_0": np.ones((4, 2), dtype=complex)}, "weights_0: must be float64 or float32; got complex128"),
        ({"weights_0": np.ones((4, 2), dtype=np.int64)}, "weights_0: must be float64 or float32; got int64"),
        ({"activation": np.array("relu")}, "activation: must be one of 'tanh', 'sin', .* got 'relu'"),
        ({"activation": np.array(1.0)}, "activation: must be text"),
        ({"factor": None}, "factor: missing"),
        ({"factor": np.array("ball")}, "factor: must be 'none' or 'unit-box'"),
    ],
)
def test_bad_network_files_are_refused(tmp_path, change, words):
    path = tmp_path / "net.npz"
    fields = {k: v for k, v in (good() | change).items() if v is not None}
    np.savez(path, **fields)
    with pytest.raises(InputError, match=words):
        MLP.load(path)


def test_refuses_pickles_and_what_is_no_archive(tmp_path):
    np.savez(tmp_path / "pickle.npz", **(good() | {"weights_0": np.array([[{}, 1]], dtype=object)}))
    np.save(tmp_path / "array.npy", np.ones(3))
    (tmp_path / "text.npz").write_text("not a network")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.savez(tmp_path / "whole.npz", **good())
    (tmp_path / "cut.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:-40])
    for name in ("pickle.npz", "array.npy", "text.npz", "empty.npz", "cut.npz"):
        with pytest.raises(InputError, match=r"must be an \.npz archive of plain arrays"):
            MLP.load(tmp_path / name)
    with pytest.raises(InputError, match="no such file"):
        MLP.load(tmp_path / "absent.npz")


def test_bad_points_are_refused():
    u = network()
    for X, words in (
        ([0.1, 0.2], "dimension 2"),
        (np.zeros((3, 3)), "dimension 2"),
        ([[0.1, np.nan]], "X: must be finite"),
        (0.5, "dimension 2"),
        ([["a", "b"]], "X: must hold real numbers"),
    ):
        with pytest.raises(InputError, match=words):
            u(X)
    with pytest.raises(InputError, match="range of float64"):
        MLP([[[1e308, 1e308]]], [[0.0]])([[10.0, 1.0]])
    with pytest.raises(InputError, match="2 weights and 1 biases"):
        MLP([np.ones((1, 1))] * 2, [[0.0]])
