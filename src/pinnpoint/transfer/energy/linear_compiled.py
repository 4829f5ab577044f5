"""Fluxes of `fans_lowest` and the numbers of `linear_sides`, compiled with numba: one pass over the cells for a side.

Operations and their roundings are those of the NumPy code. Importing this module needs the extra ``fast``.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma
from pinnpoint.transfer.energy.cells import COUNT

_SLIP, _COUNTED = gamma(16), gamma(COUNT)


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
    """As `_Part.solve` without prescribed fluxes; `sums` is room for n + 3 numbers of each fan.

    Fans are the inner loop: what is read lies in the order of reading.
    """
    n, count = own.shape
    defect, pulled = sums[n + 1], sums[n + 2]
    for j in range(count):
        defect[j] = pulled[j] = sums[0, j] = 0.0
    if shared:
        for k in range(n):
            for j in range(count):
                defect[j] += beta[own[k, j]]
    for k in range(n):
        for j in range(count):
            rise, total = beta[own[k, j]], sums[k, j]
            if shared:
                rise -= share[k, j] * defect[j]
            pull = pulled[j] + behind[k, j] * (total - alpha[entered[k, j]])
            total += rise
            pulled[j] = pull + ahead[k, j] * (total + alpha[left[k, j]])
            sums[k + 1, j] = total
    for k in range(len(target)):
        at = k + 1 if closed else k
        for j in range(count):
            out[target[k, j]] = (sums[at, j] - pulled[j]) * forward[k, j]  # continuous.md, step 1d


@njit(cache=True, nogil=True, inline="always")
def _up(x, k):  # type: ignore[no-untyped-def]
    """As `rounding.arithmetic.up`."""
    return x * (1.0 + 4.0 * k * UNIT) + TINY


@njit(cache=True, nogil=True, inline="always")
def _two_sum(a, b):  # type: ignore[no-untyped-def]
    """As `rounding.arithmetic.two_sum`."""
    s = a + b
    z = s - a
    return s, (a - (s - z)) + (b - z)


@njit(cache=True, nogil=True, error_model="numpy")
def _at_corners(z, t, nodes, facets, sign, moments, c):  # type: ignore[no-untyped-def]
    """Of a cell: z_h at its first corner, its span and largest size, its load; the sum of the fluxes, and of sizes."""
    first = low = high = z[nodes[0][c]]
    most, total, sums, heavy = abs(first), moments[0, c] * first, 0.0, 0.0
    for i in range(1, len(nodes)):
        w = z[nodes[i][c]]
        low, high, most = min(low, w), max(high, w), max(most, abs(w))
        total += moments[i, c] * w
    for i in range(len(nodes)):
        s = t[facets[i][c]] * sign[i, c]
        sums += s
        heavy += abs(s)
    return first, high - low, most, total, sums, heavy


@njit(cache=True, nogil=True, error_model="numpy")
def _along(z, t, nodes, facets, sign, gradients, away, first, x, c):  # type: ignore[no-untyped-def]
    """Of a cell along an axis: the slope of z_h, and the fluxes times their corners."""
    slope, pull = 0.0, t[facets[0][c]] * sign[0, c] * away[0, x, c]
    for i in range(1, len(nodes)):
        slope += (z[nodes[i][c]] - first) * gradients[i, x, c]
        pull += t[facets[i][c]] * sign[i, c] * away[i, x, c]
    return slope, pull


@njit(cache=True, nogil=True, error_model="numpy")
def _left(f, errors, divergence, gram, rho, slack, weight, volume):  # type: ignore[no-untyped-def]
    """Oscillation, defect, the data's part of both, and the largest coefficient of f, from ϱ = f + ∇·σ.

    `errors` are high, error1 and error2 of f; `rho` is room for the coefficients.
    """
    mean = tallest = rest = square = 0.0
    for j in range(len(f)):
        rho[j] = f[j] + divergence  # continuous.md, step 1a
        mean += rho[j]
        tallest = max(tallest, abs(f[j]))
    mean /= len(f)
    for j in range(len(f)):
        rho[j] -= mean
        rest = max(rest, abs(rho[j]))
    for j in range(len(f)):
        own = 0.0
        for m in range(len(f)):
            own += gram[j, m] * rho[m]
        square += rho[j] * own
    square = max(square, 0.0) + _COUNTED * rest * rest + errors[0] ** 2
    wide, loose = math.sqrt(volume), _up(slack * (weight + tallest), 8) + TINY  # continuous.md, step 8f
    osc, off = _up(wide * errors[2], 4), _up(volume * errors[1], 4)  # continuous.md, step 8a
    # continuous.md, step 2a; continuous.md, step 2d
    oscillation = _up(wide * (math.sqrt(square) + loose) + osc, 8)
    return oscillation, _up(volume * (abs(mean) + loose) + off, 8), osc, off, tallest


@njit(cache=True, nogil=True, error_model="numpy")
def _tested(f, first_moments, u):  # type: ignore[no-untyped-def]
    """The mean of f u_h."""
    total = 0.0
    for i in range(len(u)):
        own = 0.0
        for j in range(len(f)):
            own += first_moments[i, j] * f[j]
        total += own * u[i]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def dual_side(z, t, nodes, facets, sign, shape, frame, primal, source, tables, turn, rows, product, values):  # type: ignore[no-untyped-def]
    """A side where there is no reaction: fills its rows, and returns the sums of `linear_value`.

    What is in `shape`, `frame`, `primal`, `source`, `tables` and `rows` the first lines say; the last axis of most is
    the cells'. `nodes` and `facets` are tuples, so that their number is known to the compiler. The values are added up
    by error-free transformations, and the sum is left as a pair at the first and the last cell; others stay zero.
    """
    gradients, vol, steep, diameter = shape
    kappa, away, spread, reach, slack, volume, root = frame
    p_slope, p_size, p_centre, p_growth, moments, height, off, u, u_top, u_blur = primal
    (at, f, f_errors, acts), (gram, first_moments) = source, tables
    squares, sizes, fuzzes, oscillations, defects, oscs, defs = rows
    d, n, next_source, rho = len(nodes) - 1, len(vol), 0, np.empty(len(gram))
    rounding = data = total_high = total_low = total_size = 0.0
    for c in range(n):
        first, span, most, total, sums, heavy = _at_corners(z, t, nodes, facets, sign, moments, c)
        scale, k = 1.0 / (d * vol[c]), kappa[c]
        size, blur = _up(d * span * steep[c], 8), _SLIP * most
        top = _up(most + blur, 4)
        growth = scale * sums  # continuous.md, step 1c
        largest = square = cross = energy = 0.0
        for x in range(d):
            slope, pull = _along(z, t, nodes, facets, sign, gradients, away, first, x, c)
            centre = -scale * pull - k * slope  # continuous.md, step 1a
            largest = max(largest, abs(centre))
            square += centre * centre
            cross += p_centre[x, c] * centre
            energy += p_slope[x, c] * slope
        wrong = slack[c] * (2.0 * heavy * diameter[c] * scale + k * size)  # continuous.md, step 8f
        sizes[c] = _up(root[c] * (largest + abs(growth) * reach[c] + wrong), 16)
        fuzzes[c] = _up(root[c] * wrong, 16)
        over, unknown = vol[c] / k, off[c] * top  # continuous.md, step 8a
        squares[c] = (square + growth * growth * spread[c]) * over  # continuous.md, step 2b
        product[c] = (cross + p_growth[c] * growth * spread[c]) * over  # continuous.md, step 3b
        value = turn * (total - k * energy)  # continuous.md, step 3a
        off_by = 3.0 * slack[c] * (height[c] * top + d * k * p_size[c] * size) + blur * height[c]
        weight = 2.0 * (d + 1.0) ** 2 * heavy * scale
        if next_source < len(at) and at[next_source] == c:
            found = _left(f[next_source], f_errors[:, next_source], d * growth, gram, rho, slack[c], weight, volume[c])
            oscillations[c], defects[c], oscs[c], defs[c], tallest = found
            if acts:
                value += _tested(f[next_source], first_moments, u[:, c])  # continuous.md, step 3a
                off_by += 3.0 * slack[c] * tallest * u_top[c] + u_blur[c] * tallest
                unknown += f_errors[1, next_source] * u_top[c]  # continuous.md, step 8a
            next_source += 1
        else:
            loose = _up(slack[c] * weight, 8) + TINY  # continuous.md, step 8f
            oscillations[c] = _up(math.sqrt(volume[c]) * loose, 8)
            defects[c] = _up(volume[c] * (abs(d * growth) + loose), 8)  # continuous.md, step 2d
        value *= vol[c]
        total_size += abs(value)
        total_high, lost = _two_sum(total_high, value)
        total_low += lost  # continuous.md, step 8g
        rounding += _up(off_by * vol[c], 16)  # continuous.md, step 8f
        data += _up(volume[c] * unknown, 8)
    values[n - 1] = total_low
    values[0] = total_high
    grow = 1.0 + 2.0 * gamma_of(n + 1)
    rounding += _up(gamma_of(n) ** 2 * total_size, 8)  # continuous.md, step 8g
    return _up(rounding * grow + n * TINY, 4), _up(data * grow + n * TINY, 4)


@njit(cache=True, nogil=True, error_model="numpy")
def lengths(near, convex, s, one, two, product):  # type: ignore[no-untyped-def]
    """Σ_K E_K of ‖s e − ε/s‖ with and without the data's own error, and of ‖s e + ε/s‖ the same, roundings covered.

    `one` and `two` are square, size, fuzz, oscillation and the data's part of the latter, of both sides.
    """
    p_square, p_size, p_fuzz, p_osc, p_data = one
    d_square, d_size, d_fuzz, d_osc, d_data = two
    minus = bare_minus = plus = bare_plus = 0.0
    n, back, more, less = len(near), 1.0 / s, s * s, 1.0 / (s * s)
    for c in range(n):
        size = s * p_size[c] + back * d_size[c]
        blur = near[c] * size * size
        wide = s * p_fuzz[c] + back * d_fuzz[c]
        o = s * p_osc[c] + back * d_osc[c]
        bare = o - (s * p_data[c] + back * d_data[c])
        square, twice = more * p_square[c] + less * d_square[c], 2.0 * product[c]
        # continuous.md, step 3b; continuous.md, step 2b
        q = math.sqrt(max(square - twice, 0.0) + blur) + wide
        minus += (q + convex[c] * o) ** 2
        bare_minus += (q + convex[c] * bare) ** 2
        q = math.sqrt(max(square + twice, 0.0) + blur) + wide
        plus += (q + convex[c] * o) ** 2
        bare_plus += (q + convex[c] * bare) ** 2
    grow = 1.0 + 2.0 * gamma_of(n + 1)
    found = np.array([minus, bare_minus, plus, bare_plus])
    for i in range(4):
        found[i] = _up(_up(found[i], 40) * grow + n * TINY, 4)
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def energy(near, convex, square, size, fuzz, oscillation):  # type: ignore[no-untyped-def]
    """Σ_K E_K of ‖e‖, roundings covered."""
    total, n = 0.0, len(near)
    for c in range(n):
        q = math.sqrt(max(square[c], 0.0) + near[c] * size[c] * size[c]) + fuzz[c]
        total += (q + convex[c] * oscillation[c]) ** 2  # continuous.md, step 2b
    return _up(_up(total, 40) * (1.0 + 2.0 * gamma_of(n + 1)) + n * TINY, 4)


@njit(cache=True, nogil=True, inline="always")
def gamma_of(k):  # type: ignore[no-untyped-def]
    """As `rounding.arithmetic.gamma`."""
    x = k * UNIT
    return x / (1.0 - x) * (1.0 + 8.0 * UNIT)
