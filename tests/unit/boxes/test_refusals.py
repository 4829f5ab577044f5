"""What boxes refuse, and what they say where nothing can be bounded."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.boxes import Wave


@pytest.mark.parametrize("boundary", [["dirichlet", "periodic"], "dirichlet"])
def test_reaction_close_to_an_eigenvalue_is_refused_with_it(boundary):
    least = 9.8696 * (1 if boundary != "dirichlet" else 2)
    with pytest.raises(pp.InputError, match=r"^reaction: .* is so close to -"):
        pp.Box([0, 1], [0, 1], reaction=-least + 0.01, boundary=boundary, source="1")
    with pytest.raises(pp.InputError, match=r"^reaction: without end c must be above -9\.869"):
        pp.Box([0, 1], reaction=-12.0)
    with pytest.raises(pp.InputError, match="c must be positive"):
        pp.Box([0, 1], boundary="neumann")


@pytest.mark.parametrize(
    ("prediction", "given", "said"),
    [
        ("1/(x-0.3)", {}, r"^prediction: .* near x = 0\.(29|30)\d*, t = "),
        ("0", {"source": "1/(x-0.3)"}, r"^source: .* near x = 0\.(29|30)"),
        ("0", {"initial": "log(x-0.3)"}, r"^initial: .* near x = .*, t = 0:"),
        ("0", {"dirichlet": {"x-": "1/(t-0.05)"}}, r"^dirichlet: .* near x = 0, t = 0\.0(49|5)"),
        ("exp(1000*x)", {}, r"^prediction: .* overflow"),
    ],
)
@pytest.mark.parametrize("everywhere", [False, True])
def test_what_is_nowhere_bounded_is_refused_with_the_place(prediction, given, said, everywhere):
    box = pp.Box([0, 1], end=0.1, **given)
    asked = box.everywhere() if everywhere else box.points([[0.5]])
    with pytest.raises(pp.InputError, match=said):
        pp.certify(box, prediction, asked, budget=200)


@pytest.mark.parametrize("drift", [10.0, 30.0, -30.0, 59.0])
def test_drift_costs_no_digits(drift):
    """−u″ + b u′ + u_t = f with u = sin(πx): rounding must not grow like the weights of images, e^{b|x₀ − p|/2}."""
    box = pp.Box(
        [0, 1], end=0.5, convection=[drift], source=f"{drift}*pi*cos(pi*x) + pi**2*sin(pi*x)", initial="sin(pi*x)"
    )
    found = pp.certify(box, "sin(pi*x)*(1 + 0.01*t)", box.points([[0.4]]) + box.points([[0.9]]))
    truth = np.sin(np.pi * np.array([0.4, 0.9]))
    assert found.contains(truth).all()
    assert found.radius.max() < (1e-8 if abs(drift) <= 30.0 else 1e-6)


def test_largest_error_is_never_below_zero():
    """b = 30 between Dirichlet ends: L/|b| bounds the time that a path stays."""
    box = pp.Box([0, 2], end=50.0, convection=[30.0], source="1")
    found = pp.certify(box, "x*(2-x)", box.everywhere())
    assert 0.9 < found.lower[0] < 1.0 < found.upper[0] < 5.2
    for guess in ("0", "1e-30*sin(pi*x)"):
        none = pp.certify(pp.Box([0, 1], end=0.1), guess, pp.Box([0, 1], end=0.1).everywhere())
        assert none.lower[0] >= 0.0
        assert none.contains([0.0])[0] or guess != "0"


@pytest.mark.parametrize(
    "given",
    [
        {"extraction": "l2"},
        {"lift": True},
        {"method": pp.Exact()},
        {"raw": [0.0]},
        {"raw": [0.0], "target": "discrete"},
    ],
)
def test_options_of_meshes_are_refused(given):
    box = pp.Box([0, 1], end=0.1)
    with pytest.raises(pp.InputError, match=f"^{', '.join(given)}: this problem has no discrete system"):
        pp.certify(box, "x*(1-x)", box.points([[0.5]]), **given)


@pytest.mark.parametrize("budget", [0, -3, 1.5, "9", True, float("nan"), 10**9 + 1])
def test_budgets_are_whole_numbers(budget):
    box = pp.Box([0, 1], end=0.1)
    with pytest.raises(pp.InputError, match=r"^budget: must be"):
        pp.certify(box, "x*(1-x)", box.points([[0.5]]), budget=budget)


def test_a_drift_that_images_cannot_follow_is_told_with_a_remedy():
    with pytest.raises(pp.InputError, match=r"^convection\[1\]: \|b\|L/κ = 75 is above 60 .* side of at most 1\.6,"):
        pp.Box([0, 1], [0, 2], end=0.1, diffusion=2.0, convection=[0.0, 75.0])


def test_nonlinear_box_without_end_is_refused():
    with pytest.raises(pp.InputError, match=r"^nonlinear: is for boxes in time"):
        pp.Box([0, 1], nonlinear="u**3")


def test_wave_takes_an_initial_value_with_a_kink():
    """d'Alembert: u = (u₀(x − t) + u₀(x + t))/2 before the ends are felt."""
    wave = Wave([0, 1], end=0.2, initial="abs(x-0.5)", dirichlet={"x-": "0.5 - t", "x+": "0.5 - t"})
    found = pp.certify(wave, "x", wave.points([[0.4]]))
    assert found.contains([0.5 * (0.3 + 0.1)])[0]
    assert found.radius[0] < 1e-12
    plane = Wave([0, 1], [0, 1], end=0.2, initial="abs(x-0.5)")
    with pytest.raises(pp.InputError, match="derivatives"):
        pp.certify(plane, "x", plane.points([[0.5, 0.5]]))
