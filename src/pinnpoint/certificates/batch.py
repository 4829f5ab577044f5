"""Certificates of many states."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Limits, Vector, attributes
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.mesh.mesh import Mesh


class CertificateBatch(Sequence[Certificate]):
    """Certificates of many states, with the arrays stacked: shape (states, queries)."""

    def __init__(self, certificates: Sequence[Certificate]) -> None:
        self._all = tuple(certificates)

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, i: Any) -> Any:
        return CertificateBatch(self._all[i]) if isinstance(i, slice) else self._all[i]

    def __iter__(self) -> Iterator[Certificate]:
        return iter(self._all)

    def __repr__(self) -> str:
        queries = len(self._all[0]) if self._all else 0
        return f"CertificateBatch({len(self)} states, {queries} queries)"

    def to_html(
        self,
        path: str | os.PathLike[str],
        loads: Sequence[str] | None = None,
        *,
        mesh: Mesh | None = None,
        fields: Any = None,
        tolerance: Limits = None,
        **header: Any,
    ) -> Path:
        """Write one report of all states, which `loads` name; `fields` has one mapping per state.

        Otherwise as `Certificate.to_html`.
        """
        from pinnpoint.report import write_family

        return write_family(path, [c.to_dict(**header) for c in self._all], loads, mesh, fields, tolerance)

    def judged(self, accept: Limits = None, limit: Any = None) -> CertificateBatch:
        """The same certificates, asked for verdicts as in `Certificate.judged`."""
        return CertificateBatch([c.judged(accept, limit) for c in self._all])

    @property
    def verdicts(self) -> tuple[tuple[dict[str, str], ...], ...]:
        """State by state and query by query, as `Certificate.verdicts` has them."""
        return tuple(c.verdicts for c in self._all)

    def _stack(self, name: str) -> Vector:
        return np.array([attributes(c, name)[name] for c in self._all])

    @property
    def value(self) -> Vector:
        """ℓᵀU of each state."""
        return self._stack("value")

    @property
    def center(self) -> Vector:
        """Centres."""
        return self._stack("center")

    @property
    def radius(self) -> Vector:
        """Radii."""
        return self._stack("radius")

    @property
    def lower(self) -> Vector:
        """Lower ends."""
        return self._stack("lower")

    @property
    def upper(self) -> Vector:
        """Upper ends."""
        return self._stack("upper")

    @property
    def residual_norm(self) -> Vector:
        """‖r‖_W of each state, shape (states,)."""
        return self._stack("residual_norm")
