"""Bundles of solutions in time: honest ones verify, the two programs agree, and what is changed is refused."""

from __future__ import annotations

import json
import math
import re
import shutil
from itertools import pairwise

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.domains import generate
from pinnpoint_verify import Refused, verify
from pinnpoint_verify.enclosures import means
from pinnpoint_verify.models import Model, space
from pinnpoint_verify.slab_data import Datum, Source
from pinnpoint_verify.slab_goals import _peak
from pinnpoint_verify.slab_kernels import Kernel
from tests.support.forged import sealed

ROBIN = {"dirichlet": {"left": 1.0}, "robin": {"right": (2.0, "1")}, "initial": "1 + x", "source": "x*exp(-t)"}


def line(n=6, **given):
    data = {"end": 0.1, "steps": 6} | given
    return pp.fem.Parabolic(generate("interval", n), **data)


def square(n=2, **given):
    data = {"end": 0.1, "steps": 2} | given
    return pp.fem.Parabolic(generate("square", n), **data)


def decay():
    heat = line(initial="sin(pi*x)")
    asked = heat.points([[0.4]], ["p"]) + heat.averages([[0.4]], spread=0.05, names=["g"]) + heat.mean("m")
    asked += heat.cells([1, 2, 3], "c") + heat.mean("over", since=0.05) + heat.points([[0.5]], ["early"], time=0.05)
    return heat, asked


def reacting():
    heat = line(initial="sin(pi*x)", reaction=2.0, source="x*t", diffusion=0.5)
    return heat, heat.points([[0.4]], ["p"]) + heat.averages([[0.5]], spread=0.05, names=["g"])


def exchanging():
    heat = line(4, **ROBIN, degree=2, scheme="cg2", steps=4)
    return heat, heat.points([[0.4]], ["p"]) + heat.mean("m")


def flowing():
    heat = line(initial="1 + x", dirichlet={"left": "1 + sin(3*t)"}, neumann={"right": "1"}, reaction=1.0)
    return heat, heat.points([[0.4]], ["p"]) + heat.mean("m")


def floating():
    heat = line(initial="cos(pi*x)", dirichlet={}, source="t")
    return heat, heat.points([[0.4]], ["p"]) + heat.mean("m")


def mixed():
    given = {"dirichlet": {"left": "1 + y*t", "top": "1 + t + x"}, "neumann": {"right": "y*cos(9*t)"}}
    heat = square(initial="1 + x*y", **given, robin={"bottom": (1.5, "x")}, source="x*y*exp(-t)")
    return heat, heat.points([[0.4, 0.5]], ["p"]) + heat.mean("m")


def solid():
    given = {
        "dirichlet": {"left": 1.0},
        "neumann": {"right": "y"},
        "reaction": 1.0,
        "source": "x*t",
        "initial": "1 + x*y*z",
    }
    heat = pp.fem.Parabolic(generate("cube", 1), **given, end=0.1, steps=2)
    return heat, heat.mean("m") + heat.cells([0, 2], "c") + heat.mean("over", since=0.05)


def drifting():
    heat = line(initial="sin(pi*x)", convection=[3.0], reaction=0.7, diffusion=1.3, source="1 + t")
    asked = heat.mean("m") + heat.cells([1, 2], "c", time=0.08) + heat.mean("over", since=0.05)
    return heat, asked + heat.points([[0.4]], ["p"])


def drifting_plane():
    heat = square(initial="x*y", convection=[2.0, -1.0], degree=2, scheme="cg2", dirichlet={"boundary": "x*y*(1+t)"})
    return heat, heat.mean("m") + heat.mean("over", since=0.05)


def swaying():
    given = {"dirichlet": {"left": 0.0}, "neumann": {"right": "exp(-t)*sin(9*t)"}, "initial": "x"}
    heat = line(4, **given, degree=2, scheme="cg2", steps=3)
    return heat, heat.points([[0.4]], ["p"]) + heat.mean("m") + heat.mean("over", since=0.05)


def beyond():
    """A flux that is a multiple of L₃ on its one slab: all modes and states vanish, and u does not."""
    heat = line(2, dirichlet={"left": 0.0}, neumann={"right": "20*(2*t-1)**3-12*(2*t-1)"}, end=1.0, steps=1)
    return heat, heat.mean("m")


