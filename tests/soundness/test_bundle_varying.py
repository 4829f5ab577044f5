"""Bundles of coefficients that vary inside cells: the checker proves them again, and refuses what was altered."""

from __future__ import annotations

import json
import re
from functools import partial

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.transfer.energy.estimator import Side
from pinnpoint_verify import checker, claims, coefficients, point_kernels, polynomials, varying, varying_samples
from pinnpoint_verify.claims import verify
from pinnpoint_verify.reader import Refused
from tests.soundness.test_bundle_forged import Forger
from tests.soundness.test_two_programs import DUAL, NAMES, PLAIN, anything, stored, written
from tests.support.copies import copied

CELLS = {"interval": 6, "square": 4, "cube": 2}
SCALAR = {"diffusion": "exp(x)*(1 + x**2)", "reaction": "1 + x"}
MATRIX = {"diffusion": [["2", "x"], ["x", "3 + y"]], "reaction": "exp(x*y)"}
STREAM = {"diffusion": "1 + x*y", "convection": ("y + x*x", "-x"), "reaction": "1 + x"}
FREE = {"dirichlet": {"left": 0.5}, "neumann": {"right": "1 + x"}}


def bundle(folder, mesh="square", degree=2, points=True, flux=True, **more):
    """A bundle with an average, a point and a flux."""
    grid = pp.io.generate(mesh, CELLS[mesh])
    more = {"dirichlet": {"boundary": 0.0}, **more}
    problem = pp.fem.ReactionDiffusion(grid, "1 + x", degree=degree, **more)
    queries = problem.mean()
    if points:
        queries = queries + problem.points(np.full((1, grid.dim), 0.4))
    if flux:
        queries = queries + problem.flux(next(iter(more["dirichlet"])))
    if "neumann" in more:
        queries = queries + problem.patch("right")
    certificate = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(folder, certificate, problem, problem.space.U0, queries)
    return certificate


def proved(lines):
    """Radii that the checker proves."""
    found = [re.search(r": proved .* ± ([\d.e+-]+);", line) for line in lines]
    return np.array([float(m[1]) for m in found if m])


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("mesh", CELLS)
@pytest.mark.parametrize("more", [SCALAR, SCALAR | FREE], ids=["held", "free"])
def test_scalars_are_proved_with_points_averages_and_fluxes(tmp_path, mesh, degree, more):
    certificate = bundle(tmp_path / "b", mesh, degree, **more)
    lines = verify(tmp_path / "b")
    radii = proved(lines)
    assert len(radii) == len(certificate.names)
    assert np.all(radii <= 1.001 * certificate.radius)
    assert np.all(radii >= 0.2 * certificate.radius - 1e-12)
    assert not any("too coarse" in line for line in lines)


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize(
    "more",
    [MATRIX, MATRIX | FREE, STREAM, {"diffusion": [[2.0, 0.5], [0.5, 1.0]]}, {"diffusion": 0.1, "convection": (1, 2)}],
    ids=["matrix", "free", "stream", "numbers", "winds"],
)
def test_matrices_and_convection_are_proved(tmp_path, degree, more):
    certificate = bundle(tmp_path / "b", degree=degree, **more)
    assert np.all(proved(verify(tmp_path / "b")) <= 1.001 * certificate.radius)


def test_in_one_and_three_dimensions_too(tmp_path):
    table = [["2 + x", 0, 0], [0, 3, "y"], [0, "y", 4]]
    bundle(tmp_path / "b", "cube", 1, diffusion=table, convection=("y", "-x", "z"), reaction=1.0)
    bundle(tmp_path / "c", "interval", 2, diffusion="1 + x", convection=("2 - x",))
    numbers = [[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.5]]
    bundle(tmp_path / "d", "cube", 1, flux=False, diffusion=numbers, convection=("y", "-x", "1"), reaction=1.0)
    assert all(verify(tmp_path / name) for name in "bcd")


