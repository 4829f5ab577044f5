"""Contraction of certificates under refinement: the observed orders of every contribution."""

from __future__ import annotations

from collections.abc import Sequence, Sized

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, vector
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.certificate import Certificate


def observed_orders(h: ArrayLike, certificates: Sequence[Certificate]) -> dict[str, Vector]:
    """Orders p with contribution ∝ hᵖ between successive certificates (paper, cor. interval_shrinkage_conditions).

    Parameters
    ----------
    h
        Mesh sizes, strictly decreasing, one per certificate.
    certificates
        Of the same queries on successive meshes.

    Returns
    -------
    For each term present in all of them, and for ``radius``, ``value_radius`` and, where given, ``raw_radius``: an
    array (levels − 1, K). A contribution that is zero on either level has no order and is reported as infinite when
    it vanished and as zero otherwise. The radius contracts no faster than the slowest of its terms.
    """
    if not isinstance(certificates, Sized):
        raise InputError(f"certificates: must be a list of certificates; got {certificates!r}")
    h = vector("h", h, len(certificates), sign="positive")
    if len(certificates) < 2:
        raise InputError(f"certificates: an order needs at least two levels; got {len(certificates)}")
    if not np.all(np.diff(h) < 0.0):
        raise InputError("h: must decrease from level to level")
    if not all(isinstance(c, Certificate) for c in certificates):
        raise InputError("certificates: must be a list of certificates, one per mesh size")
    names = certificates[0].names
    if any(c.names != names for c in certificates):
        raise InputError("certificates: must all hold the same queries in the same order")
    columns = {
        name: [c.terms[name] for c in certificates] for name in certificates[0].terms if _everywhere(name, certificates)
    }
    columns["radius"] = [c.radius for c in certificates]
    columns["value_radius"] = [c.value_radius for c in certificates]
    if all(c.raw is not None for c in certificates):
        columns["raw_radius"] = [c._radius_at(c.raw) for c in certificates if c.raw is not None]
    ratio = np.log(h[:-1] / h[1:])[:, None]
    return {name: _orders(np.stack(values), ratio) for name, values in columns.items()}


def _everywhere(name: str, certificates: Sequence[Certificate]) -> bool:
    return all(name in c.terms for c in certificates)


def _orders(values: Vector, ratio: Vector) -> Vector:
    coarse, fine = values[:-1], values[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.log(coarse / fine) / ratio
    return np.where((coarse > 0.0) & (fine > 0.0), order, np.where((coarse > 0.0) & (fine == 0.0), np.inf, 0.0))
