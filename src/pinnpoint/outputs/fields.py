"""The fields of field.vtu and of the report, and the evidence that they are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.cases.study import Study
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certifiers.protocols import Certifier, Problem
from pinnpoint.fem.lifts.lifted import AbstractLifted
from pinnpoint.fem.parabolic.asking import MovingQueries
from pinnpoint.fem.problem import FiniteElements
from pinnpoint.outputs.moments import Moments

BAND = "proved bound of the error"
"""A bound of the prediction's error on each cell; at a node the largest of its cells'."""
WIDTH = "where the width comes from"
"""The shares of places in the widths of the intervals, by volume."""
GREEN_LIMIT = 20
"""At most so many Green vectors go into field.vtu."""


@dataclass(frozen=True, eq=False)
class Fields:
    """Prediction, corrected field, their difference, what the problem draws, and each query's Green vector, by name."""

    by_name: dict[str, Vector]
    evidence: Evidence
    moments: Moments | None = None
    """Where the solution moves: prediction, corrected field and difference over time; `by_name` has the last."""

    __repr__ = brief

    @classmethod
    def of(cls, study: Study, certifier: Certifier, shares: Vector | None = None, band: Vector | None = None) -> Fields:
        """What a certifier has to say of the study's prediction.

        Parameters
        ----------
        shares
            Of the cells in the intervals' width.
        band
            Bounds of the prediction's error on each cell.
        """
        problem, extracted = study.problem, study.problem.extract(study.prediction)
        if isinstance(problem, MovingQueries):
            evidence = certifier.evidence(extracted.U)
            moments = Moments.of(problem.grid, extracted, evidence.corrected)
            return cls(moments.at(moments.times.size - 1), evidence, moments)
        U, nodal = extracted.U, extracted.given if extracted.by_nodes else None
        space, n, count = problem.space, len(problem.nodes), problem.components
        evidence = certifier.evidence(U)

        def shape(V: Vector) -> Vector:
            return V if count == 1 else V.reshape(n, count)

        # of a lifted problem U is what the prediction leaves over
        kept = isinstance(problem, AbstractLifted)
        own = np.asarray(problem.lift.value(problem.nodes.points)).ravel() if kept else None
        predicted = U if nodal is None else nodal  # as it was given, where it is nodal
        fields = {"prediction": shape(predicted if own is None else own)}
        if evidence.corrected is not None:
            corrected = evidence.corrected if own is None else evidence.corrected + own
            corrected = problem.whole(corrected) if isinstance(problem, FiniteElements) else corrected
            error = fields["prediction"].reshape(corrected.shape) - corrected
            fields |= {"corrected": shape(corrected), "error": shape(error)}
            fields |= problem.drawn(corrected) if isinstance(problem, Problem) else {}
        if band is not None:
            fields[BAND] = problem.nodes.spread(problem.mesh.largest_at_vertices(band))
        if shares is not None:
            fields[WIDTH] = problem.nodes.spread(problem.mesh.at_vertices(shares / problem.mesh.volumes))
        if evidence.green is not None:
            for name, q in list(zip(study.queries.names, evidence.green, strict=True))[:GREEN_LIMIT]:
                G = np.zeros(space.N)
                G[space.free] = q
                fields[f"green {name}"] = shape(G)
        return cls(fields, evidence)
