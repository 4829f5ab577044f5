"""Formulas that are undefined somewhere on the mesh are refused with the place, whatever function stands around."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.formulas.expressions import parse
from pinnpoint.models import MLP, Lift
from pinnpoint.taylor.domains import require_defined
from pinnpoint.taylor.jets import jet_of
from pinnpoint.taylor.models import TaylorModel
from pinnpoint.taylor.simplices import density, enclose
from pinnpoint.taylor.spaces import space

HIDDEN = {  # finite floats at most points, undefined somewhere in [0, 1]
    "atan(log(x-0.31))": "log",
    "exp(-1/(x-0.31)**2)": "division",
    "exp(-1/(x-1/3)**2)": "division",
    "sin(asin(1.7*x))": "asin",
    "tanh(acos(1.7*x))": "acos",
    "tanh(tan(3*x))": "tan",
    "sin((x-0.31)**1.5)": "power",
    "atan((x-0.31)**(-0.5))": "power",
    "cos((x-0.31)**(-2))": "power",
    "tanh((x-0.31)**x)": "power",
    "min(1, sqrt(x-0.31))": "sqrt",
    "sqrt(x-1e-9)**0": "sqrt",
    "sin(sqrt((x-1/3)**2 - 1e-10))": "sqrt",
    "sin(log(x))": "log",
}
DEFINED = (
    "sqrt(x)|x**0.3|x**1.5|asin(2*x-1)|acos(x)|sqrt(x*(1-x))|sqrt(x**2)|log(1+x)|1/(1+x)|sqrt(1-cos(x))|2**x|x**(1+x)|"
    "sqrt(1-sin(pi*x))|1/((x-1/3)**2+1e-9)|log(max(x,1e-3))|sqrt(max(x-0.31,0))|tan(x)|(1+x)**(-2)|x/2|x**3|x**x|log(x+1e-9)"
).split("|")


def cells(name: str, n: int) -> np.ndarray:
    mesh = pp.io.generate(name, n)
    return mesh.points[mesh.cells]


@pytest.mark.parametrize("text", HIDDEN)
@pytest.mark.parametrize(("name", "n"), [("interval", 5), ("square", 2), ("cube", 1)])
def test_a_formula_undefined_inside_another_is_refused_with_the_place(text, name, n):
    with pytest.raises(pp.InputError, match=rf"^source .*: not defined everywhere; .*{HIDDEN[text]}.* \[0\.|\[1\."):
        require_defined(parse(text), cells(name, n), "source")


@pytest.mark.parametrize("text", DEFINED)
@pytest.mark.parametrize(("name", "n"), [("interval", 5), ("square", 2)])
def test_a_formula_defined_everywhere_is_not_refused(text, name, n):
    require_defined(parse(text), cells(name, n), "source")


@pytest.mark.parametrize("text", HIDDEN)
def test_no_model_bounds_what_is_undefined(text):
    """On a cell with a place where it is undefined the remainder is infinite, in jets too."""
    V = np.array([[[0.0], [1.0]]])
    assert density(parse(text), V, depth=0).error1[0] == np.inf
    S = space(1, 4, simplex=True)
    x = TaylorModel(S, np.array([[0.5], [0.5], [0.0], [0.0], [0.0]]), np.zeros(1))
    if "min" not in text:
        jet = jet_of(parse(text), [x])
        assert jet.value.e[0] == jet.gradient[0].e[0] == jet.laplacian.e[0] == np.inf


@pytest.mark.parametrize("text", ["atan(log(x))", "exp(-1/x**2)", "tanh(x**(-1.5))", "(log(x)-log(x))**0", "1/(1/x)"])
def test_no_value_is_given_at_a_point_where_something_inside_is_undefined(text):
    with pytest.raises(pp.InputError, match="not finite at 1 of 2 points"):
        parse(text)(np.array([[1.0], [0.0]]))
    assert enclose(parse(text), np.array([[0.0]]))[1][0] == np.inf


def test_overflow_is_not_undefined():
    assert np.allclose(parse("1/(1 + exp(1000*x))")(np.array([[1.0], [0.0]])), [0.0, 0.5])


BAD = "atan(log(x-0.31))"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("source", {"source": BAD}),
        ("reaction", {"reaction": f"2 + {BAD}"}),
        ("neumann 'top'", {"neumann": {"top": "sin(1/(x-0.31))"}, "dirichlet": {"left": 0.0}}),
        ("dirichlet 'top'", {"dirichlet": {"top": "sin(1/(x-0.31))"}}),
    ],
)
def test_every_datum_of_a_scalar_problem_is_looked_at(name, given):
    mesh = pp.io.generate("square", 4)
    wanted = rf"^{name} .*(not defined everywhere; a division is undefined near|not finite at)"
    with pytest.raises(pp.InputError, match=wanted):
        pp.fem.ReactionDiffusion(mesh, **given)
    with pytest.raises(pp.InputError, match=wanted):
        pp.fem.Semilinear(mesh, cubic=1.0, **given)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        (r"body\[1\]", {"body": ["0", "sin(1/(x-0.31))"]}),
        (r"fixed 'top'\[0\]", {"fixed": {"bottom": 0.0, "top": ["sin(1/(x-0.31))", "free"]}}),
        (r"traction 'top'\[1\]", {"traction": {"top": ["0", "sin(1/(x-0.31))"]}}),
    ],
)
def test_every_datum_of_an_elastic_problem_is_looked_at(name, given):
    with pytest.raises(pp.InputError, match=rf"^{name} .*a division is undefined near"):
        pp.fem.Elasticity(pp.io.generate("square", 4), 1.0, 0.3, **{"fixed": {"bottom": 0.0}, **given})


def test_loads_and_predictions_are_looked_at():
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4))
    bad = "sin(1/(x-0.31))"
    with pytest.raises(pp.InputError, match=r"^source .*a division is undefined near"):
        problem.load(bad)
    with pytest.raises(pp.InputError, match=r"^prediction.*a division is undefined near"):
        problem.extract(parse(bad))
    queries = problem.points([[0.5, 0.5]])
    network = MLP([np.ones((1, 2))], [np.zeros(1)])
    for given in (bad, Lift(network, factor=bad), Lift(network, offset=bad), Lift(network, inputs=[bad, "y"])):
        with pytest.raises(pp.InputError, match="a division is undefined near"):
            pp.certify(problem, given, queries, lift=True)


def test_a_network_does_not_bound_what_its_inputs_leave_undefined():
    lift = Lift(MLP([np.ones((3, 1)), np.ones((1, 3))], [np.zeros(3), np.zeros(1)]), inputs=["log(x-0.31)"])
    assert density(lift.value, np.array([[[0.0], [1.0]]]), depth=0).error1[0] == np.inf


@pytest.mark.parametrize("key", ["problem.source", "prediction.expression"])
@pytest.mark.parametrize("target", ["continuous", "discrete"])
def test_a_case_is_refused_in_its_own_words(tmp_path, key, target, capsys):
    from pinnpoint.cli.main import main

    bad = {"problem.source": ["sin(1/(x-0.31))", "0"], "prediction.expression": ["1", "sin(1/(x-0.31))"]}[key]
    text = (
        f'[mesh]\ngenerate = "square"\ncells = 4\n[problem]\nkind = "reaction-diffusion"\nsource = "{bad[0]}"\n'
        f'[problem.dirichlet]\nboundary = 0.0\n[prediction]\nexpression = "{bad[1]}"\n'
        f'[[query]]\nname = "q"\nat = [0.5, 0.5]\n[certificate]\ntarget = "{target}"\n'
    )
    (tmp_path / "case.toml").write_text(text)
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert f"{key} 'sin(1/(x-0.31))': not defined everywhere; a division is undefined near [0." in said
    assert not (tmp_path / "out").exists()


def test_a_factor_of_a_case_is_looked_at(tmp_path, capsys):
    from pinnpoint.cli.main import main
    from pinnpoint.models.networks.safetensors import write_safetensors

    write_safetensors(tmp_path / "net.safetensors", {"0.weight": np.ones((1, 2)), "0.bias": np.zeros(1)})
    (tmp_path / "case.toml").write_text(
        '[mesh]\ngenerate = "square"\ncells = 4\n[problem]\nkind = "reaction-diffusion"\n[problem.dirichlet]\n'
        'boundary = 0.0\n[prediction]\ntorch = "net.safetensors"\nactivation = "tanh"\nfactor = "sin(1/(x-0.31))"\n'
        '[[query]]\nname = "q"\nat = [0.5, 0.5]\n'
    )
    assert main(["certify", str(tmp_path / "case.toml")]) == 2
    assert "prediction.factor 'sin(1/(x-0.31))': not defined everywhere" in capsys.readouterr().err


@pytest.mark.parametrize("g", ["u + sin(log(u + 0.001))", "u + exp(-1/(u + 0.001)**2)", "u + atan(sqrt(u - 0.01))"])
def test_a_reaction_undefined_at_the_state_is_refused(g):
    """The state is zero on the boundary, and its values there and at the rule's points lie on both sides."""
    from pinnpoint.systems.semilinear.reaction import Reaction

    problem = pp.fem.Semilinear(pp.io.generate("square", 4), source=-1.0, g=Reaction(g))
    U = problem.extract(lambda X: -0.07 * np.sin(np.pi * X).prod(axis=1)).U
    with pytest.raises(pp.PinnpointError):
        pp.certify(problem, U, problem.points([[0.5, 0.5]]), target="discrete")
    with pytest.raises(pp.PinnpointError):
        pp.certify(problem, U, problem.points([[0.5, 0.5]]))
