"""Training on compatible residuals: right derivatives, the same weights for the same seed, certificates that hold."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import pinnpoint as pp
from tests.support import gallery

torch = pytest.importorskip("torch", reason="pip install 'pinnpoint[torch]'")
pytestmark = pytest.mark.optional

from pinnpoint import training as tr  # noqa: E402
from pinnpoint.models.networks.safetensors import read_metadata, read_safetensors  # noqa: E402
from pinnpoint.training.residuals import sparse_product  # noqa: E402


def square(cells=6):
    return pp.fem.ReactionDiffusion(pp.io.generate("square", cells), source="2*pi**2*sin(pi*x)*sin(pi*y)")


def quick(**more):
    return tr.Settings(**{"epochs": 60, **more})


def test_sparse_product_has_the_right_derivatives():
    rng = np.random.default_rng(0)
    A = gallery.random_sparse(rng, 7, 5, 0.5)
    product = sparse_product(A)
    y = torch.from_numpy(rng.normal(size=(3, 5))).requires_grad_(True)
    values = y.detach().numpy()
    error = np.abs(product(y).detach().numpy() - values @ A.toarray().T)
    assert np.all(error <= 1e-15 * (np.abs(values) @ A.toarray().T))  # five products each, in whatever order
    assert torch.autograd.gradcheck(product, (y,))
    assert torch.autograd.gradgradcheck(lambda z: (product(z) ** 3).sum(), (y,))


def test_residuals_are_the_certified_ones():
    problem = square()
    residual = tr.compatible_residual(problem.system)
    y = np.random.default_rng(1).normal(size=problem.system.n)
    exact = problem.system.residual(problem.space.vector_of(y))
    np.testing.assert_allclose(residual(torch.from_numpy(y)).numpy(), exact, rtol=1e-11, atol=1e-12)
    cubic = pp.fem.Semilinear(pp.io.generate("interval", 9), cubic=20.0, source=1.0)
    F = tr.compatible_residual(cubic.system)
    z = torch.from_numpy(np.random.default_rng(2).normal(size=cubic.system.n)).requires_grad_(True)
    np.testing.assert_allclose(F(z).detach().numpy(), cubic.system.residual(z.detach().numpy()).hi, rtol=1e-12)
    assert torch.autograd.gradcheck(F, (z,))
    gauge = pp.AdmissibleSpace.constrained(np.ones(5) / 5, 0.0)
    tied = pp.LinearSystem(np.diag(np.arange(1.0, 6.0)), np.ones(5), space=gauge)
    y = np.arange(4.0)
    np.testing.assert_allclose(
        tr.compatible_residual(tied)(torch.from_numpy(y)).numpy(), tied.residual(gauge.vector_of(y)), rtol=1e-13
    )
    with pytest.raises(pp.InputError, match="system"):
        tr.compatible_residual(3)


def test_a_trained_field_is_certified_and_travels(tmp_path):
    problem = square()
    seen = []
    field = tr.train_field(
        problem, quick(epochs=200, every=50), width=24, report=lambda e, loss, check: seen.append((e, loss, check))
    )
    assert field.history.best_loss < 0.1 < field.history.loss[0]
    assert [e for e, _, _ in seen] == [50, 100, 150, 200]
    r, start = (problem.system.residual(problem.extract(u).U) for u in (field, lambda X: 0.0 * X[:, 0]))
    np.testing.assert_allclose(r @ r / (start @ start), field.history.best_loss, rtol=1e-10)
    queries = problem.points([[0.5, 0.5], [0.31, 0.77]])
    certificate = pp.certify(problem, field, queries)
    assert np.all(certificate.contains(np.sin(np.pi * queries.points[:, 0]) * np.sin(np.pi * queries.points[:, 1])))
    X = np.random.default_rng(0).uniform(size=(50, 2))
    path = field.save(tmp_path / "field.safetensors")
    again = pp.models.load_network(path, "tanh", "unit-box")
    np.testing.assert_allclose(again(X), field(X), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(field.network(X), field(X), rtol=1e-12, atol=1e-15)
    assert read_metadata(path)["factor"] == "unit-box"
    library = pytest.importorskip("safetensors.numpy", reason="pip install safetensors")
    for name, value in library.load_file(path).items():
        np.testing.assert_array_equal(value, read_safetensors(path)[name])


def test_the_seed_decides_and_nothing_else():
    problem = square(4)
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first = tr.train_field(problem, quick(seed=3), width=8)
    assert torch.equal(before, torch.random.get_rng_state())
    torch.manual_seed(6)
    second, third = (tr.train_field(problem, quick(seed=s), width=8) for s in (3, 4))
    assert first.history.loss == second.history.loss != third.history.loss
    X = np.random.default_rng(0).uniform(size=(9, 2))
    np.testing.assert_array_equal(first(X), second(X))
    assert first(X).dtype == np.float64


def test_semilinear_and_elastic_fields():
    cubic = pp.fem.Semilinear(pp.io.generate("interval", 16), cubic=20.0, source="pi**2*sin(pi*x) + 20*sin(pi*x)**3")
    field = tr.train_field(cubic, quick(epochs=300), width=24)
    assert field.history.best_loss < 1e-2
    middle = cubic.points([[0.5]])
    found = pp.certify(cubic, field, middle, pp.Root(polish=4), target="discrete")
    assert abs(found.raw[0] - found.center[0]) < 0.1
    plate = pp.fem.Elasticity(
        pp.io.generate("square", 4), young=1.0, poisson=0.3, fixed={"left": 0.0}, force={"right": (0.1, 0.0)}
    )
    bent = tr.train_field(plate, quick(epochs=400), width=24, factor=lambda X: X[:, 0])
    assert bent.history.best_loss < 0.7
    assert bent(np.zeros((3, 2))).shape == (3, 2)
    with pytest.raises(pp.InputError, match="factor"):
        _ = bent.network


def test_collocation_is_small_at_its_points_only():
    problem = square()
    line = np.linspace(0.1, 0.9, 5)
    points = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    field = tr.train_collocation(problem, points, quick(epochs=10, optimizer="lbfgs"), width=16, depth=2)
    assert field.history.best_loss < 1e-2
    r = field.network.laplacian(points) + 2 * np.pi**2 * np.prod(np.sin(np.pi * points), axis=1)
    f = 2 * np.pi**2 * np.prod(np.sin(np.pi * points), axis=1)
    np.testing.assert_allclose(np.mean(r**2) / np.mean(f**2), field.history.best_loss, rtol=0.5)
    with pytest.raises(pp.InputError, match="coordinates"):
        tr.train_collocation(problem, [[0.1]], quick())
    with pytest.raises(pp.InputError, match="one number as its diffusion"):
        tr.train_collocation(pp.fem.ReactionDiffusion(problem.mesh, diffusion=np.eye(2)), points, quick())


def family(cells=5):
    plate = pp.fem.Elasticity(pp.io.generate("square", cells), young=2.0, poisson=0.3, fixed={"left": 0.0})
    loads = plate.family([{"force": {"right": (0.0, 1.0)}}, {"traction": {"top": (0.2, 0.1)}}, {"body": ("0", "x*y")}])
    return plate, loads, loads.prepare(plate.points([[0.7, 0.4], [0.31, 0.77]], "y"))


def test_reduced_bases_hold_the_most_energy():
    plate, loads, certifier = family()
    mu = np.random.default_rng(0).uniform(0.5, 1.5, size=(40, 3))
    free = np.asarray(plate.space.free)
    A = sp.csc_array(plate.A)[free][:, free]
    S = spla.spsolve(A, (mu @ loads.F)[:, free].T)
    L = np.linalg.cholesky(A.toarray())
    _, size, _ = np.linalg.svd(L.T @ S, full_matrices=False)
    for rank in (1, 2, 3):
        V = tr.reduced_basis(certifier, rank, mu)[free]
        np.testing.assert_allclose(V.T @ (A @ V), np.eye(rank), atol=1e-8)
        lost = np.sum((L.T @ S - L.T @ V @ (V.T @ (A @ S))) ** 2)
        np.testing.assert_allclose(lost, np.sum(size[rank:] ** 2), atol=1e-8 * size[0] ** 2)
    with pytest.raises(pp.InputError, match="rank"):
        tr.reduced_basis(certifier, 4, mu)


def test_a_family_network_learns_and_its_loss_is_the_residual(tmp_path):
    plate, loads, certifier = family()
    rng = np.random.default_rng(0)
    mu, check, test = (rng.uniform(0.5, 1.5, size=(n, 3)) for n in (64, 32, 20))
    V = tr.reduced_basis(certifier, 3, mu)
    settings = tr.Settings(epochs=150, optimizer="adamw", batch=16)
    trained = tr.train_family(certifier, V, mu, check, settings, width=32)
    assert len(trained.history.validation) == 150
    assert trained.history.best == int(np.argmin(trained.history.validation))
    batch = certifier.reduced(V).certify_many(trained, test)
    U = trained(test) @ V.T
    r = np.array([plate.system.A @ u - loads.vector(m) for u, m in zip(U, test, strict=True)])
    r = r[:, np.asarray(plate.space.free)]
    np.testing.assert_allclose(np.linalg.norm(r, axis=1), batch.residual_norm, rtol=1e-9)
    start = np.array([loads.vector(m) for m in check])[:, np.asarray(plate.space.free)]
    r = np.array([plate.system.A @ (V @ a) - loads.vector(m) for a, m in zip(trained(check), check, strict=True)])
    r = r[:, np.asarray(plate.space.free)]
    loss = np.mean(np.sum(r**2, axis=1) / np.sum(start**2, axis=1))
    np.testing.assert_allclose(loss, trained.history.best_loss, rtol=1e-8)
    assert trained.history.best_loss < 0.05
    assert set(read_safetensors(trained.save(tmp_path / "f.safetensors"))) >= {"basis", "scale", "0.weight"}
    again = tr.train_family(certifier, V, mu, check, settings, width=32)
    np.testing.assert_array_equal(again(test), trained(test))


def test_early_stopping_and_bad_settings():
    problem = square(4)
    field = tr.train_field(problem, tr.Settings(epochs=500, rate=1.0, patience=5), width=8)
    assert "no better for 5" in field.history.stopped
    assert len(field.history.loss) < 500
    assert field.history.best == int(np.argmin(field.history.loss))
    for bad in ({"epochs": 0}, {"rate": -1.0}, {"optimizer": "sgd"}, {"batch": 0}, {"decay": 2.0}):
        with pytest.raises(pp.InputError):
            tr.Settings(**bad)
    with pytest.raises(pp.InputError, match="activation"):
        tr.train_field(problem, quick(), activation="relu")
    with pytest.raises(pp.InputError, match="factor"):
        tr.train_field(problem, quick(), factor="disk")
