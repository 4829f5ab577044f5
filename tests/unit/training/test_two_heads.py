"""Operators with two heads: the loss is a bound of the error, training sees no solution, and a killed run goes on."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse.linalg as spla

import pinnpoint as pp
from pinnpoint.fem.families.random_fields import darcy_fields, on_triangles
from pinnpoint.models.networks import two_heads as plain

torch = pytest.importorskip("torch", reason="pip install 'pinnpoint[torch]'")
from pinnpoint.training import EnergyGap, Polarized, TwoHeads  # noqa: E402

pytestmark = pytest.mark.optional
ENERGY = 0.035144253722
"""∫u for −Δu = 1 on the unit square, by its series."""


def square(cells=8, **data):
    return pp.fem.ReactionDiffusion(pp.io.generate("square", cells), source=1.0, **data)


def draw(rng, count):
    return darcy_fields(8, count, int(rng.integers(2**31)))


def solved(problem, kappa):
    """The discrete solution, by an independent route of the package: the assembled system and a factor."""
    one = pp.fem.ReactionDiffusion(problem.mesh, source=1.0, diffusion=kappa)
    free = one.space.free
    U = np.zeros(len(problem.mesh.points))
    U[free] = spla.spsolve(one.A[free][:, free].tocsc(), one.b[free])
    return U


def both(gap, kappa, u, psi):
    found = gap(*(torch.as_tensor(np.atleast_2d(a)) for a in (kappa, u, psi)))
    return tuple(float(x[0]) for x in found)


def test_the_loss_bounds_the_error_for_any_stream_function():
    problem = square(16)
    gap, ones = EnergyGap.of(problem), np.ones(len(problem.mesh.cells))
    U, rng = solved(problem, 1.0), np.random.default_rng(0)
    missing = ENERGY - float(problem.b @ U)  # ‖u‖² − ‖u_h‖², Galerkin's orthogonality
    for size in (0.0, 1e-3, 0.1):
        eta, flux = both(gap, ones, U, size * rng.normal(size=len(U)))
        assert missing < eta
        assert flux > ENERGY  # complementary energy
    zero = both(gap, ones, 0.0 * U, 0.0 * U)
    moment = 1.0 / 24.0  # ∫|x − c|²/4 over the square
    assert zero == pytest.approx((moment, moment), rel=1e-12)


def test_the_best_pair_leaves_what_the_mesh_leaves():
    """With ψ by least squares η falls like h, and η² is twice the error's square or so."""
    sizes = []
    for cells in (8, 16, 32):
        problem = square(cells)
        gap, U = EnergyGap.of(problem), solved(problem, 1.0)
        s = np.einsum("cv,cvd->cd", U[gap.cells], gap.slopes)
        eta, _ = both(gap, np.ones(len(gap.cells)), U, -gap.stream(s))
        missing = ENERGY - float(problem.b @ U)
        assert missing < eta < 6.0 * missing
        sizes.append(eta)
    rates = np.log2(np.array(sizes[:-1]) / sizes[1:])
    assert np.all(rates > 1.8)  # of η²


def test_training_needs_no_solved_instance(monkeypatch):
    """With every solver of the machine taken away the network learns all the same; what it is given is κ alone."""

    def none(*args, **kwargs):
        raise AssertionError("something was solved")

    problem = square()
    for name in ("splu", "spilu", "spsolve", "cg", "minres", "gmres", "factorized"):
        monkeypatch.setattr(spla, name, none)
    for name in ("solve", "lstsq", "inv", "pinv"):
        monkeypatch.setattr(np.linalg, name, none)
        monkeypatch.setattr(torch.linalg, name, none)
    monkeypatch.setattr("pinnpoint.fem.families.source_flux.splu", none)
    seen = []

    def drawn(rng, count):
        seen.append(draw(rng, count))
        return seen[-1]

    heads = TwoHeads(problem).train(drawn, 40, rate=1e-2)
    assert np.mean(heads.losses[-5:]) < 0.5 * heads.losses[0]
    assert all(K.shape == (4, 8, 8) and set(np.unique(K)) <= {3.0, 12.0} for K in seen)


