"""Displacements by formulas that elements do not meet: bounds of the extension against quadrature, and the identity."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest

from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.topology import Topology
from pinnpoint.taylor.bernstein import from_linear, from_quadratic, gram, pairs, values
from pinnpoint.taylor.geometry import path_order
from pinnpoint.taylor.simplices import quadratic, root_mean_square
from pinnpoint.transfer.elastic.gaps import Gap
from tests.support.fields import rule
from tests.support.simplices import corners

FORMULAS = ["exp(x) * sin(2*y)", "cos(x + 2*y)", "x * exp(y) - z**3"]


def grid(d, n):
    X = np.stack(np.meshgrid(*[np.arange(n + 1)] * d, indexing="ij"), -1).reshape(-1, d) / n
    corner = np.flatnonzero(np.all(X < 1.0, axis=1))
    cells = [corner[:, None] + np.concatenate([[0], np.cumsum(p)]) for p in permutations((n + 1) ** np.arange(d))]
    inside = np.all((X > 0.0) & (X < 1.0), axis=1)
    X = X + 0.2 / n * np.random.default_rng(0).uniform(-1.0, 1.0, X.shape) * inside[:, None]
    return Topology(X, np.concatenate(cells))


class Body:
    """Nodes of elements, and states that interpolate."""

    def __init__(self, d, n, degree):
        self.T, self.d, self.degree = grid(d, n), d, degree
        T = self.T
        self.nodes, self.places = T.cells, T.points
        if degree == 2:
            local = list(combinations(range(d + 1), 2))
            ends = np.stack([T.cells[:, list(pair)] for pair in local], axis=1)
            edges, number = np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True)
            self.nodes = np.concatenate([T.cells, len(T.points) + number.reshape(len(T.cells), -1)], axis=1)
            self.places = np.concatenate([T.points, T.points[edges].mean(axis=1)])
        C = len(T.cells)
        self.lam, self.mu = np.full(C, 1.3), np.full(C, 0.7)

    def side(self, axis, value):
        T = self.T
        return np.flatnonzero(T.boundary & np.all(T.points[T.facets][:, :, axis] == value, axis=1))

    def interpolant(self, functions):
        return np.stack([np.broadcast_to(f(self.places), len(self.places)) for f in functions], axis=1)

    def gap(self, dirichlet, U):
        return Gap.of(self.T, self.nodes, self.degree, self.lam, self.mu, dirichlet, U)

    def bernstein(self, w):
        return from_linear(w) if self.degree == 1 else from_quadratic(w, self.d)


def slopes(body, w):
    """∇ of an element function at points with barycentric coordinates, by differences of its Bernstein form."""
    G, beta = body.T.gradients, body.bernstein(w)

    def at(bary):
        found = np.zeros((len(beta), len(bary), body.d))
        for i in range(body.d + 1):
            step = np.zeros(body.d + 1)
            step[i] = 1e-4
            d_i = (values(bary + step) - values(bary - step)) / 2e-4
            found += np.einsum("kp,np->nk", d_i, beta)[:, :, None] * G[:, None, i]
        return found

    return at


def extension(body, functions, partials, U, facets):
    """Quadrature of ‖E‖_a and ‖E‖ on cells for E = χ(g − I g), I g with the values of U at the facets' nodes."""
    T, d = body.T, body.d
    bary, w = rule(d, 7)
    on = np.zeros(len(T.points))
    on[T.facets[facets]] = 1.0
    near = body.interpolant(functions)
    held = np.unique(np.concatenate([n for n in facet_nodes(body, facets)]))
    near[held] = U[held]
    X = np.einsum("ki,nia->nka", bary, T.points[T.cells])
    chi, steep = np.einsum("ki,ni->nk", bary, on[T.cells]), np.einsum("ni,nia->na", on[T.cells], T.gradients)
    D, E = np.zeros((*X.shape[:2], d, d)), np.zeros(X.shape)
    for c in range(d):
        v = functions[c](X.reshape(-1, d)).reshape(X.shape[:2]) - np.einsum(
            "kp,np->nk", values(bary), body.bernstein(near[body.nodes][..., c])
        )
        dv = np.stack([p(X.reshape(-1, d)).reshape(X.shape[:2]) for p in partials[c]], axis=2)
        dv = dv - slopes(body, near[body.nodes][..., c])(bary)
        E[..., c] = chi * v
        D[:, :, c] = chi[..., None] * dv + v[..., None] * steep[:, None]
    strain = 0.5 * (D + np.swapaxes(D, 2, 3))
    density = (
        2.0 * body.mu[:, None] * (strain**2).sum(axis=(2, 3))
        + body.lam[:, None] * np.trace(strain, axis1=2, axis2=3) ** 2
    )
    return np.sqrt((density * w).sum(axis=1) * T.volumes), np.sqrt(((E**2).sum(axis=2) * w).sum(axis=1) * T.volumes)


