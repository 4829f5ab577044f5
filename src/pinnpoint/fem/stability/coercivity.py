"""Verified coercivity of assembled elements at linear cost: paths through the mesh, minus what was rounded.

A stored matrix A differs from the exact one A₀ of the stored points and coefficients by at most δ in norm, so
A ⪰ A₀ − δ ⪰ (path bound − δ) I.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Matrix, Vector
from pinnpoint.base.errors import CertificationError
from pinnpoint.base.threads import begin
from pinnpoint.fem.assembling import assembly
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.data.held import HeldBoundary
from pinnpoint.fem.stability.paths import path_bound
from pinnpoint.fem.stability.quadratic_paths import quadratic_bound, quadratic_error
from pinnpoint.fem.stability.stored import stored_error
from pinnpoint.fem.stability.wide import WIDE
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.rounding.arithmetic import UNIT, down
from pinnpoint.rounding.bounds import Coercivity

HOW = "paths of cells to held facets"


@dataclass(frozen=True, eq=False)
class Ground:
    """What paths of a problem start from.

    Attributes
    ----------
    lam, mu
        Lamé's numbers of cells; None and κ for a scalar.
    least
        Lower bounds of the energy density over |ε|² or |∇u|².
    mass
        What the matrix has besides stiffness.
    held
        Facets that are fixed in every component.
    moving
        Which nodes have a component that is not fixed.
    """

    lam: Vector | None
    mu: Vector
    least: Vector
    mass: Any
    held: Index
    moving: Any

    @classmethod
    def of(cls, problem: Any) -> Ground:
        """Of a problem; refuses reactions below zero, diffusion by matrices and bodies that no facet holds."""
        nodes, count = problem.nodes, problem.components
        free = np.ones(count * len(nodes), dtype=bool)
        if problem.space.free is not None:
            free[:] = False
            free[np.asarray(problem.space.free)] = True
        moving = free.reshape(-1, count).any(axis=1)
        lam, mu = problem.lame if count > 1 else (np.zeros(0), problem.diffusion)
        if count == 1 and problem.reaction is not None and float(problem.reaction.min()) < 0.0:
            raise CertificationError("coercivity: paths need a reaction that is nowhere negative")
        if mu.ndim != 1:
            raise CertificationError("coercivity: paths need a scalar diffusion")
        least, mass = (energy_floor(lam, mu, count), None) if count > 1 else (mu, mass_matrix(problem))
        some = problem.held.parts or count == 1
        held = held_facets(nodes.mesh, problem.held) if some else still_facets(nodes, moving)
        return cls(lam if count > 1 else None, mu, least, mass, held, moving)


def path_coercivity(problem: Any) -> Coercivity:
    """A verified α with the problem's reduced matrix ⪰ α I, far below its smallest eigenvalue.

    Use it where factorizations are too large: ``Exact(coercivity=path_coercivity(problem), refine=True, solver=…)``;
    refined Green vectors leave defects so small that a rough α is enough.

    *Guarantee:* deterministic, for the stored matrix. *Assumes:* elements of `Elasticity`, or of `ReactionDiffusion`
    with a scalar diffusion, without a reaction if they are quadratic; some facet held in all components. *Cost:* one
    assembly and a few passes over the cells.
    """
    ground, nodes = Ground.of(problem), problem.nodes
    mesh, lam, mu, held, moving = nodes.mesh, ground.lam, ground.mu, ground.held, ground.moving
    if nodes.degree == 2:
        alpha = quadratic_coercivity(nodes, problem.system.A, lam, mu, held, moving, ground.mass)
        return Coercivity(alpha, None, None, "operator", "verified", HOW, problem.system.fingerprint)
    rounded = begin(lambda: stored_error(mesh, problem.system.A, lam, mu, ground.mass))
    floor = path_bound(mesh, held, ground.least, moving, elastic=lam is not None)
    loss = rounded.result()
    if loss > 0.5 * floor and ground.mass is None and WIDE < UNIT:
        loss = stored_error(mesh, problem.system.A, lam, mu, wide=True)
    alpha = float(down(floor - loss))  # proofs.md, step 3i
    require_positive(alpha, floor)
    return Coercivity(alpha, None, None, "operator", "verified", HOW, problem.system.fingerprint)


def quadratic_coercivity(
    nodes: Nodes, A: Matrix, lam: Vector | None, mu: Vector, held: Index, moving: Any, mass: Any
) -> float:
    """The bound of paths for quadratic elements, minus what was rounded."""
    if mass is not None:
        raise CertificationError("coercivity: paths of quadratic elements need a problem without reaction")
    least = mu if lam is None else energy_floor(lam, mu, nodes.mesh.dim)
    rounded = begin(lambda: quadratic_error(nodes, A, lam, mu))
    floor = quadratic_bound(nodes, held, least, moving[: len(nodes.mesh.points)], elastic=lam is not None)
    alpha = float(down(floor - rounded.result()))  # proofs.md, step 3i
    require_positive(alpha, floor)
    return alpha


def require_positive(alpha: float, floor: float) -> None:
    """Refuse a bound that rounding has eaten up."""
    if not alpha > 0.0:
        raise CertificationError(
            f"coercivity: paths of cells prove {floor:.2e}, which does not exceed the rounding of the assembly; verify "
            "it by factorization, or declare it"
        )


def held_facets(mesh: Mesh, held: HeldBoundary) -> Index:
    """Boundary facets that are fixed in every component."""
    found = held.facets(mesh)
    if not len(found):
        raise CertificationError("coercivity: no boundary facet is fixed in all components, so no path can start")
    return found


def still_facets(nodes: Nodes, moving: Any) -> Index:
    """Boundary facets none of whose nodes moves, for problems whose supports are given by nodes."""
    facets = nodes.mesh.boundary
    found = facets[~np.asarray(moving)[nodes.facet_dofs(facets)].any(axis=1)]
    if not len(found):
        raise CertificationError("coercivity: no boundary facet is fixed in all components, so no path can start")
    return np.asarray(found)


def energy_floor(lam: Vector, mu: Vector, d: int) -> Vector:
    """Κ with λ tr(ε)² + 2μ|ε|² ≥ κ|ε|²: 2μ, or 2μ + dλ where λ < 0."""
    return np.asarray(np.where(lam >= 0.0, 2.0 * mu, down(2.0 * mu + d * lam, 8)))


def mass_matrix(problem: Any) -> Any:
    """The part of a scalar problem's matrix that is not stiffness: ∫ c φ φ and ∫ α φ φ by their rules, or None."""
    if problem.reaction is None and not problem.reaction_varies and problem.sides is None:
        return None
    K = assembly.scalar_matrix(assembly.stiffness(problem.nodes, problem.diffusion), assembly.pattern(problem.nodes))
    return sp.csr_array(problem.system.A - K)