def lifted():
    heat = line(initial="sin(pi*x)", source="x*t", reaction=0.5, diffusion=0.8, dirichlet={"boundary": "x*t"})
    return heat, heat.points([[0.4]], ["p"]) + heat.points([[0.5]], ["early"], time=0.05)


def lifted_beside_fluxes():
    heat = line(4, initial="sin(x)", dirichlet={"left": 0.0}, neumann={"right": "cos(1)*exp(-t)"}, steps=3)
    return heat, heat.points([[0.4]], ["p"])


def exchanging_along():
    """α by a formula, by one without coordinates, that is no float, and of zero."""
    given = {"right": ("1 + y", "t"), "top": ("1/3", "1"), "bottom": (0.0, "x")}
    heat = square(dirichlet={"left": 0.0}, robin=given, source="x")
    return heat, heat.mean("m")


def insulated():
    heat = line(2, dirichlet={"left": 0.0}, robin={"right": (0.0, "1")}, steps=2)
    return heat, heat.mean("m")


def averaging():
    heat = line(initial="sin(pi*x)", source="x*t")
    asked = heat.averages([[0.4]], 0.15, ["ball"]) + heat.averages([[0.4]], 0.15, ["while"], since=0.05)
    return heat, asked + heat.cells([[0.4]], ["block"], side=0.3) + heat.cells([[0.4]], ["since"], side=0.3, since=0.03)


def averaging_plane():
    heat = square(3, initial="sin(pi*x)*sin(pi*y)", convection=[2.0, -1.0], degree=2, scheme="cg2", source="x*y*t")
    asked = heat.averages([[0.4, 0.5]], 0.25, ["ball"])
    return heat, asked + heat.cells([[0.4, 0.6]], ["block"], side=0.3, since=0.05)


def averaging_solid():
    heat = pp.fem.Parabolic(
        generate("cube", 1), initial="x*y*z", reaction=1.0, dirichlet={"left": 0.0}, end=0.1, steps=2
    )
    return heat, heat.averages([[0.4, 0.5, 0.5]], 0.25, ["ball"]) + heat.cells([[0.5] * 3], ["block"], side=0.5)


LIFTS = {
    "lifted": "0.97*sin(pi*x)*exp(-8*t) + x*t",
    "lifted_beside_fluxes": "0.98*sin(1.02*x)*exp(-1.1*t)",
}


def small():
    heat = line(4, initial="sin(pi*x)", source="x*t", steps=3)
    return heat, heat.points([[0.4]], ["p"]) + heat.averages([[0.4]], spread=0.1, names=["g"])


CASES = {
    f.__name__: f for f in (decay, reacting, exchanging, flowing, floating, mixed, solid, drifting, drifting_plane)
}
CASES |= {f.__name__: f for f in (swaying, beyond, lifted, lifted_beside_fluxes)}
CASES |= {f.__name__: f for f in (exchanging_along, insulated, averaging, averaging_plane, averaging_solid)}
MADE = {}


def written(tmp_path_factory, name):
    """A bundle, made once."""
    if name not in MADE:
        problem, asked = (CASES | {"small": small})[name]()
        guess = LIFTS.get(name, np.zeros(problem.grid.levels.size * len(problem.nodes)))
        found = pp.certify(problem, guess, asked, lift=name in LIFTS)
        folder = tmp_path_factory.mktemp(name) / "bundle"
        MADE[name] = found, pp.write_bundle(folder, found, problem, guess, asked)
    return MADE[name]


def changed(folder, file, change):
    """One file changed, and the manifest made right."""
    path = folder / file
    if file.endswith(".npy"):
        a = np.load(path)
        change(a)
        np.save(path, a)
    else:
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data))
    sealed(folder)


@pytest.mark.parametrize("name", CASES)
def test_honest_bundles_verify_and_the_two_programs_agree(name, tmp_path_factory):
    found, folder = written(tmp_path_factory, name)
    lines = verify(folder)
    proved = [re.search(r": proved (\S+) ± (\S+);", one) for one in lines]
    values = [(float(one[1]), float(one[2])) for one in proved if one]
    assert len(values) == len(found.center)
    for (c, r), center, radius in zip(values, found.center, found.radius, strict=True):
        assert abs(c - center) + r <= radius * (1.0 + 1e-3)  # r is printed with four digits
        assert radius <= 1.2 * r + 2e-9
    assert any(line.startswith("declared: values of the prediction") for line in lines)


