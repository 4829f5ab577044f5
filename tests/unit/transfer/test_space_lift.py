"""Dirichlet data lifted in space: norms by quadrature, both intervals, free facets beside them, and the checker."""

from __future__ import annotations

import json
import shutil
from itertools import combinations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.transfer.boundary import space_lift
from pinnpoint.transfer.boundary.lift_modes import powers_of
from pinnpoint.transfer.boundary.space_lift import EDGE, SpaceLift
from pinnpoint.transfer.energy.estimator import Side
from pinnpoint_verify import raised_space
from pinnpoint_verify.claims import main as verify
from tests.support.boundaries import linear_boundary
from tests.unit.transfer.test_data_lift import change

G = "exp(x)*sin(2*y + 0.3)*cos(z)"
NEUMANN = {"bottom": "-2*exp(x)*cos(2*y + 0.3)*cos(z)", "back": "-exp(x)*sin(2*y + 0.3)*sin(z)"}
MEAN = (np.e - 1.0) * np.sin(1.0) * (np.cos(0.3) - np.cos(2.3)) / 2.0
ROBIN = {"top": (2.0, f"2*exp(x)*cos(2*y + 0.3)*cos(z) + 2*{G}")}


def value(X):
    return np.exp(X[:, 0]) * np.sin(2.0 * X[:, 1] + 0.3) * np.cos(X[:, 2])


def problem(n=2, degree=2, *, mixed=False, **more):
    given = {"dirichlet": {"boundary": G}}
    if mixed:
        given = {"dirichlet": dict.fromkeys(("left", "right"), G), "neumann": NEUMANN, "robin": ROBIN}
    return pp.fem.ReactionDiffusion(pp.io.generate("cube", n), f"4*{G}", degree=degree, **{**given, **more})


def lift_of(p):
    return SpaceLift.of(p.transfer(p.mean()).model, p.space.U0)


def raised(lift, model, cell, bary):
    """E at barycentric points of a cell, mode by mode."""
    T = model.topology.cells[cell]
    edges = {tuple(e): c for e, c in zip(lift.edges.tolist(), lift.edge_modes, strict=True)}
    faces = {tuple(f): c for f, c in zip(model.topology.facets[lift.facets].tolist(), lift.face_modes, strict=True)}
    found = np.zeros(len(bary))
    for table, size in ((edges, 2), (faces, 3)):
        for at in combinations(range(4), size):
            c = table.get(tuple(T[list(at)].tolist()))
            if c is not None:
                base = bary[:, at].prod(axis=1)
                for value_, powers in zip(c, powers_of(size), strict=True):
                    tilt = [(bary[:, b] - bary[:, at[0]]) ** p for b, p in zip(at[1:], powers, strict=True)]
                    found += value_ * base * np.prod(tilt, axis=0)
    return found


def rule(n=9):
    """Points and weights on the reference tetrahedron, exact for degree 14 and more."""
    x, w = np.polynomial.legendre.leggauss(n)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    a, b, c = np.meshgrid(x, x, x, indexing="ij")
    weight = w[:, None, None] * w[None, :, None] * w[None, None, :] * a**2 * b
    bary = np.stack([1.0 - a, a * (1.0 - b), a * b * (1.0 - c), a * b * c], axis=-1).reshape(-1, 4)
    return bary, 6.0 * weight.ravel()


def test_norms_are_those_by_quadrature_and_e_is_continuous():
    p = problem(1, mixed=True, reaction=3.0)
    lift, model = lift_of(p), p.transfer(p.mean()).model
    bary, weights = rule()
    for cell, T in enumerate(model.topology.cells):
        V = model.points[T]
        volume = abs(np.linalg.det(V[1:] - V[0])) / 6.0
        slopes = np.linalg.inv((V[1:] - V[0]).T)
        slopes = np.concatenate([-slopes.sum(axis=0)[None], slopes])
        h = 1e-5
        by_lambda = [
            (raised(lift, model, cell, bary + h * e) - raised(lift, model, cell, bary - h * e)) / (2.0 * h)
            for e in np.eye(4)
        ]
        gradient = np.stack(by_lambda, axis=1) @ slopes
        size = np.sqrt(volume * weights @ raised(lift, model, cell, bary) ** 2)
        steep = np.sqrt(volume * weights @ (gradient**2).sum(axis=1))
        assert size <= lift.size[cell] * (1.0 + 1e-9) <= size * (1.0 + 1e-6) + 1e-12
        assert steep <= lift.gradient[cell] * (1.0 + 1e-7) <= steep * (1.0 + 1e-5) + 1e-9
        assert lift.energy[cell] >= lift.gradient[cell] + np.sqrt(3.0) * lift.size[cell] * (1.0 - 1e-12)
    inside = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    for facet, (one, two) in zip(model.topology.facets, model.topology.facet_cells, strict=True):
        found = []
        for cell in (one, two):
            if cell >= 0:
                at = np.zeros((2, 4))
                at[:, np.searchsorted(model.topology.cells[cell], facet)] = inside
                found.append(raised(lift, model, cell, at))
        assert len(found) == 1 or np.allclose(found[0], found[1], atol=1e-14)


