"""Points of a slit, where the solution has two values."""

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh


def slit_square():
    """(0, 1)² cut along y = ½ from x = ¼ to the right: lips "lower" and "upper"; "left" beside them."""
    whole = pp.io.generate("square", 4)
    X, middle = whole.points, whole.points[whole.cells].mean(axis=1)
    on = np.flatnonzero((X[:, 1] == 0.5) & (X[:, 0] > 0.25))
    above = middle[:, 1] > 0.5
    cells = whole.cells.copy()
    twin = {int(v): len(X) + k for k, v in enumerate(on)}
    cells[above] = np.vectorize(lambda v: twin.get(int(v), int(v)))(cells[above])
    points = np.concatenate([X, X[on]])
    mesh = Mesh(points, cells)
    edges = mesh.boundary
    ends = points[edges]
    lip = np.all(ends[..., 1] == 0.5, axis=1)
    upper = lip & np.any(edges >= len(X), axis=1)
    left = np.all(ends[..., 0] == 0.0, axis=1)
    return Mesh(points, cells, {}, {"lower": edges[lip & ~upper], "upper": edges[upper], "left": edges[left]})


@pytest.mark.parametrize("elastic", [False, True])
def test_a_point_of_a_slit_is_refused_and_its_tip_and_sides_are_not(elastic):
    mesh = slit_square()
    held = {"lower": 2.0, "left": 0.0}
    if elastic:
        problem = pp.fem.Elasticity(mesh, 1.0, 0.3, fixed=held)
        point = lambda x: problem.points([x], "x")  # noqa: E731
    else:
        problem = pp.fem.ReactionDiffusion(mesh, source=1.0, dirichlet=held)
        point = lambda x: problem.points([x])  # noqa: E731
    with pytest.raises(pp.InputError, match="both sides of a slit"):
        pp.certify(problem, problem.space.U0, point([0.6, 0.5]))
    for x, value in (([0.0, 0.3], 0.0), ([0.25, 0.5], 2.0)):
        c = pp.certify(problem, problem.space.U0, point(x))
        assert c.lower[0] <= value <= c.upper[0]
