"""Benchmarks of structural analysis: closed forms and known values lie in the intervals, which are as narrow as said.

Values of the polygons and polyhedra that the meshes cover; where only the curved domain has a published value, the
intervals lead to it.
"""

import numpy as np
import pytest
from scipy.sparse import diags_array
from scipy.sparse.linalg import cg

import pinnpoint as pp
from pinnpoint.certifiers.tolerance import certify_to
from pinnpoint.mesh.quadrature import at_points, conical
from tests.support import elliptic, solids

TIP, INSIDE = 24.041614, 5.571882
"""Cook's membrane: the mean of v over x = 48, and v(24, 37), to the last digit."""
END, MIDDLE = -0.371560, -0.125728
"""The cantilever: the mean of u_z over its end, and u_z(1, ½, ½), to two units of the last digit."""


def certified(problem, queries):
    found = pp.certify(problem, problem.space.U0, queries)
    assert found.guarantee == "deterministic"
    assert np.all(np.isfinite(found.radius))
    return found


def relative(certificate):
    return certificate.radius / np.abs(certificate.center)


@pytest.mark.parametrize(("n", "wide"), [(16, 5.2e-3), (64, 6e-4)])
def test_cook(n, wide):
    """2,178 and 33,282 unknowns, uniform: two corners are singular."""
    problem = solids.cook(n)
    found = certified(problem, problem.patch("right", "y") + problem.points([[24.0, 37.0]], "y") + problem.compliance())
    assert found.contains([TIP, INSIDE, TIP]).all()
    assert relative(found)[0] <= wide
    assert relative(found)[1] <= 2.2 * wide


def test_cook_adaptive():
    problem = solids.cook(4)
    found = certify_to(problem, problem.space.U0, problem.patch("right", "y"), 0.01, max_dofs=2_000)
    assert found.reached
    assert found.problem.space.N < 1_500  # uniform: more than 33,282
    assert found.certificate.contains([TIP]).all()


@pytest.mark.slow
def test_cook_adaptive_to_six_digits():
    problem = solids.cook(4)
    found = certify_to(problem, problem.space.U0, problem.patch("right", "y"), 2.4e-5, max_dofs=50_000)
    assert found.reached
    assert relative(found.certificate)[0] <= 1e-6
    assert found.certificate.contains([TIP]).all()


@pytest.mark.slow
def test_a_point_of_cooks_membrane_adaptive():
    problem = solids.cook(4)
    found = certify_to(problem, problem.space.U0, problem.points([[24.0, 37.0]], "y"), 2e-5, max_dofs=70_000)
    assert found.reached
    assert found.certificate.contains([INSIDE]).all()


def test_cook_almost_incompressible():
    problem = solids.cook(32, poisson=0.499, plane="strain")
    assert relative(certified(problem, problem.patch("right", "y")))[0] <= 1.2e-2


def test_a_plate_with_a_hole():
    """33,282 unknowns, held by rollers alone; the polygon has 256 sides."""
    problem = solids.plate(64)
    found = certified(problem, problem.patch("east", "x") + problem.stress([[0.55, 0.55]], "xx"))
    assert found.contains([1.1773124, 1.14804]).all()
    assert relative(found)[0] <= 6e-7
    assert found.radius[1] <= 4e-5


def test_a_cantilever():
    problem = solids.cantilever(4)
    found = certified(problem, problem.patch("right", "z") + problem.points([[1.0, 0.5, 0.5]], "z"))
    assert found.contains([END, MIDDLE]).all()
    assert np.all(relative(found) <= [1e-2, 2.1e-2])


class Stopped:
    """Conjugate gradients that stop at a relative residual of 1e-6."""

    def __init__(self, problem):
        self.A = problem.space.Z.T @ problem.A @ problem.space.Z
        self.scale = diags_array(1.0 / self.A.diagonal())

    def solve(self, b):
        if b.ndim == 2:
            return np.stack([self.solve(column) for column in b.T], axis=1)
        return cg(self.A, b, rtol=1e-6, M=self.scale, maxiter=100_000)[0]

    solve_transposed = solve


@pytest.mark.parametrize(("make", "component"), [(lambda: solids.cook(8), "y"), (lambda: solids.cantilever(2), "z")])
def test_a_solver_that_stops_early_widens_by_less_than_a_percent(make, component):
    problem = make()
    queries = problem.patch("right", component)
    one = certified(problem, queries)
    two = pp.certify(problem, problem.space.U0, queries, pp.Exact(solver=Stopped(problem)))
    assert one.radius[0] * (1.0 - 1e-6) < two.radius[0] < 1.01 * one.radius[0]


@pytest.mark.parametrize("degree", [1, 2])
def test_a_beam_of_timoshenko(degree):
    """Cubic displacements, quadratic tractions; the left end has its displacements by formulas."""
    problem, shift, stress = solids.timoshenko(8, degree=degree)
    holds(problem, shift, stress, [[1.0, 0.1], [2.3, -0.2]], {1: (4.7, 6.0), 2: (0.02, 0.06)}[degree])