def _row(key, value):
    def change(data):
        data["queries"][0][key] = value(data["queries"][0][key])

    return change


def _shrunk(data):
    """A radius that is a little too small, with all that follows from it."""
    row = data["queries"][0]
    row["terms"]["quadrature"] = 0.0
    row["terms"]["transfer"] *= 0.985
    row["radius"] = math.fsum(row["terms"][term] for term in data["radius_terms"])
    c, r = row["center"], row["radius"]
    row["lower"], row["upper"] = math.nextafter(c - r, -math.inf), math.nextafter(c + r, math.inf)
    row["value_radius"] = row["raw_radius"] = abs(row["value"] - c) + r


def _said(*keys, value):
    def change(data):
        for key in keys[:-1]:
            data = data[key]
        data[keys[-1]] = value

    return change


def _at(place, by):
    def change(a):
        a[place] += by

    return change


FORGED = {
    "a smaller radius": ("small", "certificate.json", _shrunk, "is claimed"),
    "another source": ("small", "case.json", _said("problem", "source", value="x*t + 1"), "source"),
    "other initial values": ("small", "case.json", _said("problem", "initial", value="1.1*sin(pi*x)"), "is claimed"),
    "another diffusion": ("reacting", "case.json", _said("problem", "diffusion", value=0.4), "diffusion"),
    "another exchange": ("exchanging", "case.json", _said("problem", "robin", "right", value=[2.5, "1"]), "robin"),
    "another exchange that is a formula": (
        "exchanging_along",
        "case.json",
        _said("problem", "robin", "right", value=["1.01 + y", "t"]),
        "robin: ",
    ),
    "another exchange that is no float": (
        "exchanging_along",
        "case.json",
        _said("problem", "robin", "top", value=["0.3334", "1"]),
        "robin: ",
    ),
    "other values at the boundary": (
        "flowing",
        "case.json",
        _said("problem", "dirichlet", "left", value="1 + sin(4*t)"),
        "dirichlet",
    ),
    "another flux": ("flowing", "case.json", _said("problem", "neumann", "right", value=2.0), "neumann"),
    "another place": ("small", "case.json", _said("queries", 0, "at", value=[0.41]), "another at"),
    "another time": ("small", "case.json", _said("queries", 0, "time", value=0.09), "another time"),
    "a ball that leaves": ("small", "proof.json", _said("goals", 0, "radius", value=0.45), "leaves"),
    "a kernel older than the problem": ("small", "proof.json", _said("goals", 0, "span", value=0.2), "older"),
    "another weight": ("small", "proof.json", _said("goals", 1, "powers", value=[3, 3, 1, 1]), "weight"),
    "a state that was moved": ("small", "run0/u.npy", _at((3, 3), 0.2), "is claimed"),
    "a dual state that was moved": ("small", "run0/z0.npy", _at((3, 3), 0.5), "is claimed"),
    "a dual state with boundary values": ("small", "run0/z0.npy", _at((3, 0), 1e-3), "not zero where values"),
    "a flux that was moved": ("small", "run0/t.npy", _at((2, 3, 0), 0.5), "is claimed"),
    "a flux of no data": ("floating", "run0/t.npy", _at((2, 0, 0), 1e-9), "Neumann"),
    "another flux that moves": (
        "swaying",
        "case.json",
        _said("problem", "neumann", "right", value="exp(-t)*sin(8*t)"),
        "neumann",
    ),
    "another prediction": (
        "lifted",
        "proof.json",
        _said("lift", "formula", value="0.97*sin(pi*x) + x*t"),
        "is claimed",
    ),
    "a prediction with a kink": ("lifted", "proof.json", _said("lift", "formula", value="abs(x - t)"), "not followed"),
    "another prediction at a free side": (
        "lifted_beside_fluxes",
        "proof.json",
        _said("lift", "formula", value="0.98*sin(1.02*x)*exp(-1.1*t) + 0.5*x**4"),
        "is claimed",
    ),
    "curves that the proof has not": (
        "small",
        "case.json",
        _said("geometry", value={"left": {"circle": [0.0], "radius": 1.0}}),
        "geometry",
    ),
    "a key that no problem in time has": ("small", "case.json", _said("problem", "cubic", value=1.0), "cubic"),
    "nodes of another time": (
        "decay",
        "run0/nodes.npy",
        _at((2,), 1e-3),
        "is claimed|intervals of|is not the interval",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_is_changed_is_refused(name, tmp_path, tmp_path_factory):
    case, file, change, line_ = FORGED[name]
    folder = shutil.copytree(written(tmp_path_factory, case)[1], tmp_path / "forged")
    changed(folder, file, change)
    with pytest.raises(Refused, match=line_):
        verify(folder)


def forged(tmp_path_factory, tmp_path, name):
    """A copy of an honest bundle."""
    return shutil.copytree(written(tmp_path_factory, name)[1], tmp_path / "forged")


AVERAGES = {
    "a smaller ball": ("averaging", 0, {"ball": 0.14}, "is claimed"),
    "a ball elsewhere": ("averaging_plane", 0, {"at": [0.45, 0.5]}, "is claimed"),
    "a ball that leaves": ("averaging_plane", 0, {"at": [0.2, 0.5]}, "leaves the domain"),
    "a ball of nothing": ("averaging", 0, {"ball": 0.0}, "no ball"),
    "a ball since earlier": ("averaging", 1, {"since": 0.0}, "is claimed"),
    "a smaller block": ("averaging", 2, {"side": 0.2}, "is claimed"),
    "a block that leaves": ("averaging_plane", 1, {"at": [0.4, 0.9]}, "leaves the domain"),
    "a block turned inside out": ("averaging", 2, {"side": -0.3}, "no block"),
    "a block that is a group too": ("averaging", 2, {"group": "left"}, "a place that such a query does not have"),
    "a ball that is a point": ("averaging", 0, {"kind": "point"}, "a place that such a query does not have"),
    "a kind that nobody asks for": ("averaging", 2, {"kind": "block"}, "unknown kind"),
    "a ball without a radius": ("averaging", 0, {"ball": "0.15"}, "no weight"),
}


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_elsewhere_are_refused(name, tmp_path, tmp_path_factory):
    """Case and certificate ask for another ball or block; states, fluxes and intervals are those of the honest one."""
    case, row, words, line_ = AVERAGES[name]
    folder = forged(tmp_path_factory, tmp_path, case)
    for file in ("case.json", "certificate.json"):
        changed(folder, file, lambda data: data["queries"][row].update(words))
    with pytest.raises(Refused, match=line_):
        verify(folder)


@pytest.mark.parametrize("flow", [None, [0.0], [2.7], [-3.0], [3.0, 0.0], ["3 + x"], [math.nan], 3.0, {}])
def test_another_convection_is_refused(flow, tmp_path, tmp_path_factory):
    """b is the case's; states and fluxes of another one prove nothing of this."""
    _, folder = written(tmp_path_factory, "drifting")
    shutil.copytree(folder, tmp_path / "forged")

    def forge(data):
        problem = data.get("problem")
        if problem is not None:
            problem |= {"convection": flow}
            if flow is None:
                del problem["convection"]

    for file in ("case.json", "certificate.json"):
        changed(tmp_path / "forged", file, forge)
    with pytest.raises(Refused):
        verify(tmp_path / "forged")


@pytest.mark.parametrize("name", ["small", "flowing"])
def test_convection_beside_kernels_and_free_sides_is_refused(name, tmp_path, tmp_path_factory):
    _, folder = written(tmp_path_factory, name)
    shutil.copytree(folder, tmp_path / "forged")
    changed(tmp_path / "forged", "case.json", lambda data: data["problem"].__setitem__("convection", [0.0]))
    with pytest.raises(Refused, match="convection: "):
        verify(tmp_path / "forged")


def test_dual_states_that_do_not_end_at_zero_are_counted(tmp_path):
    """A point's dual is zero at its time: what a stored one has there costs its square."""
    heat = line(initial="1+cos(pi*x)", dirichlet={})
    guess, asked = np.zeros(heat.grid.levels.size * len(heat.nodes)), heat.points([[0.4]], ["p"]) + heat.mean("m")
    folder = pp.write_bundle(tmp_path / "bundle", pp.certify(heat, guess, asked), heat, guess, asked)
    part = {name: np.load(folder / "run0" / f"{name}.npy") for name in ("z0", "z1", "t0", "t1", "u", "t")}
    for name in "zt":
        np.save(folder / "run0" / f"{name}0.npy", part[f"{name}0"] + 10.0 * part[f"{name}1"])
    for name in "ut":
        np.save(folder / "run0" / f"{name}.npy", 0.9 * part[name])
    sealed(folder)
    with pytest.raises(Refused, match=r"'p': .* is claimed") as refused:
        verify(folder)
    c, r = map(float, re.search(r"claimed, (\S+) ± (\S+) is proved", str(refused.value)).groups())
    assert abs(c - 1.0 - math.exp(-(math.pi**2) * 0.1) * math.cos(0.4 * math.pi)) <= r


@pytest.mark.parametrize("top", ["3e4*exp(-1e8*(t-0.09)**2)", "1e6*exp(-1e12*(t-0.09)**2)"])
def test_bumps_in_time_of_boundary_values_are_refused_on_every_slab(top, tmp_path, tmp_path_factory):
    folder, text = forged(tmp_path_factory, tmp_path, "flowing"), f"1 + sin(3*t)+{top}"
    changed(folder, "case.json", _said("problem", "dirichlet", "left", value=text))
    changed(folder, "proof.json", _said("dirichlet", value=[text]))
    with pytest.raises(Refused, match="is claimed"):
        verify(folder)


def test_boundary_values_that_states_miss_by_a_parabola_verify(tmp_path):
    """It is largest in the middle of a slab, where no part of it ends: both programs know how large it is there."""
    heat = line(4, initial="1 + x", source="2*t", dirichlet={"boundary": "1 + x + t*t"}, end=0.4, steps=2, degree=2)
    guess, asked = heat.states(), heat.mean("m")
    found = pp.certify(heat, guess, asked)
    missed = float(heat.grid.lengths.max()) ** 2 / 4.0
    assert missed <= found.terms["boundary"][0] <= 1.005 * missed
    verify(pp.write_bundle(tmp_path / "bundle", found, heat, guess, asked))


@pytest.mark.parametrize("d", [1, 2])
def test_what_boundary_values_miss_is_bounded_by_bernstein_coefficients(d):
    """|f| at points is no larger, and where f is monotone along every axis not smaller."""
    S, rng = space(d, 6), np.random.default_rng(5)
    at = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 41)] * d), axis=-1).reshape(-1, d)
    values = np.prod(at[:, None, :] ** S.powers[None], axis=2)
    C = rng.normal(size=(len(S.powers), 50))
    assert np.all(_peak(Model(S, C, np.zeros(50))) >= np.abs(values @ C).max(axis=0))
    degree, square = S.powers.sum(axis=1), (S.powers == 2).any(axis=1)
    steep = np.where(degree == 1, -1.0, np.where((degree == 2) & square, -0.5, 0.0))  # Σ −ξ_i − ½ξ_i² falls
    peak = _peak(Model(S, steep[:, None], np.full(1, 0.25)))
    assert peak == pytest.approx(np.abs(values @ steep).max() + 0.25, rel=1e-12)


