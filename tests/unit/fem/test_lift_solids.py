"""Lifts of elastic bodies: the truth is inside, radii go with what a displacement leaves over, the rest is refused."""

from __future__ import annotations

import json

import mpmath
import numpy as np
import pytest
import sympy as sp

import pinnpoint as pp
from pinnpoint.cli.main import main as command
from pinnpoint.fem.elastic import lifted_solids
from pinnpoint.fem.elastic.lifted_solids import law_of
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.models import MLP, Lift, VectorLift
from pinnpoint.outputs.bundle.write import write_bundle
from pinnpoint.taylor.models import constant
from pinnpoint.taylor.simplices import enclose
from pinnpoint.transfer.boundary.facets import normals
from pinnpoint_verify.claims import main as verified
from tests.support.network_files import safetensors, state

E, NU = 2.5, 0.25  # λ = μ = 1 in plane strain and in space
V = sp.symbols("x y z")


def stresses(u, lam=1, mu=1):
    """σ of displacements in sympy."""
    d = len(u)
    trace = sum(sp.diff(u[k], V[k]) for k in range(d))
    return [
        [mu * (sp.diff(u[i], V[j]) + sp.diff(u[j], V[i])) + (lam * trace if i == j else 0) for j in range(d)]
        for i in range(d)
    ]


def forces(sigma):
    """−∇·σ as formulas."""
    d = len(sigma)
    return [str(-sum(sp.diff(sigma[i][j], V[j]) for j in range(d))) for i in range(d)]


def on_sides(sigma, sides):
    """σn on the named sides, each an axis, a level and a sign."""
    return {name: [str(s * row[k].subs(V[k], x)) for row in sigma] for name, (k, x, s) in sides.items()}


def at(f, point):
    return float(sp.sympify(f).subs(dict(zip(V, map(sp.Rational, map(str, point)), strict=False))))


def mean(f, d):
    for v in V[:d]:
        f = sp.integrate(f, (v, 0, 1))
    return float(f)


def network(d, seed=3, scale=0.1, outputs=None):
    rng = np.random.default_rng(seed)
    W = [rng.normal(size=(4, d)), scale * rng.normal(size=(outputs or d, 4))]
    return MLP(W, [rng.normal(size=4), scale * rng.normal(size=len(W[1]))])


PLANE = ["sin(x)*(1+y)", "x*y*(2-x)"]
SIDES = {"right": (0, 1, 1), "top": (1, 1, 1)}
POINT = [0.37, 0.52]


def plate(degree=1, n=3):
    """Clamped on the left, on rollers at the bottom, loaded elsewhere; with the truth of its queries."""
    u = [sp.sympify(s) for s in PLANE]
    sigma = stresses(u)
    traction = on_sides(sigma, SIDES) | {"bottom": [str(-sigma[0][1].subs(V[1], 0)), None]}
    fixed = {"left": 0.0, "bottom": [None, 0.0]}
    body = pp.fem.Elasticity(generate("square", n), E, NU, forces(sigma), fixed, traction, degree=degree)
    queries = (
        body.points([POINT], "x", names=["u"])
        + body.stress([POINT], "yy", names=["s"])
        + body.strain([POINT], "xy", names=["e"])
        + body.patch("top", "normal", "top")
        + body.mean("x", "mean")
        + body.points([[0.0, 0.25]], "y", names=["held"])
    )
    shear = (sp.diff(u[0], V[1]) + sp.diff(u[1], V[0])) / 2
    top = float(sp.integrate(u[1].subs(V[1], 1), (V[0], 0, 1)))
    truth = [at(u[0], POINT), at(sigma[1][1], POINT), at(shear, POINT), top, mean(u[0], 2), 0.0]
    return body, queries, np.array(truth)


@pytest.mark.parametrize("degree", [1, 2])
def test_radii_go_with_what_is_left_over(degree):
    body, queries, truth = plate(degree)
    radii = []
    for size in (1e-2, 1e-4):
        near = [f"{PLANE[0]}+{size}*x*cos(y)", f"{PLANE[1]}+{size}*x*y*exp(x)"]
        found = pp.certify(body, near, queries, lift=True)
        assert found.guarantee == "deterministic"
        assert found.contains(truth).all()
        assert np.all(found.details["narrowing"][:5] > 0.2 / size)
        assert any("lift" in claim.claim and claim.status == "verified" for claim in found.assumptions)
        radii.append(found.radius[:5])
    assert radii[0] / radii[1] == pytest.approx(np.full(5, 100.0), rel=0.05)


