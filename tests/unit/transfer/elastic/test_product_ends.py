"""The ends of a(e, ε) are reached by errors that the numbers of a cell allow, and every number of a cell counts."""

from dataclasses import replace

import numpy as np
import pytest

from pinnpoint.fem import Elasticity
from pinnpoint.fem.elastic.solids import solid_of
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.topology import Topology
from pinnpoint.taylor.bernstein import Density
from pinnpoint.transfer.elastic.loads import Load
from pinnpoint.transfer.elastic.product import Bounds, Pair, Products, work_of
from pinnpoint.transfer.elastic.strains import Strains
from pinnpoint.transfer.elastic.stress import StressSpace
from pinnpoint.transfer.energy.geometry import Shapes


@pytest.fixture(scope="module")
def products():
    mesh = generate("square", 2)
    solid = solid_of(Elasticity(mesh, 1.0, 0.3, None, {"left": 0.0}), Topology.of(mesh))
    return Products(solid, StressSpace.of(solid.topology, solid.lam, solid.mu))


def side(count, delta, **more):
    """‖δ‖ on the first cell, nothing on the others."""
    none = np.zeros(count)
    parts = {name: none for name in ("square", "size", "fuzz", "rest", "rest_data")}
    parts["square"] = np.where(np.arange(count) == 0, delta**2, 0.0)
    for name, value in more.items():
        parts[name] = np.where(np.arange(count) == 0, value, 0.0)
    return Bounds(**parts, energy=0.0)


def ends(products, p, d, product):
    count = len(products.solid.mu)
    each = np.where(np.arange(count) == 0, product, 0.0)
    low, high, _ = products.product_bound(p, Pair(d, each, 0.0, 0.0, 0.0))
    return low, high


@pytest.mark.parametrize("angle", [1.0, 0.4, 0.0, -0.7, -1.0])
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (3.0, 0.02)])
def test_ends_are_those_of_errors_in_the_directions_of_what_is_left(products, a, b, angle):
    """‖s e ± ε/s‖ ≤ ‖s δ_p ± δ_d/s‖ allow e = δ_p, ε = δ_d, and for each sign what makes the other norm zero."""
    count = len(products.solid.mu)
    low, high = ends(products, side(count, a), side(count, b), angle * a * b)
    assert low <= angle * a * b <= high
    # s = √(b/a): ‖s δ_p ± δ_d/s‖² = 2ab ± 2 angle ab; e and ε with s e = ±ε/s, of half that sum each, reach a quarter
    assert high == pytest.approx(0.5 * a * b * (1.0 + angle), rel=1e-9, abs=1e-9 * a * b)
    assert low == pytest.approx(-0.5 * a * b * (1.0 - angle), rel=1e-9, abs=1e-9 * a * b)
    assert high >= 0.5 * a * b * (1.0 + angle)
    assert low <= -0.5 * a * b * (1.0 - angle)


@pytest.mark.parametrize(("name", "which"), [(n, w) for n in ("rest", "fuzz") for w in ("primal", "dual", "both")])
def test_what_is_not_in_the_stresses_adds_to_their_norms(products, name, which):
    """e = (‖δ_p‖ + o_p) in δ_p's direction and ε likewise: a(e, ε) is the product of the sums."""
    count, more = len(products.solid.mu), {name: 0.5}
    p = side(count, 1.0, **(more if which != "dual" else {}))
    d = side(count, 2.0, **(more if which != "primal" else {}))
    truth = (1.5 if which != "dual" else 1.0) * (2.5 if which != "primal" else 2.0)
    assert ends(products, p, d, 2.0)[1] >= truth
    assert ends(products, p, d, -2.0)[0] <= -truth
    assert products.energy(p) >= (1.5 if which != "dual" else 1.0)


def test_rounding_of_squares_is_counted(products):
    """Squares that cancel to nothing are known to the rounding of their absolute products only."""
    count = len(products.solid.mu)
    p = side(count, 0.0, size=1.0)
    assert products.energy(p) >= np.sqrt(200 * 2.0**-53)
    assert products.lengths(p)[0] >= np.sqrt(200 * 2.0**-53)
    low, high = ends(products, p, side(count, 1.0, size=1.0), 0.0)
    assert min(high, -low) > 0.0


def test_what_is_not_known_of_forces_changes_their_work(products):
    """∫ ε·v of any ε with mean |ε| ≤ error1 is at most that times the largest |v|: attained by constants."""
    solid = products.solid
    shapes = Shapes.of(solid.points, solid.topology.cells)
    v = np.zeros((solid.size, 2))
    v[:, 1] = 3.0
    state = Strains.of(shapes, v[solid.cell_nodes], 1, solid.lam, solid.mu)
    none = Density.constant(np.zeros(len(solid.mu)), 2)
    known = replace(none, error1=np.full(len(solid.mu), 0.25))
    every = slice(0, len(solid.mu))
    assert np.all(work_of(Load((None, known)), state, every)[2] >= 0.75)
    assert np.all(work_of(Load((None, none)), state, every)[2] < 1e-300)