@pytest.mark.parametrize("degree", [1, 2])
def test_a_ring_of_lame(degree):
    """Tractions are those of Lamé's stress on the polygon's own sides, so that it is the polygon's solution too."""
    problem, shift, stress = solids.ring(8, degree=degree)
    holds(problem, shift, stress, [[1.1, 1.0], [0.6, 1.4]], {1: (0.05, 0.2), 2: (5e-3, 0.04)}[degree])


@pytest.mark.parametrize("degree", [1, 2])
def test_a_plate_of_kirsch(degree):
    problem, shift, stress = solids.kirsch(16, degree=degree)
    holds(problem, shift, stress, [[0.55, 0.5], [0.12, 0.35]], {1: (7e-3, 0.15), 2: (2e-4, 0.01)}[degree])


def holds(problem, shift, stress, at, wide):
    """Displacements and stresses at points lie in their intervals, which are at most so wide."""
    queries = problem.points(at, "x", ["u", "u'"]) + problem.points(at, "y", ["v", "v'"])
    for c in ("xx", "xy", "yy"):
        queries = queries + problem.stress(at, c, [c, f"{c}'"])
    found, sigma = certified(problem, queries), stress(at)
    assert found.contains(np.concatenate([*shift(at).T, *(sigma[c] for c in ("xx", "xy", "yy"))])).all()
    assert float(found.radius[:4].max()) <= wide[0]
    assert float(found.radius[4:].max()) <= wide[1]


@pytest.mark.parametrize(("d", "degree"), [(2, 1), (2, 2), (3, 1), (3, 2)])
def test_materials_in_series(d, degree):
    """E 1:1000, ν = 0, under tension and on rollers: u_x = x t/E on each side, exactly."""
    mesh = solids.block((4,) * d)
    young = np.where(mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5, 1.0, 1000.0)
    sides = [("left", 0), ("bottom", 1), ("front", 2)][:d]
    held = {name: tuple(0.0 if c == axis else "free" for c in range(d)) for name, axis in sides}
    problem = pp.fem.Elasticity(mesh, young, 0.0, None, held, {"right": (3.0, *[0.0] * (d - 1))}, degree=degree)
    found = certified(problem, problem.patch("right", "x") + problem.reaction("left", "x"))
    assert found.contains([3.0 * 0.5 * 1.001, -3.0]).all()
    assert np.all(relative(found) <= 1e-9)


INSIDE_LE1 = [[2.3, 0.3], [2.15, 0.15], [1.5, 1.2]]


def test_the_elliptic_membrane_of_nafems():
    """LE1: the series of its ellipses has 92.7 MPa at D = (2, 0), and lies in the intervals around D."""
    assert elliptic.coefficients()[1] < 1e-8
    assert elliptic.stress([[2.0, 0.0]])[0] == pytest.approx(92.7, abs=0.05)
    problem = solids.membrane(32)
    near = [problem.stress(f"near {r}", "yy") for r in (0.4, 0.2, 0.1)]
    found = certified(problem, near[0] + near[1] + near[2] + problem.stress(INSIDE_LE1, "yy", ["a", "b", "c"]))
    bary, weights = conical(2, 8)
    truth = []
    for r in (0.4, 0.2, 0.1):
        cells = problem.mesh.cells_of(f"near {r}")
        values = elliptic.stress(at_points(problem.mesh.points[problem.mesh.cells[cells]], bary)) @ weights
        truth.append(float(np.average(values, weights=problem.mesh.volumes[cells])))
    truth += elliptic.stress(INSIDE_LE1).tolist()
    assert found.contains(truth).all()
    assert np.all(relative(found) <= [8e-4, 1.2e-3, 3e-3, 2e-3, 6e-3, 2.5e-3])


def test_a_thick_plate_of_navier_and_vlasov():
    """Simple supports, a sine of load: deflection, bending and pressure within the plate, in closed form."""
    problem, shift, stress = solids.slab(6)
    x = [[0.5, 0.5, 0.25], [0.4, 0.45, 0.3]]
    queries = problem.points(x, "z", ["w", "w'"]) + problem.stress(x, "xx", ["s", "s'"]) + problem.mean("z", "mean")
    found, sigma = certified(problem, queries), stress(x)
    mean = vlasov_mean(shift)
    assert found.contains([*shift(x)[:, 2], *sigma["xx"], mean]).all()
    assert np.all(relative(found)[[0, 1, 4]] <= [0.09, 0.13, 0.015])


def vlasov_mean(shift):
    """The mean of u_z over the plate, by Gauss's rule along its thickness."""
    t, w = np.polynomial.legendre.leggauss(20)
    middle = np.column_stack([np.full((20, 2), 0.5), 0.25 * (t + 1.0)])
    return float(0.5 * w @ shift(middle)[:, 2]) * (2.0 / np.pi) ** 2


def test_a_thick_plate_of_nafems_kind():
    """As LE10 with its outer face clamped: the plate's work and the compression of its upper face near D."""
    problem = solids.thick_plate(6, 2)
    found = certified(problem, problem.compliance() + problem.stress("near 0.6", "yy"))
    fine = solids.bisected(problem, 3)
    values = pp.certify(fine, fine.space.U0, fine.compliance() + fine.stress("near 0.6", "yy"), target="discrete")
    assert found.contains(values.center).all()
    assert relative(found)[0] <= 0.08
