"""Instances with a coefficient and a load of their own."""

from dataclasses import replace

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.transfer.operators import loaded

ENDS = {"left": 0.0, "right": 0.0}
LOADS = [{"source": "x"}, {"source": 2.0}, {"neumann": {"top": 1.0}}]


def family(n, **more):
    p = pp.fem.ReactionDiffusion(pp.io.generate("square", n), source=1.0, dirichlet=ENDS, **more)
    return p, p.operators(loads=LOADS[:2])


def truth(x, high, mu):
    """−(κu′)′ = 1 + μ₀x + 2μ₁, u = 0 at both ends, κ = 1 on the left half and `high` on the right one."""
    a, b = 1.0 + 2.0 * mu[1], mu[0]

    def part(x, F):
        """∫ F − a t − b t²/2."""
        return F * x - a * x**2 / 2.0 - b * x**3 / 6.0

    F = -(part(0.5, 0.0) + (part(1.0, 0.0) - part(0.5, 0.0)) / high) / (0.5 + 0.5 / high)
    left, right = np.minimum(x, 0.5), np.maximum(x, 0.5)
    return part(left, F) + (part(right, F) - part(0.5, F)) / high


def instances(p, rng, count):
    right = p.mesh.points[p.mesh.cells].mean(axis=1)[:, 0] > 0.5
    highs, mu = 10.0 ** rng.uniform(-1.0, 1.5, count), rng.normal(size=(count, 2)) * [3.0, 1.0]
    return highs, mu, np.where(right, highs[:, None], 1.0), np.zeros((count, len(p.mesh.points)))


@pytest.mark.parametrize("steps", [0, 2, 6])
def test_closed_forms_lie_in_the_intervals(steps):
    p, made = family(16)
    queries = p.mean() + p.points([[0.3, 0.4], [0.48, 0.52]]) + p.patch("top", name="top")
    certifier = made.prepare(queries, steps=steps, dual_steps=steps)
    highs, mu, kappas, guess = instances(p, np.random.default_rng(1), 8)
    found = certifier.certify_many(kappas, guess, mu=mu)
    x = (np.arange(20000) + 0.5) / 20000
    for i in range(8):
        mean = truth(x, highs[i], mu[i]).mean()
        exact = np.array([mean, *truth(np.array([0.3, 0.48]), highs[i], mu[i]), mean])
        assert np.all(np.abs(found.center[i] - exact) <= found.radius[i] + 1e-7 * np.abs(exact))
    if steps == 6:
        assert np.median(found.radius[:, 0] / np.abs(found.center[:, 0])) < 0.05


def test_a_family_of_one_combination_agrees():
    """The same instance with its load as the problem's own: another preparation, another path."""
    rng = np.random.default_rng(2)
    mu = np.array([[0.7, -1.3, 0.4]])
    p = pp.fem.ReactionDiffusion(pp.io.generate("lshape", 5), source=1.0)
    q = pp.fem.ReactionDiffusion(p.mesh, source="1 + 0.7*x - 2.6")
    kappas, guess = rng.uniform(1.0, 9.0, (1, len(p.mesh.cells))), 1e-2 * rng.normal(size=(1, len(p.mesh.points)))
    guess[:, np.unique(p.mesh.boundary)] = 0.0
    two = (
        p.operators(loads=LOADS[:2]).prepare(p.mean(), steps=5, dual_steps=5).certify_many(kappas, guess, mu=mu[:, :2])
    )
    one = q.operators().prepare(q.mean(), steps=5, dual_steps=5).certify_many(kappas, guess)
    np.testing.assert_allclose(two.energy, one.energy, rtol=1e-6)
    assert np.all(two.energy_lower <= one.energy)
    assert np.all(np.abs(two.center - one.center) <= two.radius + one.radius)


def test_fluxes_through_the_boundary_are_loads_too():
    p = pp.fem.ReactionDiffusion(pp.io.generate("square", 8), source=0.0, dirichlet={"bottom": 0.0})
    certifier = p.operators(loads=LOADS[2:]).prepare(p.mean(), steps=6, dual_steps=6)
    found = certifier.certify_many(np.full((2, len(p.mesh.cells)), 4.0), np.zeros((2, 81)), mu=[[1.0], [-8.0]])
    np.testing.assert_allclose(found.center[:, 0], [0.125, -1.0], atol=1e-9)  # u = μ y/4
    assert np.all(np.abs(found.center[:, 0] - [0.125, -1.0]) <= found.radius[:, 0])


