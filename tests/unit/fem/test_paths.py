"""Coercivity from paths of cells: below the smallest eigenvalue, for the stored matrix, at any place and scale."""

from __future__ import annotations

import math
import types
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint as pp
from pinnpoint.base.errors import CertificationError
from pinnpoint.fem.stability.coercivity import energy_floor, path_coercivity
from pinnpoint.fem.stability.compared import _matrix, in_order, reference
from pinnpoint.fem.stability.paths import grow, path_bound
from pinnpoint.fem.stability.stored import stored_error
from pinnpoint.fem.stability.wide import WIDE
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.rounding.arithmetic import UNIT


def smallest(problem):
    free = np.asarray(problem.space.free)
    A = problem.A[free][:, free].toarray()
    return float(np.linalg.eigvalsh(0.5 * (A + A.T))[0])


def shaken(kind, cells, seed=0):
    """A generated mesh with its inner points moved."""
    mesh = pp.io.generate(kind, cells)
    rng = np.random.default_rng(seed)
    X = mesh.points.copy()
    inner = np.setdiff1d(np.arange(len(X)), mesh.boundary)
    X[inner] += rng.uniform(-0.25, 0.25, (len(inner), mesh.dim)) / cells
    return Mesh(X, mesh.cells, None, mesh.facet_groups)


SCALAR = {
    "interval": lambda: pp.fem.ReactionDiffusion(pp.io.generate("interval", 30), 1.0),
    "square": lambda: pp.fem.ReactionDiffusion(shaken("square", 8), 1.0, diffusion=3.0, dirichlet={"left": 0.0}),
    "reaction": lambda: pp.fem.ReactionDiffusion(shaken("lshape", 4), 1.0, reaction="1 + x*x"),
    "cube": lambda: pp.fem.ReactionDiffusion(shaken("cube", 5), 1.0),
    "frame": lambda: pp.fem.ReactionDiffusion(pp.io.generate("frame", 6), 1.0, dirichlet={"hole": 1.0}),
}
SOLID = {
    "plane": lambda: pp.fem.Elasticity(shaken("square", 7), 1e3, 0.3, fixed={"left": 0.0}),
    "auxetic": lambda: pp.fem.Elasticity(shaken("square", 7), 1.0, -0.5, fixed={"left": 0.0}),
    "roller": lambda: pp.fem.Elasticity(shaken("square", 6), 1.0, 0.3, fixed={"left": 0.0, "right": ["free", 0.0]}),
    "cube": lambda: pp.fem.Elasticity(shaken("cube", 4), 2e5, 0.45, fixed={"left": 0.0}),
    "stress": lambda: pp.fem.Elasticity(shaken("lshape", 3), 1.0, 0.3, fixed={"top": 0.0}, plane="stress"),
}


@pytest.mark.parametrize("name", [f"scalar {k}" for k in SCALAR] + [f"solid {k}" for k in SOLID])
def test_below_the_smallest_eigenvalue(name):
    family, key = name.split()
    problem = (SCALAR if family == "scalar" else SOLID)[key]()
    bound = path_coercivity(problem)
    lowest = smallest(problem)
    assert bound.status == "verified"
    assert (1e-4 if family == "scalar" else 1e-8) * lowest < bound.alpha <= lowest


def test_supports_given_by_nodes():
    """A space of the caller's own, as decks give it: facets whose nodes are all held start the paths."""
    mesh = pp.io.generate("cube", 3)
    by_group = pp.fem.Elasticity(mesh, 2e5, 0.3, fixed={"left": 0.0})
    free = np.asarray(by_group.space.free)
    by_nodes = pp.fem.Elasticity(mesh, 2e5, 0.3, space=by_group.space)
    assert path_coercivity(by_nodes).alpha == path_coercivity(by_group).alpha <= smallest(by_nodes)
    one = pp.AdmissibleSpace.dirichlet(by_group.space.N, [0, 1, 2])
    assert len(one.free) > len(free)
    with pytest.raises(CertificationError, match="no path can start"):
        path_coercivity(pp.fem.Elasticity(mesh, 2e5, 0.3, space=one))


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_scales_and_shifts(factor):
    """Far from the origin the same body, a little looser."""
    mesh = pp.io.generate("cube", 3)
    moved = Mesh(mesh.points * factor + 100.0 * factor, mesh.cells, None, mesh.facet_groups)
    near, far = (pp.fem.Elasticity(m, 1.0, 0.3, fixed={"left": 0.0}) for m in (mesh, moved))
    a, b = path_coercivity(near).alpha, path_coercivity(far).alpha
    assert 0.5 * a * factor < b < 1.001 * a * factor  # the energy of a body grows with its size


