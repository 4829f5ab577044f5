"""What a state and its stress leave over has every part: forces, tractions, stresses, the balance of cells."""

import numpy as np
import pytest
from scipy.sparse.linalg import splu

from pinnpoint.fem import Elasticity
from pinnpoint.fem.elastic.solids import solid_of
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.elastic.equilibrium import Equilibrium
from pinnpoint.transfer.elastic.forces import oscillation, traction_cost, traction_moments

FORMULA = "1 + sin(9*x + 2*y)"


@pytest.fixture(scope="module", params=[(2, 1), (2, 2), (3, 2)], ids=["2D P1", "2D P2", "3D P2"])
def left(request):
    """A solved state under loads that no elements have, and the parts that are left one by one."""
    d, degree = request.param
    mesh = generate("square" if d == 2 else "cube", 2)
    loads = {"body": [FORMULA] * d, "traction": {"right": [FORMULA] * d}}
    heat = {"expansion": 0.3, "temperature": FORMULA}
    problem = Elasticity(mesh, 2.0, 0.3, fixed={"left": 0.0}, degree=degree, **loads, **heat)
    solid = solid_of(problem, Topology.of(mesh))
    free = problem.space.free
    factors = splu(problem.A[free][:, free].tocsc())

    def solved(r):
        found = np.zeros(problem.space.N)
        found[free] = factors.solve(r[free])
        return found

    made = Equilibrium(solid)
    side = made.side(solved(solid.vector(solid.load)).reshape(-1, d), solid.load, solved)
    T, load = solid.topology, solid.load
    rough, unknown = np.zeros(len(solid.mu)), np.zeros(len(solid.mu))
    for t in load.traction:
        rough += traction_cost(T, t.on.facets, [t.on.density], solid.c_min)
        _, rounding, error = traction_moments(T, t.on.facets, [t.on.density])
        np.add.at(unknown, T.facet_cells[t.on.facets, 0], d * (rounding + error))
    S = load.stress.on_all(len(solid.mu))
    size = (S.weight.high + S.weight.error2) * d * np.abs(S.tensor).max(axis=1)
    parts = {
        "forces": oscillation(T, load.on_all(len(solid.mu)).body, solid.c_min)[0],
        "tractions": rough,
        "moments of tractions": made.space.norm_factor * unknown,
        "stresses": size * np.sqrt(T.volumes / solid.c_min),
        "balance": made.tree.cost(side.force, side.moment, made.space.norm_factor),
    }
    return solid, side, parts, unknown


@pytest.mark.parametrize("name", ["forces", "tractions", "moments of tractions", "stresses", "balance"])
def test_every_part_is_in_what_is_left_over(left, name):
    """Rest less the other parts is still at least this one."""
    _, side, parts, _ = left
    total = sum(parts.values())
    assert np.any(parts[name] > 1e-12 * total)
    assert np.all(side.rest >= total * (1.0 - 1e-14))
    assert not np.all(side.rest >= (total + parts[name]) * (1.0 - 1e-14))  # the other parts leave no room for it


def test_what_is_not_known_of_data_is_a_defect_of_the_balance(left):
    """∫|ε| of forces and tractions, beside the defect of the stored moments."""
    solid, side, _, unknown = left
    error = np.sqrt(sum(f.error1**2 for f in side.load.body)) * solid.topology.volumes
    assert error.max() > 0.0
    assert np.all(side.force >= error + unknown)
    assert np.all(side.stray >= unknown)
