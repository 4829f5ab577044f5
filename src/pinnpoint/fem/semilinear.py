"""−∇·(A∇u) + c u + g(u) = f with linear elements; a cubic g is integrated exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Limits, Matrix, Vector, frozen, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certifiers.protocols import Forecast as Cost
from pinnpoint.fem.assembling import assembly
from pinnpoint.fem.assembling.elements import ORDER, Nodes
from pinnpoint.fem.assembling.enriched import Enrichment
from pinnpoint.fem.assembling.enrichments import reaction_load
from pinnpoint.fem.conversion import as_mesh
from pinnpoint.fem.data.coefficients import Data, per_cell
from pinnpoint.fem.data.held import HeldBoundary
from pinnpoint.fem.data.periodic import Periodic
from pinnpoint.fem.extraction import Extraction
from pinnpoint.fem.fields import Component
from pinnpoint.fem.lifts.forecast import Forecast
from pinnpoint.fem.lifts.lifted import parts_of
from pinnpoint.fem.lifts.lifted_reactions import LiftedReaction, require_lifts
from pinnpoint.fem.problem import LiftableElements
from pinnpoint.fem.reaction_diffusion import ReactionDiffusion
from pinnpoint.fem.scalar_queries import Names
from pinnpoint.formulas.expressions import parse
from pinnpoint.formulas.signs import everywhere
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quadrature import at_points, rule
from pinnpoint.mesh.refine import Refiner
from pinnpoint.models.given import Prediction
from pinnpoint.models.lifts import Lift
from pinnpoint.solvers.protocol import Solver
from pinnpoint.systems.queries import Goal, Queries
from pinnpoint.systems.semilinear.base import AbstractSemilinear
from pinnpoint.systems.semilinear.cubic import CubicSystem, share
from pinnpoint.systems.semilinear.reaction import Reaction, ReactionSystem
from pinnpoint.systems.semilinear.shifted import ShiftedSystem
from pinnpoint.systems.spaces import AdmissibleSpace
from pinnpoint.transfer.nonlinear.lifted_reactions import LiftedTerm
from pinnpoint.transfer.nonlinear.monotone import Monotone
from pinnpoint.transfer.nonlinear.reactions import CubicTerm, ReactionTerm, Term


@dataclass(frozen=True, eq=False)
class Semilinear(LiftableElements):
    """The Galerkin system of −∇·(A∇u) + c u + g(u) = f with g(u) = λu³, or another g.

    u = g_D on Dirichlet groups, A∇u·n = g_N on Neumann groups, A∇u·n + αu = g on Robin groups. ∫ λu³φ_i is exact for
    linear elements and λ constant on cells; all other integrals are those of `ReactionDiffusion`. The Lipschitz
    constants of the certificates follow from the reaction, the mesh and the state.

    Parameters
    ----------
    mesh
        Intervals, triangles or tetrahedra.
    cubic
        λ: a number, a table from cell groups, or one number per cell. For λ ≥ 0 the discrete root is unique; a negative
        λ is accepted, and then a certificate is refused where no root is verified.
    source, diffusion, reaction, dirichlet, neumann, robin, periodic, weight, quadrature
        As in `ReactionDiffusion`; the rule of `quadrature` also integrates a general g.
    degree
        1, or 2 for quadratic elements: with the continuous target, and a cubic of one λ.
    g
        In place of the cubic: a formula in u, or a `Reaction` with g, g′ and g″ as formulas or as functions.
    """

    mesh: Mesh
    linear: ReactionDiffusion
    cubic: Vector | None
    g: Reaction | None
    system: AbstractSemilinear
    kept: tuple[Lift, ReactionDiffusion] | None
    """Of what a lift leaves over: the lift, and the linear part of the problem itself."""

    components = 1

    __repr__ = brief

    def __init__(
        self,
        mesh: Mesh,
        cubic: Data = None,
        source: Data = 0.0,
        diffusion: Data = 1.0,
        reaction: Data = 0.0,
        dirichlet: Mapping[str, Any] | None = None,
        neumann: Mapping[str, Any] | None = None,
        *,
        robin: Mapping[str, Any] | None = None,
        periodic: Mapping[str, str] | Periodic | None = None,
        weight: Matrix | None = None,
        quadrature: int | None = None,
        degree: int = 1,
        g: Reaction | str | None = None,
        **others: Any,
    ) -> None:
        _require_none(others)
        if (cubic is None) == (g is None):
            raise InputError("cubic, g: give exactly one of them, λ of λu³ or a Reaction")
        if isinstance(g, str):
            g = Reaction(parse(g, variables=("u",), name="g"))
        if g is not None and not isinstance(g, Reaction):
            raise InputError(
                f"g: must be a formula of u, 'sinh(u)', or a Reaction, Reaction('exp(u)', 'exp(u)', 'exp(u)'); got "
                f"{type(g).__name__}"
            )
        mesh = as_mesh(mesh)
        lam = None if cubic is None else per_cell("cubic", cubic, mesh)
        acts = lam is None or bool(np.any(lam))
        linear = ReactionDiffusion(
            mesh,
            source,
            diffusion,
            reaction,
            dirichlet,
            neumann,
            robin=robin,
            periodic=periodic,
            quadrature=quadrature,
            degree=degree,
            floating=acts,
        )
        where = assembly.pattern(linear.nodes)
        A = _symmetric(linear.A, where)
        frozen(A.data, A.indices, A.indptr, lam)
        if degree == 2 and g is None:
            g = _as_reaction(lam)
        if lam is not None and degree == 1:
            w = np.asarray(lam * mesh.volumes * share(mesh.dim))
            frozen(w)
            system: AbstractSemilinear = CubicSystem(
                A, linear.b, linear.space, linear.nodes.cell_dofs, w, where.slot, weight
            )
        elif g is not None:
            bary, weights = rule(mesh.dim, linear.quadrature)
            phi, v = linear.nodes.shapes(bary), mesh.volumes[:, None] * weights[None, :]
            system = ReactionSystem(A, linear.b, linear.space, linear.nodes.cell_dofs, g, phi, v, where.slot, weight)
        set_fields(self, mesh=mesh, linear=linear, cubic=lam, g=g, system=system, kept=None)

    @property
    def A(self) -> Any:
        """The linear part's matrix, over all nodes."""
        return self.system.A

    @property
    def degree(self) -> int:
        """Of the elements."""
        return self.linear.degree

    @property
    def b(self) -> Vector:
        """The load."""
        return self.linear.b

    @property
    def space(self) -> AdmissibleSpace:
        """The admissible vectors."""
        return self.linear.space

    @property
    def nodes(self) -> Nodes:
        """The degrees of freedom."""
        return self.linear.nodes

    @property
    def quadrature(self) -> int:
        """Order of the rules for c, f and g_N."""
        return self.linear.quadrature

    @property
    def conditions(self) -> Mapping[str, Mapping[str, Any]]:
        """Dirichlet and Neumann tables."""
        return self.linear.conditions

    @property
    def held(self) -> HeldBoundary:
        """The Dirichlet groups resolved into parts that share no facet."""
        return self.linear.held

    @property
    def given(self) -> Mapping[str, Any]:
        """Source, diffusion, reaction, dirichlet and neumann as they were given, expressions parsed."""
        return self.linear.given

    @property
    def total_load(self) -> Vector:
        """Sum of the load."""
        return self.linear.total_load

    def points(self, X: ArrayLike, names: Sequence[str] | None = None) -> Queries:
        """Values at points."""
        return self.linear.points(X, names)

    def averages(self, X: ArrayLike, radius: ArrayLike, names: Sequence[str] | None = None) -> Queries:
        """Averages over balls that lie in the domain."""
        return self.linear.averages(X, radius, names)

    def patch(self, group: str, component: Component = None, name: str | None = None) -> Queries:
        """The average over a boundary group."""
        return self.linear.patch(group, component, name)

    def gradients(self, X: ArrayLike, direction: Component, names: Sequence[str] | None = None) -> Queries:
        """Derivatives in a direction in the cells that hold the points."""
        return self.linear.gradients(X, direction, names)

    def fluxes(self, X: ArrayLike, direction: Component, names: Sequence[str] | None = None) -> Queries:
        """Fluxes κ ∂u/∂x_direction in the cells that hold the points."""
        return self.linear.fluxes(X, direction, names)

    def mean(self, name: str | None = None) -> Queries:
        """The average over the domain."""
        return self.linear.mean(name)

    def cells(self, where: Any, side: ArrayLike | None = None, name: Names = None) -> Queries:
        """The average over cells, or over blocks about points, as of `ReactionDiffusion`."""
        return self.linear.cells(where, side, name)

    def everywhere(self, name: str = "everywhere", *, solve: bool = True, barrier: str | None = None) -> Queries:
        """The largest error of the prediction over the whole domain, max |u_θ − u|, by level sets.

        `solve` and `barrier`, for lifts, as of `ReactionDiffusion`.
        """
        return self.linear.everywhere(name, solve=solve, barrier=barrier)

    def l2_error(self, name: str = "l2-error") -> Queries:
        """The prediction's error in the mean over the domain, as of `ReactionDiffusion`."""
        return self.linear.l2_error(name)

    def energy_error(self, name: str = "energy-error") -> Queries:
        """The prediction's error in the energy norm of the linear part."""
        return self.linear.energy_error(name)

    def maximum(self, group: str | None = None, name: str = "maximum") -> Queries:
        """The largest value of the solution over the domain, or a group of cells."""
        return self.linear.maximum(group, name)

    def minimum(self, group: str | None = None, name: str = "minimum") -> Queries:
        """The smallest value of the solution over the domain, or a group of cells."""
        return self.linear.minimum(group, name)

    def flux(self, group: str, name: str | None = None) -> Queries:
        """The total flux ∫ g − αu through a Robin group.

        Through others it is refused: with g(u) the weak form's flux is not an affine functional of the coefficients.
        """
        if self.linear.sides is not None and self.linear.sides.has(group):
            return self.linear.flux(group, name)
        raise InputError(
            f"flux '{group}': the flux of a semilinear problem through a group without a Robin condition is not a "
            "linear functional of its coefficients; ask for points or averages"
        )

    def extract(self, prediction: Prediction, how: str = "nodal") -> Extraction:
        """Π_h: the admissible vector of a prediction."""
        return self.linear.extract(prediction, how)

    def whole(self, U: Vector) -> Vector:
        """A state as it is drawn."""
        return self.linear.whole(U)

    def refiner(self) -> Refiner:
        """How the mesh is refined: sides of periodic pairs alike."""
        return self.linear.refiner()

    def enriched(self, U: Vector) -> Enrichment:
        """The problem on linear elements and edge bubbles, linearised at its discrete solution U."""
        linear = self.linear.enriched(U)
        operator = linear.operator

        def g(u: Vector) -> Vector:
            if self.g is None:
                assert self.cubic is not None
                return np.asarray(self.cubic[:, None] * u**3)
            return self.g.values("g", u, None)[0]

        def slope(u: Vector) -> Vector:
            if self.g is None:
                assert self.cubic is not None
                return np.asarray(3.0 * self.cubic * u**2)
            return self.g.values("first", u, None)[0]

        c = slope(U[self.mesh.cells].mean(axis=1)) + (0.0 if operator.reaction is None else operator.reaction)
        load = reaction_load(operator.nodes, U, g, max(self.quadrature, ORDER[2]))
        return replace(linear, operator=replace(operator, reaction=c), residual=linear.residual - load)

    def refined(self, mesh: Mesh, parents: Index) -> Self:
        """The same problem on a refined mesh, whose cells came from these."""
        self.require_transfer()
        linear = self.linear.refined(mesh, parents)
        order = None if self.quadrature == ORDER[self.degree] else self.quadrature
        cubic = None if self.cubic is None else self.cubic[parents]
        g = self.g if cubic is None else None
        return type(self)(mesh, cubic, **linear.given, quadrature=order, degree=self.degree, g=g)

    def ask(self, goals: Sequence[Goal | None], names: Sequence[str]) -> Queries:
        """Queries for what is asked of the PDE's own solution."""
        return self.linear.ask(goals, names)

    def transfer(self, queries: Queries, tolerance: Limits = None, budget: int | None = None) -> Monotone:
        """The proved way to these queries' values of the PDE's own solution."""
        self.require_transfer()
        T = self.linear.topology
        model = replace(self.linear.continuum(T, budget), reacts=True)
        quadratic = model.d if self.degree == 2 else 0
        term: Term = CubicTerm(self.cubic) if self.g is None else ReactionTerm(self.g, quadratic)  # type: ignore[arg-type]
        if self.kept is not None:
            lift, own = self.kept
            whole = replace(own.continuum(own.topology, budget), reacts=True)
            term = LiftedTerm(self.reaction, quadratic, value=lift.value, whole=whole, tolerance=model.fine)
        facets_of, cells_of = partial(T.numbers_of_group, self.mesh), self.linear.cell_numbers
        return Monotone(model, term, queries, facets_of, tolerance, cells_of, self.kept is not None)

    @property
    def reaction(self) -> Reaction:
        """The reaction g, of a cubic too."""
        return _as_reaction(self.cubic) if self.g is None else self.g

    def lift_of(self, prediction: Prediction) -> Lift:
        """The prediction as a lift of this problem, or a refusal."""
        self.require_transfer()
        return require_lifts(self.linear, prediction, self.cubic)

    def lifted(self, prediction: Prediction) -> LiftedReaction:
        """The problem of what a smooth prediction leaves over, to be certified in the place of this one."""
        lift = self.lift_of(prediction)
        _, linear, _, _ = parts_of(self.linear, lift, self.reaction.g)  # indefinite.md, step 12a
        assert isinstance(linear, ReactionDiffusion)
        bary, weights = rule(self.mesh.dim, linear.quadrature)
        phi, v = linear.nodes.shapes(bary), self.mesh.volumes[:, None] * weights[None, :]
        X = at_points(self.mesh.points[self.mesh.cells], bary)
        shift = lift.value(X.reshape(-1, self.mesh.dim)).reshape(X.shape[:2])
        where = assembly.pattern(linear.nodes)
        system = ShiftedSystem(
            _symmetric(linear.A, where),
            linear.b,
            linear.space,
            linear.nodes.cell_dofs,
            self.reaction,
            phi,
            v,
            where.slot,
            shift=shift,
        )
        rest: Any = object.__new__(type(self))
        set_fields(
            rest,
            mesh=linear.mesh,
            linear=linear,
            cubic=None,
            g=self.reaction,
            system=system,
            kept=(lift, self.linear),
        )
        return LiftedReaction(self.linear, rest, lift, None, self)

    def lift_cost(self, lift: Lift, queries: int) -> Forecast:
        """What a lift will cost, before it is begun."""
        return self.linear.lift_cost(lift, queries)

    def require_worth(self, lift: Lift, plain: Certificate, solver: Solver, ahead: Cost) -> None:
        """Nothing is forecast of nonlinear problems."""

    def require_transfer(self) -> None:
        """Refuse problems for which no transfer to the PDE's own solution is proved."""
        if self.g is not None and not self.g.differentiated:
            raise InputError(
                "target: the transfer to the PDE's own solution needs g as a formula without corners; for others say "
                "target='discrete', or pass transfer="
            )
        if self.g is not None and not (everywhere(self.g.g) and math.isfinite(ReactionTerm(self.g).fall)):
            raise InputError(
                "target: the continuous target needs a g whose derivative is bounded from below on the whole real "
                f"line, and of g′ = {self.g.first.text[:80]} that was not proved. Write g with powers, exp, sinh, "
                "tanh, atan and sums of them, or say target='discrete', or pass transfer="
            )
        if self.cubic is not None and float(self.cubic.min()) < 0.0:
            cell = int(np.argmin(self.cubic))
            raise InputError(
                f"target: the continuous target needs λ ≥ 0, a monotone reaction; cell {cell} has "
                f"{float(self.cubic[cell])!r}. Say target='discrete', or pass transfer="
            )
        held = bool(self.held.parts) or self.linear.sides is not None
        if not (held or self.linear.reaction_varies or np.any(self.linear.reaction)):
            raise InputError(
                "target: without a Dirichlet group and without a reaction c the energy error is not bounded; fix a "
                "value on some group, give c > 0 or a Robin group, or say target='discrete'"
            )
        self.linear.require_transfer()