def test_e_is_what_the_state_misses_on_given_facets_up_to_its_bound():
    p = problem(2)
    lift, model = lift_of(p), p.transfer(p.mean()).model
    rng = np.random.default_rng(3)
    bary = rng.dirichlet(np.ones(3), 40)
    for facet in lift.facets[::5]:
        T = model.topology.facets[facet]
        cell = model.topology.facet_cells[facet, 0]
        at = np.zeros((40, 4))
        at[:, np.searchsorted(model.topology.cells[cell], T)] = bary
        w = p.space.U0[model.nodes_of(T[None])[0]]
        own = bary**2 @ w[:3] * 2.0 - bary @ w[:3]
        for k, (a, b) in enumerate(combinations(range(3), 2)):
            own += 4.0 * w[3 + k] * bary[:, a] * bary[:, b]
        gap = np.abs(value(bary @ model.points[T]) - own - raised(lift, model, cell, at))
        assert gap.max() <= lift.ends
    assert lift.ends < 1e-2 * p.transfer(p.mean()).model.mismatch(p.space.U0)[0]


@pytest.mark.parametrize("mixed", [False, True])
def test_the_smaller_of_two_complete_intervals_is_issued(mixed, monkeypatch):
    p = problem(3, mixed=mixed)
    lifted = pp.certify(p, p.space.U0, p.mean())
    monkeypatch.setattr(SpaceLift, "of", classmethod(lambda cls, *given: None))
    plain = pp.certify(p, p.space.U0, p.mean())
    assert lifted.contains([MEAN]).all()
    assert plain.contains([MEAN]).all()
    assert (lifted.terms["boundary"] < plain.terms["boundary"] / 10.0).all()
    assert (lifted.radius < plain.radius / 3.0).all()
    assert any("lifted" in claim.claim for claim in lifted.assumptions)


def test_data_that_are_missed_by_far_need_the_facet_integral(monkeypatch):
    linear_boundary(monkeypatch)
    p = problem(3)
    whole = pp.certify(p, p.space.U0, p.mean())
    assert whole.contains([MEAN]).all()
    assert any("lifted" in claim.claim for claim in whole.assumptions)
    monkeypatch.setattr(SpaceLift, "across", lambda self, model, dual: (0.0, 0.0))
    assert not pp.certify(p, p.space.U0, p.mean()).contains([MEAN]).all()


def test_two_formulas_that_agree_on_their_edges_are_lifted_together():
    """Groups with other formulas: u = x(1 − x) y sin z is zero on four sides."""
    u = "x*(1 - x)*y*sin(z)"
    p = pp.fem.ReactionDiffusion(
        pp.io.generate("cube", 3),
        f"2*y*sin(z) + {u}",
        dirichlet={"boundary": 0.0, "top": "x*(1 - x)*sin(z)", "back": "x*(1 - x)*y*sin(1)"},
        degree=2,
    )
    lift = lift_of(p)
    assert lift.ends < 1e-6
    X = np.array([[0.5, 0.5, 0.45]])
    c = pp.certify(p, p.space.U0, p.points(X))
    assert c.contains(X[:, 0] * (1.0 - X[:, 0]) * X[:, 1] * np.sin(X[:, 2])).all()


