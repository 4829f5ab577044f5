"""Neural operators of other libraries, and the one that comes with the package."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import DependencyMissingError
from pinnpoint.models.networks import two_heads
from pinnpoint.models.networks.two_heads import against_hats, gradients, state, stream


def test_chunks_are_read_one_after_another():
    seen = []

    def evaluate(K):
        seen.append(len(K))
        return 2.0 * K

    K = np.arange(20.0).reshape(10, 2)
    predict = pp.models.OperatorPredictor(evaluate, "twice", chunk=4)
    np.testing.assert_array_equal(predict(K), 2.0 * K)
    assert seen == [4, 4, 2]
    for bad, words in ((lambda K: K[:1], "a prediction for each"), (lambda K: "no", "real numbers")):
        with pytest.raises(pp.InputError, match=words):
            pp.models.OperatorPredictor(bad, "", chunk=4)(K)
    with pytest.raises(pp.InputError, match="there are none"):
        predict(K[:0])
    with pytest.raises(pp.InputError, match="chunk"):
        pp.models.OperatorPredictor(evaluate, "", chunk=0)


@pytest.mark.optional
def test_neuraloperator_with_its_normalizers():
    torch = pytest.importorskip("torch", reason="pip install 'pinnpoint[torch]'")

    class Doubles(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.tensor(2.0))
            self.drop = torch.nn.Dropout(0.9)

        def forward(self, x):
            return self.w * self.drop(x)

    class Shift:
        def transform(self, x):
            return x - 1.0

        def inverse_transform(self, x):
            return x + 5.0

    class Processor:
        in_normalizer = out_normalizer = Shift()

    K = np.random.default_rng(0).random((5, 4, 4))
    model = Doubles()
    predict = pp.models.neuralop_operator(model, processor=Processor(), chunk=2)
    np.testing.assert_allclose(predict(K), 2.0 * (K - 1.0) + 5.0, rtol=1e-6)
    np.testing.assert_allclose(pp.models.neuralop_operator(model)(K), 2.0 * K, rtol=1e-6)
    assert model.training
    assert "Doubles" in predict.description
    with pytest.raises(pp.InputError, match="model: must be a torch module"):
        pp.models.neuralop_operator(len)
    with pytest.raises(pp.InputError, match="one channel"):
        pp.models.neuralop_operator(torch.nn.Conv2d(1, 2, 1))(K)


@pytest.mark.optional
def test_fno_of_neuraloperator():
    pytest.importorskip("neuralop", reason="pip install 'pinnpoint[neuralop]'")
    import torch
    from neuralop.models import FNO

    torch.manual_seed(0)
    model = FNO(n_modes=(4, 4), in_channels=1, out_channels=1, hidden_channels=4, n_layers=1)
    K = pp.fem.darcy_fields(8, 3, 0)
    found = pp.models.neuralop_operator(model)(K)
    with torch.no_grad():
        wanted = model.eval()(torch.as_tensor(K, dtype=torch.float32)[:, None])[:, 0].numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_torch_is_asked_for_by_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(DependencyMissingError, match=r"pinnpoint\[neuralop\]"):
        pp.models.neuralop_operator(None)


@pytest.mark.optional
def test_deeponet_takes_coefficients_and_points(monkeypatch):
    pytest.importorskip("deepxde", reason="pip install 'pinnpoint[deepxde]'")

    class Model:
        net = None

        def predict(self, both):
            branch, trunk = both
            assert branch.dtype == trunk.dtype == np.float32
            return branch.sum(axis=1)[:, None] * trunk[:, 0]

    K, X = np.random.default_rng(0).random((3, 2, 2)), np.random.default_rng(1).random((5, 2))
    found = pp.models.deeponet_operator(Model(), X)(K)
    np.testing.assert_allclose(found, K.sum(axis=(1, 2))[:, None] * X[:, 0], rtol=1e-5)
    one = pp.models.deeponet_operator(Model(), X, sensors=[0])(K)
    np.testing.assert_allclose(one, K[:, 0, 0][:, None] * X[:, 0], rtol=1e-5)
    with pytest.raises(pp.InputError, match=r"deepxde\.Model"):
        pp.models.deeponet_operator(len, X)


def test_transforms_solve_what_they_say():
    """(∇u, ∇φ) = (q, ∇φ) and (curl ψ, curl φ) = (t, curl φ), against the assembled matrices."""
    n, rng = 6, np.random.default_rng(0)
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", n), source=1.0)
    A = problem.A.toarray()
    q = rng.normal(size=(1, 2, n, n)).astype(np.float32)
    u, b = state(q)[0].ravel(), against_hats(q)[0].ravel()
    free = problem.space.free
    np.testing.assert_allclose((A @ u)[free], b[free], atol=1e-5)
    psi = stream(q)[0].ravel()
    turned = against_hats(np.stack([-q[:, 1], q[:, 0]], axis=1))[0].ravel()
    np.testing.assert_allclose(A @ psi, turned, atol=1e-5)
    x, y = problem.mesh.points.T
    slopes = gradients((3.0 * x - y).reshape(1, n + 1, n + 1).astype(np.float32))
    np.testing.assert_allclose(slopes[0, 0], 3.0, atol=1e-5)
    np.testing.assert_allclose(slopes[0, 1], -1.0, atol=1e-5)


def test_the_shipped_network_needs_numpy_alone_and_refuses_nonsense(tmp_path):
    network = two_heads.load()
    K = pp.fem.darcy_fields(12, 2, 0)
    u, psi = network(K)
    assert u.shape == psi.shape == (2, 13, 13)
    assert not np.any(u[:, [0, -1]])
    assert not np.any(u[:, :, [0, -1]])
    np.testing.assert_allclose(network(4.0 * K)[0], 0.25 * u, atol=1e-7)
    for bad in (K[0], -K, K[:, :3], np.full((1, 4, 4), np.nan)):
        with pytest.raises(pp.InputError, match="kappa: must be positive"):
            network(bad)
    with pytest.raises(pp.InputError, match="no file of a network with two heads"):
        two_heads.DarcyOperator.from_arrays({})
    with pytest.raises(pp.InputError, match=r"first\.0\.bias: missing"):
        two_heads.DarcyOperator.from_arrays({"first.0.weight": np.zeros((2, 11, 3, 3))})
