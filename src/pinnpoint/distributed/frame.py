"""A problem without its matrix: mesh, conditions, queries and extraction, at the first process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.cases.kinds.elasticity import ElasticSpec
from pinnpoint.cases.kinds.reaction_diffusion import ScalarSpec
from pinnpoint.cases.specs import Case
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.data.coefficients import per_cell
from pinnpoint.fem.data.conditions import admissible, require_apart, require_boundary
from pinnpoint.fem.data.held import HeldBoundary, prescribed, resolve
from pinnpoint.fem.elastic.elastic_loads import spread_evenly
from pinnpoint.fem.elastic.elasticity import lame
from pinnpoint.fem.elastic.loads import Load, spread_over
from pinnpoint.fem.extraction import Extraction, extract
from pinnpoint.fem.fields import Component, FieldQueries
from pinnpoint.fem.stability.coercivity import energy_floor, held_facets
from pinnpoint.fem.stability.paths import path_bound
from pinnpoint.fem.stability.quadratic_paths import quadratic_bound
from pinnpoint.mesh.mesh import BOUNDARY, Mesh
from pinnpoint.models.given import Prediction
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.spaces import AdmissibleSpace


@dataclass(frozen=True, eq=False)
class Frame:
    """Everything of a problem that does not need assembly."""

    mesh: Mesh
    nodes: Nodes
    components: int
    space: AdmissibleSpace
    held: HeldBoundary
    forces: Vector | None
    spec: ScalarSpec | ElasticSpec
    quadrature: int = 0

    @property
    def degree(self) -> int:
        """Of the elements."""
        return self.nodes.degree

    @cached_property
    def free(self) -> Any:
        """Which unknowns are free."""
        free = np.ones(self.components * len(self.nodes), dtype=bool)
        if self.space.free is not None:
            free[:] = False
            free[np.asarray(self.space.free)] = True
        return free

    @cached_property
    def _queries(self) -> FieldQueries:
        return FieldQueries(self.nodes, self.components)

    def points(self, X: ArrayLike, component: Component = None, names: Sequence[str] | None = None) -> Queries:
        """Values at points."""
        return self._queries.points(X, names, component)

    def averages(
        self, X: ArrayLike, radius: ArrayLike, component: Component = None, names: Sequence[str] | None = None
    ) -> Queries:
        """Averages over balls."""
        return self._queries.averages(X, radius, names, component)

    def patch(self, group: str, component: Component = None, name: str | None = None) -> Queries:
        """The average over a boundary group."""
        return self._queries.patch(group, None if name is None else [name], component)

    def extract(self, prediction: Prediction, how: str = "nodal") -> Extraction:
        """The admissible vector of a prediction."""
        return extract(self.nodes, self.space, self.components, prediction, how)

    def floor(self) -> float:
        """The bound of paths, for exact integrals."""
        spec, mesh, count = self.spec, self.mesh, self.components
        moving = self.free.reshape(-1, count).any(axis=1)[: len(mesh.points)]
        held = held_facets(mesh, self.held)
        if isinstance(spec, ScalarSpec):
            given = spec.reaction
            least = min(given.values()) if isinstance(given, Mapping) else given.constant
            if least is not None and least < 0.0:
                raise CertificationError("coercivity: paths need a reaction that is nowhere negative")
            return self._paths(held, per_cell("diffusion", spec.diffusion, mesh), moving)
        young, poisson = per_cell("young", spec.young, mesh), per_cell("poisson", spec.poisson, mesh)
        stiffness = energy_floor(*lame(young, poisson, count, spec.plane or "strain"), count)
        return self._paths(held, stiffness, moving)

    def _paths(self, held: Index, stiffness: Vector, moving: Any) -> float:
        elastic = self.components > 1
        if self.degree == 2:
            return quadratic_bound(self.nodes, held, stiffness, moving, elastic=elastic)
        return path_bound(self.mesh, held, stiffness, moving, elastic=elastic)

    def finished(self, quadrature: int) -> Frame:
        """With the order of quadrature that the parts used."""
        return replace(self, quadrature=quadrature)


def make_frame(case: Case, mesh: Mesh) -> Frame:
    """Conditions and loads, checked as the problems on one machine check theirs."""
    spec = case.problem
    assert isinstance(spec, ScalarSpec | ElasticSpec)
    nodes, elastic, count = Nodes(mesh, spec.degree), isinstance(spec, ElasticSpec), case.kind.components(mesh.dim)
    if elastic and mesh.dim == 1:
        raise InputError("mesh: elasticity needs triangles or tetrahedra; got intervals")
    names = [f"problem.{case.words.get(word, word)}" for word in ("dirichlet", "neumann")]
    if isinstance(spec, ScalarSpec) and (spec.robin or spec.periodic):
        word = "robin" if spec.robin else "periodic"
        raise InputError(f"problem.{word}: is assembled by one process only; run the case without mpirun")
    fixed = dict(spec.dirichlet)
    if not elastic and not fixed:
        raise InputError("problem.dirichlet: over several processes some group must be fixed")
    loaded = dict(spec.neumann)
    forces = spec.loads if isinstance(spec, ElasticSpec) else {}
    for table, name in ((fixed, names[0]), (loaded, names[1]), (forces, "problem.force")):
        require_boundary(mesh, table, name)
    held = resolve(mesh, fixed, count, names[0])
    every = {g: [1.0] * count if isinstance(f, Load) else f for g, f in forces.items()}
    require_apart(mesh, held, {names[1]: loaded, "problem.force": every}, count, names[0])
    dofs, values = prescribed(nodes, held, count, names[0])
    if not dofs.size:
        raise InputError(f"{names[0]}: nothing is fixed; fix at least one boundary group, such as '{BOUNDARY}'")
    total = None
    for group, load in forces.items():
        one = spread_over(nodes, group, load) if isinstance(load, Load) else spread_evenly(nodes, group, load)
        total = one if total is None else total + one
    return Frame(mesh, nodes, count, admissible(count * len(nodes), dofs, values, held.notes), held, total, spec)
