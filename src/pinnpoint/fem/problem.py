"""What finite-element problems share: what their certificates say, and what others may ask of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from pinnpoint.base.arrays import Limits, Vector, digest
from pinnpoint.base.display import rows, titled
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.transfer import Route
from pinnpoint.certifiers.protocols import Certifier, Liftable, Problem
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.assembling.enriched import Enrichment
from pinnpoint.fem.curved.bending import Bending
from pinnpoint.fem.data.borders import bodies
from pinnpoint.fem.data.coefficients import Data
from pinnpoint.fem.data.held import HeldBoundary
from pinnpoint.fem.fields import of_cells, of_group
from pinnpoint.mesh.curves import curve_notes
from pinnpoint.mesh.display import mesh_html
from pinnpoint.mesh.gluing import Gluing
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quality import unjoined_notes
from pinnpoint.mesh.topology import Topology
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.targets import DOMAINS, MESH, TRANSFERRED
from pinnpoint.transfer.boundary.seams import Seam
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.media.coefficients import Coefficients

INSIDE = frozenset({"quadrature", "notes", "total_load", "sides", "loops", "seam", "file", "lame", "held"})
"""What is not shown of a problem in a notebook."""


class FiniteElements(Problem):
    """A problem on a mesh."""

    if TYPE_CHECKING:

        @property
        def nodes(self) -> Nodes: ...  # noqa: D102
        @property
        def given(self) -> Mapping[str, Any]: ...  # noqa: D102
        @property
        def conditions(self) -> Mapping[str, Mapping[str, Any]]: ...  # noqa: D102
        @property
        def A(self) -> Any: ...  # noqa: D102
        @property
        def b(self) -> Vector: ...  # noqa: D102

    def _repr_html_(self) -> str:
        """Data, conditions, unknowns and the mesh, for notebooks."""
        parts = [self, *(part for part in vars(self).values() if isinstance(part, FiniteElements))]
        shown = {name: value for part in parts for name, value in rows(part, deep=False) if name not in INSIDE}
        return titled(self, [*shown.items(), ("unknowns", f"{len(self.b):,}")]) + mesh_html(self.mesh)

    def fingerprint(self, what: str) -> str:
        """A digest of what queries may have been made from: "mesh", "matrix", "load", "group '…'" or "cells '…'"."""
        if what == "mesh":
            return self.mesh.fingerprint
        if what in ("matrix", "load"):
            return digest(self.b) if what == "load" else digest(self.A.data, self.A.indices)
        if what.startswith("cells "):
            return of_cells(self.mesh, what.removeprefix("cells '").removesuffix("'"))
        return of_group(self.mesh, what.removeprefix("group '").removesuffix("'"))

    def whole(self, U: Vector) -> Vector:
        """A state as it is drawn: with values at nodes that stand for nothing in the system."""
        return U

    @property
    def domain(self) -> str:
        """What intervals of the PDE's own solution are of."""
        return DOMAINS[self.mesh.dim]

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of the mesh and the data, whatever is asked."""
        return (*unjoined_notes(self.mesh), *self.curve_notes(), *self.mesh.remarks, *self.given.get("notes", ()))

    def curve_notes(self) -> tuple[str, ...]:
        """What looks curved and is not."""
        return curve_notes(self.mesh, bodies=bodies(self.mesh, self.given))

    @abstractmethod
    def enriched(self, U: Vector) -> Enrichment:
        """The problem on linear elements and edge bubbles, around its discrete solution U."""

    def finish(
        self, certificate: Certificate, queries: Queries, U: Vector, certifier: Certifier, *, own: bool
    ) -> Certificate:
        """The same intervals with what they are of, remarks of the transfer, and an estimate of the mesh's part."""
        if certificate.target == "continuous":
            of = self.domain if own else TRANSFERRED
            return replace(certificate, interval_of=of, notes=certificate.evidence.remarks)
        from pinnpoint.fem.mesh_estimate import mesh_estimate  # only the discrete target asks for one

        estimate = mesh_estimate(self, queries, U, certifier, certificate.evidence.state)
        why = f"what the mesh leaves of these values was not estimated: {estimate.why}"
        notes = () if estimate.sizes is not None else (why,)
        return replace(certificate, interval_of=MESH, notes=notes, mesh_estimate=estimate.sizes)


class LiftableElements(FiniteElements, Liftable):
    """A problem on a mesh that can keep a prediction."""


class ScalarProblem(LiftableElements):
    """−∇·(κ∇u) + c u = f, as lifts and their forecast see it."""

    if TYPE_CHECKING:

        @property
        def diffusion(self) -> Vector: ...  # noqa: D102
        @property
        def reaction(self) -> Vector | None: ...  # noqa: D102
        @property
        def coefficients(self) -> Coefficients | None: ...  # noqa: D102
        @property
        def held(self) -> HeldBoundary: ...  # noqa: D102
        @property
        def topology(self) -> Topology: ...  # noqa: D102
        @property
        def bending(self) -> Bending | None: ...  # noqa: D102
        @property
        def gluing(self) -> Gluing | None: ...  # noqa: D102

    @abstractmethod
    def continuum(self, T: Topology, budget: int | None = None) -> Continuum:
        """The problem as its transfer sees it."""

    @abstractmethod
    def left_over(self, queries: Queries, tolerance: Limits = None, budget: int | None = None) -> Route:
        """The transfer where the solution is what a lift leaves over."""

    @abstractmethod
    def like(
        self,
        mesh: Mesh,
        source: Data,
        dirichlet: Mapping[str, Any],
        neumann: Mapping[str, Any],
        quadrature: int,
        robin: Mapping[str, Any] | None = None,
        seam: Seam | None = None,
    ) -> Self:
        """The same constant coefficients with other data, on the same cells."""