def test_an_exact_displacement_leaves_rounding():
    body, queries, truth = plate()
    found = pp.certify(body, PLANE, queries, lift=True)
    assert np.all(np.abs(found.center - truth) <= found.radius + 4e-16 * np.abs(truth))
    assert np.all(found.radius < 1e-9)


def test_networks_that_are_held_by_a_factor(tmp_path):
    body, queries, truth = plate()
    kept = VectorLift(network(2), factor=["x", "x*y"])
    found = pp.certify(body, kept, queries, lift=True)
    assert found.guarantee == "deterministic"
    assert found.contains(truth).all()
    assert "boundary" not in found.terms
    assert found.raw[0] == pytest.approx(kept.value(np.array([POINT]))[0, 0])
    near = VectorLift(network(2, scale=1e-4), factor=["x", "x*y"], offset=PLANE)
    found = pp.certify(body, near, queries, lift=True)
    assert found.contains(truth).all()
    assert np.all(found.details["narrowing"][:5] > 100.0)
    write_bundle(tmp_path / "bundle", found, body, near, queries)
    assert verified(tmp_path / "bundle") == 0


@pytest.mark.parametrize("pointwise", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_box_in_space(pointwise):
    text = ["x*(1+y*z)", "x*y*sin(z)", "x*(1-z)*y"]
    u = [sp.sympify(s) for s in text]
    sigma = stresses(u)
    sides = {"right": (0, 1, 1), "bottom": (1, 0, -1), "top": (1, 1, 1), "front": (2, 0, -1), "back": (2, 1, 1)}
    body = pp.fem.Elasticity(generate("cube", 1), E, NU, forces(sigma), {"left": 0.0}, on_sides(sigma, sides))
    point = [0.4, 0.45, 0.55]
    queries, truth = body.mean("y", "mean"), [mean(u[1], 3)]
    if pointwise:
        queries, truth = body.stress([point], "xz", names=["s"]) + queries, [at(sigma[0][2], point), *truth]
    near = VectorLift(network(3, scale=1e-4), factor="x", offset=text)
    found = pp.certify(body, near, queries, lift=True)
    assert found.guarantee == "deterministic"
    assert found.contains(truth).all()
    assert np.all(found.details["narrowing"] > 30.0)


def test_slanted_sides_and_plane_stress():
    """A turned square: normals are enclosed, and the factor vanishes only up to the rounding of the corners."""
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    plain = generate("square", 3)
    mesh = Mesh(plain.points @ turn.T, plain.cells, {}, plain.facet_groups)
    text = ["(0.8*x+0.6*y)*(1+0.3*x)", "(0.8*x+0.6*y)*cos(y)"]
    u = [sp.nsimplify(sp.sympify(s), rational=True) for s in text]
    sigma = stresses(u, sp.Rational(2, 3))
    n = {"right": (0.8, 0.6), "top": (-0.6, 0.8), "bottom": (0.6, -0.8)}
    pull = {k: [str(sum(row[j] * sp.Rational(str(v[j])) for j in range(2))) for row in sigma] for k, v in n.items()}
    body = pp.fem.Elasticity(mesh, E, NU, forces(sigma), {"left": text}, pull, plane="stress")
    point = (turn @ [0.4, 0.55]).tolist()
    queries = body.points([point], "x", names=["u"]) + body.patch("right", "normal", "side")
    s = sp.symbols("s")
    side = {V[0]: sp.Rational(8, 10) - sp.Rational(6, 10) * s, V[1]: sp.Rational(6, 10) + sp.Rational(8, 10) * s}
    across = float(sp.integrate(sp.expand((0.8 * u[0] + 0.6 * u[1]).subs(side)), (s, 0, 1)))
    found = pp.certify(body, [f"{text[0]}+1e-3*x*(0.8*x+0.6*y)", text[1]], queries, lift=True)
    assert found.guarantee == "deterministic"
    assert found.contains([at(u[0], point), across]).all()
    assert np.all(found.details["narrowing"] > 100.0)


def test_total_forces_are_part_of_the_data():
    """u = (x + x²/2, 0) with ν = 0: σ_xx = E(1 + x), so the force on the right is 2E."""
    body = pp.fem.Elasticity(
        generate("square", 3), 3.0, 0.0, [-3.0, 0.0], {"left": [0.0, None], "bottom": [None, 0.0]},
        force={"right": (6.0, 0.0)},
    )  # fmt: skip
    found = pp.certify(body, ["x+0.5*x**2+1e-3*x**3", "0"], body.points([POINT], "x"), lift=True)
    assert found.contains([0.37 + 0.5 * 0.37**2]).all()
    assert found.details["narrowing"][0] > 100.0


def test_to_a_tolerance():
    body, _, truth = plate()
    near = [f"{PLANE[0]}+0.05*x*cos(3*y)", PLANE[1]]
    found = pp.certify_to(body.lifted(near), near, body.mean("x"), 5e-4)
    assert found.reached
    assert len(found.history) > 1
    assert found.certificate.contains(truth[4:5]).all()


@pytest.mark.parametrize(
    ("more", "prediction", "message"),
    [
        ({}, lambda X: X, "known derivatives"),
        ({}, Lift.opaque(lambda X: X, lambda X: X), "known derivatives"),
        ({}, "x", "a list with a formula for each"),
        ({}, ["x", "0", "0"], "3 components, the body 2"),
        ({}, network(2, outputs=1), "1 components, the body 2"),
        ({}, network(2), "not proved to have the given displacement along x"),
        ({}, VectorLift(network(2), factor="x+1e-30"), "not proved to have"),
        ({}, VectorLift(network(2), factor=["x", "x*x-x*x+y"]), "along y"),
        ({}, ["abs(x-0.5)-0.5", "0"], "no second derivatives"),
        ({"young": [1.0, 2.0] * 9}, ["x", "0"], "material must be the same"),
    ],
)
def test_what_is_refused(more, prediction, message):
    given = {"young": E, "poisson": NU, "fixed": {"left": 0.0}} | more
    body = pp.fem.Elasticity(generate("square", 3), **given)
    with pytest.raises(pp.InputError, match=message):
        pp.certify(body, prediction, body.points([POINT], "x"), lift=True)


@pytest.mark.parametrize("degree", [1, 2])
def test_reactions_through_a_lift(degree, monkeypatch):
    """Between rollers a plate is pulled by one: the left carries −1, whatever was predicted."""
    fixed = {"left": [0.0, None], "bottom": [None, 0.0]}
    given = {"traction": {"right": [1.0, 0.0]}, "plane": "stress", "degree": degree}
    body = pp.fem.Elasticity(generate("square", 3), E, NU, [0.0, 0.0], fixed, **given)
    query = body.reaction("left", "x", "left") + body.reaction("bottom", "y", "bottom")
    near, far = ([f"x*({1 / E!r}+{s}*cos(y))", f"-y*({NU / E!r}+{s}*x)"] for s in (1e-4, 1e-1))
    for lift in (near, far):
        found = pp.certify(body, lift, query, lift=True)
        assert found.contains([-1.0, 0.0]).all()
        assert found.guarantee == "deterministic"
        assert np.all(found.radius < 1e-9)  # the dual is a translation, which the elements have
    monkeypatch.setattr(lifted_solids.LiftedSolid, "_carried", lambda self, goal: (0.0, 0.0, True))
    assert not pp.certify(body, near, query, lift=True).contains([-1.0, 0.0]).any()


@pytest.mark.parametrize("shift", ["0", "1e-3*(1+y**2)"])
def test_reactions_of_a_clamp_through_a_lift(shift):
    """Of a prediction that has the given displacements, and of one that does not."""
    body, _, _ = plate(2, 6)
    sigma = stresses([sp.sympify(s) for s in PLANE])
    truth = float(sp.integrate(-sigma[0][0].subs(V[0], 0), (V[1], 0, 1)))
    near = [f"{PLANE[0]}+1e-3*x*cos(y)+{shift}", f"{PLANE[1]}+1e-3*x*y*exp(x)"]
    found = pp.certify(body, near, body.reaction("left", "x"), lift=True)
    assert found.contains([truth]).all()
    assert found.radius[0] < (1e-4 if shift == "0" else 0.1)


def test_the_work_of_the_loads_through_a_lift(monkeypatch):
    """Against the closed form and the interval without a lift; without the prediction's own work it is missed."""
    body, _, _ = plate(2, 4)
    u = [sp.sympify(s) for s in PLANE]
    sigma = stresses(u)
    strain = [[(sp.diff(u[i], V[j]) + sp.diff(u[j], V[i])) / 2 for j in range(2)] for i in range(2)]
    truth = mean(sum(sigma[i][j] * strain[i][j] for i in range(2) for j in range(2)), 2)
    radii = []
    for size in (1e-1, 1e-2):
        near = [f"{PLANE[0]}+{size}*x*cos(y)", f"{PLANE[1]}+{size}*x*y*exp(x)"]
        found = pp.certify(body, near, body.compliance(), lift=True)
        assert found.guarantee == "deterministic"
        assert found.contains([truth]).all()
        radii.append(found.radius[0])
    assert radii[0] / radii[1] == pytest.approx(100.0, rel=0.1)  # a(e, e) goes with the square
    plain = pp.certify(body, body.space.U0, body.compliance())
    assert plain.contains([truth]).all()
    assert radii[1] < 0.1 * plain.radius[0]
    own = lifted_solids.LiftedSolid._worked
    monkeypatch.setattr(lifted_solids.LiftedSolid, "_worked", lambda self: (0.5 * own(self)[0], 0.0, True))
    assert not pp.certify(body, near, body.compliance(), lift=True).contains([truth]).any()


def test_the_work_of_a_total_force_through_a_lift():
    """A bar of E = 2.5, ν = 0 pulled by a force of 2: u = F x/E, its work F²/E."""
    body = pp.fem.Elasticity(
        generate("square", 2), 2.5, 0.0, None, {"left": [0.0, None], "bottom": [None, 0.0]}, force={"right": [2.0, 0.0]}
    )
    found = pp.certify(body, ["0.7*x + 0.01*x*y**2", "0"], body.compliance(), lift=True)
    assert found.contains([4.0 / 2.5]).all()
    assert found.radius[0] < 0.05


def test_stresses_along_and_jumps_of_targets_are_refused():
    body, _, _ = plate()
    held = pp.fem.Elasticity(generate("square", 2), E, NU, [0.0, 1.0], {"left": [0.5, 0.0]})
    with pytest.raises(pp.InputError, match="every held displacement is zero"):
        pp.certify(held, ["0.5+x", "x*y"], held.compliance(), lift=True)
    with pytest.raises(pp.InputError, match="continuous target"):
        pp.certify(body, PLANE, body.mean("x"), lift=True, target="discrete")
    with pytest.raises(pp.InputError, match="its own factor"):
        VectorLift([Lift("x"), "y"], factor="x")


def test_given_values_that_formulas_do_not_have():
    """On the left u − g = 1e-3 (1 + y²): bounded by the displacement's own route, not ignored."""
    body, queries, truth = plate()
    near = [f"{PLANE[0]}+1e-3*(1+y**2)", PLANE[1]]
    found = pp.certify(body, near, queries, lift=True)
    assert found.contains(truth).all()
    assert np.all(found.terms["boundary"][:5] > 0.0)


def test_the_material_has_the_rounding_of_its_floats():
    """λ = E ν/((1 + ν)(1 − 2ν)) and μ in rationals lie in their balls, which are no wider than needed."""
    for young, nu in ((0.1, 0.3), (7e10, -0.7), (3.3, 0.499)):
        body = pp.fem.Elasticity(generate("square", 1), young, nu, fixed={"left": 0.0})
        e, v = sp.Rational(young), sp.Rational(nu)
        for x, exact in zip(law_of(body), (e * v / ((1 + v) * (1 - 2 * v)), e / (2 * (1 + v))), strict=True):
            off = abs(sp.Rational(float(x.C[0, 0])) - exact)
            assert off <= sp.Rational(float(x.e[0]))
            assert float(x.e[0]) <= 1e-13 * abs(float(exact))


@pytest.mark.parametrize("kept", [VectorLift(PLANE), VectorLift(network(2), factor=["x", "cos(y)"], offset=PLANE)])
def test_residuals_and_stresses_lie_within_their_enclosures(kept):
    """Against differences of 50 digits of the same functions."""
    mpmath.mp.dps = 60
    X, h = np.array([[0.3, 0.6], [0.9, 0.1]]), mpmath.mpf(10) ** -18

    def u(c, x, y):
        part = kept.parts[c]
        value = (
            _formula(part.prediction, x, y) if not isinstance(part.prediction, MLP) else _layers(part.prediction, x, y)
        )
        value = value if part.factor is None else value * _formula(part.factor, x, y)
        return value if part.offset is None else value + _formula(part.offset, x, y)

    def second(c, a, b, p):
        e = [(h, 0), (0, h)]

        def go(s, t):
            return u(c, p[0] + s * e[a][0] + t * e[b][0], p[1] + s * e[a][1] + t * e[b][1])

        return (go(1, 1) - go(1, -1) - go(-1, 1) + go(-1, -1)) / (4 * h * h)

    law = (constant(1.5), constant(0.75))
    for i in range(2):
        values, errors = enclose(kept.residual(i, law, 0.25), X)
        for p, value, error in zip(X, values, errors, strict=True):
            q = [mpmath.mpf(float(x)) for x in p]
            laplacian = sum(second(i, a, a, q) for a in range(2))
            truth = 0.25 + 0.75 * laplacian + 2.25 * sum(second(j, i, j, q) for j in range(2))
            assert abs(truth - float(value)) <= error + 1e-20
            assert error < 1e-11


def _formula(f, x, y):
    names = {"x": x, "y": y, "sin": mpmath.sin, "cos": mpmath.cos}
    return eval(f.text, {"__builtins__": {}}, names)


def _layers(network, x, y):
    h = [x, y]
    for k, (W, b) in enumerate(zip(network.weights, network.biases, strict=True)):
        h = [
            sum(mpmath.mpf(float(w)) * v for w, v in zip(row, h, strict=True)) + float(c)
            for row, c in zip(W, b, strict=True)
        ]
        h = [mpmath.tanh(v) for v in h] if k < len(network.weights) - 1 else h
    return h[0]


@pytest.mark.parametrize("what", ["residual", "traction", "own"])
def test_it_fails_without(what, monkeypatch):
    """Left-out parts of the identity show: the truth is outside."""
    body, queries, truth = plate()
    near = [f"{PLANE[0]}+0.1*x*cos(y)", f"{PLANE[1]}+0.1*x*y*exp(x)"]
    if what == "own":
        monkeypatch.setattr(lifted_solids.LiftedSolid, "_own", lambda self, goal, name: (0.0, 0.0, True))
    elif what == "residual":
        monkeypatch.setattr(VectorLift, "residual", lambda self, i, law, body: body)
    else:
        monkeypatch.setattr(VectorLift, "traction", lambda self, i, n, law, given: given)
    found = pp.certify(body, near, queries, lift=True)
    assert not found.contains(truth).all()


def test_normals_lie_within_their_bounds():
    """Against rationals: entries of n̂ in 60 digits, of thin and of turned facets too; level ones are exact."""
    mpmath.mp.dps = 60
    rng = np.random.default_rng(8)
    for d in (2, 3):
        V = rng.normal(size=(40, d, d))
        V[:20, 1:] = V[:20, :1] + 1e-7 * rng.normal(size=(20, d - 1, d))
        V[0, :, 1] = 0.25
        out = rng.normal(size=(40, d))
        n, error = normals(V, out)
        assert error[0] == 0.0
        assert abs(n[0, 1]) == 1.0
        assert error.max() < 1e-13
        for v, m, e, away in zip(V, n, error, out, strict=True):
            E = [[mpmath.mpf(float(a)) - mpmath.mpf(float(b)) for a, b in zip(w, v[0], strict=True)] for w in v[1:]]
            a = (
                [E[0][1], -E[0][0]]
                if d == 2
                else [E[0][k - 2] * E[1][k - 1] - E[0][k - 1] * E[1][k - 2] for k in range(3)]
            )
            length = mpmath.sqrt(sum(x * x for x in a))
            sign = 1 if sum(x * float(y) for x, y in zip(a, away, strict=True)) > 0 else -1
            assert max(abs(sign * x / length - float(y)) for x, y in zip(a, m, strict=True)) <= e


@pytest.mark.parametrize("how", ["expression", "torch"])
def test_case_files_lift_displacements(how, tmp_path, capsys):
    """A clamped plate from a file: the report and certificate.json say what the prediction is worth, as Python does."""
    u = [sp.sympify(s) for s in ("x*(1-x)*y*(1-y)", "x*(1-x)*y*(1-y)*x")]
    if how == "expression":
        text = 'expression = ["1.01*x*(1-x)*y*(1-y)", "x*(1-x)*y*(1-y)*x"]'
    else:
        given = network(2)
        (tmp_path / "net.safetensors").write_bytes(safetensors(state(given.weights, given.biases)))
        text = 'torch = "net.safetensors"\nactivation = "tanh"\nfactor = "x*(1-x)*y*(1-y)"'
    body = json.dumps(forces(stresses(u)))
    path = tmp_path / "case.toml"
    path.write_text(
        f'[mesh]\ngenerate = "square"\ncells = 3\n[problem]\nkind = "elasticity"\nyoung = {E}\npoisson = {NU}\n'
        f"body = {body}\n[problem.dirichlet]\nboundary = 0.0\n[prediction]\n{text}\n"
        '[[query]]\nname = "q"\nat = [0.37, 0.52]\ncomponent = "x"\n'
        '[certificate]\ntarget = "continuous"\nlift = true\n',
        encoding="utf-8",
    )
    code = command(["certify", str(path), "--out", str(tmp_path / "out")])
    said = capsys.readouterr()
    assert code == 0, said.err
    (row,) = json.loads((tmp_path / "out" / "certificate.json").read_text(encoding="utf-8"))["queries"]
    assert row["narrowing"] > 50.0 if how == "expression" else row["narrowing"] > 0.0
    assert row["lower"] <= at(u[0], POINT) <= row["upper"]