def facet_nodes(body, facets):
    """Nodes of a body that lie on facets, by what their vertices are."""
    T, found = body.T, []
    for f in facets:
        k = T.facet_cells[f, 0]
        own = [i for i in range(body.d + 1) if T.cells[k, i] in T.facets[f]]
        rows = own + [
            body.d + 1 + p
            for p, pair in enumerate(combinations(range(body.d + 1), 2))
            if set(pair) <= set(own) and body.degree == 2
        ]
        found.append(body.nodes[k, rows])
    return found


def slope(f, b, step=1e-5):
    """∂_b f by differences."""
    e = step * np.eye(3)[b]
    return lambda X: (8.0 * (f(X + e) - f(X - e)) - (f(X + 2 * e) - f(X - 2 * e))) / (12.0 * step)


def case(d, n, degree):
    body = Body(d, n, degree)
    g = [parse(text) for text in FORMULAS[:d]]
    if d == 2:
        partials = [
            [lambda X: np.exp(X[:, 0]) * np.sin(2 * X[:, 1]), lambda X: 2 * np.exp(X[:, 0]) * np.cos(2 * X[:, 1])],
            [lambda X: -np.sin(X[:, 0] + 2 * X[:, 1]), lambda X: -2 * np.sin(X[:, 0] + 2 * X[:, 1])],
        ]
    else:
        partials = [[slope(f, b) for b in range(3)] for f in g]
    facets = np.concatenate([body.side(0, 0.0), body.side(1, 0.0)])
    U = body.interpolant(g)
    U[: len(U) // 2] += 1e-4  # a state need not interpolate
    return body, g, partials, facets, U


@pytest.mark.parametrize(("d", "n", "degree"), [(2, 3, 1), (2, 3, 2), (3, 1, 1), (3, 2, 2)])
def test_the_extension_is_bounded_and_not_far_below_its_bounds(d, n, degree):
    body, g, partials, facets, U = case(d, n, degree)
    gap = body.gap([(facets, g)], U)
    energy, length = extension(body, g, partials, U, facets)
    assert gap.is_open
    assert np.all(energy <= gap.energy * (1 + 1e-6))
    assert np.all(length <= gap.length)
    assert np.all(length[gap.top == 0.0] < 1e-15)
    assert np.linalg.norm(gap.energy) < 2.0 * np.linalg.norm(energy)
    split = body.gap([(facets[::2], g), (facets[1::2], g)], U)  # one formula in two groups is one formula
    assert np.allclose(split.energy, gap.energy)


@pytest.mark.parametrize(("d", "n", "degree"), [(2, 3, 1), (2, 3, 2), (3, 1, 2)])
def test_the_facet_term_holds_the_integral_against_linear_tractions(d, n, degree):
    body, g, _, facets, U = case(d, n, degree)
    T = body.T
    gap = body.gap([(facets, g)], U)
    m = np.random.default_rng(3).normal(size=(len(T.facets), d, d))
    value, error = gap.facet_term(m)
    bary, w = rule(d - 1, 12)
    inverse = np.linalg.inv((np.ones((d, d)) + np.eye(d)) / (d * (d + 1)))
    true = 0.0
    for f, nodes in zip(facets, facet_nodes(body, facets), strict=True):
        X = bary @ T.points[T.facets[f]]
        t = bary @ (inverse @ m[f])  # times |F|
        own = from_linear(U[nodes][None])[0] if degree == 1 else from_quadratic(U[nodes][None], d - 1)[0]
        true -= np.einsum("ka,ka,k->", t, np.stack([h(X) for h in g], axis=1) - values(bary) @ own, w)
    assert abs(value - true) <= error + 1e-13
    assert error < 1e-7


def test_constants_are_met_exactly_and_polynomials_but_for_rounding():
    body = Body(2, 3, 2)
    facets = body.side(0, 0.0)
    U = np.full((len(body.places), 2), 0.25)
    gap = body.gap([(facets, [0.25, 0.25])], U)
    assert not gap.is_open
    assert not gap.energy.any()
    assert gap.facet_term(np.ones((len(body.T.facets), 2, 2)))[0] == 0.0
    one = np.ones(len(body.T.cells))
    assert gap.radius(one, one, one, one) == 0.0
    g = [parse("0.1*x - 0.7*y**2 + x*y"), parse("0.3*y")]
    gap = body.gap([(facets, g)], body.interpolant(g))
    assert 0.0 < gap.energy.max() < 1e-13
    assert gap.facet_term(np.ones((len(body.T.facets), 2, 2)))[1] < 1e-12
    U = body.interpolant(g)
    U[np.unique(facet_nodes(body, facets)), 0] += 1e-3  # values that are not the data's
    gap = body.gap([(facets, g)], U)
    D, value = gap.facet_term(np.ones((len(body.T.facets), 2, 2)))
    true = 1e-3 * 2.0 * len(facets)
    assert abs(D - true) <= value
    off = np.zeros(len(body.places))
    off[np.unique(facet_nodes(body, facets))] = 1e-3
    bary, weights = rule(2, 6)
    G = slopes(body, off[body.nodes])(bary)  # ∇E_x
    square = (2.0 * body.mu + body.lam) * (G[..., 0] ** 2 @ weights) + body.mu * (G[..., 1] ** 2 @ weights)
    assert np.all(np.sqrt(square * body.T.volumes) <= gap.energy)


def test_different_formulas_at_one_vertex_are_refused_unless_met():
    body = Body(2, 2, 2)
    left, below = body.side(0, 0.0), body.side(1, 0.0)
    U = body.interpolant([parse("sin(x)"), parse("0*x")])
    with pytest.raises(InputError, match=r"component x is given by different data at \(0, 0\)"):
        body.gap([(left, [parse("sin(x)"), None]), (below, [parse("sin(x) + y*0.5"), None])], U)
    with pytest.raises(InputError, match="different data"):
        body.gap([(left, [0.0, None]), (below, [parse("sin(x)"), None])], U)
    body.gap([(left, [0.0, None]), (below, [parse("x**2"), None])], body.interpolant([parse("x**2"), parse("0*x")]))
    body.gap([(left, [0.0, None]), (below, [None, parse("sin(x)")])], U)
    right = body.side(0, 1.0)
    gap = body.gap([(left, [0.0, None]), (right, [parse("sin(3*y)"), None])], U)
    assert set(gap.facets) <= set(right) | set(left)


def test_jumps_and_functions_of_points_are_refused():
    body = Body(2, 2, 1)
    left, below = body.side(0, 0.0), body.side(1, 0.0)
    U = np.zeros((len(body.places), 2))
    with pytest.raises(InputError, match=r"two values at \(0, 0\)"):
        body.gap([(left, [0.0, None]), (below, [1.0, None])], U)
    with pytest.raises(InputError, match="formula"):
        body.gap([(left, [lambda X: np.sin(X[:, 1]), None])], U)


@pytest.mark.parametrize("name", ["energy", "length", "top"])
def test_the_radius_has_all_its_parts(name):
    body, g, _, facets, U = case(2, 3, 2)
    gap = body.gap([(facets, g)], U)
    one = np.ones(len(body.T.cells))
    whole = gap.radius(one, one, one, one)
    zero = np.zeros_like(one)
    kept = getattr(gap, name) * (1.0 if name == "top" else 0.0)
    assert replace(gap, **{name: kept}).radius(one, one, one, one if name != "top" else zero) < 0.999999 * whole
    assert gap.radius(one, zero, zero, zero) >= gap.energy.sum()
    assert gap.radius(np.full_like(one, np.inf), one, one, one) == np.inf


@pytest.mark.parametrize("couple", [False, True])
@pytest.mark.parametrize("d", [2, 3])
def test_defects_cost_no_more_than_the_length_of_their_constants(d, couple):
    """ρ_j = −F/(d + 1) − skew(A)∇λ_j, and Q of it against any E is at most its norm times ‖E‖; for couples F = 0."""
    body, g, _, facets, U = case(d, 1, 1)
    T, rng = body.T, np.random.default_rng(2)
    gap = body.gap([(facets, g)], U)
    k = int(np.argmax(gap.top))
    t = rng.normal(size=(d + 1, d))
    t = t - t.mean(axis=0) if couple else t
    X = T.points[T.cells[k]]
    A = np.einsum("ia,ib->ab", t, X - X.mean(axis=0))
    rho = 0.5 * (A + A.T) @ T.gradients[k].T - t.T
    n1 = d + 1
    Q = ((n1 + 1.0) * rho.sum(axis=1, keepdims=True) - n1**2 * rho) / T.volumes[k]
    norm = np.sqrt((Q**2).sum() * T.volumes[k] / n1)
    force, moment = np.zeros(len(T.cells)), np.zeros(len(T.cells))
    turn = A - A.T
    force[k], moment[k] = np.linalg.norm(t.sum(axis=0)), np.linalg.norm(turn) / np.sqrt(2.0)
    zero = np.zeros_like(force)
    assert norm * gap.length[k] <= gap.radius(zero, force, moment, zero) < 50.0 * norm * gap.length[k]


@pytest.mark.parametrize("d", [2, 3])
def test_models_of_quadratics_have_their_root_mean_squares(d):
    rng = np.random.default_rng(d)
    V = corners(rng, d, d, "wide", 6)
    which, beta = path_order(V), rng.normal(size=(6, len(pairs(d))))
    model = quadratic(beta, which, 6, np.zeros(6))
    true = np.sqrt(np.einsum("ni,ij,nj->n", beta, gram(d), beta))
    found = root_mean_square(model, which)
    assert np.all(found >= true * (1 - 1e-15))
    assert np.all(found < true + 1e-12)
    square = root_mean_square(model * model, which)  # of degree 4: its part beyond quadratics counts too
    bary, w = rule(d, 8)
    assert np.allclose(square, np.sqrt(((values(bary) @ beta.T) ** 4 * w[:, None]).sum(axis=0)), rtol=1e-10)
    wide = root_mean_square(quadratic(beta, which, 6, np.full(6, 0.5)), which)
    assert np.all(wide >= true + 0.5)
    low, high = model.bounds
    at = values(bary) @ beta.T
    assert np.all((low <= at.min(axis=0)) & (at.max(axis=0) <= high))
