"""How good the estimate of what the mesh leaves is: estimate over true error, where the truth is known or finer.

    python studies/mesh_estimate.py

prints the table of docs/mesh.md, medians over the points. A truth that is not known is that of a mesh with at least
four times the edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint.base.arrays import Vector
from pinnpoint.mesh.mesh import Mesh

INSIDE = np.random.default_rng(0).uniform(0.05, 0.95, (40, 3))
WEIGHT = "3*pi**2*sin(pi*x)*sin(pi*y)*sin(pi*z)"


def corner(X: Vector) -> Vector:
    """The singular function of the reentrant corner."""
    angle = np.mod(np.arctan2(X[:, 1], X[:, 0]), 2.0 * np.pi)
    return np.asarray(np.hypot(X[:, 0], X[:, 1]) ** (2.0 / 3.0) * np.sin(2.0 * angle / 3.0))


def certified(problem: Any, queries: Any) -> Any:
    """The discrete target, from the zero prediction."""
    return pp.certify(problem, problem.space.U0, queries, target="discrete")


def poisson(kind: str, cells: int) -> tuple[Any, Vector]:
    """A smooth solution on the square or the cube."""
    d = 2 if kind == "square" else 3
    source = "2*pi**2*sin(pi*x)*sin(pi*y)" if d == 2 else WEIGHT
    problem = pp.fem.ReactionDiffusion(pp.io.generate(kind, cells), source=source)
    at = INSIDE[:, :d]
    return certified(problem, problem.points(at)), np.prod(np.sin(np.pi * at), axis=1)


def lshape(cells: int) -> tuple[Any, Vector]:
    """The singular solution."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("lshape", cells), dirichlet={"boundary": corner})
    at = 2.0 * INSIDE[:, :2] - 1.0
    at = at[(at[:, 0] < 0.0) | (at[:, 1] > 0.0)]
    return certified(problem, problem.points(at)), corner(at)


def beam(cells: int) -> Any:
    """A plate of height 1/4, clamped at its left end, under its own weight: the tip's deflection."""
    square = pp.io.generate("square", cells)
    mesh = Mesh(square.points * [1.0, 0.25], square.cells, facet_groups=square.facet_groups)
    problem = pp.fem.Elasticity(mesh, 1.0, 0.3, [0.0, -1.0], {"left": 0.0}, plane="stress")
    return certified(problem, problem.points([[1.0, 0.125]], "y"))


def bracket(dofs: int) -> Any:
    """The bracket's pin under the vertical load."""
    problem = pp.fem.bracket("vertical", dofs=dofs)
    return certified(problem, problem.patch("pin", "z"))


def rows() -> Iterator[tuple[str, Any, Vector]]:
    """What, its certificate, and the truth."""
    for cells in (8, 16, 32, 64):
        yield f"Poisson, square, {cells} cells", *poisson("square", cells)
    for cells in (4, 8, 16):
        yield f"Poisson, cube, {cells} cells", *poisson("cube", cells)
    for cells in (4, 8, 16, 32):
        yield f"singular, L-shape, {cells} cells", *lshape(cells)
    fine: Callable[[Any], Vector] = lambda c: c.center + np.sign(c.center) * c.mesh_estimate  # noqa: E731
    tip = fine(beam(72))
    for cells in (4, 8, 16):
        yield f"bent plate, {cells} cells", beam(cells), tip
    pin = fine(bracket(120_000))
    for dofs in (2_500, 6_000, 16_000, 40_000):
        yield f"bracket, about {dofs} unknowns", bracket(dofs), pin


def main() -> None:
    """Print the table."""
    print("| problem | true error / value | estimate / true error | within a factor of 3 |\n|---|---|---|---|")
    for what, c, truth in rows():
        error = np.abs(truth - c.center)
        share, ratio = np.median(error / np.abs(truth)), c.mesh_estimate / error
        inside = int(np.sum((ratio > 1.0 / 3.0) & (ratio < 3.0)))
        print(f"| {what} | {100.0 * share:.2g} % | {np.median(ratio):.2f} | {inside} of {len(ratio)} |")


if __name__ == "__main__":
    main()
