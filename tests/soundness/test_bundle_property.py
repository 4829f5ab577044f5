"""Any entry of any file of a bundle, changed consistently: refused, or the claim stays true, or it is told as declared.

`python studies/forgeries.py` is the long form.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import pytest

from tests.support.forged import Forger
from tests.support.forging import changed, checked, false_claims, forge, is_told, oddly
from tests.support.kinds import cubic, kinds, plane, solid

KINDS = kinds()
FINE = {
    "diffusion in a plane, point, exact, continuous": plane(12, degree=2),
    "diffusion in a plane, maximum, exact, continuous": plane(12, degree=2),
    "a Robin side, point, exact, continuous": plane(12, degree=2, dirichlet={"left": 0.0}, robin={"right": (2.0, 1.0)}),
    "formula of diffusion, point, exact, continuous": plane(10, degree=2, diffusion="1+x*y"),
    "a drift, point, exact, continuous": plane(10, degree=2, convection=("1", "0.5")),
    "reaction below zero, point, exact, continuous": plane(12, degree=2, reaction=-3.0),
    "a solid in a plane, mean, exact, continuous": solid(8, degree=2),
    "a solid in a plane, stress, exact, continuous": solid(8, degree=2),
    "diffusion in a plane, l2-error, exact, continuous": None,
    "diffusion in a plane, everywhere, exact, continuous": None,
    "diffusion in a plane, point, exact, discrete": None,
    "diffusion in a plane, point, randomized, discrete": None,
    "a solid in a plane, von-mises, exact, discrete": None,
    "a warm solid, mean, exact, continuous": None,
    "cubic reaction, mean, root, continuous": None,
    "cubic reaction, point, stationary, discrete": None,
    "heat in time, point, exact, discrete": None,
    "a matrix, functional, exact, ": None,
    "least squares, functional, exact, ": None,
    "a general Z, functional, exact, ": None,
    "periodic, point, exact, continuous": plane(
        10, degree=2, periodic={"left": "right"}, dirichlet={"bottom": 0.0, "top": 0.0}
    ),
    "a matrix that is not symmetric, functional, norm, ": None,
    "a lift by a formula, point, exact, continuous": plane(12, degree=2),
    "a lift by a network, point, exact, continuous": plane(12, degree=2),
    "a network in a medium, mean, exact, continuous": plane(10, degree=2, diffusion="1+x*y", dirichlet={"left": 0.0}),
    "a round side, point, exact, continuous": None,
    "reaction by a formula, point, root, continuous": cubic(8, cubic=None, g="sinh(u)", degree=2),
    "boundary data by a formula, point, exact, continuous": plane(12, degree=2, dirichlet={"boundary": "y**3"}),
    "diffusion in a plane, cells, exact, continuous": plane(12, degree=2),
    "diffusion in a plane, patch, exact, continuous": plane(
        12, degree=2, dirichlet={"left": 0.0}, neumann={"right": 1.0}
    ),
    "heat in time, mean, exact, continuous": None,
    "a box in time, point, box, ": None,
    "Neumann data, everywhere, exact, continuous": None,
    "a Robin side, maximum, exact, continuous": None,
    "reaction below zero, l2-error, exact, continuous": None,
    "a line, point, exact, continuous": None,
    "a space, mean, exact, continuous": None,
    "a round side, point, exact, discrete": None,
}
"""Kinds that are forged, with a finer problem whose narrower intervals hold the truth, where there is one."""
QUICK, ODD = 3, 4
"""Forgeries of each kind here: of numbers and texts, and odd numbers and shapes."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("property")

    @cache
    def make(name):
        """A bundle, what `verify` prints of it, and intervals that hold the truth."""
        bundle = KINDS[name].bundle(root / str(list(FINE).index(name)))
        good, said, _ = checked(bundle)
        assert good, said
        return bundle, said, truths(name, bundle)

    return make


def truths(name, bundle):
    """Intervals that hold the true values: the honest ones, or those on a finer mesh."""
    rows = json.loads((bundle / "certificate.json").read_text(encoding="utf-8"))["queries"]
    found = [(row["lower"], row["upper"]) for row in rows]
    if FINE[name] is None:
        return found
    fine = replace(KINDS[name], make=FINE[name], prediction=None, lift=False).certified()[0]
    return list(zip(fine.lower.tolist(), fine.upper.tolist(), strict=True))


def test_honest_intervals_meet_the_finer_ones(made):
    for name in list(FINE)[:3]:
        bundle, _, known = made(name)
        rows = json.loads((bundle / "certificate.json").read_text(encoding="utf-8"))["queries"]
        assert all(r["lower"] <= high and low <= r["upper"] for r, (low, high) in zip(rows, known, strict=True)), name


@pytest.mark.parametrize("name", FINE)
def test_what_is_changed_is_refused_or_true_or_told(name, made, tmp_path):
    bundle, honest, known = made(name)
    first = 10_000 * (1 + list(FINE).index(name))
    for seed, change in [*((k, changed) for k in range(QUICK)), *((k, oddly) for k in range(ODD))]:
        found = forge(bundle, tmp_path / "f", first + seed, change)
        if found is not None and found.verified:
            assert not false_claims(found, known) or is_told(found, honest), found.what


def test_a_reaction_below_all_sizes_is_refused(made, tmp_path):
    """c = 10⁻³²⁰ holds a mean by 1/c, which is no float: it counted as 10³⁰⁰ before."""
    bundle, _, _ = made("diffusion in a plane, point, exact, continuous")
    forged = Forger(bundle, tmp_path / "f").array("continuous/reaction", lambda a: a + 1e-320).seal()
    good, said, _ = checked(forged)
    assert not good
    assert "too small to be told from none" in said
