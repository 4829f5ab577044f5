"""The rows that one process assembles, and their products with vectors spread over all processes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.cases.kinds import ProblemSpec
from pinnpoint.cases.kinds.elasticity import ElasticSpec
from pinnpoint.cases.kinds.reaction_diffusion import ScalarSpec, require_numbers
from pinnpoint.distributed.partition import Part
from pinnpoint.distributed.team import Team
from pinnpoint.fem.assembling import assembly
from pinnpoint.fem.assembling.elements import ORDER
from pinnpoint.fem.assembling.operators import averaged
from pinnpoint.fem.data.coefficients import components, function, per_cell
from pinnpoint.fem.data.varied import reaction_at
from pinnpoint.fem.elastic.elasticity import QUADRATURE, lame
from pinnpoint.mesh.quadrature import rule
from pinnpoint.rounding.balls import Ball
from pinnpoint.rounding.matrices import EnclosedMatrix


@dataclass(frozen=True, eq=False)
class Local:
    """The matrix and right-hand side of a part, complete in the rows and columns of its own nodes.

    Attributes
    ----------
    lam, mu
        Lamé's numbers of the cells, or None and the diffusion.
    mass
        The part of A that is reaction, or None.
    """

    A: Any
    b: Vector
    lam: Vector | None
    mu: Vector
    mass: Any
    quadrature: int


def assemble_rows(part: Part, spec: ProblemSpec, quadrature: int | None, forces: Vector | None) -> Local:
    """Assemble one part; `forces` are nodal ones, by node of the part."""
    if isinstance(spec, ElasticSpec):
        return _elastic(part, spec, quadrature, forces)
    assert isinstance(spec, ScalarSpec)
    return _scalar(part, spec, quadrature)


def _elastic(part: Part, spec: ElasticSpec, quadrature: int | None, forces: Vector | None) -> Local:
    mesh, nodes, d = part.mesh, part.nodes, part.mesh.dim
    order = QUADRATURE[nodes.degree] if quadrature is None else quadrature
    lam, mu = lame(
        per_cell("young", spec.young, mesh), per_cell("poisson", spec.poisson, mesh), d, spec.plane or "strain"
    )
    A = assembly.elasticity_matrix(nodes, lam, mu, assembly.pattern(nodes), steady=True)
    b, steady = np.zeros((len(nodes), d)), nodes.degree == 2
    if spec.body is not None:
        for k, f in enumerate(components("body", list(spec.body), d)):
            if f is not None:
                b[:, k] += assembly.load(nodes, f, order, steady=steady)
    for group, t in spec.neumann.items():
        for k, f in enumerate(components(f"traction '{group}'", t, d)):
            if f is not None:
                b[:, k] += assembly.boundary_load(nodes, mesh.facets(group), f, order, steady=steady)
    if forces is not None:
        b += forces
    return Local(A, b.ravel(), lam, mu, None, order)


def _scalar(part: Part, spec: ScalarSpec, quadrature: int | None) -> Local:
    require_numbers(spec)
    mesh, nodes = part.mesh, part.nodes
    order = ORDER[nodes.degree] if quadrature is None else quadrature
    K = averaged(spec.diffusion, mesh, order)
    finer = max(order, 2)
    _, c = reaction_at(spec.reaction, mesh, finer)
    where = assembly.pattern(nodes)
    if c is not None and nodes.degree == 2:
        raise InputError("problem.reaction: over several processes quadratic elements need 0; use degree = 1")
    local = assembly.stiffness(nodes, K, steady=True)
    stiffness = None if c is None else assembly.scalar_matrix(local, where)
    if c is not None:
        local = local + assembly.mass(nodes, c, *rule(mesh.dim, finer))
    A = assembly.scalar_matrix(local, where)
    steady = nodes.degree == 2
    b = assembly.load(nodes, function("source", spec.source), order, steady=steady)
    for group, g in spec.neumann.items():
        flow = function(f"neumann '{group}'", g)
        b = b + assembly.boundary_load(nodes, mesh.facets(group), flow, order, steady=steady)
    return Local(A, b, None, K, None if stiffness is None else sp.csr_array(A - stiffness), order)


class Rows:
    """A system spread by rows: this process has those of its own free unknowns, numbered without gaps.

    Parameters
    ----------
    local
        The part's matrix.
    free
        Free unknowns of the part, as a mask.
    own
        Its own unknowns, as a mask.
    numbers
        Of its unknowns among all free ones; any number where fixed.
    """

    def __init__(self, team: Team, local: Local, free: Index, own: Index, numbers: Index) -> None:
        self.team, self.local = team, local
        self.mine = np.flatnonzero(free & own)
        self.columns = np.flatnonzero(free)
        self.numbers = numbers[self.columns]
        place = np.full(len(free), -1, dtype=np.intp)
        place[self.columns] = np.arange(len(self.columns))
        self.here = place[self.mine]
        away = np.ones(len(self.columns), dtype=bool)
        away[self.here] = False
        self.away = np.flatnonzero(away)
        A = sp.csr_array(local.A)
        self.full = EnclosedMatrix(A[self.mine])
        self.reduced = EnclosedMatrix(A[self.mine][:, self.columns])
        turned = sp.csr_array(A[self.columns][:, self.mine].T)
        self.symmetric = team.least(float((self.reduced.A != turned).nnz == 0)) > 0.5
        """Whether the whole matrix is symmetric to the last bit."""
        self.turned = self.reduced if self.symmetric else EnclosedMatrix(turned)
        self.b = local.b[self.mine]
        self.n = int(team.comm.allreduce(len(self.mine)))

    @cached_property
    def _mail(self) -> Any:
        """PETSc's plan that fetches the entries of other processes."""
        petsc = self.team.petsc
        x = petsc.Vec().createMPI((len(self.mine), self.n), comm=petsc.COMM_WORLD)
        y = petsc.Vec().createSeq(len(self.away))
        wanted = petsc.IS().createGeneral(self.numbers[self.away].astype(petsc.IntType), comm=petsc.COMM_SELF)
        return x, y, petsc.Scatter().create(x, wanted, y, None)

    def fetch(self, v: Vector) -> Vector:
        """A vector at all columns of the part, from everybody's own entries."""
        x, y, plan = self._mail
        x.array[:] = v
        plan.scatter(x, y)
        whole = np.empty(len(self.columns))
        whole[self.here], whole[self.away] = v, y.array
        return whole

    def residual(self, U: Ball) -> Ball:
        """A U − b, for U at all unknowns of the part."""
        return self.full.affine(U, Ball(self.b))

    def defect(self, q: Ball, ell: Vector) -> Ball:
        """Aᵀq − ℓ; for symmetric A by the rows that residuals use as well, with q zero where fixed."""
        parts = [None if x is None else self.fetch(x) for x in (q.hi, q.lo)]
        if self.symmetric:
            parts = [None if x is None else self._with_fixed(x) for x in parts]
        return (self.full if self.symmetric else self.turned).affine(Ball(*parts), Ball(ell))  # type: ignore[arg-type]

    def _with_fixed(self, v: Vector) -> Vector:
        whole = np.zeros(self.full.shape[1])
        whole[self.columns] = v
        return whole

    def product(self, w: Vector, *, turned: bool = False) -> Ball:
        """A w, or Aᵀw."""
        whole = Ball(self.fetch(w))
        return (self.turned if turned else self.reduced).affine(whole)
