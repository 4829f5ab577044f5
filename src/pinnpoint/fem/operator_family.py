"""Families in which every instance has a diffusion coefficient of its own: prepared once, certified by the thousand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError
from pinnpoint.certificates.population import Population
from pinnpoint.fem.problem import ScalarProblem
from pinnpoint.systems.queries import Queries


@dataclass(frozen=True, eq=False)
class OperatorFamily:
    """All problems −∇·(κ∇u) = f that differ from one in κ alone, κ one number on each cell or on each group.

    Parameters
    ----------
    problem
        Gives mesh, source, boundary data; its own diffusion is not used.
    groups
        Names of cell groups that κ is constant on, in the order of a row of `kappas`; None for one number a cell.
    """

    problem: ScalarProblem
    groups: tuple[str, ...] | None = None

    __repr__ = brief

    def prepare(
        self,
        queries: Queries,
        *,
        steps: int = 3,
        dual_steps: int | None = None,
        tolerance: float | None = None,
        budget: int | str | None = None,
    ) -> PopulationCertifier:
        """Everything that no κ changes.

        Parameters
        ----------
        queries
            Means, averages over cells, blocks, balls.
        steps
            Preconditioned steps for the state and its flux, from the reference.
        dual_steps
            The same for each query's dual; `steps` − 1, and at least one, by default.
        tolerance
            Instead of `steps`: go on with an instance until its `gap` is below, or a step makes it less than 5 %
            smaller.
        budget
            Instead of steps: applications of the reference's inverse a instance, or ``"one solve"``.
        """
        raise CertificationError("operators: not yet")


@dataclass(frozen=True, eq=False)
class PopulationCertifier:
    """What no κ changes, for one family and its queries."""

    family: OperatorFamily
    queries: Queries
    steps: int
    dual_steps: int

    __repr__ = brief

    def certify_many(self, kappas: Any, predictions: Any, streams: Any = None) -> Population:
        """Certify S instances.

        Parameters
        ----------
        kappas
            κ > 0, (S, cells) or (S, groups): an array, memory-mapped, zarr, or any sequence of rows.
        predictions
            Values at the nodes, (S, nodes).
        streams
            Values at the nodes of predicted stream functions ψ, (S, nodes): the flux is then that of the reference
            plus curl ψ = (∂_y ψ, −∂_x ψ) to begin with.
        """
        raise CertificationError("operators: not yet")

    def certify_chunks(
        self, instances: Iterable[Sequence[Any]], chunk: int = 256, first: int = 0
    ) -> Iterator[Population]:
        """Certify a stream of (κ, prediction) or (κ, prediction, stream), `chunk` instances at a time."""
        raise CertificationError("operators: not yet")

    def refine(self, population: Population, rows: Any) -> Population:
        """Certify some rows of a population again: with more steps, then on a mesh twice as fine."""
        raise CertificationError("operators: not yet")