def test_without_what_a_load_leaves_over_intervals_miss(monkeypatch):
    """x is not constant on cells: its oscillation counts |μ| times, and the flux must have μ in it."""
    p, made = family(8)
    certifier = made.prepare(p.mean(), steps=8, dual_steps=8)
    highs, mu, kappas, guess = instances(p, np.random.default_rng(3), 6)
    x = (np.arange(20000) + 0.5) / 20000
    exact = np.array([truth(x, h, m).mean() for h, m in zip(highs, mu, strict=True)])
    real = loaded.combined
    monkeypatch.setattr(loaded, "combined", lambda loads, mu, g: real(loads, np.where(np.arange(3) < 2, mu, 0.0), g))
    found = certifier.certify_many(kappas, guess, mu=mu)
    assert np.any(np.abs(found.center[:, 0] - exact) > found.radius[:, 0])


def test_bounds_of_a_combination_grow_with_its_multiples():
    p, made = family(4)
    base = made.prepare(p.mean()).prepared
    one, two = base.of(np.array([1.0, 0.0])).loads[0], base.of(np.array([-5.0, 0.0])).loads[0]
    x = base.loads[0]
    assert two.size >= 5.0 * x.size > 0.0
    assert two.slip > one.slip > 0.0
    assert two.row_error > one.row_error > 0.0
    np.testing.assert_allclose(two.row, base.base.loads[0].row - 5.0 * x.row)
    np.testing.assert_allclose(one.divergence, base.base.loads[0].divergence + x.divergence)


def test_points_have_their_data_from_every_load():
    p, made = family(8)
    certifier = made.prepare(p.points([[0.3, 0.4]]), steps=8, dual_steps=8)
    highs, mu, kappas, guess = instances(p, np.random.default_rng(5), 4)
    cut = replace(certifier, prepared=replace(certifier.prepared, data=0.0 * certifier.prepared.data))
    exact = np.array([truth(np.array([0.3]), h, m)[0] for h, m in zip(highs, mu, strict=True)])
    away = [np.abs(c.certify_many(kappas, guess, mu=mu).center[:, 0] - exact) for c in (certifier, cut)]
    radius = certifier.certify_many(kappas, guess, mu=mu).radius[:, 0]
    assert np.all(away[0] <= radius)
    assert np.any(away[1] > radius)


def test_bad_multiples_are_rows_and_refine_keeps_them():
    p, made = family(4)
    certifier = made.prepare(p.mean())
    _, mu, kappas, guess = instances(p, np.random.default_rng(4), 3)
    mu[1, 0] = np.nan
    found = certifier.certify_many(kappas, guess, mu=mu)
    assert found.certified.tolist() == [True, False, True]
    assert "mu" in found.status[1]
    better = certifier.refine(found, [0, 2])
    assert np.all(better.radius < found.radius[[0, 2]])
    short = certifier.certify_many(kappas, guess, mu=[[1.0, 2.0], [1.0], [1.0, 2.0]])
    assert "must have 2 entries" in short.status[1]
    streams = certifier.certify_many(kappas, guess, np.zeros_like(guess), mu=mu)
    np.testing.assert_allclose(streams.center[0], found.center[0])


def test_what_is_not_supported_is_refused():
    p, made = family(3)
    kappas, guess = np.ones((1, len(p.mesh.cells))), np.zeros((1, len(p.mesh.points)))
    with pytest.raises(pp.InputError, match="mu: must be given"):
        made.prepare(p.mean()).certify_many(kappas, guess)
    with pytest.raises(pp.InputError, match="mu: the family has no loads"):
        p.operators().prepare(p.mean()).certify_many(kappas, guess, mu=[[1.0]])
    with pytest.raises(pp.InputError, match="witness: is for one load"):
        made.prepare(p.mean()).witness(kappas[0], guess[0])
    with pytest.raises(pp.InputError, match="without patches"):
        made.prepare(p.mean(), patches=True)
    for loads, words in (
        ({"source": 1.0}, "list of tables"),
        ([], "list of tables"),
        ([np.ones(16)], "must be a table"),
        ([{"body": 1.0}], "must have 'source'"),
        ([{"source": lambda x: x[:, 0]}], "nothing is known of"),
        ([{"source": 1.0, "neumann": {"left": 1.0}}], "left"),
    ):
        with pytest.raises(pp.InputError, match=words):
            p.operators(loads=loads).prepare(p.mean())
