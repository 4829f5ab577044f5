"""Triangles about a vertex, in order."""

import numpy as np
import pytest

from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.flux.fans import SLOTS, fans

BOW = Topology([[0.0, 0.0], [1, 1], [1, -1], [-1, 1], [-1, -1]], [[0, 1, 2], [0, 3, 4]])
"""Two triangles that touch in one vertex."""


@pytest.mark.parametrize("topology", [Topology.of(generate("square", 5)), Topology.of(generate("lshape", 4)), BOW])
def test_every_corner_is_in_one_fan_and_neighbours_share_the_edge_between_them(topology):
    found = fans(topology)
    corners = np.concatenate([one.corners.ravel() for one in found])
    assert np.array_equal(np.sort(corners), np.arange(3 * len(topology.cells)))
    edge = topology.cell_facets[:, SLOTS].reshape(-1, 2)
    for one in found:
        vertex = topology.cells.ravel()[one.corners]
        assert np.all(vertex == vertex[:, :1])
        into = np.take_along_axis(edge[one.corners], one.entered[..., None], axis=2)[..., 0]
        from_ = np.take_along_axis(edge[one.corners], 1 - one.entered[..., None], axis=2)[..., 0]
        assert np.array_equal(from_[:, :-1], into[:, 1:])
        if one.closed:
            assert np.array_equal(from_[:, -1], into[:, 0])
        else:
            assert topology.boundary[from_[:, -1]].all()
            assert topology.boundary[into[:, 0]].all()


def test_a_vertex_between_two_parts_has_two_fans():
    assert sum(int(np.sum(BOW.cells.ravel()[one.corners[:, 0]] == 0)) for one in fans(BOW)) == 2
