"""Problems that differ in their diffusion coefficient alone: what no coefficient changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Real
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.assembly import StiffnessProduct
from pinnpoint.fem.families.affine_families import require_own
from pinnpoint.fem.families.cellwise import Cellwise, prepare_cellwise
from pinnpoint.fem.scalar_queries import ScalarQueries
from pinnpoint.systems.queries import Queries
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.goals import Groups
from pinnpoint.transfer.operators.any_mesh import AnyMesh
from pinnpoint.transfer.operators.grid import Grid
from pinnpoint.transfer.operators.loaded import Loaded, further_loads, tails_of
from pinnpoint.transfer.operators.patched import Patched, prepare_patches
from pinnpoint.transfer.operators.prepared import Prepared, bounded_form, prepare
from pinnpoint.transfer.operators.triangles import Triangles


@dataclass(frozen=True, eq=False)
class DiffusionFamily:
    """All problems −∇·(κ∇u) = f that differ from one in κ alone, κ one number on each cell or on each group.

    Parameters
    ----------
    problem
        Gives mesh, source, boundary data; its own diffusion is not used.
    groups
        Names of cell groups that κ is constant on, in the order of a row of `kappas`; None for one number a cell.
    loads
        Tables with "source" and "neumann" of further loads, which every instance has a multiple of.
    """

    problem: ScalarQueries
    groups: tuple[str, ...] | None = None
    loads: tuple[Mapping[str, Any], ...] = ()

    __repr__ = brief

    @property
    def width(self) -> int:
        """Numbers in a row of `kappas`."""
        return len(self.problem.mesh.cells) if self.groups is None else len(self.groups)

    @cached_property
    def product(self) -> StiffnessProduct:
        """Stiffness matrices of all instances as one sparse product."""
        nodes: Any = self.problem.nodes
        return StiffnessProduct.of(nodes)

    @property
    def unused(self) -> tuple[str, ...]:
        """That the problem's own diffusion is not used, where it is not one."""
        problem: Any = self.problem
        if np.array_equal(problem.diffusion, np.ones_like(problem.diffusion)):
            return ()
        return ("the problem's own diffusion is not used, nor multiplied: κ of an instance takes its place",)

    def matrix(self, kappa: ArrayLike) -> Any:
        """The stiffness matrix of one instance over all nodes, from its row of `kappas`."""
        row = vector("kappa", kappa, self.width, sign="positive")
        return self.product.matrix(self.on_cells(row[None])[0])

    def on_cells(self, kappas: Vector) -> Vector:
        """κ on every cell, (S, C)."""
        if self.groups is None:
            return kappas
        found = np.empty((len(kappas), len(self.problem.mesh.cells)))
        for k, group in enumerate(self.groups):
            found[:, self.problem.mesh.cells_of(group)] = kappas[:, [k]]
        return found


def prepared(
    family: DiffusionFamily, queries: Queries, *, patches: bool = False, target: str = "continuous"
) -> Prepared | Patched | Loaded | Cellwise:
    """The reference κ = 1 with loads and fluxes, or a refusal."""
    problem: Any = family.problem
    if target == "discrete":
        if family.loads:
            raise InputError("loads: are for target='continuous'; make a family without")
        require_diffusion(problem)
        return prepare_cellwise(problem, queries)
    mesh = problem.mesh
    if mesh.dim == 1:
        raise InputError("operators: families need two or three dimensions; on intervals certify one by one")
    if problem.degree != 1:
        raise InputError("operators: linear elements only; say degree=1")
    require_diffusion(problem)
    require_own(problem, queries)
    found = _made(family, queries, patches=patches)
    if not found.proved:
        raise InputError(
            "source: the bounds of families need numbers or formulas; it is a function nothing is known of"
        )
    return found