def test_reactions_below_zero_by_formulas(tmp_path):
    certificate = bundle(tmp_path / "b", diffusion="1 + x", reaction="-6 - x")
    assert np.all(proved(verify(tmp_path / "b")) <= 1.001 * certificate.radius)
    forger = Forger(tmp_path / "b")
    forger.array("medium/floor", lambda a: 0.5 * a)
    forger.seal()
    with pytest.raises(Refused):
        verify(tmp_path / "b")


def test_data_that_elements_do_not_meet_move_points_and_averages(tmp_path):
    bundle(tmp_path / "b", flux=False, **SCALAR, dirichlet={"boundary": "x*y**3"})
    assert verify(tmp_path / "b")


def test_points_of_the_boundary_and_averages_over_balls(tmp_path):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), 1.0, "1 + x*y", dirichlet={"boundary": "x"})
    queries = problem.points([[1.0, 0.4]]) + problem.averages([[0.4, 0.5]], 0.2)
    certificate = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(tmp_path / "b", certificate, problem, problem.space.U0, queries)
    assert verify(tmp_path / "b")


def test_models_too_coarse_for_a_lower_bound_are_told(tmp_path):
    bundle(tmp_path / "b", diffusion="1 + 0.9*sin(20*x)*cos(20*y)")
    assert any("cells, whose models are too coarse" in line for line in verify(tmp_path / "b"))


def test_regions_have_formulas_of_their_own(tmp_path):
    grid = pp.io.generate("square", 4)
    left = np.nonzero(grid.points[grid.cells].mean(axis=1)[:, 0] < 0.5)[0]
    grid = Mesh(
        grid.points,
        grid.cells,
        {"left half": left, "right half": np.setdiff1d(np.arange(32), left)},
        grid.facet_groups,
    )
    table = {"left half": "1 + x", "right half": "3 - y"}
    problem = pp.fem.ReactionDiffusion(grid, 1.0, table, dirichlet={"boundary": 0.0})
    queries = problem.points([[0.3, 0.4]])
    certificate = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(tmp_path / "b", certificate, problem, problem.space.U0, queries)
    assert any("which cells the groups of coefficients are" in line for line in verify(tmp_path / "b"))


# Two programs, from witnesses that have nothing to do with each other.


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_both_programs_find_the_same_bounds(tmp_path, d, degree):
    rng = np.random.default_rng(7 * d + degree)
    y = "xyz"[d - 1]
    kinds: list[dict] = [{"diffusion": f"1 + x*{y}", "reaction": "2*x + 1"}]
    if d > 1:
        table = [["2", f"0.5*{y}", 0.1], [f"0.5*{y}", "3 + x", "0.2"], [0.1, "0.2", f"2 + {y}"]]
        kinds.append({"diffusion": [row[:d] for row in table[:d]], "reaction": 1.0})
    for more in kinds:
        grid = pp.io.generate({1: "interval", 2: "square", 3: "cube"}[d], {1: 9, 2: 3, 3: 1}[d])
        problem = pp.fem.ReactionDiffusion(
            grid, 1.0, degree=degree, dirichlet={"left": 0.0}, neumann={"right": 1.0}, **more
        )
        model = problem.transfer(problem.mean()).model
        arrays = Arrays(written(problem, model), model)
        one, two = (anything(rng, model, rough=1.0) for _ in range(2))
        stored(arrays, one, *NAMES)
        stored(arrays, two, *DUAL)
        check(arrays, model, degree, one, Side(two.nodal, two.source, two.flux, two.load, transposed=True))