def _require_none(others: Mapping[str, Any]) -> None:
    """Refuse what a linear problem takes and this one does not, with what to do."""
    known = {
        "convection": "drift beside g(u) is not proved, nor solved for: give it to fem.ReactionDiffusion without g, or "
        "leave it out",
        "geometry": "curves are for linear problems: take fem.ReactionDiffusion, or the domain that the mesh covers",
        "floating": "what nothing holds is found out from g and the conditions; leave it out",
    }
    for word, given in others.items():
        if word not in known:
            raise TypeError(f"Semilinear.__init__() got an unexpected keyword argument '{word}'")
        if given is not None and given is not False:
            raise InputError(
                f"{word}: a semilinear problem, −∇·(A∇u) + c u + g(u) = f, takes none; got {type(given).__name__}. "
                f"{known[word][0].upper()}{known[word][1:]}"
            )


def _as_reaction(cubic: Vector | None) -> Reaction:
    """λu³ as a formula, for quadratic elements."""
    assert cubic is not None
    if np.ptp(cubic) != 0.0:
        raise InputError("cubic: must be one number for degree = 2 and for lifts; a table of groups is for degree = 1")
    return Reaction(f"({float(cubic[0])!r})*u**3")


def _symmetric(given: Any, where: assembly.Pattern) -> Any:
    """A matrix, bitwise symmetric and with an entry wherever the pattern has one."""
    A = sp.csr_array((given + given.T) * 0.5)
    A.sort_indices()
    same = np.array_equal(A.indices, where.indices) and np.array_equal(A.indptr, where.indptr)
    return A if same else _on_pattern(A, where)


def _on_pattern(A: Matrix, where: assembly.Pattern) -> Any:
    """A with zeros stored wherever the pattern has an entry."""
    n = A.shape[0]
    ones = sp.csr_array((np.ones(where.size), where.indices, where.indptr), shape=(n, n))
    places = sp.csr_array((np.arange(1.0, where.size + 1.0), where.indices, where.indptr), shape=(n, n))
    found = places.multiply(A != 0.0).tocsr()
    data = np.zeros(where.size)
    stored = A.tocsr()
    stored.eliminate_zeros()
    stored.sort_indices()
    found.sort_indices()
    data[(found.data - 1.0).astype(np.intp)] = stored.data
    return sp.csr_array((data, ones.indices, ones.indptr), shape=(n, n))