def test_boundary_values_belong_to_their_groups(tmp_path, tmp_path_factory):
    folder = forged(tmp_path_factory, tmp_path, "flowing")
    assert any("which facets are in the groups of the boundary" in line for line in verify(folder))
    given = {"left": "1 + sin(3*t)", "top": 5.0}
    changed(folder, "case.json", _said("problem", "dirichlet", value=given))
    with pytest.raises(Refused, match="dirichlet: not that of the case"):
        verify(folder)
    changed(folder, "case.json", _said("problem", "dirichlet", value={"boundary": "1 + sin(3*t)"}))
    with pytest.raises(Refused, match="'boundary' is held, and some of its facets are not"):
        verify(folder)


def test_a_gaussian_average_is_no_point(tmp_path, tmp_path_factory):
    folder = forged(tmp_path_factory, tmp_path, "small")
    for file in ("certificate.json", "case.json"):
        changed(folder, file, lambda data: data["queries"][1].update(kind="point"))
    with pytest.raises(Refused, match="a place that such a query does not have"):
        verify(folder)


def test_a_solution_that_is_zero_verifies_and_its_case_is_printed(tmp_path):
    heat = line(5, initial="0", dirichlet={"left": 0.0, "right": 0.0}, steps=4)
    guess, asked = np.zeros(heat.grid.levels.size * len(heat.nodes)), heat.points([[0.4]], ["p"])
    folder = pp.write_bundle(tmp_path / "bundle", pp.certify(heat, guess, asked), heat, guess, asked)
    lines = verify(folder)
    assert any(one.startswith('declared: case, problem: {"kind": "parabolic"') for one in lines)
    assert any(one.startswith("declared: case, 'p':") for one in lines)