def test_both_programs_find_the_same_bounds_with_convection():
    rng = np.random.default_rng(3)
    problem = pp.fem.ReactionDiffusion(
        pp.io.generate("square", 3), 1.0, "1 + x", "2", {"boundary": 0.0}, convection=("x*y", "1 - x"), degree=2
    )
    model = problem.transfer(problem.mean()).model
    arrays = Arrays(written(problem, model), model)
    sides = []
    for names, transposed in ((NAMES, False), (DUAL, True)):
        flux, nodal = rng.normal(size=(len(model.topology.facets), 2)), rng.normal(size=model.size)
        sides.append(Side(nodal, model.load, flux, transposed=transposed))
        arrays[names[0]], arrays[names[3]] = nodal, flux
        arrays[f"{names[1]}_at"], arrays[f"{names[1]}_beta"] = np.arange(len(model.kappa)), model.load.coefficients
        f = model.load
        arrays[f"{names[1]}_rest"] = np.stack([f.high, f.error1, f.error2], axis=1)
    check(arrays, model, 2, *sides)


class Arrays(dict):
    """A bundle's arrays, with those of the coefficients."""

    def __init__(self, given, model):
        super().__init__(given)
        from pinnpoint.outputs.bundle.varied import medium

        medium(self, model)

    def array(self, name, a):
        self[name] = np.asarray(a)

    def __call__(self, name, *shape, **more):
        return self[name]


def check(arrays, model, degree, one, two):
    mesh = checker.Mesh(arrays, degree)
    p = varying.VariedSide(arrays, mesh, *NAMES)
    asked = checker.Query(arrays, p, 0, flux=False)
    for g in mesh.parts():
        p.measure(g)
        asked.measure(g)
    p.finish()
    bounds, (pair,) = model.estimator.measure(one, [(two, 1.0, True)])
    low, high, _ = model.estimator.product_bound(bounds, pair)
    value, radius = asked.bound(None, PLAIN)
    found = [checker.energy(p), checker.energy(asked.z), value, radius]
    energies = [model.estimator.energy(bounds), model.estimator.energy(pair.dual)]
    others = [*energies, pair.value + 0.5 * (low + high), 0.5 * (high - low) + pair.data]
    assert mesh.medium.loose == 0
    assert found == pytest.approx(others, rel=1e-7, abs=1e-7 * energies[0] * energies[1])


# What was altered.


def scaled(name, factor):
    return lambda forger: forger.array(name, lambda a: factor * a)


def narrower(forger):
    def less(data):
        for row in data["queries"]:
            middle, half = row["center"], 0.9 * row["radius"]
            row |= {"lower": middle - half, "upper": middle + half, "radius": half}

    forger.json("certificate.json", less)


def other_formula(files):
    def change(forger):
        def less(data):
            part = data["medium"] if "medium" in data else data["problem"]
            part["reaction"] = ["1 + 5*x"] if "medium" in data else "1 + 5*x"

        for file in files:
            forger.json(file, less)

    return change


def no_medium(forger):
    for file in (forger.folder / "medium").iterdir():
        file.unlink()
    (forger.folder / "medium").rmdir()
    forger.json("proof.json", lambda data: data.pop("medium"))


FORGED = {
    "A's models by a thousandth": scaled("medium/a_beta", 1.001),
    "c's models by a half": scaled("medium/c_beta", 1.5),
    "α by a millionth": scaled("continuous/kappa", 1.0 + 1e-6),
    "α by a tenth": scaled("continuous/kappa", 1.1),
    "m by a tenth": scaled("medium/floor", 1.1),
    "c by a tenth": scaled("continuous/reaction", 1.1),
    "narrower": narrower,
    "another reaction in the case": other_formula(["case.json"]),
    "another reaction in the proof": other_formula(["proof.json"]),
    "another reaction in both": other_formula(["case.json", "proof.json"]),
    "nothing varies": no_medium,
    "the density of a point": scaled("dual/w1_beta", 1.01),
    "∫fΨ": lambda forger: forger.json("proof.json", lambda data: data["goals"][1].update(constant=0.0)),
}
COARSE = {"diffusion": "1 + 0.5*sin(12*x)", "reaction": "1 + x"}
"""Errors of its models count."""


