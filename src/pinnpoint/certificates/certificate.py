"""The result: intervals, what they are worth, and where their width comes from; and how it is shown and written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnpoint.base.arrays import Limits
from pinnpoint.base.errors import DependencyMissingError
from pinnpoint.certificates.intervals import Intervals
from pinnpoint.certificates.json import record, write_json
from pinnpoint.certificates.printed import table
from pinnpoint.mesh.mesh import Mesh

if TYPE_CHECKING:
    from pinnpoint.report.inline import InlineReport


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Intervals):
    """Intervals for K queries, and how they are shown and written; see `Intervals` for what they hold."""

    def to_dict(self, **header: Any) -> dict[str, Any]:
        """The certificate as plain Python, in the layout of certificate.json; `header` adds title, units, …."""
        return record(self, **header)

    @property
    def id(self) -> str:
        """The SHA-256 of what `to_dict()` says; with a header, as case files give it, a certificate has another."""
        return str(self.to_dict()["id"])

    def to_json(self, path: str | os.PathLike[str], **header: Any) -> Path:
        """Write certificate.json whole or not at all; an unbounded end is null."""
        return write_json(path, self.to_dict(**header))

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        mesh: Mesh | None = None,
        fields: Any = None,
        tolerance: Limits = None,
        **header: Any,
    ) -> Path:
        """Write a report, one HTML file that needs nothing else, whole or not at all.

        Parameters
        ----------
        path
            The file; one that exists is replaced.
        mesh, fields
            To show the part: its mesh, and name to nodal values. ``prediction``, ``corrected``, ``error`` and
            ``green <query>`` have their meaning.
        tolerance
            How narrow the proof must be, one number or one per query, to be marked in the table. How wrong the
            prediction may be is the certificate's own `accept`: ``certificate.judged(…).to_html(…)``.
        header
            ``title``, ``units`` and whatever else `to_json` takes.
        """
        return self.report(mesh=mesh, fields=fields, tolerance=tolerance, **header).save(path)

    def report(
        self, *, mesh: Mesh | None = None, fields: Any = None, tolerance: Limits = None, **header: Any
    ) -> InlineReport:
        """The report of `to_html` to look at in a notebook; its ``save(path)`` writes the file."""
        from pinnpoint.report import View
        from pinnpoint.report.family import marked
        from pinnpoint.report.inline import InlineReport
        from pinnpoint.report.page import render

        data, drawn = marked(self.to_dict(**header), tolerance), dict(fields or {})
        if mesh is not None and self.band is not None:
            drawn["proved bound of the error"] = mesh.largest_at_vertices(self.band)
        return InlineReport(render(data, None if mesh is None else View.of(mesh, drawn, self.points)))

    def _repr_html_(self) -> str:
        """A compact table for notebooks."""
        from pinnpoint.report.notebook import compact

        return compact(self.to_dict())

    def plot(self, ax: Any = None) -> Any:
        """Intervals and predictions side by side, as matplotlib axes (extra ``plot``)."""
        from pinnpoint.report.matplot import draw

        return draw(self.to_dict(), ax)

    def to_frame(self) -> Any:
        """A pandas table, one row per query (extra ``frame``)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise DependencyMissingError("to_frame needs pandas: pip install 'pinnpoint[frame]'") from error
        lower, upper = self._ends(self.center, self.radius)
        columns = {
            "name": list(self.names),
            "value": self.value,
            "center": self.center,
            "radius": self.radius,
            "lower": lower,
            "upper": upper,
            "value_radius": self.value_radius,
        }
        if self.sigma is not None:
            columns["sensitivity"] = self.sigma
        if self.raw is not None:
            columns |= {"raw": self.raw, "raw_radius": self._radius_at(self.raw)}
        if self.mesh_estimate is not None:
            columns["mesh_estimate"] = self.mesh_estimate
        columns |= {f"term:{name}": t for name, t in self.terms.items()}
        columns["guarantee"] = list(self.guarantees)
        if self.accept is not None:
            columns |= {"accept": self.accept, "verdict": [v.get("accept", "") for v in self.verdicts]}
        if self.limit is not None:
            above, below = self.limit.T
            columns |= {"above": above, "below": below, "limit": [v.get("limit", "") for v in self.verdicts]}
        return pd.DataFrame(columns).set_index("name")

    def __str__(self) -> str:
        """A table for people."""
        return table(self)

    def __repr__(self) -> str:
        """In one line; ``print`` shows the table."""
        worst = float(np.max(self.radius, initial=0.0))
        return (
            f"Certificate({len(self)} queries, {self.method}, {self.guarantee}, target {self.target}, "
            f"largest radius {worst:.3g})"
        )