def test_robin_lifts_and_drift_are_told_and_not_written(tmp_path):
    for convection, dirichlet, spread in (([1.0], {}, 0.1), ([1.0], {"left": 0.0}, None), (["1 + 0*x"], {}, None)):
        drifted = line(2, steps=2, convection=convection, dirichlet=dirichlet or None)
        asked = drifted.mean() if spread is None else drifted.averages([[0.4]], spread=spread)
        guess = np.zeros(9)
        with pytest.raises(pp.InputError, match="convection has them where"):
            pp.write_bundle(tmp_path / "drift", pp.certify(drifted, guess, asked), drifted, guess, asked)
    heat = line(2, **ROBIN, steps=2)
    asked, guess = heat.points([[0.4]]), "1 + x*exp(-t)"
    found = pp.certify(heat, guess, asked, lift=True)
    with pytest.raises(pp.InputError, match="beside a lift in time"):
        pp.write_bundle(tmp_path / "lift", found, heat, guess, asked)
    assert not (tmp_path / "lift").exists()


def _kernel(d, T, c=0.0, flow=None):
    x0 = np.array([0.4, 0.55][:d])
    return Kernel(x0, 0.7, c, 0.39, T, 0.0, [2, 3, 1, 1], flow)


@pytest.mark.parametrize("d", [1, 2])
def test_the_checkers_kernel_knows_solutions(d):
    """u = 1 with f = c, and |x − x₀|² + 2dκt with f = 0, are their own averages with ω and Ψ."""
    mesh, T, c = generate({1: "interval", 2: "square"}[d], 3), 0.1, 0.8
    V = mesh.points[np.sort(mesh.cells, axis=1)]
    volume = np.abs(np.linalg.det(V[:, 1:] - V[:, :1])) / math.factorial(d)
    nodes = [0.0, 0.06, 0.1]
    kernel, start = _kernel(d, T, c), 4e-4
    kernel.resolve(V, start, 12)
    mass = unknown = 0.0
    for a, b in pairwise(nodes):
        for factor, w in zip((1.0, c), kernel.slab(a, b, T, 3, 2), strict=True):
            mass += factor * (b - a) * float(np.einsum("njk,jk,n->", w.beta[0], means(d, 2).m, volume))
            unknown += factor * (b - a) * float((w.e1[0] * volume).sum())
    early, lost = kernel.early(start)[0], 0.5 * c * start * kernel.missing(start)
    assert abs(mass + c * start - lost - 1.0) <= early + unknown + lost
    assert early + unknown + lost < 5e-3
    kernel = _kernel(d, T)
    kernel.resolve(V, start, 12)
    y = V - kernel.x0
    total = unknown = 0.0
    for a, b in pairwise(nodes):
        (w,) = kernel.slab(a, b, T, 3, 1)
        square_ = np.einsum("njc,nkc->njk", y, y)  # |x − x₀|² is this quadratic
        for k, drop in ((0, 0.5 * (a + b)), (1, 0.5 * (b - a))):
            u = square_ * (k == 0) + 2 * d * 0.7 * (drop - T * (k == 0))
            total += (
                (b - a)
                / (2 * k + 1)
                * float(np.einsum("njk,jklm,nlm,n->", w.beta[k], means(d, 4).m, u, volume, optimize=True))
            )
            unknown += (b - a) * float((w.e1[k] * np.abs(u).max(axis=(1, 2)) * volume).sum())
    assert abs(total) <= unknown + early * 0.3  # u(x₀, T) = 0
    assert unknown < 2e-3


