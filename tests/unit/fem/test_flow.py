"""Flows whose normal component jumps inside the domain are refused: the theorem is not for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh


def layered(axis: int) -> Mesh:
    """The unit square with the groups "a" and "b" on both sides of its middle."""
    square = pp.io.generate("square", 6)
    low = square.points[square.cells].mean(axis=1)[:, axis] < 0.5
    return Mesh(square.points, square.cells, {"a": low, "b": ~low}, square.facet_groups)


def certified(mesh: Mesh, convection: object, **more: object) -> pp.Certificate:
    p = pp.fem.ReactionDiffusion(mesh, 1.0, reaction=2.0, convection=convection, **more)
    return pp.certify(p, p.space.U0, p.points([[0.3, 0.3]]))


def test_a_flow_that_parts_is_refused_on_a_line() -> None:
    line = pp.io.generate("interval", 8)
    left = line.points[line.cells].mean(axis=1)[:, 0] < 0.5
    parted = Mesh(line.points, line.cells, {"a": left, "b": ~left}, line.facet_groups)
    p = pp.fem.ReactionDiffusion(parted, 1.0, convection={"a": [-20.0], "b": [20.0]})
    with pytest.raises(pp.InputError, match=r"convection: its component along the normal jumps .* at \[0\.5\]"):
        pp.certify(p, p.space.U0, p.points([[0.1]]))
    assert pp.certify(p, p.space.U0, p.points([[0.1]]), target="discrete").target == "discrete"


@pytest.mark.parametrize(
    ("axis", "flows", "refused"),
    [
        (1, {"a": ["1", "0"], "b": ["3", "0"]}, False),
        (1, {"a": ["1", "x"], "b": ["3", "x"]}, False),
        (1, {"a": ["1", "x"], "b": ["1", "2*x"]}, True),
        (0, {"a": ["1", "0"], "b": ["3", "0"]}, True),
    ],
)
def test_layers_may_flow_along_each_other(axis: int, flows: dict[str, list[str]], refused: bool) -> None:
    mesh = layered(axis)
    if not refused:
        assert certified(mesh, flows).guarantee == "deterministic"
        return
    with pytest.raises(pp.InputError, match="jumps between two groups"):
        certified(mesh, flows)


def test_flows_through_periodic_pairs_are_numbers() -> None:
    square = pp.io.generate("square", 6)
    sides = {"dirichlet": {"top": 0.0, "bottom": 0.0}, "periodic": {"left": "right"}}
    assert certified(square, ("1", "x*(1-x)"), **sides).guarantee == "deterministic"
    with pytest.raises(pp.InputError, match="may jump at a periodic pair"):
        certified(square, ("1-x", "0"), **sides)


def test_errors_over_the_domain_are_of_the_values_at_the_nodes() -> None:
    p = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), 1.0)

    def off(X: np.ndarray) -> np.ndarray:
        return 1.0 * ((X == 0.0) | (X == 1.0)).any(axis=1)

    for query in (p.everywhere(), p.l2_error(), p.energy_error()):
        with pytest.raises(pp.InputError, match="extraction: query"):
            pp.certify(p, off, query, extraction="l2")
    assert pp.certify(p, off, p.everywhere(), accept=0.5).verdicts[0]["accept"] == "beyond"


def test_what_rounding_takes_of_coercivity_widens_energies() -> None:
    """The field has no divergence, but by rounding: m ≥ −ε counts as a factor, and energies carry it."""
    flow = ("sin(y)*exp(x)", "cos(y)*exp(x)")
    p = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), 1.0, "1+x", convection=flow)
    model = p.continuum(p.topology)
    assert 1.0 < model.growth < 1.0 + 1e-12
    bounds = model.estimator.measure(model.primal(np.zeros(model.size)), [])[0]
    plain = replace(model.estimator, growth=1.0).energy(bounds)
    assert model.estimator.energy(bounds) >= plain * model.growth > plain
    assert replace(model.estimator, growth=2.0).energy(bounds) >= 2.0 * plain
