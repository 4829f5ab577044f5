"""Linear elasticity: plane strain, plane stress, and three dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Limits, Matrix, Vector, frozen, set_fields, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError, in_words
from pinnpoint.certificates.transfer import Route
from pinnpoint.certifiers.families.loads import LoadFamily, vectors
from pinnpoint.fem.assembling import assembly
from pinnpoint.fem.assembling.elements import ORDER, Nodes
from pinnpoint.fem.assembling.enriched import Enriched, Enrichment, elastic
from pinnpoint.fem.assembling.enrichments import body_load, given_values, nodal_load, surface_load, tied
from pinnpoint.fem.conversion import as_mesh
from pinnpoint.fem.curved.bending import Bending
from pinnpoint.fem.data.coefficients import Data, own, per_cell
from pinnpoint.fem.data.conditions import admissible, require_apart, require_boundary
from pinnpoint.fem.data.held import HeldBoundary, prescribed, resolve
from pinnpoint.fem.elastic.elastic_loads import forces_at, in_all_components, load_of
from pinnpoint.fem.elastic.lifted_solids import SolidProblem
from pinnpoint.fem.elastic.solids import bending_of, require_meaning, route_of
from pinnpoint.fem.elastic.thermal import by_cells, thermal_load, thermal_of, weight_load
from pinnpoint.fem.extraction import Extraction, extract
from pinnpoint.fem.families.affine_families import YoungFamily
from pinnpoint.fem.stability.coercivity import path_coercivity
from pinnpoint.mesh.bent.shapes import Shape
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.models.given import Prediction
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.spaces import AdmissibleSpace
from pinnpoint.systems.targets import ARCS
from pinnpoint.transfer.elastic.thermal import Thermal

QUADRATURE = {1: 2, 2: ORDER[2]}
"""Quadrature order of loads, by degree, unless told."""
GIVEN = ("young", "poisson", "plane", "body", "expansion", "temperature", "notes", "resultants")
"""What a problem is made of beside its conditions."""
STIFF = 1e10
"""A ratio λ/μ beyond which a singular matrix is blamed on it."""
HOPELESS = 1e14
"""A ratio λ/μ beyond which no matrix is tried."""


@dataclass(frozen=True, eq=False)
class Elasticity(SolidProblem):
    """The Galerkin system of −∇·σ(u) = body, σ = λ tr(ε) I + 2μ ε, displacements node by node (x, y, z of node 0, …).

    Parameters
    ----------
    mesh
        Triangles or tetrahedra.
    young, poisson
        E > 0 and −1 < ν < 0.5: numbers, tables from cell groups, or one number per cell.
    body
        Force density, one number, function or expression per component; or by cells, constant on each: a table from
        cell groups to numbers per component, or an array (cells, d).
    fixed
        Table from boundary groups to displacements: a number for all components, or one per component, None or
        "free" leaving a component free. A group overrides ``"boundary"`` on its facets in all components, also in those
        that it leaves free, which the certificate says. Other groups may share facets only where they hold different
        components; where groups meet, their values must agree.
    traction
        Table from boundary groups to force densities per component.
    force
        Table from boundary groups to total forces, spread evenly over the group, or to a `Load`, a force and a moment
        at a reference point that the group's nodes carry.
    plane
        "strain" or "stress", in 2D.
    weight
        As in `ReactionDiffusion`.
    quadrature
        Order of the rules for loads; by default 2, and 6 for degree 2.
    degree
        1, or 2 for quadratic elements, whose unknowns are those of the vertices and then those of the edges' midpoints.
    space
        The admissible displacements instead of `fixed`: supports at nodes, rigid bodies, multi-point constraints.
    nodal
        Further forces on the nodes, (n, d).
    expansion, temperature
        Thermal expansion: α ≥ 0 or < 0 as `young`, and how much warmer the body is than where it is free of stress, a
        number, a formula or a function, or one number per vertex, linear in between. Stresses are σ = C(ε − αϑI).
    dirichlet, neumann
        Other words for `fixed` and `traction`, those of case files and of the other problems.
    notes
        Remarks that every certificate repeats.
    geometry
        Table from boundary groups of a plane mesh to the curves that they are: `Circle`, `Ellipse`, `LevelSet`. The
        continuous target is then the body that arcs at these curves bound; see docs/curved.md, section 6.
    resultants
        Whether `young` has a thickness as a factor that varies over a plane body: what would be called a stress is not
        one, and is refused.
    """

    mesh: Mesh
    nodes: Nodes
    b: Vector
    space: AdmissibleSpace
    system: LinearSystem
    quadrature: int
    lame: tuple[Vector, Vector]
    conditions: Mapping[str, Mapping[str, Any]]
    given: Mapping[str, Any]
    held: HeldBoundary
    total_load: Vector
    degree: int
    thermal: Thermal | None
    weights: Vector | None
    bending: Bending | None

    __repr__ = brief

    def __init__(
        self,
        mesh: Any,
        young: Data,
        poisson: Data,
        body: Data = None,
        fixed: Mapping[str, Any] | None = None,
        traction: Mapping[str, Any] | None = None,
        *,
        force: Mapping[str, Any] | None = None,
        plane: str = "strain",
        weight: Matrix | None = None,
        quadrature: int | None = None,
        degree: int = 1,
        space: AdmissibleSpace | None = None,
        nodal: ArrayLike | None = None,
        expansion: Data = None,
        temperature: Data = None,
        dirichlet: Mapping[str, Any] | None = None,
        neumann: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
        resultants: bool = False,
        geometry: Mapping[str, Shape] | None = None,
    ) -> None:
        words = {"fixed": (fixed, "dirichlet", dirichlet), "traction": (traction, "neumann", neumann)}
        both = [(word, other) for word, (one, other, two) in words.items() if one is not None and two is not None]
        if both:
            raise InputError(f"{both[0][1]}: is another word for {both[0][0]}; give one of them")
        mesh = as_mesh(mesh)
        bending = bending_of(mesh, geometry)
        with in_words({word: other for word, (_, other, two) in words.items() if two is not None}):
            self._make(
                mesh if bending is None else bending.mesh,
                (young, poisson, plane, weight),
                (body, dirichlet if fixed is None else fixed, neumann if traction is None else traction, force),
                (expansion, temperature),
                quadrature,
                degree,
                space,
                nodal,
            )
        set_fields(self, given={**self.given, "notes": tuple(notes), "resultants": resultants}, bending=bending)

    def _make(
        self,
        mesh: Mesh,
        material: tuple[Any, Any, str, Any],
        given: tuple[Any, Mapping[str, Any] | None, Mapping[str, Any] | None, Mapping[str, Any] | None],
        heat: tuple[Any, Any],
        quadrature: int | None,
        degree: int,
        space: AdmissibleSpace | None,
        nodal: ArrayLike | None,
    ) -> None:
        (young, poisson, plane, weight), d = material, mesh.dim
        if d == 1:
            raise InputError("mesh: elasticity needs triangles or tetrahedra; got intervals")
        nodes, body = Nodes(mesh, degree), given[0]
        order = whole("quadrature", QUADRATURE[nodes.degree] if quadrature is None else quadrature, low=1)
        fixed, traction, force = ({} if t is None else t for t in given[1:])
        for table, name in ((fixed, "fixed"), (traction, "traction"), (force, "force")):
            require_boundary(mesh, table, name)
        held = resolve(mesh, fixed, d, "fixed")
        require_apart(mesh, held, {"traction": traction, "force": in_all_components(force, d)}, d, "fixed")
        space = _space(nodes, held, space, alone=not fixed)
        lam, mu = lame(per_cell("young", young, mesh), per_cell("poisson", poisson, mesh), d, plane)
        A = assembly.elasticity_matrix(nodes, lam, mu, assembly.pattern(nodes))
        thermal, weights = thermal_of(mesh, (young, poisson, plane), *heat), by_cells(mesh, body)
        b = load_of(nodes, body if weights is None else None, traction, force, order)
        set_fields(self, thermal=thermal, weights=weights)
        for more in self._by_cells(nodes, order):
            b += more
        if nodal is not None:
            b += forces_at(nodal, nodes)
        with in_words({"A": "young, poisson: the matrix", "b": "body, traction, force: the load"}):
            system = LinearSystem(
                A,
                b.ravel(),
                space=space,
                weight=weight,
                reduction="galerkin",
                row_points=_row_points(nodes, space),
                modes=rigid_motions(nodes.points),
                node_size=d,
                floor=partial(path_coercivity, self),
                made_on=mesh.fingerprint,
            )
        set_fields(
            self,
            mesh=mesh,
            nodes=nodes,
            b=b.ravel(),
            space=space,
            system=system,
            quadrature=order,
            lame=(lam, mu),
            conditions={"fixed": dict(fixed), "traction": dict(traction), "force": dict(force)},
            given={
                "body": body,
                "nodal": None if nodal is None else forces_at(nodal, nodes),
                "young": own(young),
                "poisson": own(poisson),
                "plane": plane,
                "expansion": own(heat[0]),
                "temperature": own(heat[1]),
            },
            held=held,
            total_load=b.sum(axis=0),
            degree=nodes.degree,
        )
        frozen(self.b, lam, mu, self.total_load)

    @property
    def A(self) -> Any:
        """The matrix over all displacements."""
        return self.system.A

    @property
    def components(self) -> int:
        """Displacement components per node."""
        return self.mesh.dim

    def under(self, nodal: ArrayLike) -> Elasticity:
        """The same body with the same supports and matrix under nodal forces (n, d) instead of its loads."""
        b = forces_at(nodal, self.nodes)
        other: Elasticity = copy(self)
        old = self.system
        system = LinearSystem(
            old.stored,
            b.ravel(),
            space=self.space,
            weight=old.weight,
            reduction="galerkin",
            row_points=old.row_points,
            modes=rigid_motions(self.nodes.points),
            node_size=self.mesh.dim,
            floor=old.floor,
            made_on=old.made_on,
        )
        conditions = {**self.conditions, "traction": {}, "force": {}}
        given = {**self.given, "body": None, "nodal": b, "expansion": None, "temperature": None}
        loads = {"total_load": b.sum(axis=0), "thermal": None, "weights": None}
        set_fields(other, b=b.ravel(), system=system, conditions=conditions, given=given, **loads)
        return other

    def load(
        self,
        body: Data = None,
        traction: Mapping[str, Any] | None = None,
        force: Mapping[str, Any] | None = None,
    ) -> Vector:
        """The right-hand side of other body forces, tractions and total forces."""
        traction, force = ({} if t is None else t for t in (traction, force))
        loads = {"traction": traction, "force": in_all_components(force, self.mesh.dim)}
        for name, table in loads.items():
            require_boundary(self.mesh, table, name)
        require_apart(self.mesh, self.held, loads, self.mesh.dim, "fixed")
        return load_of(self.nodes, body, traction, force, self.quadrature).ravel()

    def family(self, loads: ArrayLike, base: ArrayLike | None = None, names: Sequence[str] | None = None) -> LoadFamily:
        """Loads b₀ + Σ μ_k F_k of this problem.

        Each of `loads` is a vector, or a table of `load`'s arguments such as ``{"force": {"right": (0.0, 1.0)}}``.
        """
        return LoadFamily(self.system, vectors(self.load, loads), base, names=names)

    def operators(self, young: Sequence[str]) -> YoungFamily:
        """The family of bodies in which every instance has its own Young's modulus on each of these cell groups."""
        return YoungFamily.of(self, young)

    @property
    def young_of_cells(self) -> Vector:
        """Young's modulus on every cell."""
        return per_cell("young", self.given["young"], self.mesh)

    def refined(self, mesh: Mesh, parents: Index) -> Self:
        """The same problem on a refined mesh, whose cells came from these."""
        if self.given["nodal"] is not None or not self.held.parts:
            raise InputError(
                "mesh: forces at nodes and supports at nodes are those of one mesh; give tractions and groups that are "
                "held for what is to be refined"
            )
        if self.thermal is not None and isinstance(self.thermal.temperature, np.ndarray):
            raise InputError("temperature: values at vertices are those of one mesh; give a formula to refine it")
        given: dict[str, Any] = {name: self.given[name] for name in GIVEN} | {**self.conditions}
        for name in ("young", "poisson", "expansion"):
            given[name] = given[name][parents] if np.ndim(given[name]) == 1 else given[name]
        if self.thermal is not None:
            given["temperature"] = self.thermal.temperature
        if isinstance(given["body"], np.ndarray) and self.weights is not None:
            given["body"] = self.weights[parents]
        order = None if self.quadrature == QUADRATURE[self.degree] else self.quadrature
        if self.bending is None:
            return type(self)(mesh, **given, quadrature=order, degree=self.degree)
        given["geometry"] = self.bending.geometry
        made = type(self)(self.bending.on(mesh), **given, quadrature=order, degree=self.degree)
        assert made.bending is not None
        set_fields(made.bending, origin=self.bending.root(mesh))
        return made

    @property
    def domain(self) -> str:
        """What intervals of the PDE's own solution are of."""
        return super().domain if self.bending is None else ARCS

    def curve_notes(self) -> tuple[str, ...]:
        """What the curves are, or what looks curved and is not."""
        return super().curve_notes() if self.bending is None else self.bending.notes()

    def why_singular(self) -> str:
        """Near ν = ½ the stiffness in volume leaves nothing of that in shear."""
        return nearly_incompressible(*self.lame)

    def require_transfer(self) -> None:
        """Refuse what acts or holds at nodes alone."""
        require_meaning(self)

    def like(
        self, mesh: Mesh, body: Any, fixed: Mapping[str, Any], traction: Mapping[str, Any], quadrature: int
    ) -> Elasticity:
        """The same material with other data, on the same cells."""
        given = {name: self.given[name] for name in ("young", "poisson", "plane", "notes", "resultants")}
        return Elasticity(
            mesh, body=body, fixed=fixed, traction=traction, quadrature=quadrature, degree=self.degree, **given
        )

    def transfer(self, queries: Queries, tolerance: Limits = None, budget: int | None = None) -> Route:
        """The proved way from these queries' discrete values to the solid's own solution."""
        return route_of(self, queries, tolerance, budget)

    def extract(self, prediction: Prediction, how: str = "nodal") -> Extraction:
        """Π_h: the admissible vector of a prediction."""
        return extract(self.nodes, self.space, self.mesh.dim, prediction, how)

    def enriched(self, U: Vector) -> Enrichment:
        """The problem on linear elements and edge bubbles, around its discrete solution U."""
        nodes, d, order = Nodes(self.mesh, 2), self.mesh.dim, max(self.quadrature, ORDER[1])
        traction, force = (self.conditions[name] for name in ("traction", "force"))
        body = 0.0 if self.given["body"] is None or self.weights is not None else self.given["body"]
        load = body_load(nodes, body, order, d, "body")
        for more in self._by_cells(nodes, order):
            load += more[-len(load) :]
        load += surface_load(nodes, traction, order, d, "traction")
        at_nodes = load_of(self.nodes, None, {}, force, self.quadrature)
        load += nodal_load(nodes, at_nodes if self.given["nodal"] is None else at_nodes + self.given["nodal"])
        held, values = given_values(nodes, self.held, d, "fixed")
        if not self.held.parts:
            held = tied(nodes, self.space, d)
        operator = Enriched(nodes, d, *elastic(*self.lame))
        return Enrichment(operator, load - operator.of_bubbles(U), held, values)

    def _by_cells(self, nodes: Nodes, order: int) -> Iterator[Vector]:
        """Loads that cells have: of thermal expansion, and of forces that are constant on each."""
        if self.thermal is not None:
            yield thermal_load(self.thermal, nodes, order)
        if self.weights is not None:
            yield weight_load(nodes, self.weights)


