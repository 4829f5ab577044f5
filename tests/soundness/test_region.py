"""Errors by comparison on regions hold the truth, in five dimensions, with κ(x), fluxes on balls and Robin rims."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.boxes import barriers

SQUARE = " + ".join(f"x{i}**2" for i in range(1, 5))
BALL = {  # u = exp(|x|²/2 + t): u_t − Δu/4 = −|x|²u/4, and its slope outwards is |x|u
    "ball": ([0.0] * 4, 0.5),
    "end": 0.5,
    "diffusion": 0.25,
    "source": f"-({SQUARE})/4*exp(({SQUARE})/2 + t)",
    "initial": f"exp(({SQUARE})/2)",
    "neumann": {"ball": f"0.5*exp(({SQUARE})/2 + t)/4"},
}
WAVE = "exp(-t)*(x**2 - y**2 + 1)"
HOLE = {  # around a disc of radius ½, where the slope outwards is −4(x² − y²)e^{−t}
    "holes": [((0.0, 0.0), 0.5)],
    "end": 0.5,
    "source": f"-{WAVE}",
    "initial": "x**2 - y**2 + 1",
    "dirichlet": {"sides": WAVE},
    "robin": {"hole 0": (2.0, f"2*{WAVE} - 4*exp(-t)*(x**2 - y**2)")},
}
VARYING = {  # u = e^{−t}(x + y)² with κ = 1 + x²: ∇·(κ∇u) = e^{−t}(4κ + 4x(x + y))
    "end": 1.0,
    "diffusion": "1 + x**2",
    "source": "exp(-t)*(-(x + y)**2 - 4*(1 + x**2) - 4*x*(x + y))",
    "initial": "(x + y)**2",
    "dirichlet": {"sides": "exp(-t)*(x + y)**2"},
}
CASES = {
    "ball": ((), BALL, f"exp(({SQUARE})/2 + t)", f"0.02*({SQUARE}) + 0.01*t*x1"),
    "hole": (([-1, 1], [-1, 1]), HOLE, WAVE, "0.05*x*y + 0.02*t*x**2"),
    "kappa": (([-1, 1], [-1, 1]), VARYING, "exp(-t)*(x + y)**2", "0.03*sin(2*x + y) + 0.01*t"),
}


def outcome(name: str) -> tuple[float, pp.Certificate]:
    """The largest true error at many points, and the certificate."""
    sides, told, truth, wrong = CASES[name]
    region = pp.boxes.Region(*sides, **told)
    found = pp.certify(region, f"{truth} + {wrong}", region.everywhere(), budget=400)
    rng, shape = np.random.default_rng(3), region.shape
    P = rng.uniform(*np.array(shape.sides).T, (4000, shape.d))
    P = P[shape.holds(P)]
    from pinnpoint.formulas.expressions import parse

    off = np.abs(parse(wrong, region.leftover.names)(np.column_stack([P, rng.uniform(0, told["end"], len(P))])))
    return float(off.max()), found


@pytest.mark.parametrize("name", CASES)
def test_the_largest_error_is_below_the_barrier(name):
    true, found = outcome(name)
    assert found.guarantee == "deterministic"
    assert found.lower[0] <= 1.01 * true  # points are samples of the largest
    assert true <= found.upper[0] < 40.0 * true


def test_a_truth_has_next_to_no_error():
    sides, told, truth, _ = CASES["kappa"]
    region = pp.boxes.Region(*sides, **told)
    found = pp.certify(region, truth, region.everywhere() + region.points([[0.3, 0.2]], time=0.25), budget=400)
    assert found.upper[0] < 1e-9
    assert found.contains(np.array([0.0, np.exp(-0.25) * 0.25]))[1]


def test_five_dimensions_without_time():
    wave = " + ".join(f"sin(pi*x{i}/2)" for i in range(1, 6))
    region = pp.boxes.Region(*[[0, 1]] * 5, source=f"pi**2/4*({wave})", dirichlet={"sides": wave})
    found = pp.certify(region, f"1.01*({wave})", region.everywhere() + region.points([[0.5] * 5]), budget=500)
    assert 0.045 < found.lower[0] <= 0.05 <= found.upper[0] < 0.1
    assert found.contains(np.array([0.05, 5 * np.sqrt(0.5)])).all()


RADIAL = {  # the same truth in any dimension d with κ = 1/d: u_t − Δu/d = −s u/d
    "source": "-s/{d}*exp(s/2 + t)",
    "initial": "exp(s/2)",
    "neumann": {"ball": "exp(s/2 + t)/{d}"},
}


def turning(d: int) -> pp.boxes.Region:
    told = {k: v.format(d=d) if isinstance(v, str) else {"ball": v["ball"].format(d=d)} for k, v in RADIAL.items()}
    return pp.boxes.Region(ball=([0.5] * d, 1.0), end=1.0, diffusion=1.0 / d, radial=True, **told)


@pytest.mark.parametrize("d", [1, 4, 64])
def test_data_that_turn_with_a_ball_need_two_variables(d):
    region = turning(d)
    place = [0.5 + 0.5 / np.sqrt(d)] * d
    asked = region.points([place], time=0.5) + region.everywhere()
    right = pp.certify(region, "exp(s/2 + t)", asked)
    assert right.radius.max() < 1e-9
    assert right.contains(np.array([np.exp(0.625), 0.0])).all()
    wrong = pp.certify(region, "exp(s/2 + t) + 0.01*cos(3*s)*t", asked)
    assert wrong.contains(np.array([np.exp(0.625), 0.01]))[0]
    by_hand = 0.01 * (1.0 + 36.0 / d + 6.0) + 0.06 / d * (0.5 * d + d)  # |r| t and the flux's barrier at worst
    assert 0.01 * abs(np.cos(3.0)) <= wrong.upper[1] < by_hand


def test_a_folded_laplacian_is_that_of_all_coordinates():
    told = {"ball": ([0.0, 0.0, 0.0], 0.5), "dirichlet": {"ball": 0.25}}
    square, wrong = "(x**2 + y**2 + z**2)", "{s} + 0.1*sin(2*{s})"
    plain = pp.boxes.Region(**told, source=-6.0)
    folded = pp.boxes.Region(**told, source=-6.0, radial=True)
    bounds = [
        pp.certify(region, wrong.format(s=s), region.everywhere()).upper[0]
        for region, s in ((plain, square), (folded, "s"))
    ]
    assert bounds[1] == pytest.approx(bounds[0], rel=0.35)
    assert bounds[1] <= 1.01 * bounds[0]  # in one variable ranges are sharper


def test_a_laplacian_without_its_second_part_is_noticed(monkeypatch):
    from pinnpoint.boxes.leftover import Leftover

    region = turning(4)
    monkeypatch.setattr(Leftover, "_laplacian", lambda self, s, jet: jet.laplacian)
    assert pp.certify(region, "exp(s/2 + t)", region.everywhere()).upper[0] > 0.1


@pytest.mark.parametrize("left_out", ["held", "flux", "residual"])
def test_a_barrier_without_one_of_its_parts_is_noticed(monkeypatch, left_out):
    name = {"held": "hole", "flux": "ball", "residual": "kappa"}[left_out]
    wrongs = {"held": "0.5", "flux": f"0.2*({SQUARE})", "residual": "0.3*t*(1 - x**2)*(1 - y**2)"}
    sides, told, truth, _ = CASES[name]
    region = pp.boxes.Region(*sides, **told)
    whole = barriers.sized
    given = (f"{truth} + {wrongs[left_out]}", region.everywhere())
    off = {"held": 0.5, "flux": 0.05, "residual": 0.3}[left_out]
    assert pp.certify(region, *given, budget=200).upper[0] >= off

    def without(*arguments):
        found = whole(*arguments)
        kept = {k: getattr(found, k) for k in ("residual", "held", "flux", "attained")}
        kept[left_out] = 0.0 * kept[left_out]
        kept["attained"] = 0.0
        if left_out == "flux":
            kept["residual"], kept["held"] = 0.0 * kept["residual"], 0.0
        return barriers.Sized(**kept)

    monkeypatch.setattr("pinnpoint.boxes.region.sized", without)
    assert pp.certify(region, *given, budget=200).upper[0] < off


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"reaction": -1.0, "dirichlet": {"sides": 0.0}}, "reaction"),
        ({"neumann": {"sides": 0.0}}, "neumann: a barrier"),
        ({"diffusion": "1 + x", "dirichlet": {"sides": 0.0}}, "diffusion: must be a number"),
        ({"dirichlet": {"rim": 0.0}}, "no part of this boundary"),
        ({}, "nothing is said of 'sides'"),
        ({"holes": [((0.9, 0.5), 0.2)], "dirichlet": {"sides": 0.0, "hole 0": 0.0}}, r"holes\[0\]"),
        ({"robin": {"sides": (0.0, 1.0)}}, "robin: coefficient"),
        ({"radial": True, "dirichlet": {"sides": 0.0}}, "radial: belongs to a ball"),
    ],
)
def test_what_has_no_barrier_is_refused(told, message):
    with pytest.raises(pp.InputError, match=message):
        pp.boxes.Region([0, 1], [0, 1], **told)


def test_a_diffusion_that_may_vanish_is_refused():
    region = pp.boxes.Region([-1, 1], end=1.0, diffusion="x**2", dirichlet={"sides": 0.0})
    with pytest.raises(pp.InputError, match="diffusion: must be proved positive"):
        pp.certify(region, "0", region.everywhere())
