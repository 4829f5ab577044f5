"""Parameters in the matrix, the discrete target: intervals hold the exact rational solution of the stored terms."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg as dense
import scipy.sparse as sp

import pinnpoint as pp
from pinnpoint.certifiers.families.affine import AffineSystem, Residuals
from pinnpoint.certifiers.families.affine_outputs import AffineCertifier
from pinnpoint.mesh.mesh import Mesh

NAMES = ["one", "two", "three"]


def striped(n, kind="square"):
    mesh = pp.io.generate(kind, n)
    x = mesh.points[mesh.cells].mean(axis=1)[:, 0]
    part = np.minimum((3.0 * x).astype(int), 2)
    return Mesh(mesh.points, mesh.cells, {name: part == k for k, name in enumerate(NAMES)}, mesh.facet_groups)


def solved(system, mu):
    """L U in rational arithmetic, of the stored terms."""
    n, exact = len(system.b), Fraction
    rows = [[exact(0)] * (n + 1) for _ in range(n)]
    for m, A in zip(mu, system.terms, strict=True):
        C = sp.coo_array(A)
        for i, j, a in zip(*C.coords, C.data, strict=True):
            rows[i][j] += exact(float(m)) * exact(float(a))
    for i in range(n):
        rows[i][n] = exact(float(system.b[i]))
    for k in range(n):
        top = rows[k] = [a / rows[k][k] for a in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], top, strict=True)]
    return [sum(exact(float(w)) * rows[j][n] for j, w in enumerate(L) if w) for L in system.L]


@pytest.fixture(scope="module")
def small():
    held, flux = {"left": 0.0, "top": 0.0}, {"right": 0.3}
    p = pp.fem.ReactionDiffusion(striped(4), source="1 + x", dirichlet=held, neumann=flux)
    return p, p.points([[0.31, 0.52], [0.8, 0.2]]) + p.mean()


def of_rank(small, rank):
    p, queries = small
    return p.operators(NAMES).reduce(queries, rank, (0.5, 2.0), target="discrete")


def parameters(count):
    """Inside the range of the bases and far outside."""
    rng = np.random.default_rng(7)
    return np.concatenate([rng.uniform(0.5, 2.0, (count, 3)), 10.0 ** rng.uniform(-2.0, 2.0, (count, 3))])


def missed(certifier, mu):
    """How many intervals miss the rational truth, and the narrowest radius."""
    found, out = certifier.certify_many(mu), 0
    for i, m in enumerate(mu):
        for q, truth in enumerate(solved(certifier.system, m)):
            out += abs(truth - Fraction(float(found.center[i, q]))) > Fraction(float(found.radius[i, q]))
    return out, float(found.radius.min())


@pytest.mark.parametrize("rank", [1, 2, 4, 20])
def test_intervals_hold_the_rational_solution(small, rank):
    out, narrowest = missed(of_rank(small, rank), parameters(4))
    assert out == 0
    assert 1e-17 < narrowest < {1: 1e-2, 2: 1e-3, 4: 1e-5, 20: 1e-11}[rank]


def test_without_the_spread_of_parameters_intervals_miss(small, monkeypatch):
    monkeypatch.setattr(AffineSystem, "ends", lambda self, mu: (mu.mean(axis=1), mu.mean(axis=1)))
    assert missed(of_rank(small, 2), parameters(4))[0] > 6


def test_norms_are_those_of_the_mean_inverse(small):
    certifier = of_rank(small, 3)
    system, side, mu = certifier.system, certifier.sides[0], parameters(5)
    c = side.coefficients(mu)
    _, _, low, high = side.norms(mu, c)
    inverse = np.linalg.inv(system.mean.toarray())
    for i, m in enumerate(mu):
        A = sum(k * T.toarray() for k, T in zip(m, system.terms, strict=True))
        r = system.b - A @ (side.basis @ c[i])
        assert low[i] <= np.sqrt(r @ inverse @ r) * (1 + 1e-9)
        assert np.sqrt(r @ inverse @ r) <= high[i] * (1 + 1e-9)
        assert high[i] <= low[i] * (1 + 1e-6) + 1e-10
        spectrum = dense.eigh(A, system.mean.toarray(), eigvals_only=True)
        theta = system.ends(m[None])
        assert theta[0][0] <= spectrum[0] * (1 + 1e-9)
        assert spectrum[-1] <= theta[1][0] * (1 + 1e-9)


def test_what_the_directions_leave_over_is_counted(small):
    """Columns that Q does not hold are in S: with columns of which Q knows nothing, the slip is their norm."""
    system = of_rank(small, 1).system
    rng = np.random.default_rng(3)
    M = rng.normal(size=(len(system.b), 3))
    whole = Residuals.of(system, M, np.zeros(3))
    x = rng.normal(size=3)
    true = np.sqrt(M @ x @ np.linalg.solve(system.mean.toarray(), M @ x))
    assert np.linalg.norm(whole.T @ x) == pytest.approx(true, rel=1e-9)
    worse = Residuals.of(system, M, np.full(3, 0.1))
    root = np.sqrt(system.alpha)
    np.testing.assert_allclose(worse.slip - whole.slip, 0.1 / root, rtol=1e-6)


def test_energy_errors_hold_from_both_sides(small):
    certifier = of_rank(small, 2)
    mu = parameters(6)
    found = certifier.certify_many(mu)
    side = certifier.sides[0]
    for i, m in enumerate(mu):
        A = sum(k * T.toarray() for k, T in zip(m, certifier.system.terms, strict=True))
        U = np.linalg.solve(A, certifier.system.b)
        e = U - side.basis @ side.coefficients(m[None])[0]
        error = np.sqrt(e @ A @ e / (U @ A @ U))
        assert found.lower[i] <= error * (1 + 1e-9) + 1e-12
        assert error <= found.error[i] * (1 + 1e-9) + 1e-12


def test_terms_that_are_not_semidefinite_are_refused(small):
    """Errata 21: with A₂ = −A₁/10 the smallest θ bounds nothing."""
    A = of_rank(small, 1).system.terms[0]
    n = A.shape[0]
    with pytest.raises(pp.CertificationError, match="semidefinite"):
        AffineSystem.of([A, sp.csr_array(-0.1 * A)], np.ones(n), np.ones((1, n)))


@pytest.mark.parametrize(("kind", "n", "point"), [("square", 6, [0.9, 0.4]), ("cube", 3, [0.9, 0.5, 0.5])])
def test_young_by_groups_in_two_and_three_dimensions(kind, n, point):
    mesh = striped(n, kind)

    def body(E):
        return pp.fem.Elasticity(mesh, E, 0.3, fixed={"left": 0.0}, body=(0.0, -1.0, 0.5)[: mesh.dim])

    p = body(7.0)  # what the family's own body has is of no account
    certifier = p.operators(NAMES).reduce(p.points([point], "y"), 6, (1.0, 4.0))
    E = np.concatenate([np.random.default_rng(2).uniform(1.0, 4.0, (3, 3)), [[1.0, 30.0, 3.0]]])
    found = certifier.certify_many(E)
    assert found.certified.all()
    assert found.radius[:3].max() < 2e-3 * np.abs(found.center).min()
    for i, e in enumerate(E):
        one = body(dict(zip(NAMES, e, strict=True)))
        proved = pp.Exact().prepare(one.system, one.points([point], "y")).certify(one.space.U0)
        assert abs(proved.center[0] - found.center[i, 0]) <= found.radius[i, 0] + proved.radius[0]
    with pytest.raises(pp.InputError, match="depend on Young's modulus"):
        p.operators(NAMES).reduce(p.stress([point], "xy"), 2, (1.0, 4.0))


def test_predicted_values_are_certified_and_bad_rows_are_rows(small):
    certifier = of_rank(small, 4)
    mu = parameters(2)
    mu[1], mu[2, 0] = np.nan, -1.0
    values = np.random.default_rng(1).normal(size=(4, 3))
    found = certifier.certify_many(mu, values)
    assert found.certified.tolist() == [True, False, False, True]
    assert "finite, > 0" in found.status[1]
    np.testing.assert_array_equal(found.value, values)
    assert np.all(np.isinf(found.raw_radius[1:3]))
    many = certifier.certify_many(np.tile(parameters(2), (600, 1)))
    np.testing.assert_allclose(many.center[-4:], certifier.certify_many(parameters(2)).center, rtol=1e-12)


def test_what_is_not_supported_is_refused(small):
    p, queries = small
    family = p.operators(NAMES)
    usual = {"queries": queries, "rank": 2, "within": (0.5, 2.0), "target": "discrete"}
    for change, words in (
        ({"target": "both"}, "target: must be"),
        ({"within": (2.0, 1.0)}, "rising"),
        ({"rank": 0}, "rank"),
        ({"queries": p.flux("left")}, "depend on κ"),
    ):
        with pytest.raises(pp.InputError, match=words):
            family.reduce(**(usual | change))
    held = pp.fem.ReactionDiffusion(striped(4), source=1.0, dirichlet={"left": 1.0})
    with pytest.raises(pp.InputError, match="held at zero"):
        held.operators(NAMES).reduce(held.mean(), 2, (0.5, 2.0), target="discrete")
    absorbing = pp.fem.ReactionDiffusion(striped(4), source=1.0, reaction=1.0)
    with pytest.raises(pp.InputError, match="reaction"):
        absorbing.operators(NAMES).reduce(absorbing.mean(), 2, (0.5, 2.0), target="discrete")
    with pytest.raises(pp.InputError, match="outputs: must have shape"):
        of_rank(small, 1).certify_many(parameters(1), np.zeros((1, 3)))
    with pytest.raises(pp.InputError, match="parameters: must have shape"):
        of_rank(small, 1).certify_many(np.ones((2, 2)))
    with pytest.raises(pp.InputError, match="every cell once"):
        p.operators(["one", "two"])
    body = pp.fem.Elasticity(striped(3), 1.0, 0.3, fixed={"left": 0.0}, expansion=1e-5, temperature=10.0)
    with pytest.raises(pp.InputError, match="thermal"):
        body.operators(NAMES)


def test_quadratic_elements_are_certified_too():
    p = pp.fem.ReactionDiffusion(striped(3), source=1.0, degree=2)
    certifier = p.operators(NAMES).reduce(p.points([[0.4, 0.4]]), 3, (0.5, 2.0), target="discrete")
    assert isinstance(certifier, AffineCertifier)
    assert missed(certifier, parameters(2))[0] == 0


def test_magnitudes_follow_from_their_components():
    p = pp.fem.Elasticity(striped(6), young=1.0, poisson=0.3, body=(0.0, -1.0), fixed={"left": 0.0}, plane="strain")
    queries = p.magnitude([[0.9, 0.5], [0.4, 0.2]], names=["tip", "middle"])
    E = parameters(6)
    found = p.operators(young=NAMES).reduce(queries, 6, (0.5, 2.0)).certify_many(E)
    assert found.names == ("tip x", "middle x", "tip y", "middle y", "tip", "middle")
    for i, moduli in enumerate(E):
        by_group = dict(zip(NAMES, moduli.tolist(), strict=True))
        one = pp.fem.Elasticity(
            p.mesh, young=by_group, poisson=0.3, body=(0.0, -1.0), fixed={"left": 0.0}, plane="strain"
        )
        asked = one.magnitude([[0.9, 0.5], [0.4, 0.2]], names=["tip", "middle"])
        truth = pp.certify(one, np.zeros(one.space.N), asked, target="discrete").derived
        for k, name in enumerate(("tip", "middle"), start=4):
            c, r = found.center[i, k], found.radius[i, k]
            known = next(t for t in truth if t.name == name)
            assert c - r <= known.upper + 1e-9 * known.upper
            assert known.lower - 1e-9 * known.upper <= c + r
        if i < 6:
            assert np.all(found.radius[i, 4:] < 0.02 * found.center[i, 4:])


def test_outputs_that_are_no_numbers_are_rows_with_their_reason(small):
    outputs = np.full((3, 3), 0.05)
    outputs[0, 1], outputs[2, 0] = np.nan, np.inf
    found = of_rank(small, 4).certify_many(parameters(2)[:3], outputs)
    assert [bool(s) for s in found.status] == [True, False, True]
    assert found.status[0] == "outputs: hold NaN or infinity"
    assert np.all(np.isinf(found.radius[[0, 2]]))
    assert np.all(np.isfinite(found.value))
    assert found.accepted(1e9, "mean").verdicts == ("refused", "within", "refused")