def test_every_state_obeys_the_bound_of_its_path():
    """The chain of inequalities itself, with the worst state of all, on a slender body."""
    for seed in range(3):
        mesh = shaken("square", 5, seed)
        stretched = Mesh(mesh.points * np.array([20.0, 1.0]), mesh.cells, None, mesh.facet_groups)
        problem = pp.fem.Elasticity(stretched, 1.0, 0.3, fixed={"left": 0.0})
        assert path_coercivity(problem).alpha <= smallest(problem)


def test_tree_reaches_every_cell_and_node():
    mesh = pp.io.generate("fichera", 2)
    tree = grow(mesh, mesh.facets("reentrant"))
    assert sum(map(len, tree.levels)) == len(mesh.cells)
    assert np.all(np.any(mesh.cells[tree.home] == np.arange(len(mesh.points))[:, None], axis=1))
    depth = np.zeros(len(mesh.cells), dtype=int)
    for k, cells in enumerate(tree.levels):
        depth[cells] = k
    below = np.concatenate(tree.levels[1:])
    assert np.all(depth[tree.parent[below]] == depth[below] - 1)
    for cell in below[::7]:
        assert set(tree.facet[cell]) <= set(mesh.cells[cell]) & set(mesh.cells[tree.parent[cell]])


def exact_stiffness(mesh, kappa):
    """In rational arithmetic, for stored points and diffusions per cell."""
    d, n = mesh.dim, len(mesh.points)
    exact = [[Fraction(0)] * n for _ in range(n)]
    for cell, k in zip(mesh.cells.tolist(), kappa.tolist(), strict=True):
        X = [[Fraction(v) for v in mesh.points[j].tolist()] for j in cell]
        E = [[X[i][c] - X[0][c] for c in range(d)] for i in range(1, d + 1)]
        if d == 2:
            cross = [[E[1][1], -E[1][0]], [-E[0][1], E[0][0]]]
        else:
            cross = [_cross(E[1], E[2]), _cross(E[2], E[0]), _cross(E[0], E[1])]
        det = sum(a * b for a, b in zip(E[0], cross[0], strict=True))
        G = [[c / det for c in row] for row in cross]
        G.insert(0, [-sum(g[c] for g in G) for c in range(d)])
        for a, i in enumerate(cell):
            for b, j in enumerate(cell):
                dot = sum(p * q for p, q in zip(G[a], G[b], strict=True))
                exact[i][j] += Fraction(k) * abs(det) / math.factorial(d) * dot
    return exact


def distance(A, exact):
    """‖A − exact‖₂ of dense matrices."""
    n = len(exact)
    return np.linalg.norm([[float(Fraction(float(A[i, j])) - exact[i][j]) for j in range(n)] for i in range(n)], 2)


def test_stored_error_covers_the_exact_assembly():
    """Against element matrices in rational arithmetic."""
    rng = np.random.default_rng(5)
    mesh = shaken("cube", 2)
    mesh = Mesh(mesh.points * 0.1 + rng.normal(size=3), mesh.cells, None, mesh.facet_groups)
    problem = pp.fem.ReactionDiffusion(mesh, 1.0, diffusion=1.7)
    A = problem.A.toarray()
    off = distance(A, exact_stiffness(mesh, problem.diffusion))
    bound = stored_error(mesh, problem.A, None, problem.diffusion)
    assert 0.0 < off <= bound
    assert bound < 1e-13 * np.abs(A).sum(axis=1).max()
    wrong = problem.A.copy()
    wrong.data[17] += 1e-9
    assert stored_error(mesh, wrong, None, problem.diffusion) >= 0.49e-9  # the symmetric part
    sharp = stored_error(mesh, problem.A, None, problem.diffusion, wide=True)
    assert off <= sharp <= bound
    assert WIDE == UNIT or sharp < 0.2 * bound
    assert stored_error(mesh, wrong, None, problem.diffusion, wide=True) >= 0.49e-9


@pytest.mark.parametrize(("what", "off"), [("gradients", 1e-8), ("volumes", 5e-11)])
def test_wrong_shapes_of_cells_count(what, off):
    """A reference from the same gradients and volumes agrees with the matrix: only their own check tells."""
    mesh = shaken("cube", 2)
    mesh.__dict__[what] = getattr(mesh, what) * (1.0 + off)
    problem = pp.fem.ReactionDiffusion(mesh, 1.0, diffusion=1.7)
    wrong = distance(problem.A.toarray(), exact_stiffness(mesh, problem.diffusion))
    assert 1e-11 < wrong <= stored_error(mesh, problem.A, None, problem.diffusion)


