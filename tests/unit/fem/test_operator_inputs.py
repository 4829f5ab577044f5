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


def test_generators_must_end_together():
    problem = square(3)
    certifier = problem.operators().prepare(problem.mean())
    kappa, state = np.ones(len(problem.mesh.cells)), np.zeros(len(problem.mesh.points))
    with pytest.raises(pp.InputError, match="predictions ends after 2"):
        certifier.certify_many((kappa for _ in range(3)), (state for _ in range(2)))


def test_that_the_problems_own_diffusion_is_not_used_is_noted():
    for own, told in ((1.0, False), (3.0, True)):
        problem = square(3, diffusion=own)
        kappas, states = np.ones((1, len(problem.mesh.cells))), np.zeros((1, len(problem.mesh.points)))
        notes = problem.operators().prepare(problem.mean()).certify_many(kappas, states).notes
        assert any("own diffusion is not used" in note for note in notes) == told


def test_shares_of_a_population_add_up():
    problem = square(3)
    kappas, states = np.ones((4, len(problem.mesh.cells))), np.zeros((4, len(problem.mesh.points)))
    kappas[1] = -1.0
    shares = problem.operators().prepare(problem.mean()).certify_many(kappas, states).accepted(0.5)
    assert (shares.within, shares.beyond, shares.undecided, shares.refused) == (0.0, 0.75, 0.0, 0.25)
    assert shares.verdicts == ("beyond", "refused", "beyond", "beyond")


@pytest.mark.optional
@pytest.mark.parametrize(("kind", "cells", "contrast"), [("square", 24, 30.0), ("cube", 9, 300.0)])
def test_three_steps_by_cycles_of_the_matrix_itself_are_as_good_as_a_solve(kind, cells, contrast):
    pytest.importorskip("pyamg")
    mesh = pp.io.generate(kind, cells)
    x = mesh.points[mesh.cells].mean(axis=1)
    kappa = np.where(np.sin(7.0 * x[:, 0]) * np.cos(5.0 * x[:, 1] + 1.0) > 0.0, contrast, 1.0)
    base, problem = (pp.fem.ReactionDiffusion(mesh, 1.0, k) for k in (1.0, kappa))
    tight = pp.certify(problem, problem.space.U0, problem.mean())

    def off(**how):
        found = pp.certify(problem, problem.space.U0, problem.mean(), pp.Exact(solver=base.reference(**how)))
        assert max(found.lower[0], tight.lower[0]) <= min(found.upper[0], tight.upper[0])
        return found.details["energy_bound"] / tight.details["energy_bound"]

    assert off(steps=3) <= 1.01
    assert off(steps=3, multigrid=False) > 1.1  # the reference alone is too far away
    zero = np.zeros((1, len(mesh.points)))
    few, many = (
        base.operators().prepare(base.mean(), steps=k, patches=True).certify_many(kappa[None], zero).gap[0]
        for k in (3, 40)
    )
    assert few <= 1.01 * many


def test_whether_cycles_are_asked_for_is_a_truth_value():
    with pytest.raises(pp.InputError, match="multigrid: must be true"):
        square(3).reference(multigrid=3)


def test_contrasts_beyond_the_digits_prove_nothing_and_say_so():
    problem = square(4)
    kappas = 10.0 ** np.random.default_rng(0).uniform(-8.0, 8.0, (2, len(problem.mesh.cells)))
    certifier = problem.operators().prepare(problem.mean(), target="discrete")
    found = certifier.certify_many(kappas, np.zeros((2, len(problem.mesh.points))))
    assert np.all(np.isinf(found.radius))
    assert all("contrast" in why for why in found.status)