@pytest.mark.parametrize("what", FORGED)
def test_what_was_altered_is_refused(tmp_path, what):
    copied(tmp_path / "b", bundle, **COARSE)
    assert what != "narrower" or verify(tmp_path / "b")
    forger = Forger(tmp_path / "b")
    FORGED[what](forger)
    forger.seal()
    with pytest.raises(Refused):
        verify(tmp_path / "b")


def test_stored_errors_of_models_are_not_used(tmp_path):
    copied(tmp_path / "b", bundle, points=False, **COARSE)
    before = proved(verify(tmp_path / "b"))
    forger = Forger(tmp_path / "b")
    for name in ("a_error", "c_error"):
        forger.array(f"medium/{name}", np.zeros_like)
    forger.seal()
    np.testing.assert_array_equal(proved(verify(tmp_path / "b")), before)


BUMPS = {
    "diffusion": ({"diffusion": "1 + x*y"}, "1 + x*y"),
    "reaction": ({"reaction": "1 + exp(x)"}, "1 + exp(x)"),
    "convection": ({"convection": ("y + x*x", "1 - x"), "reaction": 2.0}, "y + x*x"),
}


@pytest.mark.parametrize("what", BUMPS)
def test_a_narrow_bump_in_a_coefficient_is_refused(tmp_path, what, monkeypatch):
    """Samples do not see it: without the checker's own bounds the bundle verifies."""
    more, text = BUMPS[what]
    bundle(tmp_path / "b", points=False, flux=False, **more)
    assert not any("models of A" in line for line in verify(tmp_path / "b"))
    forger = Forger(tmp_path / "b")
    for name in ("case.json", "proof.json"):
        bump = text + " + 40*exp(-((x-0.3407)**2 + (y-0.6211)**2)/1e-7)"
        file = tmp_path / "b" / name
        file.write_text(file.read_text().replace(json.dumps(text), json.dumps(bump)))
    forger.seal()
    with pytest.raises(Refused, match=r"is proved|not nonnegative"):
        verify(tmp_path / "b")
    monkeypatch.setattr(claims, "proved_models", lambda *given: 0)
    assert verify(tmp_path / "b")


@pytest.mark.parametrize("what", ["metric", "a01_beta", "t_beta", "b0_beta"])
def test_altered_matrices_and_streams_are_refused(tmp_path, what):
    copied(tmp_path / "b", bundle, points=False, **(MATRIX if what in ("metric", "a01_beta") else STREAM))
    forger = Forger(tmp_path / "b")
    forger.array(f"medium/{what}", lambda a: 0.99 * a)
    forger.seal()
    with pytest.raises(Refused):
        verify(tmp_path / "b")


def about_a_point(folder, cells, *, mean=False, degree=1):
    """A point in a medium with a matrix, verified."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", cells), 1.0, MATRIX["diffusion"], degree=degree)
    queries = problem.points([[0.45, 0.5]])
    queries = problem.mean() + queries if mean else queries
    certificate = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(folder, certificate, problem, problem.space.U0, queries)
    assert verify(folder)


@pytest.mark.parametrize("what", ["q1_0", "q1_1", "none"])
def test_altered_loads_on_gradients_are_refused(tmp_path, what):
    copied(tmp_path / "b", about_a_point, 10, mean=True)
    forger = Forger(tmp_path / "b")
    if what == "none":
        for file in (forger.folder / "dual").glob("q1_*"):
            file.unlink()
    else:
        forger.array(f"dual/{what}_beta", lambda a: 1.05 * a)
    forger.seal()
    with pytest.raises(Refused):
        verify(tmp_path / "b")


@pytest.mark.parametrize("share", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("part", ["q0_0", "q0_1"])
def test_loads_on_gradients_are_looked_at_in_cells_about_their_point(tmp_path, part, share):
    """On a mesh so coarse that every cell of the ball is next to the point; ∫ q_x vanishes, and so do first moments."""
    copied(tmp_path / "b", about_a_point, 4, degree=2)
    forger = Forger(tmp_path / "b")
    forger.array(f"dual/{part}_beta", lambda a: share * a)
    forger.seal()
    with pytest.raises(Refused, match="load"):
        verify(tmp_path / "b")


@pytest.mark.slow
@pytest.mark.parametrize("degree", [1, 2])
def test_a_matrix_that_turns_is_proved_on_coarse_meshes(tmp_path, degree):
    """Where A's eigenvalues are bounded on halves of cells R is a multiple of one, and so is what is proved of it."""
    turn = ["1 + 9*cos(x + 2*y)**2", "9*sin(x + 2*y)*cos(x + 2*y)", "1 + 9*sin(x + 2*y)**2"]
    bundle(tmp_path / "b", degree=degree, points=False, flux=False, diffusion=[turn[:2], turn[1:]])
    assert verify(tmp_path / "b")


