"""Standard domains: right sizes, right sides, conforming."""

from __future__ import annotations

import numpy as np
import pytest

from pinnpoint.base.errors import InputError
from pinnpoint.mesh.domains import generate

MEASURE = {
    "interval": (1.0, 2.0),
    "square": (1.0, 4.0),
    "cube": (1.0, 6.0),
    "lshape": (3.0, 8.0),
    "dumbbell": (2.25, 9.5),
    "frame": (3.0, 12.0),
    "fichera": (7.0, 24.0),
}
PER_CELL = {"interval": 1, "square": 2, "cube": 6}


@pytest.mark.parametrize("cells", [1, 2, 3, 8, 10])
@pytest.mark.parametrize("kind", MEASURE)
def test_sizes_and_sides(kind, cells):
    mesh = generate(kind, cells)
    volume, surface = MEASURE[kind]
    assert mesh.volumes.sum() == pytest.approx(volume)
    assert mesh.facet_measures(mesh.boundary).sum() == pytest.approx(surface)
    assert np.all(np.linalg.det(mesh.edges_of_cells) > 0)
    if kind in PER_CELL:
        assert len(mesh.cells) == PER_CELL[kind] * cells**mesh.dim
        assert len(mesh.points) == (cells + 1) ** mesh.dim
        assert sum(map(len, mesh.facet_groups.values())) == len(mesh.boundary)
    for axis, names in enumerate((("left", "right"), ("bottom", "top"), ("front", "back"))[: mesh.dim]):
        for name, value in zip(names, (mesh.points[:, axis].min(), mesh.points[:, axis].max()), strict=True):
            assert np.all(mesh.points[mesh.facets(name)][..., axis] == value)
            assert len(mesh.facets(name))


def test_inner_walls_have_groups_of_their_own():
    lshape, dumbbell = generate("lshape", 4), generate("dumbbell", 8)
    assert lshape.facet_measures(lshape.facets("reentrant")).sum() == pytest.approx(2.0)
    assert dumbbell.facet_measures(dumbbell.facets("bridge")).sum() == pytest.approx(2.0)
    assert sum(map(len, lshape.facet_groups.values())) == len(lshape.boundary)
    frame, fichera = generate("frame", 4), generate("fichera", 2)
    assert frame.facet_measures(frame.facets("hole")).sum() == pytest.approx(4.0)
    assert fichera.facet_measures(fichera.facets("reentrant")).sum() == pytest.approx(3.0)
    assert not np.any(np.all(fichera.points > 0.0, axis=1))
    for mesh in (frame, fichera):
        assert sum(map(len, mesh.facet_groups.values())) == len(mesh.boundary)
    inside = dumbbell.points[(dumbbell.points[:, 0] > 1) & (dumbbell.points[:, 0] < 2)]
    assert inside[:, 1].min() == 3 / 8
    assert inside[:, 1].max() == 5 / 8


@pytest.mark.parametrize(
    ("kind", "cells", "words"),
    [
        ("sqare", 4, "did you mean 'square'"),
        ("sphere", 4, "known: interval, square"),
        (None, 4, "unknown domain None"),
        ("square", 0, "between 1 and"),
        ("square", -3, "between 1 and"),
        ("cube", 10**6, "between 1 and 149 for 'cube'"),
        ("square", 2.5, "whole number"),
        ("square", "8", "whole number"),
        ("square", True, "whole number"),
    ],
)
def test_bad_domains_and_sizes_are_refused(kind, cells, words):
    with pytest.raises(InputError, match=words):
        generate(kind, cells)