@pytest.mark.parametrize("d", [1, 2])
def test_the_checkers_kernel_knows_solutions_that_drift(d):
    """u = 1 with f = c, and x − b₁t with f = c = 0, are their own averages with ω and Ψ of a drift."""
    mesh, T, c, flow = generate({1: "interval", 2: "square"}[d], 3), 0.1, 0.8, np.array([3.0, -2.0][:d])
    V = mesh.points[np.sort(mesh.cells, axis=1)]
    volume = np.abs(np.linalg.det(V[:, 1:] - V[:, :1])) / math.factorial(d)
    start = 2e-4
    if d == 1:  # in the plane ω alone
        kernel, mass, unknown = _kernel(d, T, c, flow), 0.0, 0.0
        kernel.resolve(V, start, 12)
        for a, b in pairwise([0.0, 0.06, 0.1]):
            for factor, w in zip((1.0, c), kernel.slab(a, b, T, 3, 2), strict=True):
                mass += factor * (b - a) * float(np.einsum("njk,jk,n->", w.beta[0], means(d, 2).m, volume))
                unknown += factor * (b - a) * float((w.e1[0] * volume).sum())
        off = unknown + kernel.early(start)[0] + 0.01 * c * start  # Ψ has an integral of about e^{−cs}
        assert abs(mass + c * start - 1.0) <= off < 5e-3
    kernel, total, unknown = _kernel(d, T, 0.0, flow), 0.0, 0.0
    kernel.resolve(V, start, 12)
    at = 0.5 * (V[:, :, None, 0] + V[:, None, :, 0])  # x is this quadratic
    for a, b in pairwise([0.0, 0.06, 0.1]):
        (w,) = kernel.slab(a, b, T, 3, 1)
        for k, u in enumerate((at - flow[0] * 0.5 * (a + b), 0.0 * at - flow[0] * 0.5 * (b - a))):
            each = np.einsum("njk,jklm,nlm,n->", w.beta[k], means(d, 4).m, u, volume, optimize=True)
            total += (b - a) / (2 * k + 1) * float(each)
            unknown += (b - a) * float((w.e1[k] * np.abs(u).max(axis=(1, 2)) * volume).sum())
    assert abs(total - (0.4 - flow[0] * T)) <= unknown + kernel.early(start)[0] < 5e-3


