"""Populations as users make them."""

import numpy as np
import pytest

import pinnpoint as pp

ZERO = {"boundary": 0.0}


@pytest.fixture(scope="module")
def problem():
    return pp.fem.ReactionDiffusion(pp.io.generate("square", 8), source=1.0, dirichlet=ZERO)


@pytest.fixture(scope="module")
def certifier(problem):
    return problem.operators().prepare(problem.mean() + problem.cells([[0.5, 0.5]], side=0.25, name="block"))


def given(problem, count=4, seed=0):
    rng = np.random.default_rng(seed)
    halves = problem.mesh.points[problem.mesh.cells].mean(axis=1)[:, 0] < rng.uniform(0.2, 0.8, (count, 1))
    return np.where(halves, 1.0, 4.0), np.zeros((count, len(problem.mesh.points)))


def test_bad_instances_are_rows_with_their_reason(problem, certifier):
    kappas, guesses = given(problem, 6)
    rows = [list(k) for k in kappas]
    rows[1][3], rows[2][0] = np.nan, -1.0
    rows[3] = rows[3][:-1]
    guesses[4, 40] = np.inf
    found = certifier.certify_many(rows, guesses)
    assert [s[:5] for s in found.status] == ["", "kappa", "kappa", "kappa", "predi", ""]
    assert list(np.isfinite(found.error)) == [True, False, False, False, False, True]
    assert np.all(np.isinf(found.radius[1:5]))
    assert not np.any(np.isnan(found.center))
    shares = found.accepted(5.0)
    assert (shares.within, shares.beyond, shares.refused) == (2 / 6, 0.0, 4 / 6)
    assert shares.verdicts == ("within", *["refused"] * 4, "within")
    alone = certifier.certify_many(kappas[[0, 5]], guesses[[0, 5]])
    np.testing.assert_array_equal(found.center[[0, 5]], alone.center)
    assert len(found.rows()) == 6
    assert found.rows()[1]["status"].startswith("kappa")


def test_shares_have_three_values(problem, certifier):
    kappas, guesses = given(problem)
    found = certifier.certify_many(kappas, guesses)
    assert found.accepted(0.5).beyond == 1.0
    assert found.accepted(2.0).within == 1.0
    middle = found.accepted(1.0)
    assert middle.undecided == 1.0
    assert list(found.undecided(1.0)) == [0, 1, 2, 3]
    good = certifier.certify_many(kappas, _solved(problem, kappas))
    assert good.accepted(0.2, "mean").within == 1.0
    assert found.accepted(0.2, "mean").beyond == 1.0
    assert np.all(good.raw_radius >= good.radius)
    with pytest.raises(pp.InputError, match="query"):
        good.accepted(0.2, "nowhere")


def _solved(problem, kappas):
    import scipy.sparse.linalg as spla

    found = []
    for kappa in kappas:
        one = pp.fem.ReactionDiffusion(problem.mesh, source=1.0, diffusion=kappa, dirichlet=ZERO)
        free, u = one.space.free, np.zeros(len(problem.mesh.points))
        u[free] = spla.spsolve(one.A[free][:, free].tocsc(), one.b[free])
        found.append(u)
    return np.array(found)


def test_generators_are_streamed_and_numbered(problem, certifier):
    kappas, guesses = given(problem, 5)
    whole = certifier.certify_many(kappas, guesses)
    parts = list(certifier.certify_chunks(zip(kappas, guesses, strict=True), chunk=2, first=10))
    assert [len(p) for p in parts] == [2, 2, 1]
    assert list(np.concatenate([p.number for p in parts])) == [10, 11, 12, 13, 14]
    np.testing.assert_array_equal(np.concatenate([p.center for p in parts]), whole.center)
    streamed = certifier.certify_many((k for k in kappas), (u for u in guesses))
    np.testing.assert_array_equal(streamed.radius, whole.radius)
    assert streamed.instances is None
    with pytest.raises(pp.InputError, match="generator"):
        certifier.refine(streamed, [0])


def test_refining_makes_proofs_narrower(problem, certifier):
    kappas, guesses = given(problem)
    found = certifier.certify_many(kappas, guesses)
    better = certifier.refine(found, [1, 3])
    assert list(better.number) == [1, 3]
    assert np.all(better.radius < 0.6 * found.radius[[1, 3]])
    assert np.all(np.abs(better.center - found.center[[1, 3]]) <= better.radius + found.radius[[1, 3]])
    assert np.all(better.error <= found.error[[1, 3]])


def test_tolerances_and_budgets_choose_the_steps(problem):
    kappas, guesses = given(problem)
    kappas[2] *= np.where(kappas[2] > 1.0, 100.0, 1.0)
    family, mean = problem.operators(), problem.mean()
    found = family.prepare(mean, tolerance=1e-6).certify_many(kappas, guesses)
    many = family.prepare(mean, steps=40).certify_many(kappas, guesses)
    assert np.all(found.gap < 1.06 * many.gap)
    assert found.steps[2] >= found.steps[0] >= 2
    assert (family.prepare(mean, budget=8).steps, family.prepare(mean, budget="one solve").steps) == (4, 6)
    with pytest.raises(pp.InputError, match="give one"):
        family.prepare(mean, steps=2, tolerance=0.1)


