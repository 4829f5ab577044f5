"""Stresses along a tensor, and von Mises stresses that are narrower by one: true, checked, and noticed when forged."""

import json
import shutil
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.certificates import derived as own
from pinnpoint.certificates.derived import along_range, enclosed, exactly, form, plainly
from pinnpoint.fem import Elasticity
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.systems.derived import VON_MISES, Derived
from pinnpoint_verify.claims import main as verify
from pinnpoint_verify.derived import along_holds
from pinnpoint_verify.derived import form as exact_form
from tests.support.forged import sealed

SIX = tuple("abcdef")
RNG = np.random.default_rng(11)


def direction(n, rng=RNG):
    return tuple((np.round(rng.normal(size=n) * 2.0**18) / 2.0**18).tolist())


@pytest.mark.parametrize("n", [3, 6])
def test_every_stress_of_the_box_and_of_the_slab_is_inside(n):
    """Random boxes, directions and points: narrower than the box alone where the direction is a good one."""
    narrower = 0
    for _ in range(300):
        c, r = RNG.normal(size=n), RNG.uniform(0.0, 0.4, n)
        y = tuple((np.round(c * 2.0**18) / 2.0**18).tolist()) if RNG.uniform() < 0.5 else direction(n)
        one = Derived("p", VON_MISES, SIX[:n], along="q", toward=y)
        X = c + RNG.uniform(-1.0, 1.0, (50, n)) * r
        pull = X @ (form(one) @ np.array(y))
        ends = np.append(c - r, pull.min()), np.append(c + r, pull.max())
        low, high = along_range(one, *ends)
        true = [plainly(one, x) for x in X]
        assert low <= min(true) * (1 + 1e-12) + 1e-15
        assert max(true) <= high * (1 + 1e-12) + 1e-15
        wide = enclosed(one, c - r, c + r)
        narrower += high - low < 0.8 * (wide[1] - wide[0])
    assert narrower > 20


def test_the_form_is_exact_or_nothing_is_said():
    one = Derived("p", VON_MISES, SIX, along="q", toward=direction(6))
    assert exactly(form(one), np.array(one.toward))
    rough = replace(one, toward=tuple(RNG.normal(size=6).tolist()))
    assert not exactly(form(rough), np.array(rough.toward))
    assert along_range(rough, np.zeros(7), np.ones(7)) == (0.0, np.inf)
    strained = Derived("p", VON_MISES, SIX[:3], poisson=0.3, along="q", toward=direction(3))
    assert along_range(strained, np.zeros(4), np.ones(4)) == (0.0, np.inf)
    assert along_range(replace(one, toward=(0.0,) * 6), np.zeros(7), np.ones(7)) == (0.0, np.inf)


def body(d=3, cells=2, degree=2, **more):
    mesh = generate("square" if d == 2 else "cube", cells)
    low = mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5
    mesh = Mesh(mesh.points, mesh.cells, {"low": low}, mesh.facet_groups)
    pull = [0.3, 1.0, -0.4][:d]
    plane = "stress" if mesh.dim == 2 else "strain"
    return Elasticity(mesh, 5.0, 0.3, None, {"left": 0.0}, {"right": pull}, degree=degree, plane=plane, **more)


@pytest.mark.parametrize("d", [2, 3])
def test_a_direction_is_the_combination_of_components(d):
    problem = body(d, 3 if d == 2 else 2)
    n = d * (d + 1) // 2
    E = RNG.normal(size=n)
    queries = problem.von_mises("low", "s") + problem.stress_along("low", E, "along")
    rows = queries.L.toarray()
    factor = np.array([1.0 if i == j else 2.0 for i in range(d) for j in range(i, d)])
    np.testing.assert_allclose(rows[-1], (factor * E) @ rows[:-1], atol=1e-12)
    certificate = pp.certify(problem, problem.space.U0, queries)
    low, high = (
        (factor * E) @ certificate.center[:-1] + s * np.abs(factor * E) @ certificate.radius[:-1] for s in (-1, 1)
    )
    assert max(low, certificate.lower[-1]) <= min(high, certificate.upper[-1])
    assert certificate.radius[-1] < np.abs(factor * E) @ certificate.radius[:-1]


def test_truth_of_a_bar_under_uniform_stress():
    """σ = (1, 0, …) everywhere: E : σ is E_xx, and von Mises is 1."""
    mesh = generate("cube", 2)
    groups = {"all": np.ones(len(mesh.cells), dtype=bool)}
    mesh = Mesh(mesh.points, mesh.cells, groups, mesh.facet_groups)
    sides = {g: mesh.points[np.unique(mesh.facets(g))] for g in ("left", "front", "bottom")}
    fixed = {g: [0.0 if np.ptp(P[:, c]) == 0.0 else None for c in range(3)] for g, P in sides.items()}
    problem = Elasticity(mesh, 2.0, 0.3, None, fixed, {"right": [1.0, 0.0, 0.0]}, degree=1)
    E = [0.5, 1.0, -2.0, 3.0, 0.25, -1.0]
    queries = problem.stress_along("all", E, "E") + problem.von_mises("all", "s", near=[1.1, 0.1, 0.0, 0.2, -0.1, 0.0])
    certificate = pp.certify(problem, problem.space.U0, queries)
    assert certificate.lower[0] <= 0.5 <= certificate.upper[0]
    assert certificate.radius[0] < 1e-9
    assert certificate.derived[0].contains(1.0)


