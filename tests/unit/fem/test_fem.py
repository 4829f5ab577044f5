"""Finite elements: rates, patch tests, agreement with scikit-fem, location, extraction."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse.linalg as spla
import skfem
from skfem.helpers import ddot, dot, eye, grad, sym_grad, trace

import pinnpoint as pp
from pinnpoint import fem
from pinnpoint.fem.extraction import NodeValues
from pinnpoint.io import generate
from pinnpoint.mesh.location import Locator
from pinnpoint.mesh.mesh import Mesh

DOMAINS = {"interval": (8, 16, 32, 64), "square": (6, 12, 24, 48), "cube": (4, 8, 16)}


def solution(X):
    return np.prod(np.sin(np.pi * X), axis=1)


def poisson(kind, cells, **options):
    mesh = generate(kind, cells)
    d = mesh.dim
    return fem.ReactionDiffusion(mesh, source=lambda X: d * np.pi**2 * solution(X), quadrature=6, **options)


@pytest.mark.parametrize("kind", DOMAINS)
def test_rates_of_values_centres_and_the_a_priori_bound(kind):
    """Corrected centres converge at second order, the energy-weighted transfer at first order times σ."""
    h, errors, certificates = [], [], []
    for cells in DOMAINS[kind]:
        problem = poisson(kind, cells, weight="energy")
        at = np.full((1, problem.mesh.dim), 0.5)
        queries = problem.points(at)
        bound = pp.Interpolation(h=1 / cells, C_int=1.0, C_pt=1.0, H2=10.0, W2inf=10.0)
        c = pp.certify(problem, solution, queries, transfer=bound)
        h.append(1 / cells)
        errors.append(abs(c.center[0] - 1.0))
        certificates.append(c)
        assert c.contains(1.0).all()
        assert c.target == "continuous"
        assert sum(a.status == "declared" for a in c.assumptions) == 2
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    if kind == "interval":
        assert max(errors) < 1e-10 or np.all(rates > 1.9)  # nodal values in 1D are exact up to quadrature
    else:
        assert np.all(np.abs(rates[-1] - 2.0) < 0.2)
    orders = pp.observed_orders(h, certificates)
    assert np.allclose(orders["evaluation"], 2.0, atol=1e-6)
    assert np.all(orders["transfer"] <= 1.0 + 1e-6)
    assert np.all(orders["transfer"] > {"interval": 0.99, "square": 0.8, "cube": 0.3}[kind])


def test_interpolation_transfer_needs_the_energy_weight():
    problem = poisson("square", 4)
    with pytest.raises(pp.InputError, match="energy"):
        pp.certify(problem, solution, problem.points([[0.5, 0.5]]), transfer=pp.Interpolation(0.1, 1, 1, 1, 1))


@pytest.mark.parametrize("kind", DOMAINS)
def test_patch_test_linear_fields_are_exact(kind):
    mesh = generate(kind, 3)
    d = mesh.dim
    slope = np.array([2.0, -1.0, 0.5])[:d]
    linear = lambda X: 1.0 + X @ slope  # noqa: E731
    A = np.diag([2.0, 3.0, 4.0][:d]) + 0.3 * (1 - np.eye(d))
    problem = fem.ReactionDiffusion(mesh, diffusion=A, dirichlet={"boundary": linear})
    X = np.random.default_rng(0).uniform(0.3, 0.7, size=(5, d))
    queries = problem.points(X) + problem.averages([np.full(d, 0.5)], 0.2, names=["average"])
    c = pp.certify(problem, problem.space.U0, queries, target="discrete")
    expected = np.append(linear(X), linear(np.full((1, d), 0.5)))
    assert np.allclose(c.center, expected, rtol=1e-12)
    for axis in range(d):
        g = pp.certify(
            problem, problem.space.U0, problem.gradients(X, "xyz"[axis] if d > 1 else "x"), target="discrete"
        )
        assert np.allclose(g.center, slope[axis], rtol=1e-10)


@pytest.mark.parametrize("plane", ["strain", "stress", "solid"])
def test_elastic_patch_test(plane):
    """A linear displacement is reproduced, and so are its strain and stress."""
    d = 3 if plane == "solid" else 2
    mesh = generate("cube" if d == 3 else "square", 3)
    H = np.random.default_rng(1).normal(size=(d, d))
    fixed = {"boundary": [(lambda X, k=k: X @ H[k]) for k in range(d)]}
    E, nu = 2.0, 0.3
    options = {} if d == 3 else {"plane": plane}
    problem = fem.Elasticity(mesh, E, nu, fixed=fixed, **options)
    X = np.full((1, d), 0.45)
    strain = 0.5 * (H + H.T)
    lam, mu = E * nu / ((1 + nu) * (1 - 2 * nu)), E / (2 * (1 + nu))
    if plane == "stress":
        lam = 2 * lam * mu / (lam + 2 * mu)
    stress = lam * np.trace(strain) * np.eye(d) + 2 * mu * strain
    U = problem.space.U0
    for i in range(d):
        c = pp.certify(problem, U, problem.points(X, "xyz"[i]), target="discrete")
        assert np.allclose(c.center, X @ H[i], rtol=1e-11)
        for j in range(d):
            e = pp.certify(problem, U, problem.strains(X, "xyz"[i], "xyz"[j]), target="discrete")
            s = pp.certify(problem, U, problem.stresses(X, "xyz"[i], "xyz"[j]), target="discrete")
            assert np.allclose(e.center, strain[i, j], rtol=1e-9, atol=1e-12)
            assert np.allclose(s.center, stress[i, j], rtol=1e-9, atol=1e-12)


def test_elasticity_matrix_is_scikit_fems():
    mesh = skfem.MeshTet.init_tensor(*[np.linspace(0, 1, 4)] * 3)
    problem = fem.Elasticity(mesh.with_boundaries({"left": lambda x: x[0] == 0}), 3.0, 0.25, fixed={"left": 0.0})
    basis = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTetP1()), intorder=1)
    lam, mu = 3.0 * 0.25 / (1.25 * 0.5), 3.0 / 2.5

    @skfem.BilinearForm
    def form(u, v, w):
        eps = sym_grad(u)
        return ddot(lam * eye(trace(eps), 3) + 2 * mu * eps, sym_grad(v))

    A = form.assemble(basis)
    order = np.argsort(basis.nodal_dofs.T.ravel())
    ours = problem.A.tocsc()[order][:, order]
    assert abs(ours - A).max() < 1e-13 * abs(A).max()


def test_scalar_system_is_scikit_fems():
    mesh = skfem.MeshTri.init_lshaped().refined(3)
    problem = fem.ReactionDiffusion(
        mesh, source=lambda X: X[:, 0] ** 2, diffusion=2.0, reaction=lambda X: 1 + X[:, 1] ** 2
    )
    basis = skfem.Basis(mesh, skfem.ElementTriP1(), intorder=6)
    A = skfem.BilinearForm(lambda u, v, w: 2 * dot(grad(u), grad(v)) + (1 + w.x[1] ** 2) * u * v).assemble(basis)
    b = skfem.LinearForm(lambda v, w: w.x[0] ** 2 * v).assemble(basis)
    assert abs(problem.A - A).max() < 1e-13
    assert np.abs(problem.b - b).max() < 1e-15
    x = skfem.solve(*skfem.condense(A, b, D=mesh.boundary_nodes()))
    X = np.array([[-0.5, 0.5], [-0.3, -0.7]])
    c = pp.certify(problem, np.zeros(len(x)), problem.points(X), target="discrete")
    assert np.allclose(c.center, basis.probes(X.T) @ x, rtol=1e-11)


def test_groups_jumps_and_neumann_flux():
    """−(κu′)′ = 0 with κ = 1 | 10 and unit flux at the right end: slopes 1 and 1/10, exactly."""
    x = np.linspace(0, 1, 11)
    cells = np.stack([np.arange(10), np.arange(1, 11)], axis=1)
    groups = {"soft": np.arange(5), "stiff": np.arange(5, 10)}
    mesh = Mesh(x, cells, groups, {"left": [[0]], "right": [[10]]})
    problem = fem.ReactionDiffusion(
        mesh, diffusion={"soft": 1.0, "stiff": 10.0}, dirichlet={"left": 0.25}, neumann={"right": 1.0}
    )
    c = pp.certify(problem, problem.space.U0, problem.points([0.5, 1.0]) + problem.patch("right"), target="discrete")
    assert np.allclose(c.center, [0.75, 0.8, 0.8], rtol=1e-13)
    with pytest.raises(pp.InputError, match="5 cells have no value"):
        fem.ReactionDiffusion(mesh, diffusion={"soft": 1.0}, dirichlet={"left": 0.0})


def test_total_force_is_spread_over_a_patch():
    mesh = generate("cube", 3)
    problem = fem.Elasticity(mesh, 1.0, 0.3, fixed={"left": 0.0}, force={"right": [1.0, 2.0, 3.0]})
    assert np.allclose(problem.total_load, [1.0, 2.0, 3.0], rtol=1e-13)
    even = fem.Elasticity(mesh, 1.0, 0.3, fixed={"left": 0.0}, traction={"right": [1.0, 2.0, 3.0]})
    assert np.allclose(problem.b, even.b, atol=1e-15)


def test_location_is_fast_and_right():
    """10⁵ points in 10⁵ cells in about a second of processor time."""
    mesh = generate("square", 224)
    assert len(mesh.cells) > 100_000
    locator = Locator(mesh)
    X = np.random.default_rng(0).uniform(size=(100_000, 2))
    start = time.process_time()
    cell, bary = locator.locate(X)
    spent = time.process_time() - start
    assert np.allclose(np.einsum("pi,pid->pd", bary, mesh.points[mesh.cells[cell]]), X, atol=1e-12)
    assert bary.min() >= 0.0
    assert spent < 3.0


def test_location_in_stretched_cells_and_at_nodes():
    p = generate("square", 20).points * [1.0, 1e-4]
    mesh = Mesh(p, generate("square", 20).cells)
    X = np.random.default_rng(1).uniform(size=(500, 2)) * [1.0, 1e-4]
    cell, bary = Locator(mesh).locate(np.concatenate([X, p]))
    Y = np.einsum("pi,pid->pd", bary, mesh.points[mesh.cells[cell]])
    assert np.allclose(Y, np.concatenate([X, p]), atol=1e-12)
    with pytest.raises(pp.InputError, match="outside the mesh"):
        Locator(mesh).locate([[0.5, 0.5]])


def test_ball_averages_of_smooth_fields():
    """The rule itself is accurate: averages of harmonic functions are their centre values."""
    for kind, cells in (("interval", 400), ("square", 80), ("cube", 16)):
        problem = poisson(kind, cells)
        d = problem.mesh.dim
        q = problem.averages([np.full(d, 0.5)], 0.3)
        harmonic = lambda X: X[:, 0] ** 2 - X[:, -1] ** 2 + X[:, 0]  # noqa: E731
        assert q.samples(harmonic)[0] == pytest.approx(0.5, abs=1e-13)
        c = pp.certify(problem, problem.space.U0, q, target="discrete")
        assert any("ball averages are those of a product rule" in a.claim for a in c.assumptions)
        assert (q.L @ np.ones(q.L.shape[1]))[0] == pytest.approx(1.0, abs=1e-13)
        with pytest.raises(pp.InputError, match="leaves the domain"):
            problem.averages([np.full(d, 0.5)], 0.6)


def test_extraction_keeps_free_values_and_tells_the_mismatch():
    problem = poisson("square", 8)
    mesh = problem.mesh
    smooth = lambda X: solution(X) + 0.1 * X[:, 0]  # noqa: E731
    nodal = problem.extract(smooth)
    assert np.abs(nodal.mismatch).max() == pytest.approx(0.1)
    free = problem.space.free
    assert np.allclose(nodal.U[free], smooth(mesh.points[free]))
    shuffled = np.random.default_rng(0).permutation(len(mesh.points))
    matched = problem.extract(NodeValues(mesh.points[shuffled], smooth(mesh.points)[shuffled]))
    assert np.array_equal(matched.U, nodal.U)
    assert matched.distance == 0.0
    # the L² projection reproduces linear fields; the constrained one is the best admissible one
    linear = lambda X: 1.0 + X[:, 0]  # noqa: E731
    l2 = problem.extract(linear, "l2")
    assert np.allclose(l2.U[free], linear(mesh.points[free]), rtol=1e-10)
    constrained = problem.extract(smooth, "constrained")
    assert np.abs(constrained.mismatch).max() < 1e-14
    c = pp.certify(problem, smooth, problem.points([[0.31, 0.47]]), target="discrete", extraction="constrained")
    assert c.details["extraction"] == "constrained"
    assert c.raw[0] == pytest.approx(smooth(np.array([[0.31, 0.47]]))[0])
    assert c.contains(c.center).all()
    for bad in (np.zeros(3), np.full(81, np.nan), lambda X: np.zeros(3), lambda X: np.full(len(X), np.inf)):
        with pytest.raises(pp.InputError, match="prediction"):
            problem.extract(bad)


def test_continuous_target_is_never_downgraded():
    problem = poisson("square", 4)
    assert pp.certify(problem, solution, problem.points([[0.5, 0.5]])).target == "continuous"
    bent = fem.ReactionDiffusion(problem.mesh, diffusion=lambda X: np.tile(np.eye(2), (len(X), 1, 1)))
    varying = fem.ReactionDiffusion(problem.mesh, reaction=lambda X: 1.0 + X[:, 0])
    forces = np.ones((len(problem.mesh.points), 2))
    stiff = fem.Elasticity(problem.mesh, 1.0, 0.3, fixed={"boundary": 0.0}, nodal=forces)
    for other, queries in ((bent, bent.points), (varying, varying.points), (stiff, lambda X: stiff.points(X, "x"))):
        with pytest.raises(pp.InputError, match="target='discrete'"):
            pp.certify(other, np.zeros(other.system.N), queries([[0.5, 0.5]]))
    with pytest.raises(pp.InputError, match="target='discrete'"):
        pp.certify(problem, solution, pp.Queries(problem.points([[0.5, 0.5]]).L))


BAD = {
    "negative diffusion": (lambda m: fem.ReactionDiffusion(m, diffusion=-1.0), "diffusion: must be > 0"),
    "indefinite diffusion": (lambda m: fem.ReactionDiffusion(m, diffusion=[[1, 2], [2, 1]]), "positive definite"),
    "nothing fixed": (lambda m: fem.ReactionDiffusion(m, dirichlet={}), "not unique"),
    "unknown group": (lambda m: fem.ReactionDiffusion(m, dirichlet={"leftt": 0}), "no such boundary group"),
    "clash": (lambda m: fem.ReactionDiffusion(m, dirichlet={"left": 0, "top": 1}), "overlap at node"),
    "two conditions": (
        lambda m: fem.ReactionDiffusion(m, dirichlet={"left": 0}, neumann={"left": 1}),
        "shares 4 of its facets",
    ),
    "NaN source": (
        lambda m: fem.ReactionDiffusion(m, source=lambda X: np.full(len(X), np.nan)),
        "source: is not finite",
    ),
    "source of another shape": (lambda m: fem.ReactionDiffusion(m, source=lambda X: X), "source: must map"),
    "incompressible": (lambda m: fem.Elasticity(m, 1.0, 0.5, fixed={"left": 0}), "poisson: must lie"),
    "weightless material": (lambda m: fem.Elasticity(m, 0.0, 0.3, fixed={"left": 0}), "young: must be > 0"),
    "nothing held": (lambda m: fem.Elasticity(m, 1.0, 0.3), "nothing holds the body"),
    "too many components": (lambda m: fem.Elasticity(m, 1.0, 0.3, fixed={"left": [0, 0, 0]}), "2 components"),
    "plane": (lambda m: fem.Elasticity(m, 1.0, 0.3, fixed={"left": 0}, plane="wave"), "plane: must be"),
    "mesh of squares": (lambda m: fem.ReactionDiffusion(skfem.MeshQuad()), "mesh: must be linear"),
    "no mesh": (lambda m: fem.ReactionDiffusion(3), "mesh: must be a pinnpoint"),
    "point outside": (lambda m: fem.ReactionDiffusion(m).points([[2.0, 0.5]]), "outside the mesh"),
    "point of another dimension": (lambda m: fem.ReactionDiffusion(m).points([[0.5]]), "2 coordinates"),
    "component of a scalar": (
        lambda m: fem.ReactionDiffusion(m).patch("left", "x"),
        "component: the field",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_problems_and_queries_are_refused(name):
    call, words = BAD[name]
    with pytest.raises(pp.InputError, match=words):
        call(generate("square", 4))


def test_solved_field_is_within_its_own_certificate():
    problem = poisson("square", 20)
    free = problem.space.free
    U = problem.space.vector_of(spla.spsolve(problem.A[free][:, free].tocsc(), problem.b[free]))
    c = pp.certify(problem, U, problem.points([[0.3, 0.3], [0.71, 0.2]]), target="discrete")
    assert np.all(c.radius <= 1e-13)