def in_a_stream(folder):
    """A point in a stream, verified."""
    bundle(folder, flux=False, diffusion=[[2.0, 0.5], [0.5, 1.0]], convection=("y", "-x"), reaction=1.0)
    assert verify(folder)


@pytest.mark.parametrize("what", ["density", "constant", "radius", "drift"])
def test_altered_points_in_streams_are_refused(tmp_path, what):
    copied(tmp_path / "b", in_a_stream)
    forger = Forger(tmp_path / "b")
    if what == "density":
        forger.array("dual/w1_beta", lambda a: 1.01 * a)
    elif what == "drift":
        for file, part in (("case.json", "problem"), ("proof.json", "medium")):
            more = ["1.01*y", "-x"]
            forger.json(
                file,
                lambda data, part=part, more=more: data[part].update(convection=[more] if part == "medium" else more),
            )
    else:
        less = lambda data: data["goals"][1].update({what: 0.99 * data["goals"][1][what]})  # noqa: E731
        forger.json("proof.json", less)
    forger.seal()
    with pytest.raises(Refused):
        verify(tmp_path / "b")


@pytest.mark.parametrize("term", ["rest", "fuzz", "flux_error"])
def test_a_checker_without_a_term_proves_less(tmp_path, monkeypatch, term):
    """Every term of the checker shows: without it, what it proves is narrower."""
    copied(tmp_path / "b", bundle, points=False, **COARSE)
    before, read = proved(verify(tmp_path / "b")), varying.VariedSide.read

    def without(self, g):
        read(self, g)
        getattr(self, term)[...] = 0.0

    monkeypatch.setattr(varying.VariedSide, "read", without)
    monkeypatch.setattr("pinnpoint_verify.claims.near", lambda *a: True)
    after = proved(verify(tmp_path / "b"))
    assert np.any(after < before * (1.0 - 1e-6))


# The pieces.


def values(d, bary, c):
    """Of polynomials with coefficients c at points."""
    return c @ coefficients.basis(d, polynomials.degree_of(c.shape[1], d), bary).T


