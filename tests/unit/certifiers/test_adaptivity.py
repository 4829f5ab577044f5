"""Refinement to a tolerance: it ends below it, within few unknowns, on any start mesh, and says so when it cannot."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla
import skfem

import pinnpoint as pp
from pinnpoint.certifiers.tolerance import Step
from pinnpoint.cli.main import main
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.refine import Refiner

FRAME = 0.0334473  # −Δu = 1 on (−1,1)² without [−½,½]², at (¾,¾), to 1e-7
CUBE = 0.0562128298294354


def poisson(name: str, cells: int, degree: int, **more) -> pp.fem.ReactionDiffusion:
    return pp.fem.ReactionDiffusion(generate(name, cells), source=1.0, degree=degree, **more)


def unknowns(found: pp.Refined, radius: float) -> int:
    return next(step.dofs for step in found.history if step.radius[0] <= radius)


@pytest.mark.slow
def test_reentrant_corners_are_found():
    problem = poisson("frame", 4, 2)
    found = pp.certify_to(problem, problem.space.U0, problem.points([[0.75, 0.75]]), 1e-6)
    assert found.reached
    assert not found.stopped
    assert unknowns(found, 1e-4) <= 1200
    assert unknowns(found, 1e-6) <= 11_000
    assert abs(found.certificate.center[0] - FRAME) <= found.certificate.radius[0] + 1e-7
    volumes = found.problem.mesh.volumes
    middles = found.problem.mesh.points[found.problem.mesh.cells].mean(axis=1)
    near = np.linalg.norm(np.abs(middles) - 0.5, axis=1) < 0.05
    assert volumes[near].min() < 1e-3 * volumes[~near].max()  # graded where the solution is not smooth
    uniform = poisson("frame", 32, 2)
    plain = pp.certify(uniform, uniform.space.U0, uniform.points([[0.75, 0.75]]))
    assert plain.radius[0] > 3.0 * found.certificate.radius[0]
    assert uniform.system.n > found.history[-1].dofs


@pytest.mark.slow
def test_a_tolerance_is_reached_in_three_dimensions():
    problem = poisson("cube", 3, 2)
    found = pp.certify_to(problem, problem.space.U0, problem.points([[0.5, 0.5, 0.5]]), 5e-5, theta=0.4)
    assert found.reached
    assert found.history[-1].dofs < 4000
    assert found.certificate.contains(CUBE).all()


def test_one_dimension_and_many_queries():
    layers = np.array([1.0] * 4 + [100.0] * 4)
    problem = pp.fem.ReactionDiffusion(
        generate("interval", 8), source="exp(3*x)", diffusion=layers, reaction=2.0, dirichlet={"left": 1.0}
    )
    asked = problem.points([[0.1], [0.3], [0.77]], names=["a", "b", "c"]) + problem.patch("right", name="end")
    limit = [1e-4, np.inf, 1e-5, 1e-4]
    found = pp.certify_to(problem, lambda X: np.ones(len(X)), asked, limit)
    assert found.reached
    assert np.all(found.certificate.radius <= limit)
    assert found.certificate.names == ("a", "b", "c", "end")
    assert found.problem.diffusion.min() == 1.0
    assert found.problem.mesh.points[found.problem.mesh.cells[found.problem.diffusion == 100.0]].min() == 0.5
    fine = pp.fem.ReactionDiffusion(
        generate("interval", 4000),
        source="exp(3*x)",
        diffusion=np.repeat([1.0, 100.0], 2000),
        reaction=2.0,
        dirichlet={"left": 1.0},
        degree=2,
    )
    truth = pp.certify(fine, fine.space.U0, fine.ask(asked.goals, asked.names))
    assert np.all(np.abs(truth.center - found.certificate.center) <= truth.radius + found.certificate.radius)


def test_boundary_data_are_refined_too():
    harmonic = "exp(3*x)*sin(3*y)"
    problem = pp.fem.ReactionDiffusion(generate("square", 4), dirichlet={"boundary": harmonic}, degree=2)
    found = pp.certify_to(problem, problem.space.U0, problem.points([[0.4, 0.6]]), 1e-3)
    assert found.reached
    assert found.certificate.terms["boundary"][0] > 0.0
    assert found.certificate.contains(np.exp(1.2) * np.sin(1.8)).all()


def test_groups_and_predictions_are_carried_along():
    problem = pp.fem.ReactionDiffusion(
        generate("square", 4), source=1.0, dirichlet={"left": 0.0}, neumann={"right": 0.5}, reaction=1.0
    )
    U = problem.space.project(problem.mesh.points[:, 0] * 0.3).U
    asked = problem.patch("right") + problem.flux("left") + problem.averages([[0.5, 0.5]], 0.2, names=["ball"])
    found = pp.certify_to(problem, U, asked, 2e-3)
    assert found.reached
    assert len(found.history) > 1
    assert set(found.problem.mesh.facet_groups) == set(problem.mesh.facet_groups)
    assert found.certificate.value[0] == pytest.approx(0.3, abs=1e-12)  # the same function on the finer mesh
    assert found.certificate.value[2] == pytest.approx(0.15, abs=1e-12)
    # one-dimensional: −u″ + u = 1, u(0) = 0, u′(1) = ½
    slope = (0.5 + np.sinh(1.0)) / np.cosh(1.0)
    value = 1.0 - np.cosh(1.0) + slope * np.sinh(1.0)
    assert found.certificate.contains([value, -slope, found.certificate.center[2]]).all()


def test_limits_are_kept_and_said():
    problem = poisson("square", 4, 1)
    steps: list[Step] = []
    found = pp.certify_to(
        problem, problem.space.U0, problem.points([[0.3, 0.4]]), 1e-9, max_dofs=500, report=steps.append
    )
    assert not found.reached
    assert "max_dofs = 500" in found.stopped
    assert found.problem.system.n <= 500
    assert found.certificate.radius[0] == min(s.radius[0] for s in steps)
    assert np.isfinite(steps[-1].expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": -1.0}, "tolerance: entries must be > 0"),
        ({"tolerance": [1.0, 2.0]}, "tolerance: must be one number or 1, one per query"),
        ({"tolerance": None}, "tolerance: is missing"),
        ({"tolerance": "1e-3"}, "tolerance: must hold real numbers"),
        ({"tolerance": True}, "tolerance: must hold numbers; got True"),
        ({"tolerance": 1.0, "theta": 0.0}, "theta: must lie between 0 and 1"),
        ({"tolerance": 1.0, "max_dofs": 0}, "max_dofs"),
    ],
)
def test_bad_options_of_certify_to_are_refused(options, message):
    problem = poisson("square", 4, 1)
    with pytest.raises(pp.InputError, match=message):
        pp.certify_to(problem, problem.space.U0, problem.points([[0.3, 0.4]]), **options)
    space = pp.fem.Elasticity(problem.mesh, 1.0, 0.3, fixed={"boundary": 0.0}).space
    plate = pp.fem.Elasticity(problem.mesh, 1.0, 0.3, space=space)
    with pytest.raises(pp.InputError, match="supports at nodes"):
        pp.certify_to(plate, plate.space.U0, plate.points([[0.3, 0.4]], "x"), 1.0)
    with pytest.raises(pp.InputError, match="no refinement"):
        pp.certify_to(problem.system, problem.space.U0, problem.points([[0.3, 0.4]]), 1.0)


@pytest.mark.parametrize("degree", [1, 2])
def test_solids_are_refined_with_their_nodal_values(degree):
    """A displacement at nodes is carried along; derived quantities stay with their components."""
    mesh = generate("square", 3)
    plate = pp.fem.Elasticity(mesh, 1.0, 0.3, fixed={"left": 0.0}, traction={"right": [0.0, 0.1]}, degree=degree)
    asked = plate.magnitude([[0.6, 0.4]], ["u"]) + plate.mean("y")
    found = pp.certify_to(plate, np.zeros((len(plate.nodes), 2)), asked, 0.005 if degree == 2 else 0.05)
    assert found.reached
    assert len(found.history) > 1
    assert [one.name for one in found.certificate.derived] == ["u"]
    fine = pp.fem.Elasticity(
        generate("square", 24), 1.0, 0.3, fixed={"left": 0.0}, traction={"right": [0.0, 0.1]}, degree=2
    )
    near = pp.certify(fine, fine.space.U0, fine.magnitude([[0.6, 0.4]], ["u"]), target="discrete").derived[0]
    one = found.certificate.derived[0]
    assert one.lower <= near.center <= one.upper


CASE = """
[mesh]
generate = "frame"
cells = 4
[problem]
kind = "reaction-diffusion"
source = "1"
degree = 2
[problem.dirichlet]
boundary = 0.0
[prediction]
zero = true
[[query]]
name = "corner"
at = [0.75, 0.75]
[certificate]
tolerance = 1e-4
"""


def test_the_command_line_tells_of_each_refinement(tmp_path, capsys):
    path = tmp_path / "case.toml"
    path.write_text(CASE)
    assert main(["certify", str(path), "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr()
    assert "worst radius" in told.err
    assert "expected at" in told.err
    assert "refined" in told.out
    data = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert data["queries"][0]["radius"] <= 1e-4
    assert data["refinement"]["steps"][-1]["dofs"] == data["dofs"] <= 1200
    assert main(["certify", str(path), "--out", str(tmp_path / "few"), "--set", "certificate.max_dofs=300"]) == 1
    assert "stopped early" in capsys.readouterr().out
    path.write_text(CASE.replace('kind = "point"', "") + '[[query]]\nname = "out"\nkind = "flux"\ngroup = "boundary"\n')
    assert main(["certify", str(path), "--out", str(tmp_path / "flux"), "--set", "certificate.tolerance=1e-2"]) == 0
    flux = json.loads((tmp_path / "flux" / "certificate.json").read_text())["queries"][1]
    assert flux["lower"] <= -3.0 <= flux["upper"]  # what the source gives leaves through the boundary
    assert "boundary" not in flux["terms"]
    path.write_text(CASE)
    assert main(["certify", str(path), "--out", str(tmp_path / "no"), "--set", "certificate.target=discrete"]) == 2
    assert "certificate.tolerance: refines the mesh" in capsys.readouterr().err


@pytest.mark.slow
def test_a_tolerance_is_reached_at_the_fichera_corner():
    """Truth: scikit-fem's quadratic elements on the refined mesh cut once more, far finer than the radius."""
    problem = poisson("fichera", 2, 2)
    at = [-0.4, -0.4, 0.4]
    found = pp.certify_to(problem, problem.space.U0, problem.points([at]), 5e-4, theta=0.4)
    assert found.reached
    refiner = Refiner(found.problem.mesh)
    values = []
    for _ in range(2):
        mesh = skfem.MeshTet(
            np.ascontiguousarray(refiner.mesh.points.T), np.ascontiguousarray(refiner.mesh.cells.T), validate=False
        )
        basis = skfem.Basis(mesh, skfem.ElementTetP2(), intorder=4)
        A = skfem.BilinearForm(lambda u, v, w: sum(u.grad[i] * v.grad[i] for i in range(3))).assemble(basis).tocsr()
        b = skfem.LinearForm(lambda v, w: 1.0 * v).assemble(basis)
        free = basis.complement_dofs(basis.get_dofs())
        u = np.zeros(basis.N)
        u[free], code = spla.cg(A[free][:, free], b[free], rtol=1e-10, M=sp.diags_array(1.0 / A.diagonal()[free]))
        assert code == 0
        values.append(float((basis.probes(np.array(at)[:, None]) @ u)[0]))
        refiner.uniform()
    far = abs(values[1] - values[0])
    assert far < 0.2 * found.certificate.radius[0]
    assert abs(values[1] - found.certificate.center[0]) <= found.certificate.radius[0]
    for cells in (2, 3):
        for degree in (1, 2):
            coarse = poisson("fichera", cells, degree)
            c = pp.certify(coarse, coarse.space.U0, coarse.points([at]))
            assert c.contains(values[1]).all()
            assert far < 0.02 * c.radius[0]


def test_hopeless_tolerances_end_with_the_best_interval():
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), source="1", dirichlet={"boundary": 0.0})
    for tolerance in (1e-300, 5e-324):
        found = pp.certify_to(problem, problem.space.U0, problem.points([[0.4, 0.5]]), tolerance, max_dofs=300)
        assert found.stopped
        assert 0.0 < found.certificate.radius[0] < 0.1


def test_queries_of_another_mesh_are_refused_in_words():
    one, other = (
        pp.fem.ReactionDiffusion(pp.io.generate("square", n), source="1", dirichlet={"boundary": 0.0}) for n in (4, 6)
    )
    for target in ("continuous", "discrete"):
        with pytest.raises(pp.InputError, match="queries: are for 25 coefficients"):
            pp.certify(other, np.zeros(49), one.points([[0.3, 0.3]]), target=target)
