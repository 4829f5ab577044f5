"""Steps and sums on squares cut in two, compiled with numba: fields in float32, sums in float64.

Node (i, j) has the neighbours (i ± 1, j) and (i, j ± 1); the square (i, j) has a lower triangle (00, 10, 11) and an
upper one (00, 01, 11), κ[0] and κ[1]. Steps, which are not trusted, may be reordered as the compiler likes. Of what is
measured only the sums over squares may: each square's part is computed in functions of their own as it is written, but
for contractions, which save roundings. Importing this module needs the extra ``fast``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LOOSE = {"reassoc", "contract", "nsz"}
STRICT = {"contract"}


@njit(cache=True, nogil=True, fastmath=LOOSE)
def weigh(kappa, wx, wy):  # type: ignore[no-untyped-def]
    """Weights of edges along x, (I, nx, ny + 1), and along y, (I, nx + 1, ny): half of each triangle beside them."""
    half = np.float32(0.5)
    for f in range(kappa.shape[0]):
        low, high = kappa[f, 0], kappa[f, 1]
        nx, ny = low.shape
        for i in range(nx):
            wx[f, i, 0] = half * low[i, 0]
            wx[f, i, ny] = half * high[i, ny - 1]
            for j in range(1, ny):
                wx[f, i, j] = half * (low[i, j] + high[i, j - 1])
        for j in range(ny):
            wy[f, 0, j] = half * high[0, j]
            wy[f, nx, j] = half * low[nx - 1, j]
        for i in range(1, nx):
            for j in range(ny):
                wy[f, i, j] = half * (high[i, j] + low[i - 1, j])


@njit(cache=True, nogil=True, fastmath=LOOSE)
def operate(wx, wy, p, q, fixed):  # type: ignore[no-untyped-def]
    """Fill q = A p for fields (I, m, nodes); returns pᵀq. `fixed`: rows of the boundary are zero, as p is there.

    Fields p (1, m, nodes) are the same for all instances.
    """
    count, m, NX, NY = q.shape
    nx, ny = NX - 1, NY - 1
    out, line = np.zeros((count, m)), np.empty(NY, np.float32)
    for g in range(count):
        X, Y = wx[g], wy[g]
        for f in range(m):
            P, R = p[g if p.shape[0] > 1 else 0, f], q[g, f]
            total = np.float64(0.0)
            for i in range(1, nx):
                row = np.float32(0.0)
                for j in range(1, ny):
                    line[j] = (
                        X[i - 1, j] * (P[i, j] - P[i - 1, j])
                        + X[i, j] * (P[i, j] - P[i + 1, j])
                        + Y[i, j - 1] * (P[i, j] - P[i, j - 1])
                        + Y[i, j] * (P[i, j] - P[i, j + 1])
                    )
                for j in range(1, ny):
                    row += line[j] * P[i, j]
                    R[i, j] = line[j]
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
            total = np.float64(0.0)
            for i in range(a.shape[2]):
                row = np.float32(0.0)
                for j in range(a.shape[3]):
                    row += a[g, f, i, j] * b[g, f, i, j]
                total += row
            out[g, f] = total
    return out


@njit(cache=True, nogil=True, fastmath=LOOSE)
def against(a, row):  # type: ignore[no-untyped-def]
    """Σ a·row in float64 and max |a| of every field, (I, m, 2)."""
    out = np.zeros((a.shape[0], a.shape[1], 2))
    for g in range(a.shape[0]):
        for f in range(a.shape[1]):
            total, top = 0.0, np.float32(0.0)
            for i in range(a.shape[2]):
                for j in range(a.shape[3]):
                    total += np.float64(a[g, f, i, j]) * row[i, j]
                for j in range(a.shape[3]):
                    top = max(top, abs(a[g, f, i, j]))
            out[g, f, 0], out[g, f, 1] = total, top
    return out


@njit(cache=True, nogil=True, fastmath=LOOSE)
def advance(x, p, alpha, r, q, last):  # type: ignore[no-untyped-def]
    """X += α p, and r −= α q unless this was the last step."""
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
    """P = z + β p."""
    for g in range(p.shape[0]):
        for f in range(p.shape[1]):
            b = np.float32(beta[g, f])
            for i in range(p.shape[2]):
                for j in range(p.shape[3]):
                    p[g, f, i, j] = z[g, f, i, j] + b * p[g, f, i, j]


@njit(cache=True, nogil=True, fastmath=LOOSE)
def fold(x, y):  # type: ignore[no-untyped-def]
    """Sums of what lies opposite across the middle of both axes, then the differences behind them."""
    NX, NY = x.shape[2], x.shape[3]
    fx, fy = NX // 2, NY // 2
    hx, hy = NX - fx, NY - fy
    for g in range(x.shape[0]):
        for m in range(x.shape[1]):
            X, Y = x[g, m], y[g, m]
            for i in range(fx):
                for j in range(fy):
                    a, b = X[i, j], X[NX - 1 - i, j]
                    c, d = X[i, NY - 1 - j], X[NX - 1 - i, NY - 1 - j]
                    p, q, r, s = a + b, a - b, c + d, c - d
                    Y[i, j], Y[i, hy + j], Y[hx + i, j], Y[hx + i, hy + j] = p + r, p - r, q + s, q - s
            if hy > fy:
                for i in range(fx):
                    a, b = X[i, fy], X[NX - 1 - i, fy]
                    Y[i, fy], Y[hx + i, fy] = a + b, a - b
            if hx > fx:
                for j in range(fy):
                    a, b = X[fx, j], X[fx, NY - 1 - j]
                    Y[fx, j], Y[fx, hy + j] = a + b, a - b
            if hx > fx and hy > fy:
                Y[fx, fy] = X[fx, fy]


@njit(cache=True, nogil=True, fastmath=LOOSE)
def unfold(y, x):  # type: ignore[no-untyped-def]
    """The other way round: values from parts that are even and odd about the middle of both axes."""
    NX, NY = x.shape[2], x.shape[3]
    fx, fy = NX // 2, NY // 2
    hx, hy = NX - fx, NY - fy
    for g in range(x.shape[0]):
        for m in range(x.shape[1]):
            X, Y = x[g, m], y[g, m]
            for i in range(fx):
                for j in range(fy):
                    a, b, c, d = Y[i, j], Y[i, hy + j], Y[hx + i, j], Y[hx + i, hy + j]
                    p, q, r, s = a + b, a - b, c + d, c - d
                    X[i, j], X[i, NY - 1 - j] = p + r, q + s
                    X[NX - 1 - i, j], X[NX - 1 - i, NY - 1 - j] = p - r, q - s
            if hy > fy:
                for i in range(fx):
                    a, c = Y[i, fy], Y[hx + i, fy]
                    X[i, fy], X[NX - 1 - i, fy] = a + c, a - c
            if hx > fx:
                for j in range(fy):
                    a, b = Y[fx, j], Y[fx, hy + j]
                    X[fx, j], X[fx, NY - 1 - j] = a + b, a - b
            if hx > fx and hy > fy:
                X[fx, fy] = Y[fx, fy]


@njit(cache=True, nogil=True, fastmath=LOOSE)
def stream_load(inverse, flux, half, r):  # type: ignore[no-untyped-def]
    """−∫ κ⁻¹ σ₀·curl φ_i from values at centroids (m, 2 triangles, 2, nx, ny), half = h/2, κ⁻¹ (I, 2, nx, ny)."""
    ny = inverse.shape[3]
    line = np.empty((4, ny), np.float32)
    for g in range(r.shape[0]):
        for f in range(r.shape[1]):
            R = r[g, f]
            R[:] = np.float32(0.0)
            for i in range(inverse.shape[2]):
                for j in range(ny):
                    c, e = half * inverse[g, 0, i, j], half * inverse[g, 1, i, j]
                    x0, y0 = c * flux[f, 0, 0, i, j], c * flux[f, 0, 1, i, j]
                    x1, y1 = e * flux[f, 1, 0, i, j], e * flux[f, 1, 1, i, j]
                    line[0, j], line[1, j], line[2, j], line[3, j] = x1 - y0, x1 + y1, x0 + y0, y1 - x0
                for j in range(ny):
                    R[i, j] += line[0, j]
                    R[i + 1, j] += line[2, j]
                for j in range(ny):
                    R[i, j + 1] -= line[1, j]
                    R[i + 1, j + 1] += line[3, j]


@njit(cache=True, nogil=True, fastmath=STRICT, forceinline=True)
def _left(k, w, t, v, fx, fy, gx, gy, x, y, r, s):  # type: ignore[no-untyped-def]
    """δ̄ = σ̄ − κ∇v of a square's two triangles, and its parts of Σ κ⁻¹|δ̄|², Σ κ|∇v|² and Σ δ̄·∇v."""
    dx, dy, ex, ey = fx - k * x, fy - k * y, gx - t * r, gy - t * s
    square = w * (dx * dx + dy * dy) + v * (ex * ex + ey * ey)  # operators.md, step 1b
    energy = k * (x * x + y * y) + t * (r * r + s * s)
    return dx, dy, ex, ey, square, energy, (dx * x + dy * y) + (ex * r + ey * s)