def test_products_and_projections_of_polynomials_are_enclosed():
    rng = np.random.default_rng(0)
    for d, q in ((1, 5), (2, 4), (3, 3)):
        bary = rng.dirichlet(np.ones(d + 1), 40)
        at = partial(values, d, bary)
        p = checker.Ball(rng.normal(size=(6, len(polynomials.indices(d, q)))))
        v, b = rng.normal(size=(6, d + 1)), rng.normal(size=(6, d + 1, d + 1))
        linear, square = v @ bary.T, np.einsum("njk,qj,qk->nq", b, bary, bary)
        np.testing.assert_allclose(at(polynomials.by_linear(p, checker.Ball(v), d).m), at(p.m) * linear, atol=1e-12)
        np.testing.assert_allclose(at(polynomials.by_quadratic(p, checker.Ball(b), d).m), at(p.m) * square, atol=1e-12)
        beta, high, off = polynomials.projected(p, d)
        X, w = varying_samples.rule(d, 8)
        gap = p.m @ coefficients.basis(d, q, X).T - np.einsum("njk,qj,qk->nq", beta, X, X)
        np.testing.assert_allclose(np.sqrt((gap**2) @ w), high, rtol=1e-10)
        assert np.abs(np.einsum("nq,q,qj,qk->njk", gap, w, X, X)).max() < 1e-13
        assert off.max() < 1e-12
        least = at(p.m).min(axis=1)
        stack = checker.Ball(p.m[:, None])
        assert not len(polynomials.not_above(stack, np.zeros((6, 1)), polynomials.lowest(stack, np.zeros((6, 1))), d))
        assert len(polynomials.not_above(stack, np.zeros((6, 1)), least + 1e-3, d)) == 6


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_kernel_of_a_point_gives_its_value(d):
    """u(x₀) = ∫ w u + ∫ fΨ for a smooth u, by quadrature in polar coordinates."""
    x0 = np.full(d, 0.5)
    kernel = varying_samples.Kernel("1 + x*x", "2 + x", x0, 0.4)
    unit, weights = point_kernels.directions(d, 24)
    t, w = np.polynomial.legendre.leggauss(120)
    r, w = (0.5 + 0.5 * t) ** 3, 1.5 * w * (0.5 + 0.5 * t) ** 2
    X = x0 + 0.4 * r[:, None, None] * unit
    sphere = {1: 2.0, 2: 2 * np.pi, 3: 4 * np.pi}[d] * 0.4**d
    shells = sphere * (w * r ** (d - 1))[:, None] * weights
    x = X[..., 0]
    u = np.exp(x)  # −((1 + x²)eˣ)′ + (2 + x)eˣ
    f = u * (2 + x - (1 + x * x) - 2 * x)
    value = np.sum(shells * (kernel.density(X) * u + f * kernel.weight(X) * kernel.potential(X)))
    assert value == pytest.approx(np.exp(0.5), rel=1e-6)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("turned", [False, True])
def test_the_kernel_of_a_point_in_a_stream_gives_its_value(d, turned):
    """The same with b = (2 + x, …), and with a constant matrix: u = exp x."""
    x0, R = np.full(d, 0.5), 0.3
    A = np.eye(d) + 0.4 * (np.ones((d, d)) - np.eye(d)) if turned else "1 + x*x"
    b = ["2 + x", "y", "1"][:d]
    kernel = point_kernels.Kernel(A.tolist() if turned and d > 1 else A if not turned else 1.0, "2 + x", x0, R, b)
    unit, weights = point_kernels.directions(d, 32)
    t, w = np.polynomial.legendre.leggauss(120)
    r, w = (0.5 + 0.5 * t) ** 3, 1.5 * w * (0.5 + 0.5 * t) ** 2
    X = x0 + R * r[:, None, None] * (unit @ kernel.L.T)
    sphere = {1: 2.0, 2: 2 * np.pi, 3: 4 * np.pi}[d] * R**d * kernel.root
    shells = sphere * (w * r ** (d - 1))[:, None] * weights
    x = X[..., 0]
    u = np.exp(x)
    f = u * ((2 + x) + (2 + x) - (1.0 if turned else 1 + x * x + 2 * x))
    value = np.sum(shells * (kernel.density(X) * u + f * kernel.weight(X) * kernel.potential(X)))
    assert value == pytest.approx(np.exp(0.5), rel=1e-6)