def test_von_mises_near_a_stress_is_narrower_and_refines_with_less():
    problem = body()
    plain = pp.certify(problem, problem.space.U0, problem.von_mises("low", "s"))
    near = problem.von_mises("low", "s", near=plain.center)
    found = pp.certify(problem, problem.space.U0, near)
    one, two = plain.derived[0], found.derived[0]
    assert two.radius < one.radius
    assert one.lower <= two.lower <= two.upper <= one.upper
    aim = 0.5 * two.radius
    refined = pp.certify_to(problem, problem.space.U0, near, [None] * 7 + [aim])
    assert refined.reached
    assert refined.certificate.derived[0].radius <= aim


def test_refusals():
    problem, flat = body(), Elasticity(generate("square", 2), 1.0, 0.3, fixed={"left": 0.0})
    for make, words in (
        (lambda: problem.von_mises([[0.5, 0.5, 0.5]], near=[1.0] * 6), "near: is for groups of cells"),
        (lambda: problem.von_mises("low", near=[1.0, 0.0, 0.0, 1.0, 0.0, 1.0]), "von Mises stress of it is zero"),
        (lambda: problem.von_mises("low", near=[1.0]), "near"),
        (lambda: flat.von_mises("all", near=[1.0] * 3), "near: is for groups of cells, in space or in plane stress"),
        (lambda: problem.stress_along("low", [1.0]), "along"),
    ):
        with pytest.raises(pp.InputError, match=words):
            make()


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    problem = body(cells=1)
    queries = problem.von_mises("low", "s", near=[0.3, 1.0, -0.4, 0.1, 0.0, 0.2]) + problem.patch("right", "y")
    certificate = pp.certify(problem, problem.space.U0, queries)
    return pp.write_bundle(tmp_path_factory.mktemp("along") / "b", certificate, problem, problem.space.U0, queries)


def test_the_checker_proves_it_again(bundle, capsys):
    assert verify(str(bundle)) == 0, capsys.readouterr().out


def forged(bundle, tmp_path, change):
    copy = tmp_path / "forged"
    shutil.copytree(bundle, copy)
    for name in ("certificate.json", "case.json"):
        data = json.loads((copy / name).read_text(encoding="utf-8"))
        change(data["derived"][0], data)
        (copy / name).write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    sealed(copy)
    return copy


FORGERIES = {
    "another direction": lambda row, data: row.update(toward=[2.0, *row["toward"][1:]]),
    "a narrower interval": lambda row, data: row.update(
        {"upper": row["lower"] + 0.3 * (row["upper"] - row["lower"])} if "upper" in row else {}
    ),
    "a higher lower end": lambda row, data: row.update(
        {"lower": row["lower"] + 0.5 * (row["upper"] - row["lower"])} if "upper" in row else {}
    ),
    "along a component": lambda row, data: row.update(along="s xx"),
    "along nothing": lambda row, data: row.update(along="t"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_not_verified(bundle, tmp_path, capsys, name):
    assert verify(str(forged(bundle, tmp_path, FORGERIES[name]))) != 0
    assert "does not match" not in capsys.readouterr().out  # refused for what it says, not for its digest


def test_sabotage_of_the_second_order_part_is_noticed(monkeypatch):
    """Without p_⊥ the upper end is too low."""
    real = own.np.einsum
    monkeypatch.setattr(
        own.np,
        "einsum",
        lambda spec, *a, **k: 0.0 * real(spec, *a, **k) if spec == "vi,ij,vj->v" else real(spec, *a, **k),
    )
    misses = 0
    for _ in range(50):
        c, r = RNG.normal(size=6), RNG.uniform(0.2, 0.6, 6)
        y = tuple((np.round(c * 2.0**18) / 2.0**18).tolist())
        one = Derived("p", VON_MISES, SIX, along="q", toward=y)
        X = c + RNG.uniform(-1.0, 1.0, (50, 6)) * r
        pull = X @ (form(one) @ np.array(y))
        _, high = along_range(one, np.append(c - r, pull.min()), np.append(c + r, pull.max()))
        misses += max(plainly(one, x) for x in X) > high
    assert misses


def test_checker_and_producer_agree_on_random_boxes():
    for _ in range(40):
        c, r = RNG.normal(size=6), RNG.uniform(0.0, 0.3, 6)
        y = tuple((np.round(c * 2.0**18) / 2.0**18).tolist())
        one = Derived("p", VON_MISES, SIX, along="q", toward=y)
        middle = float(c @ form(one) @ np.array(y))
        low, high = along_range(one, np.append(c - r, middle - 0.1), np.append(c + r, middle + 0.1))
        ends = [(Fraction(a), Fraction(b)) for a, b in zip((c - r).tolist(), (c + r).tolist(), strict=True)]
        given = exact_form("von-mises", 6, None), ends, [Fraction(v) for v in y]
        own_ends = (Fraction(middle - 0.1), Fraction(middle + 0.1))
        assert along_holds(*given, own_ends, Fraction(low), Fraction(high)) == (True, True)
        tight = along_holds(*given, own_ends, Fraction(low + 1e-6), Fraction(high - 1e-6))
        assert tight == (low < 0.0, False) or tight == (False, False)