def _made(family: DiffusionFamily, queries: Queries, *, patches: bool) -> Prepared | Patched | Loaded:
    problem: Any = family.problem
    model, values, groups = reference(problem)
    asked = queries.goals, queries.names, groups, problem.cell_numbers
    flat = problem.mesh.dim == 2 and not patches
    if not family.loads:
        return prepare(model, values, *asked) if flat else prepare_patches(model, values, *asked)
    if not flat:
        raise InputError("loads: are certified in two dimensions and without patches; make a family for each load")
    base = prepare(model, values, *asked, constant=False)
    engine, geometry = base.engine, base.fuzz.geometry
    assert isinstance(engine, AnyMesh | Grid)
    further = [_further(problem, load, k) for k, load in enumerate(family.loads)]
    triangles = engine.triangles if isinstance(engine, AnyMesh) else Triangles.of(model.topology, model.kind, geometry)
    found, states = further_loads(triangles, geometry, further)
    data = np.zeros((2, len(base.with_duals), len(further)))
    for i, q in enumerate(base.with_duals):
        point = base.points[i]
        for k, other in enumerate(further if point is not None else ()):
            J = bounded_form(other, queries.goals[q], queries.names[q], groups, problem.cell_numbers, points=True)
            if point is None or J.ball != point.ball:
                raise InputError(
                    f"loads[{k}]: jumps where the problem's own source does not, and the kernel of query "
                    f"'{queries.names[q]}' needs sources without jumps; ask for averages, or give formulas for all"
                )
            data[:, i, k] = J.constant, J.error
    duals = sp.csr_array(np.stack([p.divergence for p in base.loads], axis=1)[:, 1:])
    return Loaded(base, engine, found, states, data, tails_of((base.loads[0], *found), geometry), duals)


def _further(problem: Any, load: Mapping[str, Any], k: int) -> Continuum:
    """The reference with another load and the value zero where values are held."""
    given, unknown = problem.given, sorted(set(load) - {"source", "neumann"})
    if unknown or not load:
        raise InputError(f"loads[{k}]: must have 'source', 'neumann' or both; got {sorted(load)}")
    held = dict.fromkeys(given["dirichlet"], 0.0)
    source, flux = load.get("source", 0.0), load.get("neumann")
    plain = type(problem)(problem.mesh, source, 1.0, 0.0, held, flux, quadrature=problem.quadrature)
    return cast("Continuum", plain.continuum(plain.topology))


def require_diffusion(problem: Any) -> None:
    """Refuse what is more than −∇·(κ∇u) = f on straight cells with held and given fluxes."""
    if problem.reaction is not None or problem.reaction_varies:
        raise InputError("operators: a reaction ties fluxes to the state; families have none. Certify one by one")
    if problem.bending is not None:
        raise InputError(
            "operators: families are certified on straight cells, and this domain is curved; leave geometry out, or "
            "read the mesh with straight=true, for the domain that the straight cells cover, or certify one by one"
        )
    if not _a_number(problem.given["diffusion"]):
        raise InputError(
            "operators: every instance has its own κ, one number a cell, in the place of the problem's diffusion; it "
            "is a matrix or a formula here. Leave it out, or certify one by one"
        )
    refused = {"convection": problem.given.get("convection"), "robin": problem.sides, "periodic": problem.loops}
    for name, given in refused.items():
        if given is not None:
            # operators.md, step 6a
            raise InputError(f"operators: families of diffusion coefficients have no {name}; certify one by one")


def _a_number(given: Any) -> bool:
    """Whether a diffusion coefficient is a number, one a group, or one a cell."""
    if isinstance(given, Mapping):
        return all(_a_number(part) for part in given.values())
    return isinstance(given, Real) or (isinstance(given, np.ndarray) and given.ndim <= 1)


def reference(problem: Any) -> tuple[Continuum, Vector, Groups]:
    """The problem with κ = 1, its Dirichlet values at their nodes, and its boundary groups."""
    mesh = problem.mesh
    given = problem.given
    plain = type(problem)(
        mesh, given["source"], 1.0, 0.0, given["dirichlet"], given["neumann"], quadrature=problem.quadrature
    )
    T = plain.topology
    model = plain.continuum(T)
    values = np.zeros(len(mesh.points))
    free = plain.space.free
    held = np.setdiff1d(np.arange(len(values)), free) if free is not None else np.zeros(0, dtype=np.intp)
    values[held] = plain.space.U0[held]
    mismatch, _ = model.mismatch(values)
    if mismatch != 0.0:
        raise InputError(
            f"operators: Dirichlet data must be numbers that the elements meet exactly; they miss by {mismatch:.3e}"
        )
    groups = partial(T.numbers_of_group, mesh)
    return model, values, groups
