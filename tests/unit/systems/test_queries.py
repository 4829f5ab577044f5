"""Queries belong to the mesh, and the data, that they were made from."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh

MESH = pp.io.generate("square", 6)


def renumbered(mesh):
    order = np.random.default_rng(0).permutation(len(mesh.points))
    new = np.argsort(order)
    return Mesh(mesh.points[order], new[mesh.cells], {}, {k: new[v] for k, v in mesh.facet_groups.items()})


def scaled(mesh):
    return Mesh(2.0 * mesh.points, mesh.cells, {}, mesh.facet_groups)


def heat(mesh, **data):
    return pp.fem.ReactionDiffusion(mesh, **{"source": "x", **data})


@pytest.mark.parametrize("other", [renumbered, scaled])
@pytest.mark.parametrize("target", ["discrete", "continuous"])
def test_queries_of_another_mesh_with_as_many_nodes_are_refused(other, target):
    problem, foreign = heat(MESH), heat(other(MESH))
    asked = (foreign.points([[0.3, 0.5]]), foreign.patch("right"), foreign.gradients([[0.3, 0.5]], "x"))
    for queries in asked:
        with pytest.raises(pp.InputError, match="queries: were made by a problem with another mesh; ask this very"):
            pp.certify(problem, problem.space.U0, queries, target=target)


def test_queries_of_two_meshes_cannot_be_joined():
    with pytest.raises(pp.InputError, match=r"queries: cannot be joined, .* differ in their mesh"):
        heat(MESH).points([[0.3, 0.5]]) + heat(renumbered(MESH)).points([[0.3, 0.5]], names=["b"])


def test_a_patch_of_a_group_with_other_facets_is_refused():
    swapped = Mesh(MESH.points, MESH.cells, {}, {"right": MESH.facets("left"), "left": MESH.facets("right")})
    problem = heat(MESH)
    with pytest.raises(pp.InputError, match="another group 'right'"):
        pp.certify(problem, problem.space.U0, heat(swapped).patch("right"))


def test_fluxes_of_other_data_and_stresses_of_another_material_are_refused():
    problem = heat(MESH)
    for other, what in ((heat(MESH, source=2.0), "load"), (heat(MESH, diffusion=3.0), "matrix")):
        with pytest.raises(pp.InputError, match=f"another {what}"):
            pp.certify(problem, problem.space.U0, other.flux("left"), target="discrete")
    bodies = [pp.fem.Elasticity(MESH, young, 0.3, (0.0, 1.0), {"left": 0.0}) for young in (1.0, 2.0)]
    with pytest.raises(pp.InputError, match="another matrix"):
        pp.certify(bodies[0], bodies[0].space.U0, bodies[1].stresses([[0.5, 0.5]], "x", "x"), target="discrete")


def test_queries_serve_copies_and_problems_with_other_data_on_an_equal_mesh():
    problem = heat(MESH)
    again = heat(Mesh(MESH.points.copy(), MESH.cells.copy(), {}, MESH.facet_groups), source=2.0)
    asked = problem.points([[0.3, 0.5]]) + problem.patch("right")
    for queries in (asked, copy.deepcopy(asked), pickle.loads(pickle.dumps(asked))):
        for other in (problem, copy.copy(problem), pickle.loads(pickle.dumps(problem)), again):
            pp.certify(other, other.space.U0, queries, target="discrete")


def test_queries_serve_lifts_and_fluxes_of_the_problem_itself():
    problem = heat(MESH, dirichlet={"left": 0.0})
    pp.certify(problem, "x*(2-x)", problem.points([[0.3, 0.5]]) + problem.patch("right"), lift=True)
    pp.certify(problem, problem.space.U0, problem.points([[0.3, 0.5]]) + problem.flux("left"))


def test_prepared_systems_refuse_queries_of_another_mesh():
    problem, other = heat(MESH), heat(renumbered(MESH))
    pp.Exact().prepare(problem.system, heat(MESH, source=3.0).points([[0.3, 0.5]]))
    pp.Exact().prepare(problem.system, pp.Queries(other.points([[0.3, 0.5]]).L))  # rows of one's own are one's own
    body = pp.fem.Elasticity(MESH, 1.0, 0.3, fixed={"left": 0.0})
    pushed = body.under(np.ones((len(MESH.points), 2)))
    for method in (pp.Exact(), pp.Norm()):
        with pytest.raises(pp.InputError, match="queries: were made on another mesh than the system"):
            method.prepare(problem.system, other.points([[0.3, 0.5]]))
    foreign = pp.fem.Elasticity(renumbered(MESH), 1.0, 0.3, fixed={"left": 0.0}).points([[0.3, 0.5]], "x")
    with pytest.raises(pp.InputError, match="queries: were made on another mesh"):
        pp.Exact().prepare(pushed.system, foreign)
