"""−∇·(A∇u) + c u = f with linear elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pinnpoint.arrays import Vector, set_fields, whole
from pinnpoint.errors import InputError
from pinnpoint.fem import assembly
from pinnpoint.fem.coefficients import function, per_cell
from pinnpoint.fem.conditions import admissible, prescribed, require_apart, require_boundary
from pinnpoint.fem.extraction import Extraction, extract
from pinnpoint.fem.fields import FieldQueries
from pinnpoint.fem.meshes import as_mesh
from pinnpoint.fem.quadrature import at_points, rule
from pinnpoint.mesh import BOUNDARY, Mesh
from pinnpoint.queries import Queries
from pinnpoint.spaces import AdmissibleSpace
from pinnpoint.systems import LinearSystem


@dataclass(frozen=True, eq=False)
class ReactionDiffusion:
    """The Galerkin system of −∇·(A∇u) + c u = f, u = g_D on Dirichlet groups, A∇u·n = g_N on Neumann groups.

    Boundary parts without a condition have zero flux. The certified target is the solution of the assembled system;
    integrals of c, f, g_N are those of a quadrature rule whose order is recorded.

    Parameters
    ----------
    mesh
        Intervals, triangles or tetrahedra.
    source
        f: a number, a function of points (N, d), or an expression in x, y, z.
    diffusion
        A: a positive number, a table from cell groups, one number per cell, a symmetric positive definite d × d
        matrix, or a function from points (N, d) to such matrices (N, d, d), averaged over each cell.
    reaction
        c ≥ 0: a number, function or expression.
    dirichlet, neumann
        Tables from boundary groups to numbers, functions or expressions; ``"boundary"`` is the whole boundary.
    weight
        Of the residual, as in `LinearSystem`.
    quadrature
        Order of the rules.
    """

    mesh: Mesh
    A: Any
    b: Vector
    space: AdmissibleSpace
    system: LinearSystem
    quadrature: int
    diffusion: Vector
    conditions: Mapping[str, Mapping[str, Any]]
    total_load: Vector

    components = 1

    def __init__(
        self,
        mesh: Any,
        source: Any = 0.0,
        diffusion: Any = 1.0,
        reaction: Any = 0.0,
        dirichlet: Mapping[str, Any] | None = None,
        neumann: Mapping[str, Any] | None = None,
        *,
        weight: Any = None,
        quadrature: int = 4,
    ) -> None:
        mesh = as_mesh(mesh)
        dirichlet = {BOUNDARY: 0.0} if dirichlet is None else dirichlet
        neumann = {} if neumann is None else neumann
        order = whole("quadrature", quadrature, low=1)
        for table, name in ((dirichlet, "dirichlet"), (neumann, "neumann")):
            if not isinstance(table, Mapping):
                raise InputError(f"{name}: must be a table from boundary groups to values; got {type(table).__name__}")
            require_boundary(mesh, table, name)
        require_apart(mesh, dirichlet, neumann, 1, ("dirichlet", "neumann"))
        dofs, values = prescribed(mesh, dirichlet, 1, "dirichlet")
        space = admissible(mesh, dofs, values, 1)
        K = _diffusion(diffusion, mesh, order)
        c = _reaction(reaction, mesh, order)
        if not dofs.size and (c is None or not np.any(c > 0.0)):
            raise InputError(
                "dirichlet: without a Dirichlet group and without reaction the solution is not unique; fix a value on "
                "some group, or give a reaction > 0"
            )
        where = assembly.pattern(mesh)
        local = assembly.stiffness(mesh, K)
        if c is not None:
            local = local + assembly.mass(mesh, c, *rule(mesh.dim, max(order, 2)))
        A = assembly.scalar_matrix(mesh, local, where)
        b = assembly.load(mesh, function("source", source), order)
        for group, g in neumann.items():
            b = b + assembly.boundary_load(mesh, mesh.facets(group), function(f"neumann '{group}'", g), order)
        set_fields(
            self,
            mesh=mesh,
            A=A,
            b=b,
            space=space,
            system=LinearSystem(A, b, space=space, weight=weight, reduction="galerkin", row_points=_free(mesh, space)),
            quadrature=order,
            diffusion=K,
            conditions={"dirichlet": dict(dirichlet), "neumann": dict(neumann)},
            total_load=np.array([float(b.sum())]),
        )

    @cached_property
    def _queries(self) -> FieldQueries:
        return FieldQueries(self.mesh, 1)

    def points(self, X: Any, names: Sequence[str] | None = None) -> Queries:
        """Values at points."""
        return self._queries.points(X, names, None)

    def averages(self, X: Any, radius: Any, names: Sequence[str] | None = None) -> Queries:
        """Averages over balls that lie in the domain."""
        return self._queries.averages(X, radius, names, None)

    def patch(self, group: str, component: Any = None, name: str | None = None) -> Queries:
        """The average over a boundary group."""
        return self._queries.patch(group, None if name is None else [name], component)

    def gradients(self, X: Any, direction: Any, names: Sequence[str] | None = None) -> Queries:
        """Derivatives in a direction ('x', 'y', 'z') in the cells that hold the points."""
        return self._queries.gradients(X, direction, names, None)

    def extract(self, prediction: Any, how: str = "nodal") -> Extraction:
        """Π_h: the admissible vector of a prediction."""
        return extract(self.mesh, self.space, 1, prediction, how)


def _free(mesh: Mesh, space: AdmissibleSpace) -> Vector:
    free = space.free
    return mesh.points if free is None else mesh.points[free]


def _diffusion(given: Any, mesh: Mesh, order: int) -> Vector:
    d = mesh.dim
    if callable(given):
        bary, weights = rule(d, order)
        X = at_points(mesh.points[mesh.cells], bary)
        values = np.asarray(given(X.reshape(-1, d)), dtype=np.float64)
        if values.shape != (X.shape[0] * X.shape[1], d, d):
            raise InputError(f"diffusion: a function must return matrices (N, {d}, {d}); got shape {values.shape}")
        K = np.einsum("q,cqij->cij", weights, values.reshape(*X.shape[:2], d, d))
    elif not isinstance(given, Mapping) and np.ndim(given) == 2:
        K = np.broadcast_to(np.asarray(given, dtype=np.float64), (len(mesh.cells), *np.shape(given)))
    else:
        K = per_cell("diffusion", given, mesh)
        if float(K.min()) <= 0.0:
            raise InputError(f"diffusion: must be > 0; cell {int(np.argmin(K))} has {float(K.min())!r}")
        return K
    if K.shape[1:] != (d, d) or not np.all(np.isfinite(K)):
        raise InputError(f"diffusion: must be finite {d} × {d} matrices; got shape {K.shape[1:]}")
    if not np.allclose(K, np.swapaxes(K, 1, 2), rtol=1e-12, atol=0.0):
        raise InputError("diffusion: matrices must be symmetric")
    low = np.linalg.eigvalsh(K)[:, 0]
    if float(low.min()) <= 0.0:
        raise InputError(
            f"diffusion: must be positive definite; cell {int(np.argmin(low))} has eigenvalue {low.min():.3e}"
        )
    return np.asarray(0.5 * (K + np.swapaxes(K, 1, 2)))


def _reaction(given: Any, mesh: Mesh, order: int) -> Vector | None:
    if getattr(given, "constant", given) == 0:  # a number, or an expression without coordinates
        return None
    bary, _ = rule(mesh.dim, max(order, 2))
    X = at_points(mesh.points[mesh.cells], bary)
    c = function("reaction", given)(X.reshape(-1, mesh.dim)).reshape(X.shape[:2])
    if float(c.min()) < 0.0:
        cell, q = np.unravel_index(int(np.argmin(c)), c.shape)
        raise InputError(f"reaction: must be ≥ 0; it is {float(c.min()):.3e} at {X[cell, q].tolist()}")
    return c