def _space(nodes: Nodes, held: HeldBoundary, given: AdmissibleSpace | None, *, alone: bool) -> AdmissibleSpace:
    """The admissible displacements: as given, `alone`, or as the groups hold them."""
    d, size = nodes.mesh.dim, nodes.mesh.dim * len(nodes)
    if given is None:
        dofs, values = prescribed(nodes, held, d, "fixed")
        if not dofs.size:
            raise InputError("fixed: nothing holds the body; fix displacements on at least one boundary group")
        return admissible(size, dofs, values, held.notes)
    if not alone or given.N != size:
        raise InputError(f"space: must hold {size} displacements and replaces fixed; give only one of them")
    return given


def lame(young: Vector, poisson: Vector, dim: int, plane: str) -> tuple[Vector, Vector]:
    """Lamé's λ and μ; in plane stress λ is the reduced one."""
    if plane not in ("strain", "stress"):
        raise InputError(f"plane: must be 'strain' or 'stress'; got {plane!r}")
    if dim == 3 and plane != "strain":
        raise InputError(f"plane: is for triangles; got {plane!r} for tetrahedra, leave it out")
    if float(young.min()) <= 0.0:
        raise InputError(f"young: must be > 0; cell {int(np.argmin(young))} has {float(young.min())!r}")
    if float(poisson.max()) >= 0.5 or float(poisson.min()) <= -1.0:
        bad = float(poisson.max()) if float(poisson.max()) >= 0.5 else float(poisson.min())
        raise InputError(f"poisson: must lie between −1 and 0.5; got {bad!r}")
    mu = young / (2.0 * (1.0 + poisson))
    if dim == 2 and plane == "stress":
        return young * poisson / (1.0 - poisson**2), mu
    lam = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))
    if float(np.max(lam / mu)) > HOPELESS:
        raise InputError(nearly_incompressible(lam, mu))
    return lam, mu


