"""PINNacle's Poisson2d-C and Poisson2d-CG around round discs, held against values of COMSOL that PINNacle publishes.

A coarser mesh than that of studies/pinnacle.py, and one published value each.
"""

from __future__ import annotations

import math
import tempfile

import gmsh

import pinnpoint as pp

FIELD = "10*(1 + x**2 + 16 + y**2)*sin(pi*x)*sin(4*pi*y)"
CLASSIC = [(a, b, 0.1) for a in (0.3, -0.3) for b in (0.3, -0.3)]
GIVEN = [(0.5, 0.5, 0.2), (0.4, -0.4, 0.4), (-0.2, -0.7, 0.1), (-0.6, 0.5, 0.3)]
TASKS = {  # half a side, discs, size, values outside and on discs, data; x, y and u of COMSOL
    "Poisson2d-C": (0.5, CLASSIC, 0.06, (1.0, 0.0), {}, (0.09853678735805883, 0.0251096317573857, 0.2347118492117997)),
    "Poisson2d-CG": (
        *(1.0, GIVEN, 0.08, (0.2, 1.0), {"source": FIELD, "reaction": 64.0}),
        (-0.31891176065921806, 0.045257614995744724, -0.19591205889765415),
    ),
}


def perforated(half: float, discs: list[tuple[float, float, float]], size: float):
    """The square without discs; groups "outside", "disc 0" and so on."""
    gmsh.initialize(interruptible=False)
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.option.setNumber("Mesh.MeshSizeMax", size)
    gmsh.option.setNumber("Mesh.MeshSizeFromCurvature", 48)
    occ = gmsh.model.occ
    square = [(2, occ.addRectangle(-half, -half, 0, 2 * half, 2 * half))]
    left = occ.cut(square, [(2, occ.addDisk(x, y, 0, r, r)) for x, y, r in discs])[0]
    occ.synchronize()
    gmsh.model.addPhysicalGroup(2, [tag for _, tag in left], name="plate")
    near = {tag: occ.getCenterOfMass(1, tag) for _, tag in gmsh.model.getEntities(1)}
    rims = [[t for t, c in near.items() if math.dist(c[:2], d[:2]) < 0.01] for d in discs]
    for name, tags in [("outside", set(near) - set().union(*rims)), *((f"disc {k}", r) for k, r in enumerate(rims))]:
        gmsh.model.addPhysicalGroup(1, list(tags), name=name)
    gmsh.model.mesh.generate(2)
    with tempfile.TemporaryDirectory() as folder:
        gmsh.write(f"{folder}/plate.msh")
        gmsh.finalize()
        return pp.io.read_mesh(f"{folder}/plate.msh")


if __name__ == "__main__":
    for name, (half, discs, size, (outside, inside), more, (x, y, said)) in TASKS.items():
        rims = {f"disc {k}": pp.Circle((a, b), r) for k, (a, b, r) in enumerate(discs)}
        held, mesh = {"outside": outside} | dict.fromkeys(rims, inside), perforated(half, discs, size)
        problem = pp.fem.ReactionDiffusion(mesh, dirichlet=held, degree=2, geometry=rims, **more)
        found = pp.certify(problem, problem.space.U0, problem.points([(x, y)]))
        print(f"{name}: {found.center[0]:.6f} ± {found.radius[0]:.1e}; COMSOL says {said:.6f}")
