"""Points: outside is outside, however near; on the boundary is inside, for whoever rounded his coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint import fem
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh

KINDS = ("interval", "square", "cube")
MESHES = {kind: generate(kind, 4) for kind in KINDS}


def moved(mesh: Mesh, size: float, offset: float) -> Mesh:
    return Mesh(size * mesh.points + offset, mesh.cells)


@pytest.mark.parametrize("target", ["discrete", "continuous"])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", KINDS)
def test_a_point_just_outside_is_said_to_be_outside(kind, size, target):
    mesh = moved(MESHES[kind], size, 0.0)
    made = fem.ReactionDiffusion(mesh)
    for axis in range(mesh.dim):
        for level in (-1e-11, 1.0 + 1e-11, 1.0 + 1e-13):
            x = np.full(mesh.dim, 0.37)
            x[axis] = level
            with pytest.raises(pp.InputError, match=r"outside the mesh, which spans .*, by \d"):
                pp.certify(made, made.space.U0, made.points([size * x]), target=target)


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("kind", ["square", "cube"])
def test_points_on_slanted_boundaries_are_found(kind, offset):
    """Rounded coordinates of points on facets, half of which lie outside by a unit in the last place."""
    mesh = MESHES[kind]
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(mesh.dim, mesh.dim)))[0]
    mesh = Mesh(mesh.points @ turn + offset, mesh.cells)
    facets = mesh.points[mesh.boundary]
    bary = rng.dirichlet(np.ones(mesh.dim), len(facets))
    X = np.einsum("fi,fid->fd", bary, facets)
    found = fem.ReactionDiffusion(mesh).points(X)
    assert np.abs(found.L @ mesh.points - X).max() < 1e-12 * (1.0 + offset)


def test_a_point_outside_by_rounding_has_no_value_of_the_pde():
    """Its ball is not in the domain: the continuous target refuses it, the discrete one interpolates."""
    mesh = moved(MESHES["square"], 1.0, 1e6)
    made = fem.ReactionDiffusion(mesh, source=1.0)
    queries = made.points([[1e6 + 0.4, np.nextafter(1e6 + 1.0, np.inf)]])
    assert abs(pp.certify(made, made.space.U0, queries, target="discrete").center[0]) < 1e-6
    with pytest.raises(pp.InputError, match="outside the domain by the rounding of its coordinates"):
        pp.certify(made, made.space.U0, queries)


def test_an_unbounded_interval_is_not_called_deterministic():
    def made(radius):
        given = dict.fromkeys(("value", "center"), np.zeros(len(radius)))
        names = tuple(f"q{i}" for i in range(len(radius)))
        return pp.Certificate(
            names=names,
            radius=np.array(radius),
            terms={"transfer": np.array(radius)},
            radius_terms=("transfer",),
            guarantee=pp.Guarantee.DETERMINISTIC,
            method="exact",
            **given,
        )

    mixed, endless, bounded = made([1.0, np.inf]), made([np.inf]), made([1.0])
    assert mixed.guarantees == ("deterministic", "estimate")
    assert [row["guarantee"] for row in mixed.to_dict()["queries"]] == ["deterministic", "estimate"]
    assert "deterministic where bounded" in str(mixed)
    assert endless.guarantee == "estimate"
    assert "deterministic" not in str(endless)
    assert bounded.guarantee == "deterministic"
    assert list(mixed.to_frame()["guarantee"]) == ["deterministic", "estimate"]