@pytest.mark.parametrize(("what", "off"), [("gradients", -5e-4), ("volumes", -5e-11)])
def test_sizes_of_cells_are_not_believed(what, off):
    """In extended precision as well they are the mesh's own: smaller ones, within their check, lower no bound."""
    right, mesh = shaken("cube", 2), shaken("cube", 2)
    problem = pp.fem.ReactionDiffusion(right, 1.0, diffusion=1.7)
    mesh.__dict__[what] = getattr(mesh, what) * (1.0 + off)
    known, found = (stored_error(m, problem.A, None, problem.diffusion, wide=True) for m in (right, mesh))
    assert found >= known


def test_roundings_of_the_reference_count():
    """A fan of cells whose stiffness at its tip is just above half a unit of the first one's: each is rounded up."""
    count = 1200
    angle = np.concatenate([[0.0], np.linspace(0.5 * np.pi, 2.0 * np.pi, count)[:-1]])
    rim = np.arange(1, len(angle) + 1)
    X = np.concatenate([[[0.0, 0.0]], np.stack([np.cos(angle), np.sin(angle)], axis=1)])
    mesh = Mesh(X, np.stack([np.zeros_like(rim), rim, np.roll(rim, -1)], axis=1))
    tip = mesh.volumes * (mesh.gradients[:, 0] ** 2).sum(axis=1)
    kappa = np.concatenate([[1.0], 1.001 * UNIT * tip[0] / tip[1:]])
    cells = in_order(mesh)
    A = _matrix(*reference(mesh, cells, None, kappa), cells.pairs)
    true = sum(Fraction(float(k)) * cell_tip(mesh, c) for c, k in enumerate(kappa))
    wrong = abs(float(Fraction(float(A[0, 0])) - true))
    assert 0.4 * count * UNIT * tip[0] < wrong <= stored_error(mesh, A, None, kappa)


def cell_tip(mesh, cell):
    """∫|∇λ|² for a triangle's first vertex: a quarter of the opposite side's square over the area."""
    x, y, z = ([Fraction(v) for v in mesh.points[j].tolist()] for j in mesh.cells[cell])
    area = abs((y[0] - x[0]) * (z[1] - x[1]) - (y[1] - x[1]) * (z[0] - x[0])) / 2
    return ((z[0] - y[0]) ** 2 + (z[1] - y[1]) ** 2) / (4 * area)


def test_differences_count_at_both_ends_of_an_edge():
    """A star around the last node: its row is the only one that is wrong in several entries."""
    problem = SCALAR["cube"]()
    A = problem.A.tolil(copy=True)
    last = A.shape[0] - 1
    near = [j for j in A.rows[last] if j != last]
    for j in near:
        A[last, j] += 1e-6
        A[j, last] += 1e-6
    found = stored_error(problem.mesh, sp.csr_array(A), None, problem.diffusion)
    assert found >= 1e-6 * np.sqrt(len(near))


def test_a_mass_that_is_not_quite_definite_counts():
    """Its quadrature is rounded: entries may be off by γ₂₀₄₈ of themselves, which is subtracted."""
    problem = SCALAR["square"]()
    mass = sp.csr_array(sp.diags_array(np.full(problem.A.shape[0], 10.0)))
    A = sp.csr_array(problem.A + mass)
    assert stored_error(problem.mesh, A, None, problem.diffusion, mass) >= 10.0 * 2048 * UNIT


@pytest.mark.parametrize(("kind", "cells", "elastic"), [("square", 4, True), ("cube", 2, True), ("square", 4, False)])
def test_paths_as_they_are_written_down(kind, cells, elastic):
    """M of the module's docstring, entry by entry, with the distance of each node itself: its norm is the limit."""
    mesh = shaken(kind, cells)
    held = mesh.facets("left")
    free = np.ones(len(mesh.points), dtype=bool)
    free[held] = False
    stiffness = np.random.default_rng(1).uniform(0.5, 2.0, len(mesh.cells))
    tree, X = grow(mesh, held), mesh.points
    centers, middles = X[mesh.cells].mean(axis=1), X[tree.facet].mean(axis=1)
    nodes = np.flatnonzero(free)
    M = np.zeros((len(nodes), len(mesh.cells)))
    for row, v in zip(M, nodes, strict=True):
        K = tree.home[v]
        row[K] += np.linalg.norm(X[v] - centers[K])
        while True:
            r = X[tree.facet[K]] - middles[K]
            moments = np.linalg.eigvalsh(np.trace(r.T @ r) * np.eye(mesh.dim) - r.T @ r)
            lean = np.sqrt(moments[-1] / moments[0]) if mesh.dim == 3 else 1.0
            arm = lean * np.linalg.norm(X[v] - middles[K]) if elastic else 0.0
            row[K] += np.linalg.norm(middles[K] - centers[K]) + arm
            P = tree.parent[K]
            if P == K:
                break
            row[P] += np.linalg.norm(middles[K] - centers[P]) + arm
            K = P
    M /= np.sqrt(stiffness * mesh.volumes)
    found, limit = path_bound(mesh, held, stiffness, free, elastic=elastic), 1.0 / np.linalg.norm(M, 2) ** 2
    assert 0.3 * limit < found <= limit