def test_a_killed_run_goes_on_as_if_it_had_not_been(tmp_path):
    problem, file = square(), tmp_path / "run.safetensors"
    once = TwoHeads(problem).train(draw, 12)

    class KilledError(Exception):
        pass

    def kill(rng, count):
        if len(halted.losses) == 7:
            raise KilledError
        return draw(rng, count)

    halted = TwoHeads(problem)
    with pytest.raises(KilledError):
        halted.train(kill, 12, checkpoint=file, every=3)
    told = []
    again = TwoHeads(problem).train(draw, 12, checkpoint=file, every=3, report=lambda *a: told.append(a[0]))
    assert told == [9, 12]
    assert again.losses == once.losses
    for a, b in zip(again.network.parameters(), once.network.parameters(), strict=True):
        assert torch.equal(a, b)
    with pytest.raises(pp.InputError, match="another seed"):
        TwoHeads(problem, seed=5).train(draw, 12, checkpoint=file)


def test_numpy_alone_gives_the_same_heads(tmp_path):
    problem = square()
    heads = TwoHeads(problem).train(draw, 10)
    file = heads.save(tmp_path / "w.safetensors")
    K = darcy_fields(8, 3, 5)
    u, psi = plain.load(file)(K)
    states, streams = heads.predict(K)
    np.testing.assert_allclose(u.reshape(3, -1), states, atol=1e-6)
    np.testing.assert_allclose(psi.reshape(3, -1), streams, atol=1e-6)
    again = TwoHeads.load(problem, file)
    np.testing.assert_array_equal(again.predict(K)[0], states)
    np.testing.assert_array_equal(heads.predict(on_triangles(K))[1], streams)
    assert not np.any(states[:, np.unique(problem.mesh.boundary)])


def test_scaling_kappa_and_the_source_scales_the_heads():
    heads = TwoHeads(square()).train(draw, 5)
    other = TwoHeads(pp.fem.ReactionDiffusion(pp.io.generate("square", 8), source=-3.0), heads.network)
    K = darcy_fields(8, 2, 5)
    (u, psi), (v, chi) = heads.predict(K), other.predict(7.0 * K)
    np.testing.assert_allclose(v, -3.0 / 7.0 * u, atol=1e-6)
    np.testing.assert_allclose(chi, -3.0 * psi, atol=1e-6)


def test_the_shipped_network_is_within_fifteen_per_cent_at_64_squared():
    """η of fresh fields by the loss itself, in float64; the certificate adds rounding to it."""
    heads = TwoHeads.load(square(64))
    K = darcy_fields(64, 16, 999)
    eta, flux = heads.gap(*(torch.as_tensor(a) for a in (on_triangles(K), *heads.predict(K))))
    found = np.sqrt((eta / (flux - eta)).numpy())  # ‖u‖² ≥ ‖σ‖² − η²
    assert np.median(found) < 0.13
    assert found.max() < 0.2


def test_what_cannot_be_trained_is_refused():
    mesh = pp.io.generate("square", 4)
    for bad in (
        pp.fem.ReactionDiffusion(mesh, source="x"),
        pp.fem.ReactionDiffusion(mesh, source=1.0, reaction=1.0),
        pp.fem.ReactionDiffusion(mesh, source=1.0, dirichlet={"left": 0.0}),
        pp.fem.ReactionDiffusion(mesh, source=1.0, dirichlet={"boundary": 1.0}),
        pp.fem.ReactionDiffusion(mesh, source=1.0, degree=2),
        pp.fem.ReactionDiffusion(pp.io.generate("cube", 2), source=1.0),
    ):
        with pytest.raises(pp.InputError, match="problem: must have"):
            TwoHeads(bad)
    with pytest.raises(pp.InputError, match="network: must be given"):
        TwoHeads(pp.fem.ReactionDiffusion(pp.io.generate("lshape", 2), source=1.0))
    with pytest.raises(pp.InputError, match="must be a torch module"):
        TwoHeads(square(4), network=3)
    heads = TwoHeads(square(4))
    for K, words in (
        (np.ones((1, 3, 3)), "shape"),
        (-np.ones((1, 4, 4)), "positive"),
        (np.arange(1, 33.0)[None], "two"),
    ):
        with pytest.raises(pp.InputError, match=words):
            heads.predict(K)
    with pytest.raises(pp.InputError, match="width"):
        Polarized(0)


