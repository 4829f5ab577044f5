"""Random simplices: small, large, far away, flat, or with short coordinates."""

from __future__ import annotations

import numpy as np


def corners(rng, m, d, regime, count):
    """Simplices of one kind, (count, m + 1, d)."""
    V = rng.uniform(-1.0, 1.0, (count, m + 1, d))
    place = rng.uniform(-1.0, 1.0, (count, 1, d))
    if regime == "plain":
        return 0.05 * V + place
    if regime == "wide":
        return 0.5 * V + place
    if regime == "tiny":
        return 1e-9 * V + place
    if regime == "far":
        return 1e-2 * V + 300.0 * place
    if regime == "short":  # short mantissas: coordinates are exact, so that nothing comes in
        return np.round(V * 2.0**6) * 2.0**-26 + np.round(place * 2.0**10) * 2.0**-10
    stretched = V.copy()  # flat: one direction a million times longer than another
    stretched[..., -1] *= 1e-6
    return 0.1 * stretched + place
