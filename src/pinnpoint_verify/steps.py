"""Steps in time: the stored rows are G ⊗ M + H ⊗ K with small G and H, and sums over time bound their inverse.

On a slab of length τ, with |v|² = vᵀMv, K + γM ⪰ 0 and r the dual lengths of its rows, the levels a₀ before and a₁ at
its end obey a₁ − a₀ ≤ gain r + η(a₀ + a₁): gain 1 and η = γτ + ε for one row a slab, gain 3 and η = 14/3 γτ + 18ε for
two (K symmetric; a level in the middle is at most six times as long), ε for what is rounded in the stored entries.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint_verify.checker import UNIT, Discrete, coercivity, gamma, length, total, two_prod, up
from pinnpoint_verify.reader import Array, Bundle, need

LEVELS, UNITS, MIDDLE = {"cg1": 1, "cg2": 2}, {"cg1": 1.0, "cg2": 6.0}, 6.0
PROOFS = {"m-matrix": {"how", "alpha"}, "shift": {"how", "alpha", "theta"}}
"""What a proof of coercivity of one of the two matrices says."""
SAFE = 1.0 + 1e-6
"""Pays for all roundings of the weights."""


class Renamed:
    """A bundle whose witness of coercivity is that of one of the two matrices."""

    def __init__(self, bundle: Bundle, name: str) -> None:
        self.bundle, self.name = bundle, name

    def __call__(self, name: str, *shape: Any) -> Array:
        """`witness/scale` and `witness/w` by their names here."""
        return self.bundle(f"steps/{self.name}_{name.removeprefix('witness/')}", *shape)


def tables(scheme: str, damped: int, tau: Array) -> tuple[Any, Any]:
    """G and H over all slabs, without the level that is given."""
    m, N = LEVELS[scheme], len(tau)
    if m == 1:
        g, plain, euler = [[-1.0, 1.0]], [[0.5, 0.5]], [[0.0, 1.0]]
    else:
        g, plain = [[-6.0, 0.0, 6.0], [4.0, -8.0, 4.0]], [[1.0, 4.0, 1.0], [-1.0, 0.0, 1.0]]
        euler = [[0.0, 0.0, 6.0], [0.0, 0.0, 0.0]]
    G = np.broadcast_to(np.array(g), (N, m, m + 1))
    H = tau[:, None, None] * np.where(np.arange(N)[:, None, None] < damped, np.array(euler), np.array(plain))
    at = m * np.arange(N)[:, None, None]
    rows = np.broadcast_to(at + np.arange(m)[None, :, None], G.shape).ravel()
    columns = np.broadcast_to(at + np.arange(m + 1)[None, None, :], G.shape).ravel()
    shape = (N * m, N * m + 1)
    return tuple(sp.csr_array((x.ravel(), (rows, columns)), shape=shape)[:, 1:] for x in (G, H))


def _proved(bundle: Bundle, name: str, B: Any, said: dict[str, Any]) -> tuple[float, Array]:
    """α and D with (B + Bᵀ)/2 ⪰ α D⁻² from a witness; a word alone does not count here."""
    own = said[name]
    need(isinstance(own, dict) and set(own) == PROOFS.get(str(own.get("how"))), f"steps: {name} is not proved")
    return coercivity(Renamed(bundle, name), B, own)  # type: ignore[arg-type]


class Steps:
    """Weights w of levels and v of rows with |sᵀA⁻¹ρ| ≤ Σ w|Ds|/√μ Σ v|Dρ|/√μ, proved from the witnesses."""

    def __init__(self, bundle: Bundle, d: Discrete, said: dict[str, Any]) -> None:
        scheme, damped, tau = said["scheme"], said["damped"], bundle("steps/lengths", None)
        need(scheme in LEVELS and type(damped) is int and 0 <= damped <= len(tau), "steps: an unknown scheme")
        need(len(tau) and np.all(tau > 0.0), "steps: a slab without length")
        m, unit = LEVELS[scheme], UNITS[scheme]
        n, left = divmod(len(d.free), m * len(tau))
        need(left == 0 and n > 0, "steps: the unknowns do not belong to levels")
        M, K = (bundle.sparse(f"steps/{name}", n, n) for name in ("m", "k"))
        need((M != M.T).nnz == 0 and (m == 1 or (K != K.T).nnz == 0), "steps: a matrix is not symmetric")
        G, H = tables(scheme, damped, tau)
        off = abs(sp.csr_array(d.rows[:, d.free]) - (sp.kron(G, M) + sp.kron(H, K)))
        size = sp.csr_array(sp.kron(abs(G), abs(M)) + sp.kron(abs(H), abs(K)))
        need((off - 8.0 * UNIT * size).max() <= 0.0, "steps: A is not the matrix of these steps")
        self.mu, self.D = _proved(bundle, "mass", M, said)
        grows = self._growth(bundle, M, K, said)
        tops = [self._top(B) / self.mu for B in (M, K)]
        worst = (abs(G) * tops[0] + abs(H) * tops[1]).max(axis=1).toarray().ravel().reshape(-1, m).max(axis=1)
        eps = 16.0 * UNIT * worst / unit
        need(np.all(eps < 1e-3) and grows >= 0.0, "steps: too long for the rounding of their matrix")
        eta = grows * tau + eps if m == 1 else 14.0 / 3.0 * grows * tau + 18.0 * eps / (1.0 - 6.0 * eps)
        need(np.all(eta <= 0.5), "steps: states may grow too fast to be bounded")
        growth = np.cumsum(np.log1p(2.0 * eta / (1.0 - eta)))
        need(growth[-1] <= 100.0, "steps: states may grow too much to be bounded")
        gain = (1.0 if m == 1 else 3.0) / unit / (1.0 - 6.0 * eps)
        over = np.exp(growth) * SAFE
        self.columns = over if m == 1 else np.stack([MIDDLE * over, over], axis=1).ravel()
        self.rows = np.repeat(gain * SAFE / (np.exp(growth) * (1.0 - eta)), m)
        self.alpha = self.mu / (float(self.D.max()) ** 2 * length(self.columns) * length(self.rows)) / SAFE

    def _top(self, B: Array) -> float:
        """Upper bound of ‖D|B|D‖."""
        size = abs(B)
        rows, columns = (float((self.D * (S @ self.D)).max()) for S in (size, size.T))
        return math.sqrt(rows * columns) * (1.0 + 1e-9)

    @staticmethod
    def _growth(bundle: Bundle, M: Array, K: Array, said: dict[str, Any]) -> float:
        """γ with K + γM ⪰ 0, the rounding of the sum included."""
        grows = float(said["gamma"])
        S = sp.csr_array(K + grows * M)
        alpha, D = _proved(bundle, "floor", S, said)
        size = abs(K) + abs(K.T) + 2.0 * grows * abs(M)
        need(alpha >= 4.0 * UNIT * float((D * (size @ D)).max()), "steps: the floor of K does not pay for its rounding")
        return grows

    def weighed(self, v: Array, weights: Array) -> float:
        """Σ w |Dv|/√μ over levels or rows, v ≥ 0."""
        each = np.sqrt(np.square(v.reshape(len(weights), -1) * self.D).sum(axis=1) * (1.0 + gamma(len(self.D) + 8)))
        return float(up(total(up(each) * weights) / math.sqrt(self.mu)))


def stepped_bounds(bundle: Bundle, d: Discrete, said: dict[str, Any]) -> tuple[list[tuple[float, float]], float]:
    """Centre and radius of every query, and a bound of ‖A⁻¹‖⁻¹."""
    need(not d.w.size, "steps: with a reaction there is no theorem")
    steps, state = Steps(bundle, d, said), bundle("witness/state", d.N)
    rest = bundle("witness/rest", d.N) if "witness/rest" in bundle else np.zeros(d.N)
    need(np.array_equal(state[d.fixed], d.held) and not np.any(rest[d.fixed]), "state: is not admissible")
    hi, lo, err = d.residual(state, rest)
    right = steps.weighed(up(np.abs(hi) + np.abs(lo) + err), steps.rows)
    green, r, found = bundle("witness/green", d.L.shape[0], len(d.free)), hi + lo, []
    s, off = d.adjoint(green, state, "green")
    for i, g in enumerate(green):
        row = d.L[[i]]
        both = (*two_prod(row.data, state[row.indices]), *two_prod(row.data, rest[row.indices]))
        parts = [*(x for two in both for x in two.tolist()), float(d.constants[i]), -float(g @ r)]
        c = math.fsum(parts)
        loss = total(np.abs(g) * err) + gamma(len(r) + 8) * total(np.abs(g) * np.abs(r))
        loss += abs(math.fsum([*parts, -c])) * 1.01
        found.append((c, float(up(steps.weighed(np.abs(s[i]) + off[i], steps.columns) * right + loss))))
    alpha = float(said["alpha"])
    need(0.0 < alpha <= steps.alpha, f"steps: {alpha!r} is claimed of the inverse, {steps.alpha!r} is proved")
    return found, alpha
