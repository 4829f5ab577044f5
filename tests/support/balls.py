"""A rule for integrals over balls whose integrands are singular at the centre, or kink on a sphere."""

import numpy as np


def ball(d, radius, cut=0.0, n=24):
    """Points about 0, weights, and radii of a rule for the ball, split at `cut`."""
    x, w = np.polynomial.legendre.leggauss(n)
    u, w = 0.5 * (x + 1.0), 0.5 * w
    r, jr = [], []
    for low, high in ((0.0, cut), (cut, radius)):
        if high > low:
            r.append(low + (high - low) * u**2)
            jr.append(2.0 * (high - low) * u * w)
    r, jr = np.concatenate(r), np.concatenate(jr)
    phi = 2 * np.pi * np.arange(40) / 40
    circle = np.stack([np.cos(phi), np.sin(phi)], axis=1)
    if d == 2:
        return r, r[:, None, None] * circle, (jr * r)[:, None] * np.full(40, 2 * np.pi / 40)
    z, v = np.polynomial.legendre.leggauss(20)
    level = np.sqrt(1 - z * z)
    E = np.concatenate([level[:, None, None] * circle, np.broadcast_to(z[:, None, None], (20, 40, 1))], axis=2)
    E = E.reshape(-1, 3)
    return r, r[:, None, None] * E, (jr * r * r)[:, None] * np.repeat(v * 2 * np.pi / 40, 40)