def test_another_network_on_another_mesh_is_trained_as_well():
    """Any module from κ on the cells to two fields at the nodes, here a linear one on an L."""
    mesh = pp.io.generate("lshape", 3)
    C, N = len(mesh.cells), len(mesh.points)

    class Linear(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.both = torch.nn.Linear(C, 2 * N)

        def forward(self, kappa):
            out = 0.1 * self.both(kappa)
            return out[:, :N], out[:, N:]

    torch.manual_seed(0)
    heads = TwoHeads(pp.fem.ReactionDiffusion(mesh, source=2.0), Linear())
    heads.train(lambda rng, count: rng.uniform(1.0, 2.0, (count, C)), 150, rate=3e-2)
    assert heads.losses[-1] < 0.3 * heads.losses[0]


def test_answers_are_certified_without_a_solve(monkeypatch):
    """Model and certificate in one object: the true energy error lies between the bounds, and nothing is solved."""
    problem = square(16)
    heads = TwoHeads.load(problem)
    K = np.concatenate([darcy_fields(16, 4, 1), np.ones((1, 16, 16))])
    heads.prepared(steps=0)

    def none(*args, **kwargs):
        raise AssertionError("something was solved")

    with monkeypatch.context() as taken:
        for module, name in ((spla, "splu"), (spla, "spsolve"), (spla, "cg"), (np.linalg, "solve")):
            taken.setattr(module, name, none)
        population = heads.certify(K)
    assert population.certified.all()
    assert not population.steps.any()
    states, streams = heads.predict(K)
    eta, flux = heads.gap(*(torch.as_tensor(a) for a in (on_triangles(K), states, streams)))
    np.testing.assert_allclose(population.energy, np.sqrt(eta.numpy()), rtol=1e-6)  # the loss is the certificate
    norm = np.sqrt(flux.numpy())
    assert np.all(population.norm_lower <= norm)
    error = ENERGY - 2.0 * float(problem.b @ states[-1]) + energy(problem, states[-1])  # ‖u‖² − 2∫fv + ‖v‖², κ = 1
    assert population.energy_lower[-1] ** 2 <= error <= population.energy[-1] ** 2
    better = heads.certify(K, steps=4)
    assert np.all(better.gap <= population.gap)
    assert np.all(better.lower <= population.error)
    assert np.all(population.lower <= better.error)
    far = np.abs(better.center - population.center) - better.radius - population.radius
    assert far.max() <= 0.0


def test_bad_pixels_are_rows_with_their_reason_and_kappa_is_not_rounded():
    heads = TwoHeads.load(square(16))
    rng = np.random.default_rng(3)
    K = on_triangles(rng.uniform(1.0, 2.0, (5, 16, 16)))  # no float32 numbers
    bad = K.copy()
    bad[1, 7], bad[2, 0], bad[3, 4] = -1.0, np.nan, 1.5
    found, good = heads.certify(bad), heads.certify(K)
    reasons = ["", "kappa: must be posit", "kappa: must be posit", "kappa: must be one n", ""]
    assert [s[:20] for s in found.status] == reasons
    for name in ("error", "energy", "norm_lower", "center", "radius"):
        np.testing.assert_array_equal(vars(found)[name][[0, 4]], vars(good)[name][[0, 4]])
    assert np.all(np.isinf(found.error[1:4]) & np.isinf(found.radius[1:4, 0]) & (found.lower[1:4] == 0.0))
    assert found.accepted(0.5).refused == 0.6
    certifier, shift = heads.prepared(steps=0)
    states, streams = heads.predict(K)
    exactly = certifier.certify_many(K, states, streams + shift)
    np.testing.assert_array_equal(good.energy, exactly.energy)
    with pytest.raises(pp.InputError, match="row 1: must be positive"):
        heads.predict(bad)


def energy(problem, U):
    return float(U @ (problem.A @ U))