def nearly_incompressible(lam: Vector, mu: Vector) -> str:
    """Why a matrix of these is singular in float64, where it is because of them; empty where it is not."""
    ratio = lam / mu
    worst = int(np.argmax(ratio))
    if not ratio[worst] > STIFF:
        return ""
    return (
        f"poisson: in cell {worst} it is so near 0.5 that the stiffness in volume is {ratio[worst]:.1e} times that in "
        "shear, of which float64 keeps too few digits: the matrix is singular to rounding. Take at most 0.5 − 1e-10"
    )


def _row_points(nodes: Nodes, space: AdmissibleSpace) -> Vector:
    """A point for every reduced equation: that of its displacement, or of the first one that it moves."""
    if space.free is not None:
        return np.asarray(nodes.points[space.free // nodes.mesh.dim])
    Z = sp.csc_array(space.Z)
    return np.asarray(nodes.points[Z.indices[Z.indptr[:-1]] // nodes.mesh.dim])


def rigid_motions(points: Vector) -> Vector:
    """Translations and rotations as columns, three in the plane and six in space, with the unknowns of a node together.

    Centred and scaled, so that they are of one size.
    """
    X = points - points.mean(axis=0)
    X = X / max(float(np.abs(X).max(initial=0.0)), 1e-300)
    N, d = X.shape
    planes = [(i, j) for i in range(d) for j in range(i + 1, d)]
    modes = np.zeros((N, d, d + len(planes)))
    modes[:, np.arange(d), np.arange(d)] = 1.0
    for k, (i, j) in enumerate(planes, d):
        modes[:, i, k], modes[:, j, k] = -X[:, j], X[:, i]
    return modes.reshape(N * d, -1)