def test_free_facets_beside_given_ones_are_counted():
    """∫ (g_d − αz_h − τ·n) E by quadrature is below its bound, and the Robin part of the energy is in e_K."""
    p = problem(2, mixed=True)
    queries = p.patch("top")
    route = p.transfer(queries)
    model, lift = route.model, lift_of(p)
    facets, top = lift.open
    assert len(facets)
    x, w = np.polynomial.legendre.leggauss(12)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    a, b = (v.ravel() for v in np.meshgrid(x, x, indexing="ij"))
    weights = 2.0 * (w[:, None] * w[None, :]).ravel() * a
    bary = np.stack([1.0 - a, a * (1.0 - b), a * b], axis=1)
    rng = np.random.default_rng(5)
    load = route.goals[0].load
    flux = np.where(np.isin(np.arange(len(model.topology.facets)), load.facets)[:, None], rng.normal(size=3), 0.0)
    nodal = rng.normal(size=model.size) * (rng.uniform(size=model.size) < 0.5)
    wanted = model.wanted(nodal, load)
    dual = Side(nodal, route.dual_source(0), flux, load, None, True, wanted)
    total, alpha, more = 0.0, model.exchange, np.zeros(len(model.topology.cells))
    for facet, most in zip(facets, top, strict=True):
        T, cell = model.topology.facets[facet], model.topology.facet_cells[facet, 0]
        at = np.zeros((len(bary), 4))
        at[:, np.searchsorted(model.topology.cells[cell], T)] = bary
        E = raised(lift, model, cell, at)
        assert np.abs(E).max() <= most
        V = model.points[T]
        area = 0.5 * np.linalg.norm(np.cross(V[1] - V[0], V[2] - V[0]))
        if facet in alpha.facets:
            more[cell] += np.sqrt(2.0 * area * weights @ E**2)
        if facet in wanted.facets:
            beta = wanted.density.coefficients[np.searchsorted(wanted.facets, facet)]
            basis = np.stack(
                [bary[:, j] * bary[:, k] * (2.0 - (j == k)) for j in range(3) for k in range(j, 3)], axis=1
            )
            gap = basis @ beta - bary @ flux[facet] / area
            total += area * weights @ (gap * E)
    bound = lift._beside(model, dual)
    assert 0.0 < abs(total) <= bound
    plain = lift.gradient + np.sqrt(model.reaction.max()) * lift.size
    assert (lift.energy >= (plain + more) * (1.0 - 1e-9)).all()
    assert more.any()


def test_fluxes_need_no_data_that_the_elements_meet():
    """Through the whole cube: minus the integral of the source."""
    p = problem(3)
    c = pp.certify(p, p.space.U0, p.flux("boundary"))
    assert c.contains([-4.0 * MEAN]).all()
    assert c.radius[0] < 0.1


def test_what_is_left_of_the_data_changes_fluxes_by_less_than_its_bound():
    """w = ϱx has the flux ϱ through the right side: a(w, z_h) for any z_h that is one there and zero on the left."""
    p = pp.fem.ReactionDiffusion(
        pp.io.generate("cube", 2), 0.0, degree=2, dirichlet=dict.fromkeys(("left", "right"), "0.2*sin(4*y)")
    )
    route = p.transfer(p.flux("right"))
    lift, model = lift_of(p), route.model
    X = p.nodes.points
    rough = np.where(X[:, 0] == 1.0, 1.0, 0.0)
    bound = lift.through(model, rough)
    assert bound >= lift.ends * 1.0  # |∂_x w| = ϱ over the unit square
    assert lift.through(model, 2.0 * rough) >= 1.9 * bound


def test_bundles_verify_and_forged_ones_do_not(tmp_path, capsys, monkeypatch):
    linear_boundary(monkeypatch)
    p = problem(2, mixed=True)
    queries = p.mean() + p.patch("top") + p.flux("left")
    c = pp.certify(p, p.space.U0, queries)
    folder = pp.write_bundle(tmp_path / "b", c, p, p.space.U0, queries)
    assert verify(str(folder)) == 0, capsys.readouterr().out
    proof = json.loads((folder / "proof.json").read_text())
    assert any(goal["raised"] for goal in proof["goals"])
    capsys.readouterr()
    _same_in_both_programs(folder, proof, p, queries)
    for name in ("edges", "faces"):
        forged = shutil.copytree(folder, tmp_path / name)
        change(forged, f"raised/{name}", lambda a: 0.5 * a)
        assert verify(str(forged)) == 1
        assert "Dirichlet data (sampled)" in capsys.readouterr().out


def test_kept_predictions_that_miss_the_data_are_lifted_and_verify(tmp_path, capsys):
    p, kept = problem(2), f"{G} + 0.1*sin(5*x)*cos(4*y + z)"
    c = pp.certify(p, kept, p.mean(), lift=True)
    assert c.contains([MEAN]).all()
    assert any("lifted into the cells" in claim.claim for claim in c.assumptions)
    folder = pp.write_bundle(tmp_path / "b", c, p, kept, p.mean())
    assert verify(str(folder)) == 0, capsys.readouterr().out
    change(folder, "raised/faces", lambda a: 0.5 * a)
    assert verify(str(folder)) == 1