@pytest.mark.parametrize("name", SOLID)
def test_extended_precision_knows_the_assembly_better(name):
    """Both are bounds of the same; moving the matrix moves them."""
    problem = SOLID[name]()
    lam, mu = problem.lame
    plain, sharp = (stored_error(problem.mesh, problem.A, lam, mu, wide=wide) for wide in (False, True))
    assert 0.0 < sharp <= plain
    moved = problem.A + plain * sp.eye_array(problem.A.shape[0])
    assert stored_error(problem.mesh, moved, lam, mu, wide=True) >= 0.99 * plain
    assert WIDE == UNIT or sharp < 0.3 * plain


@pytest.mark.parametrize("kind", ["scalar", "solid"])
def test_a_stored_matrix_that_was_lowered_has_less(kind):
    """What is proved is for the matrix that is stored: less by as much as that is less, or nothing."""
    problem = SCALAR["square"]() if kind == "scalar" else SOLID["plane"]()
    whole = path_coercivity(problem).alpha
    for share in (0.25, 2.0):
        stored = types.SimpleNamespace(**{k: getattr(problem, k) for k in SEEN if hasattr(problem, k)})
        lowered = sp.csr_array(problem.A - share * whole * sp.eye_array(problem.A.shape[0]))
        stored.system = pp.LinearSystem(lowered, problem.b, space=problem.space, reduction="galerkin")
        if share > 1.0:
            with pytest.raises(CertificationError, match="does not exceed"):
                path_coercivity(stored)
        else:
            assert path_coercivity(stored).alpha <= (1.0 - share) * whole * (1.0 + 1e-9)


SEEN = (
    "degree",
    "system",
    "mesh",
    "components",
    "space",
    "conditions",
    "held",
    "diffusion",
    "reaction",
    "reaction_varies",
    "sides",
    "lame",
    "nodes",
)


def _cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def test_serves_a_certificate():
    """With refined Green vectors the rough constant costs nothing; it counts as verified."""
    problem = pp.fem.bracket("torsional")
    queries = problem.patch("pin", "y") + problem.points([[0.0, 0.0, 22.0]], "x", ["web"])
    U = problem.space.U0.copy()
    tight = pp.certify(problem, U, queries, pp.Exact(), target="discrete")
    rough = pp.certify(
        problem, U, queries, pp.Exact(coercivity=path_coercivity(problem), refine=True), target="discrete"
    )
    assert all(claim.status == "verified" for claim in rough.assumptions)
    assert any("paths of cells" in claim.claim for claim in rough.assumptions)
    assert np.all(rough.radius <= tight.radius)
    assert np.all(np.abs(rough.center - tight.center) <= rough.radius + tight.radius)


def test_elastic_energy_floor():
    rng = np.random.default_rng(1)
    for nu in (-0.8, -0.2, 0.0, 0.4):
        mu = 1.0 / (2.0 * (1.0 + nu))
        lam = nu / ((1.0 + nu) * (1.0 - 2.0 * nu))
        k = energy_floor(np.array([lam]), np.array([mu]), 3)[0]
        for _ in range(50):
            e = rng.normal(size=(3, 3))
            e = e + e.T if rng.random() < 0.8 else np.eye(3)
            assert lam * np.trace(e) ** 2 + 2 * mu * (e**2).sum() >= k * (e**2).sum() * (1 - 1e-12)


def test_problems_without_paths_are_refused():
    square = pp.io.generate("square", 3)
    with pytest.raises(CertificationError, match="without reaction"):
        path_coercivity(pp.fem.ReactionDiffusion(square, 1.0, reaction=1.0, degree=2))
    with pytest.raises(CertificationError, match="scalar diffusion"):
        path_coercivity(pp.fem.ReactionDiffusion(square, 1.0, diffusion=[[2.0, 0.1], [0.1, 1.0]]))
    with pytest.raises(CertificationError, match="no path can start"):
        path_coercivity(pp.fem.Elasticity(square, 1.0, 0.3, fixed={"left": [0.0, None], "bottom": [None, 0.0]}))
    two = Mesh([[0, 0], [1, 0], [0, 1], [5, 0], [6, 0], [5, 1]], [[0, 1, 2], [3, 4, 5]], None, {"left": [[0, 1]]})
    with pytest.raises(CertificationError, match="1 cells hang on no held facet"):
        path_bound(two, two.facets("left"), np.ones(2), np.ones(6, dtype=bool), elastic=True)