@pytest.mark.parametrize("d", [2, 3])
def test_the_kernel_of_a_point_beside_a_matrix_that_varies_gives_its_value(d):
    """u(x₀) = ∫ w u + ∫ fΨ + ∫ q·∇u with A = I + x e₁e₁ᵀ + 0.3 (e₁e₂ᵀ + e₂e₁ᵀ), b = (2, 0, …) and u = exp x."""
    x0, R = np.full(d, 0.5), 0.3
    A = [
        ["1 + x" if i == j == 0 else 1.0 if i == j else 0.3 if i + j == 1 else 0.0 for j in range(d)] for i in range(d)
    ]
    kernel = point_kernels.Kernel(A, 1.0, x0, R, [2.0] + [0.0] * (d - 1))
    unit, weights = point_kernels.directions(d, 32)
    t, w = np.polynomial.legendre.leggauss(120)
    r, w = (0.5 + 0.5 * t) ** 3, 1.5 * w * (0.5 + 0.5 * t) ** 2
    X = x0 + R * r[:, None, None] * (unit @ kernel.L.T)
    sphere = {2: 2 * np.pi, 3: 4 * np.pi}[d] * R**d * kernel.root
    shells = sphere * (w * r ** (d - 1))[:, None] * weights
    x = X[..., 0]
    u = np.exp(x)
    f = u * (2.0 + 1.0 - (1 + x) - 1.0)
    whole = kernel.density(X) * u + f * kernel.weight(X) * kernel.potential(X)
    assert np.sum(shells * (whole + kernel.field(X)[..., 0] * u)) == pytest.approx(np.exp(0.5), rel=1e-6)
    assert abs(np.sum(shells * whole) - np.exp(0.5)) > 1e-3


# Words.


def case(tmp_path, problem, extra="", fixed="boundary", more=""):
    (tmp_path / "c.toml").write_text(
        f'[mesh]\ngenerate = "square"\ncells = 4\n[problem]\nkind = "reaction-diffusion"\nsource = "1"\n{problem}\n'
        f"[problem.dirichlet]\n{fixed} = 0.0\n{extra}[prediction]\nzero = true\n"
        f'[[query]]\nname = "m"\nkind = "mean"\n{more}'
    )
    out = tmp_path / ("o" if not more else "more")
    assert main(["certify", str(tmp_path / "c.toml"), "--quiet", "--out", str(out)]) == 0
    return out / "bundle"


@pytest.mark.parametrize(
    "problem",
    [
        'diffusion = "1 + x*y"\nreaction = "x"',
        'diffusion = [["2", "x"], ["x", 3]]',
        'convection = ["y", "-x"]',
        'diffusion = "2"\nreaction = "1 + x"\ndegree = 2',
    ],
)
def test_case_files(tmp_path, problem):
    assert main(["verify", str(case(tmp_path, problem))]) == 0


def test_case_files_of_the_discrete_target(tmp_path):
    folder = case(tmp_path, 'diffusion = "1 + x*y"\nconvection = ["y", "-x"]', "")
    assert json.loads((folder / "proof.json").read_text())["target"] == "continuous"
    assert (
        main(
            [
                "certify",
                str(tmp_path / "c.toml"),
                "--quiet",
                "--set",
                "certificate.target=discrete",
                "--out",
                str(tmp_path / "d"),
            ]
        )
        == 0
    )
    assert main(["verify", str(tmp_path / "d" / "bundle")]) == 0


@pytest.mark.parametrize("word", ["diffusion", "reaction"])
def test_coefficients_from_files_are_proved_with_and_told(tmp_path, capsys, word):
    np.savez(tmp_path / "kappa.npz", values=np.linspace(1.0, 2.0, 32))
    folder = case(tmp_path, f'{word} = {{ file = "kappa.npz" }}')
    assert main(["verify", str(folder)]) == 0
    assert f"the {word} on each cell, which comes from a file: there was nothing to compare" in capsys.readouterr().out
    forger = Forger(folder)
    forger.array(f"continuous/{'kappa' if word == 'diffusion' else word}", lambda a: 1.001 * a)
    forger.seal()
    assert main(["verify", str(folder)]) != 0


