"""Tables of certificates and meshes are as they were made, and survive copies and pickles."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import pinnpoint as pp

MESH = pp.io.generate("square", 3)
PROBLEM = pp.fem.ReactionDiffusion(MESH, source=1.0)
CERTIFICATE = pp.certify(PROBLEM, PROBLEM.space.U0, PROBLEM.points([[0.4, 0.5]]))
TABLES = {
    "terms": CERTIFICATE.terms,
    "details": CERTIFICATE.details,
    "facet groups": MESH.facet_groups,
    "cell groups": MESH.cell_groups,
    "groups of a refined mesh": pp.io.generate("lshape", 2).facet_groups,
}
WRITES = {
    "an entry": lambda t: t.__setitem__("new", 1),
    "no entry": lambda t: t.__delitem__("left"),
    "update": lambda t: t.update(a=1),
    "or": lambda t: t.__ior__({"a": 1}),
    "default": lambda t: t.setdefault("a", 1),
    "pop": lambda t: t.pop("left", None),
    "clear": lambda t: t.clear(),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", TABLES)
def test_nobody_writes_into_the_tables_of_certificates_and_meshes(name, write):
    before = dict(TABLES[name])
    with pytest.raises(TypeError, match="cannot be written into"):
        WRITES[write](TABLES[name])
    assert dict(TABLES[name]) == before


def test_they_are_copied_and_pickled_with_their_owners():
    for again in (copy.copy(CERTIFICATE), copy.deepcopy(CERTIFICATE), pickle.loads(pickle.dumps(CERTIFICATE))):
        assert np.array_equal(again.lower, CERTIFICATE.lower)
        assert list(again.terms) == list(CERTIFICATE.terms)
    for mesh in (copy.deepcopy(MESH), pickle.loads(pickle.dumps(MESH))):
        assert np.array_equal(mesh.facets("left"), MESH.facets("left"))
