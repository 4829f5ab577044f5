"""Tolerances of derived quantities: components count by what they do to them."""

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.certificates.derived import plainly
from pinnpoint.certifiers.aims import NONE, Aims, slopes
from pinnpoint.fem import Elasticity
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.systems.derived import MAGNITUDE, PRINCIPAL, VON_MISES, Derived


def panel(cells=3):
    mesh = generate("square", cells)
    middle = mesh.points[mesh.cells].mean(axis=1)
    mesh = Mesh(mesh.points, mesh.cells, {"inner": middle[:, 0] < 0.5}, mesh.facet_groups)
    return Elasticity(mesh, 1.0, 0.3, None, {"left": 0.0}, {"right": [0.0, 1.0]}, plane="stress", degree=2)


@pytest.mark.parametrize(
    "one",
    [
        Derived("p", VON_MISES, tuple("abcdef")),
        Derived("p", VON_MISES, tuple("abc"), poisson=0.3),
        Derived("p", MAGNITUDE, tuple("abc")),
        *(Derived("p", PRINCIPAL, tuple("abcdef"), order=k) for k in (1, 2, 3)),
        Derived("p", PRINCIPAL, tuple("abc"), order=2),
    ],
)
def test_slopes_are_differences(one):
    x, h = np.random.default_rng(3).normal(size=len(one.of)), 1e-6
    steps = [(plainly(one, x + h * e) - plainly(one, x - h * e)) / (2 * h) for e in np.eye(len(x))]
    np.testing.assert_allclose(slopes(one, x), np.abs(steps), atol=1e-8)


def test_slopes_of_nothing_are_ones():
    one = Derived("p", MAGNITUDE, ("a", "b"))
    assert slopes(one, np.zeros(2)).tolist() == [1.0, 1.0]
    assert slopes(one, np.array([np.inf, 0.0])).tolist() == [1.0, 1.0]


def test_a_tolerance_of_a_derived_quantity_is_met_by_it_alone():
    problem = panel()
    queries = problem.von_mises("inner", "strength") + problem.patch("right", "y", "tip")
    found = pp.certify_to(problem, problem.space.U0, queries, [None, None, None, 0.5, 0.05])
    strength = found.certificate.derived[0]
    assert found.reached
    assert strength.radius <= 0.05
    assert found.certificate.radius[3] <= 0.5
    assert len(found.history) > 1  # one mesh did not do
    before = pp.certify(problem, problem.space.U0, queries).derived[0]
    assert before.radius > 0.05
    assert max(before.lower, strength.lower) <= min(before.upper, strength.upper)
    alone = pp.certify_to(problem, problem.space.U0, queries, [0.05 / 3.5, 0.05 / 3.5, 0.05 / 3.5, 0.5])
    assert found.history[-1].dofs < alone.history[-1].dofs  # what its components do to it counts, not their widths


def test_what_is_too_much_is_said_of_derived_quantities_too():
    problem = panel(2)
    found = pp.certify_to(problem, problem.space.U0, problem.von_mises("inner"), [None, None, None, 1e-9], max_dofs=300)
    assert not found.reached
    assert "more than max_dofs = 300" in found.stopped
    assert found.certificate.derived[0].radius > 1e-9


def test_the_best_mesh_is_told_again_where_it_was_not_the_last():
    """Of meshes the best one's certificate is returned, made again where it had been dropped."""
    problem = panel(2)
    queries = problem.patch("right", "y")
    found = pp.certify_to(problem, problem.space.U0, queries, 1e-9, max_dofs=300)
    radii = [step.radius[0] for step in found.history]
    assert found.certificate.radius[0] == min(radii)
    again = pp.certify(found.problem, found.problem.space.U0, found.queries)
    assert again.radius[0] == min(radii)


def test_limits_of_components_before_and_after_the_first_mesh():
    problem = panel(2)
    queries = problem.von_mises("inner", "s") + problem.patch("right", "y", "tip")
    aims = Aims.of(queries, [None, None, None, 2.0, 0.6])
    assert aims.limits(queries).tolist() == pytest.approx([0.1, 0.1, 0.1, 2.0])
    after = aims.limits(queries, pp.certify(problem, problem.space.U0, queries))
    assert after[3] == 2.0
    assert np.all(after[:3] < NONE)
    with pytest.raises(pp.InputError, match="tolerance: must be one number or 4"):
        Aims.of(queries, [1.0] * 6)