def test_the_reason_is_told_rather_than_a_key(tmp_path, capsys):
    text = 'diffusion = [["2", "x"], ["x", "3"]]'
    assert main(["verify", str(case(tmp_path, text, fixed="left"))]) == 0
    folder = case(tmp_path, text, more='[[query]]\nname = "p"\nkind = "maximum"\n')
    assert main(["verify", str(folder)]) != 0
    assert "largest errors and values where coefficients vary" in "".join(capsys.readouterr())


@pytest.mark.parametrize("other", [5.0, [["4", 0.0], [0.0, "4"]]])
def test_matrices_by_groups_have_bundles(tmp_path, other):
    mesh = pp.io.generate("square", 4)
    left = mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5
    groups = {"a": np.flatnonzero(left), "b": np.flatnonzero(~left)}
    mesh = Mesh(mesh.points, mesh.cells, cell_groups=groups, facet_groups=mesh.facet_groups)
    problem = pp.fem.ReactionDiffusion(mesh, "1", {"a": [["2", "x"], ["x", "3"]], "b": other})
    queries = problem.points([[0.25, 0.45]]) + problem.mean()
    certificate = pp.certify(problem, "0*x", queries)
    pp.write_bundle(tmp_path / "b", certificate, problem, "0*x", queries)
    assert sum(": proved " in line for line in verify(tmp_path / "b")) == 2


PICTURES = {
    "a picture beside a formula": ('diffusion = "1+x"\nreaction = { file = "c.npz", grid = "cells" }', np.eye(2) + 1.0),
    "a picture with its box": (
        'diffusion = { file = "c.npz", grid = "nodes", box = [[-1, 1], [0, 2]]}',
        np.eye(3) + 1.0,
    ),
    "matrices": ('diffusion = { file = "c.npz" }', np.tile([[2.0, 0.5], [0.5, 1.0]], (32, 1, 1))),
}


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("target", ["continuous", "discrete"])
def test_files_of_all_kinds_are_proved_with(tmp_path, name, target):
    lines, values = PICTURES[name]
    np.savez(tmp_path / "c.npz", values=values)
    folder = case(tmp_path, lines, f'\n[certificate]\ntarget = "{target}"\n')
    assert main(["verify", str(folder), "--inputs", str(tmp_path)]) == 0


@pytest.mark.parametrize("more", ["", "reaction = -20.0\n"])
def test_a_matrix_on_a_line_is_its_number(tmp_path, capsys, more):
    text = '[mesh]\ngenerate = "interval"\ncells = 6\n[problem]\nkind = "reaction-diffusion"\nsource = "1"\n'
    text += f"diffusion = [[2.0]]\n{more}[problem.dirichlet]\nboundary = 0.0\n[prediction]\nzero = true\n"
    (tmp_path / "c.toml").write_text(text + '[[query]]\nname = "m"\nkind = "mean"\n')
    assert main(["certify", str(tmp_path / "c.toml"), "--quiet", "--out", str(tmp_path / "o")]) == 0
    folder = tmp_path / "o" / "bundle"
    assert main(["verify", str(folder)]) == 0
    forger = Forger(folder)
    file = folder / "case.json"
    file.write_text(json.dumps(said := json.loads(file.read_text())).replace("[[2.0]]", "[[3.0]]"))
    assert said["problem"]["diffusion"] == [[2.0]]
    forger.seal()
    capsys.readouterr()
    assert main(["verify", str(folder)]) == 1
    assert "diffusion" in capsys.readouterr().out


def test_matrices_of_a_file_are_one_for_each_cell(tmp_path, capsys):
    np.savez(tmp_path / "c.npz", values=np.ones((32, 3, 3)))
    with pytest.raises(AssertionError):
        case(tmp_path, 'diffusion = { file = "c.npz" }')
    assert "one number or one 2 × 2 matrix for each of 32 cells; got shape (32, 3, 3)" in capsys.readouterr().err
