"""Data as users give them: what is no number, formula, list or function of points is refused by its name, in a line."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import pinnpoint as pp

MESH = pp.io.generate("square", 4)
NOT_LISTS = {
    "mapping": {0: 0.5, 1: 0.0},
    "bytes": b"01",
    "bytearray": bytearray(b"01"),
    "set": {0.5, 1.0},
    "frozenset": frozenset({0.5, 1.0}),
    "range": range(2),
    "values of a mapping": {0: 0.5, 1: 0.0}.values(),
    "generator": (x for x in (0.5, 0.0)),
    "iterator": iter([0.5, 0.0]),
}


def elastic(**given):
    return pp.fem.Elasticity(MESH, 1.0, 0.3, **{"fixed": {"left": 0.0}, **given})


def heat(**given):
    return pp.fem.ReactionDiffusion(MESH, **given)


@pytest.mark.parametrize("kind", NOT_LISTS)
@pytest.mark.parametrize("word", ["fixed", "traction", "force", "body", "dirichlet", "neumann"])
def test_components_are_lists_tuples_or_arrays_and_nothing_else_that_can_be_iterated(kind, word):
    given = NOT_LISTS[kind]
    what = given if word == "body" else {"left" if word in ("fixed", "dirichlet") else "right": given}
    other = {"fixed": None} if word == "dirichlet" else {}
    with pytest.raises(pp.InputError, match=word):
        elastic(**other, **{word: what})


@pytest.mark.parametrize("kind", NOT_LISTS)
@pytest.mark.parametrize("word", ["source", "diffusion", "reaction", "dirichlet", "neumann"])
def test_a_scalar_condition_takes_no_keys_bytes_or_members_for_its_value(kind, word):
    given = NOT_LISTS[kind]
    what = {"left": given} if word in ("dirichlet", "neumann") else given
    with pytest.raises(pp.InputError, match=word):
        heat(**{"dirichlet": {"right": 0.0}, word: what})


@pytest.mark.parametrize("given", [(0.5, 0.0), [0.5, 0.0], np.array([0.5, 0.0])])
def test_lists_tuples_and_arrays_are_components(given):
    values = elastic(fixed={"left": given}).space.U0.reshape(-1, 2)
    left = np.unique(MESH.facets("left"))
    assert np.array_equal(values[left], np.tile([0.5, 0.0], (len(left), 1)))


def test_tensors_of_no_dimension_are_numbers():
    torch = pytest.importorskip("torch")
    for one in (torch.tensor(1.0), np.array(1.0), np.float64(1.0)):
        problem = heat(source=one, diffusion=one, reaction=one, dirichlet={"left": one}, neumann={"right": one})
        plain = heat(source=1.0, diffusion=1.0, reaction=1.0, dirichlet={"left": 1.0}, neumann={"right": 1.0})
        assert np.array_equal(problem.b, plain.b)
        pp.certify(problem, problem.space.U0, problem.points([[0.4, 0.5]]))


def breaks(X):
    raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize("word", ["source", "diffusion", "reaction", "dirichlet", "neumann"])
@pytest.mark.parametrize("f", [breaks, lambda x, y: x, float, lambda X: X[:, 5]])
def test_what_a_function_of_data_raises_is_a_refusal_in_a_line_by_its_name(word, f):
    what = {"left": f} if word in ("dirichlet", "neumann") else f
    with pytest.raises(pp.InputError, match=rf"^{word}.*raised") as caught:
        heat(**{"dirichlet": {"right": 0.0}, word: what})
    assert "\n" not in str(caught.value)


def test_a_function_that_writes_into_its_points_harms_nobody():
    def f(X):
        X[:] = 1.0
        return X[:, 0]

    assert np.array_equal(heat(source=f).b, heat(source=lambda X: np.ones(len(X))).b)


def test_a_source_may_return_a_column_as_boundary_data_may():
    problem = heat(source=lambda X: X[:, :1])
    pp.certify(problem, problem.space.U0, problem.points([[0.4, 0.5]]))


@pytest.mark.parametrize("word", ["source", "diffusion", "reaction", "dirichlet", "neumann"])
@pytest.mark.parametrize("x", [Fraction(1, 3), Decimal("0.1"), 2**53 + 1])
def test_numbers_that_float64_does_not_hold_are_refused_by_their_name(word, x):
    for given, refused in ((x, True), (type(x)(1), False)):
        what = {"left": given} if word in ("dirichlet", "neumann") else given
        if refused:
            with pytest.raises(pp.InputError, match=rf"^{word}.*is not a float64 number"):
                heat(**{"dirichlet": {"right": 0.0}, word: what})
        else:
            heat(**{"dirichlet": {"right": 0.0}, word: what})


@pytest.mark.parametrize(
    ("given", "begins"),
    [
        ({"source": 10**400}, "source: must be a finite number; got 1000"),
        ({"source": 10**5000}, "source: must be a finite number; got int with thousands of digits"),
        ({"source": np.ones(5000)}, "source: must be a number, a formula or a function of points"),
        ({"diffusion": 1e308}, "diffusion, reaction: the matrix: must be finite"),
        ({"diffusion": 5e-324}, "diffusion: must be positive"),
        ({"reaction": 1e308}, "reaction: must be zero, or within"),
        ({"dirichlet": {"boundary": 1e308}}, "A: its product with a vector must be 9 finite numbers; "),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_refusals_name_the_argument_and_are_short(given, begins):
    def certified():
        problem = heat(**given)
        return pp.certify(problem, problem.space.U0, problem.points([[0.37, 0.52]]))

    with pytest.raises(pp.InputError) as caught:
        certified()
    said = str(caught.value)
    assert said.startswith(begins)
    assert "\n" not in said
    assert len(said) < 300
