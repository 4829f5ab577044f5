"""Steps and sums on squares cut in two, compiled with numba: fields in float32, sums in float64.

Node (i, j) has the neighbours (i ± 1, j) and (i, j ± 1); the square (i, j) has a lower triangle (00, 10, 11) and an upper
one (00, 01, 11), κ[…, 0] and κ[…, 1]. Sums may be reordered and contracted: their bounds hold for any order. Importing
this module needs the extra ``fast``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LOOSE = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=LOOSE)
def weigh(kappa, wx, wy):  # type: ignore[no-untyped-def]
    """Weights of the edges along x, (I, nx, ny + 1), and along y, (I, nx + 1, ny): half of each triangle beside them."""
    half = np.float32(0.5)
    for f in range(kappa.shape[0]):
        k = kappa[f]
        nx, ny = k.shape[0], k.shape[1]
        for i in range(nx):
            wx[f, i, 0] = half * k[i, 0, 0]
            wx[f, i, ny] = half * k[i, ny - 1, 1]
            for j in range(1, ny):
                wx[f, i, j] = half * (k[i, j, 0] + k[i, j - 1, 1])
        for j in range(ny):
            wy[f, 0, j] = half * k[0, j, 1]
            wy[f, nx, j] = half * k[nx - 1, j, 0]
        for i in range(1, nx):
            for j in range(ny):
                wy[f, i, j] = half * (k[i, j, 1] + k[i - 1, j, 0])


@njit(cache=True, nogil=True, fastmath=LOOSE)
def operate(wx, wy, p, q, fixed):  # type: ignore[no-untyped-def]
    """q = A p for fields (I, m, nodes); returns pᵀq. `fixed`: rows of the boundary are zero, as p is there."""
    count, m, NX, NY = p.shape
    nx, ny = NX - 1, NY - 1
    out = np.zeros((count, m))
    for g in range(count):
        X, Y = wx[g], wy[g]
        for f in range(m):
            P, R = p[g, f], q[g, f]
            total = 0.0
            for i in range(1, nx):
                row = np.float32(0.0)
                for j in range(1, ny):
                    v = (
                        X[i - 1, j] * (P[i, j] - P[i - 1, j])
                        + X[i, j] * (P[i, j] - P[i + 1, j])
                        + Y[i, j - 1] * (P[i, j] - P[i, j - 1])
                        + Y[i, j] * (P[i, j] - P[i, j + 1])
                    )
                    R[i, j] = v
                    row += v * P[i, j]
                total += row
            if not fixed:
                for i in range(NX):
                    row = np.float32(0.0)
                    inside = 0 < i < nx
                    for step in range(2 if inside else NY):
                        j = step * ny if inside else step
                        v = np.float32(0.0)
                        c = P[i, j]
                        if i > 0:
                            v += X[i - 1, j] * (c - P[i - 1, j])
                        if i < nx:
                            v += X[i, j] * (c - P[i + 1, j])
                        if j > 0:
                            v += Y[i, j - 1] * (c - P[i, j - 1])
                        if j < ny:
                            v += Y[i, j] * (c - P[i, j + 1])
                        R[i, j] = v
                        row += v * c
                    total += row
            out[g, f] = total
    return out


@njit(cache=True, nogil=True, fastmath=LOOSE)
def dots(a, b):  # type: ignore[no-untyped-def]
    """Σ a b of every field."""
    out = np.zeros((a.shape[0], a.shape[1]))
    for g in range(a.shape[0]):
        for f in range(a.shape[1]):
            total = 0.0
            for i in range(a.shape[2]):
                row = np.float32(0.0)
                for j in range(a.shape[3]):
                    row += a[g, f, i, j] * b[g, f, i, j]
                total += row
            out[g, f] = total
    return out


@njit(cache=True, nogil=True, fastmath=LOOSE)
def advance(x, p, alpha, r, q, last):  # type: ignore[no-untyped-def]
    """x += α p, and r −= α q unless this was the last step."""
    for g in range(x.shape[0]):
        for f in range(x.shape[1]):
            a = np.float32(alpha[g, f])
            for i in range(x.shape[2]):
                for j in range(x.shape[3]):
                    x[g, f, i, j] += a * p[g, f, i, j]
                if not last:
                    for j in range(x.shape[3]):
                        r[g, f, i, j] -= a * q[g, f, i, j]


@njit(cache=True, nogil=True, fastmath=LOOSE)
def turn(z, beta, p):  # type: ignore[no-untyped-def]
    """p = z + β p."""
    for g in range(p.shape[0]):
        for f in range(p.shape[1]):
            b = np.float32(beta[g, f])
            for i in range(p.shape[2]):
                for j in range(p.shape[3]):
                    p[g, f, i, j] = z[g, f, i, j] + b * p[g, f, i, j]


@njit(cache=True, nogil=True, fastmath=LOOSE)
def stream_load(inverse, flux, half, r):  # type: ignore[no-untyped-def]
    """−∫ κ⁻¹ σ₀·curl φ_i from values at centroids (m, nx, ny, 2 triangles, 2), half = h/2, inverse (I, nx, ny, 2)."""
    for g in range(r.shape[0]):
        for f in range(r.shape[1]):
            R = r[g, f]
            R[:] = 0.0
            for i in range(inverse.shape[1]):
                for j in range(inverse.shape[2]):
                    c, e = half * inverse[g, i, j, 0], half * inverse[g, i, j, 1]
                    x0, y0 = c * flux[f, i, j, 0, 0], c * flux[f, i, j, 0, 1]
                    x1, y1 = e * flux[f, i, j, 1, 0], e * flux[f, i, j, 1, 1]
                    R[i, j] += x1 - y0
                    R[i + 1, j] += x0 + y0
                    R[i, j + 1] -= x1 + y1
                    R[i + 1, j + 1] += y1 - x0


@njit(cache=True, nogil=True, fastmath=LOOSE)
def measure_primal(kappa, inverse, u, psi, guess, flux, scale, turns, near, delta):  # type: ignore[no-untyped-def]
    """Σ κ⁻¹|δ̄|², Σ κ|∇u|², Σ δ̄·∇u, Σ κ⁻¹|δ̄|² and Σ κ|∇v|² of a prediction v with the same flux; max |u|, |ψ|, |v|.

    Sums are over both triangles of each square, without their area. u and ψ are float32 and stand for `scale` and `turns`
    times their values over h, v for `near` times. δ̄ of u is stored.
    """
    square, energy, cross, other, size = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(kappa.shape[0]):
        s, t, z, o, y = 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(kappa.shape[1]):
            a, b, c, d = float(u[i, j]), float(u[i + 1, j]), float(u[i, j + 1]), float(u[i + 1, j + 1])
            e, f, g, h = float(psi[i, j]), float(psi[i + 1, j]), float(psi[i, j + 1]), float(psi[i + 1, j + 1])
            m, n, p, q = guess[i, j], guess[i + 1, j], guess[i, j + 1], guess[i + 1, j + 1]
            k, w = kappa[i, j, 0], inverse[i, j, 0]
            x, v = scale * (b - a), scale * (d - b)
            fx, fy = flux[i, j, 0, 0] + turns * (h - f), flux[i, j, 0, 1] - turns * (f - e)
            dx, dy = fx - k * x, fy - k * v
            delta[i, j, 0, 0], delta[i, j, 0, 1] = dx, dy
            s += w * (dx * dx + dy * dy)
            t += k * (x * x + v * v)
            z += dx * x + dy * v
            x, v = near * (n - m), near * (q - n)
            dx, dy = fx - k * x, fy - k * v
            o += w * (dx * dx + dy * dy)
            y += k * (x * x + v * v)
            k, w = kappa[i, j, 1], inverse[i, j, 1]
            x, v = scale * (d - c), scale * (c - a)
            fx, fy = flux[i, j, 1, 0] + turns * (g - e), flux[i, j, 1, 1] - turns * (h - g)
            dx, dy = fx - k * x, fy - k * v
            delta[i, j, 1, 0], delta[i, j, 1, 1] = dx, dy
            s += w * (dx * dx + dy * dy)
            t += k * (x * x + v * v)
            z += dx * x + dy * v
            x, v = near * (q - p), near * (p - m)
            dx, dy = fx - k * x, fy - k * v
            o += w * (dx * dx + dy * dy)
            y += k * (x * x + v * v)
        square += s
        energy += t
        cross += z
        other += o
        size += y
    return square, energy, cross, other, size


@njit(cache=True, nogil=True, fastmath=LOOSE)
def measure_dual(kappa, inverse, u, z, psi, flux, scale, scale_z, turns, first):  # type: ignore[no-untyped-def]
    """Σ κ⁻¹|δ̄_d|², Σ κ|∇z|², Σ κ⁻¹ δ̄_p·δ̄_d and Σ κ∇u·∇z; `first` is δ̄_p."""
    square, energy, cross, form = 0.0, 0.0, 0.0, 0.0
    for i in range(kappa.shape[0]):
        s, t, r, o = 0.0, 0.0, 0.0, 0.0
        for j in range(kappa.shape[1]):
            a, b, c, d = float(z[i, j]), float(z[i + 1, j]), float(z[i, j + 1]), float(z[i + 1, j + 1])
            e, f, g, h = float(psi[i, j]), float(psi[i + 1, j]), float(psi[i, j + 1]), float(psi[i + 1, j + 1])
            m, n, p, q = float(u[i, j]), float(u[i + 1, j]), float(u[i, j + 1]), float(u[i + 1, j + 1])
            k, w = kappa[i, j, 0], inverse[i, j, 0]
            x, y = scale_z * (b - a), scale_z * (d - b)
            dx = flux[i, j, 0, 0] + turns * (h - f) - k * x
            dy = flux[i, j, 0, 1] - turns * (f - e) - k * y
            s += w * (dx * dx + dy * dy)
            t += k * (x * x + y * y)
            r += w * (dx * first[i, j, 0, 0] + dy * first[i, j, 0, 1])
            o += k * (x * (scale * (n - m)) + y * (scale * (q - n)))
            k, w = kappa[i, j, 1], inverse[i, j, 1]
            x, y = scale_z * (d - c), scale_z * (c - a)
            dx = flux[i, j, 1, 0] + turns * (g - e) - k * x
            dy = flux[i, j, 1, 1] - turns * (h - g) - k * y
            s += w * (dx * dx + dy * dy)
            t += k * (x * x + y * y)
            r += w * (dx * first[i, j, 1, 0] + dy * first[i, j, 1, 1])
            o += k * (x * (scale * (q - p)) + y * (scale * (p - m)))
        square += s
        energy += t
        cross += r
        form += o
    return square, energy, cross, form
