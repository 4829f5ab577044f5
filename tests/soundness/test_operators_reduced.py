"""Reduced bases: intervals of the PDE's own solution for κ on groups."""

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.transfer.operators import bases, sums

ZERO = {"boundary": 0.0}


@pytest.fixture(scope="module")
def quarters():
    m = pp.io.generate("square", 16)
    x = m.points[m.cells].mean(axis=1)
    number = 2 * (x[:, 0] > 0.5) + (x[:, 1] > 0.5)
    groups = {f"g{k}": np.flatnonzero(number == k) for k in range(4)}
    p = pp.fem.ReactionDiffusion(type(m)(m.points, m.cells, cell_groups=groups), source=1.0, dirichlet=ZERO)
    return p, p.mean() + p.cells([[0.25, 0.25], [0.75, 0.5]], side=0.25, name=["a", "b"]), list(groups)


def test_reduced_intervals_meet_full_ones_inside_and_outside_of_their_range(quarters):
    p, queries, groups = quarters
    family = p.operators(groups)
    certifier = family.reduce(queries, 8, (0.2, 2.0))
    kappas = np.random.default_rng(0).uniform(0.2, 2.0, (30, 4))
    kappas[20:] *= [1.0, 30.0, 0.01, 1.0]
    found = certifier.certify_many(kappas)
    full = family.prepare(queries, steps=40, dual_steps=40).certify_many(kappas, np.zeros((30, len(p.mesh.points))))
    assert np.all(np.abs(found.center - full.center) <= found.radius + full.radius)
    assert np.all(found.norm_lower <= full.norm)
    assert np.all(full.norm_lower <= found.norm)
    assert np.all(found.gap[:20] < 1.2 * full.gap[:20])
    assert np.all(found.gap >= 0.999999 * full.gap)
    assert np.median(found.gap[20:]) > 1.2 * np.median(full.gap[20:])  # outside it says so itself


def test_series_at_one_coefficient(quarters):
    p, queries, groups = quarters
    m = np.arange(1, 801, 2) * np.pi
    truth = float(np.sum(64.0 / (m[:, None] ** 2 * m[None, :] ** 2 * (m[:, None] ** 2 + m[None, :] ** 2))))
    found = p.operators(groups).reduce(queries, 4, (0.5, 2.0)).certify_many([[1.0] * 4, [3.0] * 4])
    assert np.all(np.abs(found.center[:, 0] - truth / np.array([1.0, 3.0])) <= found.radius[:, 0] + 1e-8)
    assert found.radius[0, 0] < 0.02 * truth


def test_bad_coefficients_are_rows_and_what_has_no_bases_is_refused(quarters):
    p, queries, groups = quarters
    certifier = p.operators(groups).reduce(queries, 2, (0.5, 2.0))
    found = certifier.certify_many([[1.0, 2.0, 3.0, 4.0], [1.0, -1.0, 1.0, 1.0], [np.nan, 1.0, 1.0, 1.0]])
    assert [bool(s) for s in found.status] == [False, True, True]
    assert np.all(np.isinf(found.radius[1:]))
    assert np.all(np.isinf(found.error[1:]))
    with pytest.raises(pp.InputError, match="groups"):
        p.operators().reduce(queries, 2, (0.5, 2.0))
    with pytest.raises(pp.InputError, match="within"):
        p.operators(groups).reduce(queries, 2, (2.0, 0.5))
    with pytest.raises(pp.InputError, match="kappas"):
        certifier.certify_many([[1.0, 2.0]])


def test_sizes_of_products_are_counted(quarters, monkeypatch):
    """Products of bases are true to ρ times norms: made large on purpose, the term must show."""
    p, queries, groups = quarters
    certifier = p.operators(groups).reduce(queries, 4, (0.5, 2.0))
    before = certifier.certify_many([[1.0, 2.0, 1.5, 0.7]])
    real = sums.norms

    def larger(s, *rest):
        return real(sums.StateSums(**{**vars(s), "size": 1e4 * s.size}), *rest)

    monkeypatch.setattr("pinnpoint.transfer.operators.prepared.norms", larger)
    after = certifier.certify_many([[1.0, 2.0, 1.5, 0.7]])
    assert after.gap[0] > before.gap[0] * (1.0 + 1e-9)


def test_functions_are_shared_out_by_what_is_left_of_eta(quarters, monkeypatch):
    """At corners of the range too; with as many states as stream functions the same rank leaves more."""
    p, _, groups = quarters
    kappas = np.where(np.random.default_rng(1).integers(0, 2, (12, 4)), 2.0, 0.2)
    kappas = np.concatenate([kappas, np.random.default_rng(2).uniform(0.2, 2.0, (20, 4))])
    family = p.operators(groups)
    full = family.prepare(p.mean(), steps=40).certify_many(kappas, np.zeros((len(kappas), len(p.mesh.points))))
    certifier = family.reduce(p.mean(), 7, (0.2, 2.0))
    side = certifier.prepared.engine.sides[0]
    assert side.states.shape[1] + side.streams.shape[1] == 14
    excess = certifier.certify_many(kappas).gap / full.gap
    assert excess.max() < 1.1
    real = bases._leading
    monkeypatch.setattr(
        bases, "_leading", lambda *given: tuple(x[..., :7] if i == 0 else x[:7] for i, x in enumerate(real(*given)))
    )
    even = family.reduce(p.mean(), 7, (0.2, 2.0)).certify_many(kappas).gap / full.gap
    assert even.max() > excess.max()


def test_ranks_beyond_use_are_refused(quarters):
    p, queries, groups = quarters
    for target in ("continuous", "discrete"):
        with pytest.raises(pp.InputError, match="rank: must be at most"):
            p.operators(groups).reduce(queries, 10**6, (0.5, 2.0), target=target)