@njit(cache=True, nogil=True, fastmath=STRICT, forceinline=True)
def _slopes(scale, a, b, c, d):  # type: ignore[no-untyped-def]
    """Gradients on the lower and the upper triangle from values at the corners 00, 10, 01, 11."""
    return scale * (b - a), scale * (d - b), scale * (d - c), scale * (c - a)


@njit(cache=True, nogil=True, fastmath=STRICT, forceinline=True)
def _flux(turns, e, f, g, h, fx, fy, gx, gy):  # type: ignore[no-untyped-def]
    """σ̄₀ + (∂_y ψ, −∂_x ψ)."""
    return fx + turns * (h - f), fy - turns * (f - e), gx + turns * (g - e), gy - turns * (h - g)


@njit(cache=True, nogil=True, fastmath=STRICT, forceinline=True)
def _both(k, w, t, v, left, first, one, two):  # type: ignore[no-untyped-def]
    """Parts of Σ κ⁻¹ δ̄_p·δ̄_d and Σ κ∇u·∇z."""
    product = w * (left[0] * first[0] + left[1] * first[1]) + v * (left[2] * first[2] + left[3] * first[3])
    return product, k * (one[0] * two[0] + one[1] * two[1]) + t * (one[2] * two[2] + one[3] * two[3])