def test_data_on_a_sphere_are_lifted_and_verify(tmp_path, capsys):
    """A cube under a part of a sphere: what the state misses on the sphere itself is lifted into bent cells."""
    cube = pp.io.generate("cube", 2)
    x, y, z = cube.points.T
    top = np.sqrt(4.0 - (x - 0.5) ** 2 - (y - 0.5) ** 2) - 1.0
    mesh = Mesh(np.stack([x, y, z * top], axis=1), cube.cells, {}, {"lid": cube.facets("back")})
    p = pp.fem.ReactionDiffusion(
        mesh, f"4*{G}", degree=2, dirichlet={"boundary": G}, geometry={"lid": pp.Sphere((0.5, 0.5, -1.0), 2.0)}
    )
    c = pp.certify(p, p.space.U0, p.mean())
    missed = next(claim.claim for claim in c.assumptions if claim.claim.startswith("Dirichlet data met to"))
    assert c.terms["boundary"][0] < 0.2 * float(missed.split()[4].rstrip(";"))
    t, w = np.polynomial.legendre.leggauss(20)
    X, Y = np.meshgrid(0.5 * (t + 1.0), 0.5 * (t + 1.0), indexing="ij")
    height = np.sqrt(4.0 - (X - 0.5) ** 2 - (Y - 0.5) ** 2) - 1.0
    weights = 0.25 * np.outer(w, w)
    whole = (weights * np.exp(X) * np.sin(2.0 * Y + 0.3) * np.sin(height)).sum() / (weights * height).sum()
    assert c.contains([whole]).all()
    folder = pp.write_bundle(tmp_path / "b", c, p, p.space.U0, p.mean())
    assert verify(str(folder)) == 0, capsys.readouterr().out
    assert json.loads((folder / "proof.json").read_text())["goals"][0]["raised"]


def _same_in_both_programs(folder, proof, p, queries):
    """What each program makes of the same floats: norms, energies, |E| beside Γ_D, facet integrals, fluxes."""
    from pinnpoint_verify import checker
    from pinnpoint_verify.raised_space import RaisedSpace

    bundle = checker.Bundle(folder)
    mesh = checker.Mesh(bundle, 2)
    side = checker.Side(bundle, mesh, "continuous/state", "source/f", "source/g", "continuous/flux")
    theirs = RaisedSpace(bundle, side, proof["raised"])
    route = p.transfer(queries)
    model = route.model
    mine = SpaceLift.of(model, np.load(folder / "continuous" / "state.npy"))
    for name in ("gradient", "size", "energy"):
        assert np.allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-9, atol=1e-14), name
    assert np.allclose(mine.open[1], theirs.beside[mine.open[0]], rtol=1e-12)
    for i in range(len(queries)):
        query = checker.Query(bundle, side, i, proof["goals"][i]["kind"] == "flux")
        z, t = (np.load(folder / "dual" / f"{name}{i}.npy") for name in "zt")
        load = route.goals[i].load
        dual = Side(z, route.dual_source(i), t, load, None, True, model.wanted(z, load))
        value, _ = mine.across(model, dual)
        tau = np.broadcast_to(t[theirs.at], (len(theirs.at), 3)) * mesh.sign[theirs.cell, theirs.local][:, None]
        b = checker.mix("nm,ma->na", theirs.own, raised_space.coefficients(2))
        known = checker.mix("nj,ja,na->n", tau, raised_space.against(2, 1, 6)[::-1], b).total()
        assert np.isclose(value, known.m, rtol=1e-9, atol=1e-14)
        assert np.isclose(mine._beside(model, dual), theirs._free(query.z), rtol=1e-6, atol=1e-14)
        assert np.isclose(mine.through(model, z), theirs.through(query), rtol=1e-6)


def test_two_programs_have_the_same_norms():
    from pinnpoint_verify.checker import Shape

    V = np.array([[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.2, 0.9, 0.1], [0.1, 0.3, 0.8]])
    v = np.random.default_rng(1).normal(size=(4, 6 * EDGE + 4 * space_lift.FACE))
    mine = space_lift._norms(space_lift.Shapes.of(V, np.arange(4)[None].repeat(4, axis=0)), v)
    theirs = raised_space._norms(Shape(np.repeat(V[None], 4, axis=0)), v)
    assert np.allclose(mine, theirs, rtol=1e-10)


def test_a_tetrahedron_without_given_edges_has_no_lift():
    mesh = Mesh(
        [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]],
        [[0, 1, 2, 3], [1, 2, 3, 4]],
        {},
        {"base": [[0, 1, 2]]},
    )
    p = pp.fem.ReactionDiffusion(mesh, 1.0, dirichlet={"base": "sin(3*x + y)"})
    lift = lift_of(p)
    assert lift.energy[0] > 0.0
    assert len(lift.open[0]) == 3  # two facets of the first cell, one of the second share edges with the base
