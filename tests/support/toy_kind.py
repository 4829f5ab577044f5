"""A kind of PDE in one file: −u″ + u = f on an interval, with a spring at its ends, ∂ₙu + β u = β g."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint import AdmissibleSpace, CertificationError, InputError, LinearSystem, Queries
from pinnpoint.cases.kinds import Kind, ProblemSpec, Setting
from pinnpoint.fem.assembling import assembly
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.data.coefficients import function
from pinnpoint.fem.extraction import Extraction, extract
from pinnpoint.fem.fields import FieldQueries
from pinnpoint.fem.problem import FiniteElements


class SpringRod(FiniteElements):
    """The linear elements of −u″ + u = f with ∂ₙu + β(u − g) = 0 at the groups of `springs`, ∂ₙu = 0 elsewhere."""

    components, degree, given = 1, 1, {}  # no data that the checker would compare with formulas

    def __init__(self, mesh: Any, source: Any, springs: dict[str, tuple[float, float]], quadrature: int = 4) -> None:
        if mesh.dim != 1:
            raise InputError(f"mesh: a rod is an interval; got dimension {mesh.dim}")
        self.mesh, self.nodes, self.quadrature = mesh, Nodes(mesh), quadrature
        cells = assembly.stiffness(self.nodes, np.ones(len(mesh.cells)))
        cells = cells + assembly.mass(self.nodes, None, *assembly.rule(1, 2))
        stretch, pull = np.zeros(len(self.nodes)), np.zeros(len(self.nodes))
        for group, (beta, g) in springs.items():
            ends = mesh.facets(group).ravel()
            stretch[ends] += beta
            pull[ends] += beta * g
        A = assembly.scalar_matrix(cells, assembly.pattern(self.nodes)) + sp.diags_array(stretch)
        self.b = assembly.load(self.nodes, function("source", source), quadrature) + pull
        self.space = AdmissibleSpace.dirichlet(len(self.nodes), [], [])
        self.system = LinearSystem(sp.csr_array(A), self.b, space=self.space, row_points=self.nodes.points)
        self.conditions, self.total_load = {"springs": springs}, np.array([float(self.b.sum())])

    @property
    def A(self) -> Any:
        return self.system.A

    @cached_property
    def _queries(self) -> FieldQueries:
        return FieldQueries(self.nodes, 1)

    def points(self, X: Any, names: Any = None) -> Queries:
        return self._queries.points(X, names, None)

    def extract(self, prediction: Any, how: str = "nodal") -> Extraction:
        return extract(self.nodes, self.space, 1, prediction, how)

    def enriched(self, U: Any) -> Any:
        raise CertificationError("springs are not known to quadratic elements")


@dataclass(frozen=True, kw_only=True, repr=False)
class RodSpec(ProblemSpec):
    load: Any
    springs: dict[str, tuple[float, float]]


def read(table: Any) -> dict[str, Any]:
    springs = {}
    for group, row in table.table("springs", required=True).data.items():
        if not (isinstance(row, list) and len(row) == 2 and all(isinstance(v, int | float) for v in row)):
            raise InputError(f"problem.springs.{group}: must be [stiffness, rest position]; got {row!r}")
        springs[group] = (float(row[0]), float(row[1]))
    return {"load": table.expression("load", 0.0), "springs": springs}


def build(spec: RodSpec, mesh: Any, setting: Setting) -> SpringRod:
    return SpringRod(mesh, spec.load, spec.springs, setting.quadrature or 4)


ROD = Kind("spring-rod", RodSpec, read, build, ("load", "springs"), degrees=1, targets=("discrete",), goals=("point",))