def test_the_checkers_source_is_enclosed():
    """Modes of sin(3x + 2t) on cells and slabs against Gauss rules, and means of even weights against a Gaussian's."""
    V = np.linspace(0.0, 1.0, 5)[np.stack([np.arange(4), np.arange(1, 5)], axis=1)][:, :, None]
    source = Source([(np.arange(4), Datum("sin(3*x + 2*t)"))], V, 3, 1e-12)
    made, (x, w) = source.slab(0.2, 0.5), np.polynomial.legendre.leggauss(20)
    t, L = 0.35 + 0.15 * x, [np.ones_like(x), x, 1.5 * x**2 - 0.5]
    for n in range(4):
        X = V[n].mean() + 0.5 * np.ptp(V[n]) * x
        lam = np.stack([0.5 * (1.0 - x), 0.5 * (1.0 + x)])
        F = np.sin(3.0 * X[:, None] + 2.0 * t)
        for k in range(3):
            mode = 0.5 * (2 * k + 1) * F @ (w * L[k])
            gap = mode - np.einsum("jk,jq,kq->q", made.beta[k, n], lam, lam)
            assert math.sqrt(0.5 * (gap**2 @ w)) <= made.high[k, n] + made.e2[k, n] + 1e-14
            assert abs(0.5 * (gap @ w)) <= made.e1[k, n] + 1e-14
        left = F - sum(np.outer(0.5 * (2 * k + 1) * F @ (w * L[k]), L[k]) for k in range(3))
        assert math.sqrt(0.25 * np.einsum("qr,q,r->", left**2, w, w)) <= made.rest[n] + 1e-14
        assert made.rest[n] < 1e-3
    kappa, s, x0 = 0.5, 1e-3, 0.4
    value, spread = source.near(np.array([x0]), 1, 12.0 * math.sqrt(kappa * s), 0.5, s)
    y, v = np.polynomial.hermite.hermgauss(40)
    mean = sum(
        np.sin(3.0 * (x0 + 2.0 * math.sqrt(kappa * a) * y) + 2.0 * (0.5 - a)) @ v for a in np.linspace(0, s, 400)
    )
    assert abs(mean / 400.0 / math.sqrt(math.pi) - value) <= spread < 1e-2