def test_predicted_stream_functions_are_worth_steps(problem, certifier):
    kappas, _ = given(problem)
    states = _solved(problem, kappas)
    bare = problem.operators().prepare(problem.mean(), steps=0)
    engine = bare.prepared.engine
    streams = np.zeros_like(states)
    first = bare.certify_many(kappas, states, streams)
    rng = np.random.default_rng(1)
    worse = bare.certify_many(kappas, states, 0.1 * rng.normal(size=streams.shape))
    assert np.all(worse.error > first.error)
    assert engine.loads[0].flux.shape == (len(problem.mesh.cells), 2)


def test_groups_stand_for_their_cells():
    mesh = pp.io.generate("square", 8)
    left = mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5
    groups = {"left": np.flatnonzero(left), "right": np.flatnonzero(~left)}
    named = type(mesh)(mesh.points, mesh.cells, cell_groups=groups)
    p = pp.fem.ReactionDiffusion(named, source=1.0, dirichlet=ZERO)
    guess = np.zeros((1, len(mesh.points)))
    a = p.operators(["left", "right"]).prepare(p.mean()).certify_many([[1.0, 4.0]], guess)
    b = p.operators().prepare(p.mean()).certify_many([np.where(left, 1.0, 4.0)], guess)
    np.testing.assert_array_equal(a.center, b.center)
    with pytest.raises(pp.InputError, match="every cell once"):
        p.operators(["left"])


def test_boundary_values_are_set_and_told(problem, certifier):
    kappas, guesses = given(problem, 1)
    other = guesses + 0.25
    other[:, problem.space.free] = 0.0
    found = certifier.certify_many(kappas, other)
    assert found.overwritten[0] == 0.25
    np.testing.assert_array_equal(found.error, certifier.certify_many(kappas, guesses).error)


@pytest.mark.parametrize(
    ("what", "word"),
    [
        ({"reaction": 1.0}, "reaction"),
        ({"convection": ("1", "0")}, "convection"),
        ({"degree": 2}, "linear"),
        ({"dirichlet": {"boundary": "x*y"}}, "Dirichlet"),
        ({"robin": {"left": (1.0, 0.0)}, "dirichlet": {"right": 0.0}}, "robin"),
    ],
)
def test_what_has_no_proof_is_refused(what, word):
    options = {"dirichlet": ZERO} | what
    p = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), source=1.0, **options)
    with pytest.raises(pp.InputError, match=word):
        p.operators().prepare(p.mean())


def test_fluxes_intervals_and_unknown_functions_are_refused(problem):
    with pytest.raises(pp.InputError, match="means and averages"):
        problem.operators().prepare(problem.flux("boundary"))
    line = pp.fem.ReactionDiffusion(pp.io.generate("interval", 4), source=1.0)
    with pytest.raises(pp.InputError, match="two or three dimensions"):
        line.operators().prepare(line.mean())
    opaque = pp.fem.ReactionDiffusion(problem.mesh, source=lambda x: x[:, 0], dirichlet=ZERO)
    with pytest.raises(pp.InputError, match="source"):
        opaque.operators().prepare(opaque.mean())
    with pytest.raises(pp.InputError, match="cells"):
        problem.operators("nodes")


def test_a_solution_that_vanishes_has_no_relative_error(problem):
    still = pp.fem.ReactionDiffusion(problem.mesh, source=0.0, dirichlet=ZERO)
    found = still.operators().prepare(still.mean()).certify_many(*given(problem, 2))
    assert found.status == ("", "")
    assert np.all(np.isinf(found.error))
    assert np.all(np.abs(found.center) <= found.radius)
    assert np.all(found.radius < 1e-100)


def test_families_are_of_straight_cells_and_of_numbers():
    """Neither a curve nor a matrix is dropped in silence."""
    disc = pp.io.generate("disc", 3)
    curved = pp.fem.ReactionDiffusion(disc, source=1.0, geometry={"rim": pp.Circle((0, 0), 1)})
    with pytest.raises(pp.InputError, match="this domain is curved"):
        curved.operators().prepare(curved.cells([[0.0, 0.0]], side=0.5))
    square = pp.io.generate("square", 4)
    for diffusion in ([["2", "0"], ["0", "1"]], [[2.0, 0.5], [0.5, 1.0]], "1+x"):
        turned = pp.fem.ReactionDiffusion(square, source=1.0, diffusion=diffusion, dirichlet=ZERO)
        with pytest.raises(pp.InputError, match="a matrix or a formula here"):
            turned.operators().prepare(turned.mean())


def test_rows_that_do_not_belong_together_are_refused(problem, certifier):
    kappas, guesses = given(problem, 3)
    with pytest.raises(pp.InputError, match=r"a row each for every instance; got \[2, 3\] rows"):
        certifier.certify_many(kappas, guesses[:2])
    with pytest.raises(pp.InputError, match="kappas: must be rows"):
        certifier.certify_many(None, guesses)
    found = certifier.certify_many(kappas, guesses)
    with pytest.raises(pp.InputError, match="numbers from 0 to 2"):
        certifier.refine(found, [99])
    with pytest.raises(pp.InputError, match="a mask must have 3 entries"):
        certifier.refine(found, [True])
    assert list(certifier.refine(found, np.array([True, False, True])).number) == [0, 2]