@njit(cache=True, nogil=True, fastmath=LOOSE)
def measure_primal(kappa, inverse, u, psi, guess, flux, scale, turns, near, delta):  # type: ignore[no-untyped-def]
    """Σ κ⁻¹|δ̄|², Σ κ|∇u|², Σ δ̄·∇u, and the first two of a prediction with the same flux.

    Sums are over both triangles of each square, without their area; ∇u is `scale` times differences, that of ψ `turns`
    times, of the prediction `near` times. δ̄ of u is stored.
    """
    square, energy, cross, other, size = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(kappa.shape[1]):
        for j in range(kappa.shape[2]):
            k, w, t, v = kappa[0, i, j], inverse[0, i, j], kappa[1, i, j], inverse[1, i, j]
            a, b = np.float64(u[i, j]), np.float64(u[i + 1, j])
            c, d = np.float64(u[i, j + 1]), np.float64(u[i + 1, j + 1])
            e, f = np.float64(psi[i, j]), np.float64(psi[i + 1, j])
            g, h = np.float64(psi[i, j + 1]), np.float64(psi[i + 1, j + 1])
            own = flux[0, 0, i, j], flux[0, 1, i, j], flux[1, 0, i, j], flux[1, 1, i, j]
            sigma = _flux(turns, e, f, g, h, *own)
            dx, dy, ex, ey, p, q, r = _left(k, w, t, v, *sigma, *_slopes(scale, a, b, c, d))
            delta[0, i, j], delta[1, i, j], delta[2, i, j], delta[3, i, j] = dx, dy, ex, ey
            square += p
            energy += q
            cross += r
            slopes = _slopes(near, guess[i, j], guess[i + 1, j], guess[i, j + 1], guess[i + 1, j + 1])
            _, _, _, _, p, q, r = _left(k, w, t, v, *sigma, *slopes)
            other += p
            size += q
    return square, energy, cross, other, size


@njit(cache=True, nogil=True, fastmath=LOOSE)
def measure_dual(kappa, inverse, u, z, psi, flux, scale, scale_z, turns, first):  # type: ignore[no-untyped-def]
    """Σ κ⁻¹|δ̄_d|², Σ κ|∇z|², Σ κ⁻¹ δ̄_p·δ̄_d and Σ κ∇u·∇z; `first` is δ̄_p."""
    square, energy, cross, form = 0.0, 0.0, 0.0, 0.0
    for i in range(kappa.shape[1]):
        for j in range(kappa.shape[2]):
            k, w, t, v = kappa[0, i, j], inverse[0, i, j], kappa[1, i, j], inverse[1, i, j]
            a, b = np.float64(z[i, j]), np.float64(z[i + 1, j])
            c, d = np.float64(z[i, j + 1]), np.float64(z[i + 1, j + 1])
            e, f = np.float64(psi[i, j]), np.float64(psi[i + 1, j])
            g, h = np.float64(psi[i, j + 1]), np.float64(psi[i + 1, j + 1])
            own = flux[0, 0, i, j], flux[0, 1, i, j], flux[1, 0, i, j], flux[1, 1, i, j]
            sigma, slopes = _flux(turns, e, f, g, h, *own), _slopes(scale_z, a, b, c, d)
            dx, dy, ex, ey, p, q, _ = _left(k, w, t, v, *sigma, *slopes)
            square += p
            energy += q
            a, b = np.float64(u[i, j]), np.float64(u[i + 1, j])
            c, d = np.float64(u[i, j + 1]), np.float64(u[i + 1, j + 1])
            other = first[0, i, j], first[1, i, j], first[2, i, j], first[3, i, j]
            p, q = _both(k, w, t, v, (dx, dy, ex, ey), other, slopes, _slopes(scale, a, b, c, d))
            cross += p
            form += q
    return square, energy, cross, form
