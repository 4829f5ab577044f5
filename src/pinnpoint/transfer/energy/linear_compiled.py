"""Fluxes of `fans_lowest` and the numbers of `linear_sides`, compiled with numba: one pass over the cells for a side.

Operations and their roundings are those of the NumPy code. Importing this module needs the extra ``fast``.
"""

from __future__ import annotations

import math

from numba import njit

from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma

_SLIP = gamma(16)


@njit(cache=True, nogil=True, error_model="numpy")
def balances(u, nodes, stiffness, alpha, beta):  # type: ignore[no-untyped-def]
    """∫ κ∇u·∇λ_a on the triangles, twice."""
    for k in range(nodes.shape[1]):
        a, b, c = u[nodes[0, k]], u[nodes[1, k]], u[nodes[2, k]]
        one, two, three = stiffness[0, k] * (b - a), stiffness[1, k] * (c - a), stiffness[2, k] * (c - b)
        alpha[0, k] = beta[0, k] = one + two
        alpha[1, k] = beta[1, k] = three - one
        alpha[2, k] = beta[2, k] = -two - three


@njit(cache=True, nogil=True, error_model="numpy")
def solve_fans(alpha, beta, own, left, entered, ahead, behind, target, forward, share, shared, closed, sums, out):  # type: ignore[no-untyped-def]
    """As `_Part.solve` without prescribed fluxes; `sums` is room for n + 1 numbers."""
    n, count = own.shape
    for j in range(count):
        defect = 0.0
        if shared:
            for k in range(n):
                defect += beta[own[k, j]]
        total = pulled = 0.0
        sums[0] = 0.0
        for k in range(n):
            rise = beta[own[k, j]]
            if shared:
                rise -= share[k, j] * defect
            pulled += behind[k, j] * (total - alpha[entered[k, j]])
            total += rise
            pulled += ahead[k, j] * (total + alpha[left[k, j]])
            sums[k + 1] = total
        for k in range(len(target)):
            at = k + 1 if closed else k
            out[target[k, j]] = (sums[at] - pulled) * forward[k, j]  # continuous.md, step 1d


@njit(cache=True, nogil=True, inline="always")
def _up(x, k):  # type: ignore[no-untyped-def]
    """As `rounding.arithmetic.up`."""
    return x * (1.0 + 4.0 * k * UNIT) + TINY


@njit(cache=True, nogil=True, error_model="numpy")
def bare_side(z, t, nodes, facets, sign, shape, frame, primal, turn, rows, product, values):  # type: ignore[no-untyped-def]
    """A side without a source where there is no reaction: fills its rows, and returns the sums of `linear_value`.

    What is in `shape`, `frame`, `primal` and `rows` the first lines say; their last axis is the cells'.
    """
    gradients, vol, steep, diameter = shape
    kappa, away, spread, reach, slack, volume, root = frame
    p_slope, p_size, p_centre, p_growth, moments, height, off = primal
    squares, sizes, fuzzes, oscillations, defects = rows
    corners, n = nodes.shape
    d = corners - 1
    rounding = data = 0.0
    for c in range(n):
        first = low = high = z[nodes[0, c]]
        most, total, sums, heavy = abs(first), moments[0, c] * first, 0.0, 0.0
        for i in range(1, corners):
            w = z[nodes[i, c]]
            low, high, most = min(low, w), max(high, w), max(most, abs(w))
            total += moments[i, c] * w
        for i in range(corners):
            s = t[facets[i, c]] * sign[i, c]
            sums += s
            heavy += abs(s)
        scale, k = 1.0 / (d * vol[c]), kappa[c]
        size = _up(d * (high - low) * steep[c], 8)
        blur = _SLIP * most
        top = _up(most + blur, 4)
        growth = scale * sums  # continuous.md, step 1c
        largest = square = cross = energy = 0.0
        for x in range(d):
            slope = pull = 0.0
            for i in range(corners):
                if i > 0:
                    slope += (z[nodes[i, c]] - first) * gradients[i, x, c]
                pull += t[facets[i, c]] * sign[i, c] * away[i, x, c]
            centre = -scale * pull - k * slope  # continuous.md, step 1a
            largest = max(largest, abs(centre))
            square += centre * centre
            cross += p_centre[x, c] * centre
            energy += p_slope[x, c] * slope
        wrong = slack[c] * (2.0 * heavy * diameter[c] * scale + k * size)  # continuous.md, step 8f
        sizes[c] = _up(root[c] * (largest + abs(growth) * reach[c] + wrong), 16)
        fuzzes[c] = _up(root[c] * wrong, 16)
        over = vol[c] / k
        squares[c] = (square + growth * growth * spread[c]) * over  # continuous.md, step 2b
        product[c] = (cross + p_growth[c] * growth * spread[c]) * over  # continuous.md, step 3b
        loose = _up(slack[c] * (2.0 * (d + 1.0) ** 2 * heavy * scale), 8) + TINY  # continuous.md, step 8f
        oscillations[c] = _up(math.sqrt(volume[c]) * loose, 8)
        defects[c] = _up(volume[c] * (abs(d * growth) + loose), 8)  # continuous.md, step 2d
        values[c] = turn * (total - k * energy) * vol[c]  # continuous.md, step 3a
        off_by = 3.0 * slack[c] * (height[c] * top + d * k * p_size[c] * size) + blur * height[c]
        rounding += _up(off_by * vol[c], 16)  # continuous.md, step 8f
        data += _up(volume[c] * (off[c] * top), 8)  # continuous.md, step 8a
    grow = 1.0 + 2.0 * gamma_of(n + 1)
    return _up(rounding * grow + n * TINY, 4), _up(data * grow + n * TINY, 4)


@njit(cache=True, nogil=True, inline="always")
def gamma_of(k):  # type: ignore[no-untyped-def]
    """As `rounding.arithmetic.gamma`."""
    x = k * UNIT
    return x / (1.0 - x) * (1.0 + 8.0 * UNIT)
