"""What families of operators and references take, and what they refuse."""

import numpy as np
import pytest

import pinnpoint as pp


def square(n, **more):
    return pp.fem.ReactionDiffusion(pp.io.generate("square", n), source="1", **{"dirichlet": {"left": 0.0}, **more})


@pytest.mark.parametrize("bad", [None, 3, "groups"])
def test_what_is_no_list_of_groups_is_refused(bad):
    with pytest.raises(pp.InputError, match=r"diffusion: must be 'cells' or a list"):
        square(2).operators(diffusion=bad)


def test_complex_numbers_are_rows_with_their_reason():
    problem = square(3)
    certifier = problem.operators().prepare(problem.mean())
    kappas, states = np.ones((2, len(problem.mesh.cells))), np.zeros((2, len(problem.mesh.points)))
    for given in ((kappas + 1j, states), (kappas, states + 1j)):
        assert all("does not hold real numbers" in why for why in certifier.certify_many(*given).status)


def test_a_matrix_that_is_symmetric_up_to_rounding_takes_a_reference():
    """With a reaction entries of the matrix and of its transpose differ by 1e-18 on some meshes."""
    for n in (5, 6, 7):
        problem = square(n, reaction=2.0)
        near = pp.certify(problem, problem.space.U0, problem.mean(), pp.Exact(solver=square(n).reference()))
        tight = pp.certify(problem, problem.space.U0, problem.mean())
        assert near.radius[0] <= 1.1 * tight.radius[0]
        assert max(near.lower[0], tight.lower[0]) <= min(near.upper[0], tight.upper[0])
