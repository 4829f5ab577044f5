"""The computations behind the study `beyond`: guaranteed values, the lift, rounding, and a published Poisson case."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg as spla

from pinnpoint.certifiers.exact import Exact
from pinnpoint.certifiers.verb import certify
from pinnpoint.fem import ReactionDiffusion
from pinnpoint.io import generate
from pinnpoint.models import MLP
from pinnpoint.models.networks import benchmark
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries
from pinnpoint_paper.manufactured import SOURCE, exact

CUBE = "3*pi**2*sin(pi*x)*sin(pi*y)*sin(pi*z)"
RADIUS = 0.15
PLACES = {
    2: np.array([[0.31, 0.27], [0.62, 0.41], [0.68, 0.36], [0.21, 0.77], [0.53, 0.58], [0.83, 0.19]]),
    3: np.array([[0.31, 0.27, 0.55], [0.62, 0.41, 0.33], [0.47, 0.52, 0.49]]),
}
CENTRES = {2: np.array([[0.5, 0.5], [0.68, 0.36]]), 3: np.array([[0.5, 0.5, 0.5]])}


def _bells(X: Any) -> Any:
    return np.prod(np.sin(np.pi * X), axis=1)


def _mean(u: Any, centre: Any, d: int) -> float:
    """The average of a smooth function over a ball, by products of Gauss rules far beyond the accuracy needed."""
    t, w = np.polynomial.legendre.leggauss(40)
    r, wr = 0.5 * RADIUS * (t + 1.0), 0.5 * RADIUS * w
    phi = 2.0 * np.pi * np.arange(80) / 80
    if d == 2:
        X = centre + np.stack([np.outer(r, np.cos(phi)), np.outer(r, np.sin(phi))], axis=-1).reshape(-1, 2)
        return float((wr * r) @ u(X).reshape(40, 80).mean(axis=1) * 2.0 / RADIUS**2)
    s = np.sqrt(1.0 - t * t)
    ring = np.stack([np.outer(s, np.cos(phi)), np.outer(s, np.sin(phi)), np.outer(t, np.ones(80))], axis=-1)
    X = centre + r[:, None, None, None] * ring
    values = u(X.reshape(-1, 3)).reshape(40, 40, 80).mean(axis=2)
    return float((wr * r * r) @ (values @ (0.5 * w)) * 3.0 / RADIUS**3)


def _solved(problem: ReactionDiffusion) -> Any:
    free = np.asarray(problem.space.free)
    U = problem.space.U0.copy()
    lu = spla.splu(problem.A.tocsc()[free][:, free])
    U[free] = lu.solve(problem.b[free])
    return U, lu, free


def values(d: int, cells: int) -> dict[str, Any]:
    """Guaranteed radii of both degrees, a dual-weighted estimate, and the bound by norms alone."""
    u, source = (exact, SOURCE) if d == 2 else (_bells, CUBE)
    mesh = generate("square" if d == 2 else "cube", cells)
    low, high = (ReactionDiffusion(mesh, source=source, degree=k) for k in (1, 2))

    def ask(p: ReactionDiffusion) -> Queries:
        return p.points(PLACES[d]) + p.averages(CENTRES[d], RADIUS)

    truth = np.concatenate([u(PLACES[d]), [_mean(u, c, d) for c in CENTRES[d]]])
    U1, lu, free = _solved(low)
    value = ask(low).L @ U1
    # r(z₂) with the dual solution z₂ of degree 2 is J(u₂) − J(u₁)
    estimate = np.abs(ask(high).L @ _solved(high)[0] - value)
    certificates = []
    seconds = []
    for p in (low, high):
        start = time.perf_counter()
        certificates.append(certify(p, p.space.U0, ask(p)))
        seconds.append(time.perf_counter() - start)
    n = len(PLACES[d])
    ell = ask(low).L.toarray()[n:, free]
    sigma2 = np.einsum("ij,ij->i", ell, lu.solve(ell.T).T)
    primal, dual = (np.asarray(certificates[0].details[k]) for k in ("energy_bound", "dual_energy_bound"))
    return {
        "dim": d,
        "cells": cells,
        "points": n,
        "error": np.abs(value - truth),
        "estimate": estimate,
        "linear": certificates[0].radius,
        "quadratic": certificates[1].radius,
        "norm": np.sqrt(sigma2 + dual[n:] ** 2) * float(primal),
        "held": [c.contains(truth) for c in certificates],
        "guarantee": [str(c.guarantee) for c in certificates],
        "certify_seconds": seconds,
    }


def lift(cells: int, sizes: tuple[float, ...]) -> dict[str, Any]:
    """Predictions (1 − ε) u* for falling ε, certified unprojected on one mesh."""
    problem = ReactionDiffusion(generate("square", cells), source="2*pi**2*sin(pi*x)*sin(pi*y)")
    X = np.array([[0.37, 0.52], [0.7, 0.3]])
    queries, truth = problem.points(X), _bells(X)
    rows = []
    for size in sizes:
        c = certify(problem, f"{1.0 - size!r}*sin(pi*x)*sin(pi*y)", queries, lift=True)
        rows.append({"size": size, "radius": c.radius, "plain": c.details["plain_radius"], "held": c.contains(truth)})
    return {"cells": cells, "rows": rows}


def networks(cells: int) -> dict[str, Any]:
    """Three trained PINNs of the paper's benchmark, rough, fair and good, certified unprojected on one mesh."""
    shipped = benchmark.load()
    problem = ReactionDiffusion(generate("square", cells), source=shipped.source_text)
    queries = problem.points(PLACES[2])
    truth = shipped.exact(PLACES[2])
    rows = []
    for name, network in zip(("rough", "fair", "good"), shipped.networks, strict=True):
        c = certify(problem, network, queries, lift=True)
        error = np.abs(network(PLACES[2]) - truth)
        row = {"name": name, "radius": c.radius, "plain": c.details["plain_radius"], "held": c.contains(truth)}
        rows.append({**row, "error": error, "guarantee": str(c.guarantee)})
    return {"cells": cells, "truth": truth, "rows": rows}


def _tridiagonal(rng: np.random.Generator, n: int) -> tuple[Any, Any, Any]:
    side = rng.uniform(-1.0, -0.5, n - 1)
    A = np.diag(rng.uniform(2.0, 2.5, n)) + np.diag(side, 1) + np.diag(side, -1)
    return A, rng.normal(size=n), rng.normal(size=(4, n))


def _rational(A: Any, b: Any, L: Any) -> list[Fraction]:
    """ℓᵀA⁻¹b of the stored numbers, exactly, by elimination in fractions."""
    n = len(b)
    d, r = [Fraction(float(A[i, i])) for i in range(n)], [Fraction(float(v)) for v in b]
    for i in range(1, n):
        m = Fraction(float(A[i, i - 1])) / d[i - 1]
        d[i] -= m * Fraction(float(A[i - 1, i]))
        r[i] -= m * r[i - 1]
    x = [Fraction(0)] * n
    for i in reversed(range(n)):
        after = Fraction(float(A[i, i + 1])) * x[i + 1] if i + 1 < n else Fraction(0)
        x[i] = (r[i] - after) / d[i]
    return [sum((Fraction(float(v)) * w for v, w in zip(row, x, strict=True)), Fraction(0)) for row in L]


def rounding(systems: int) -> dict[str, Any]:
    """The paper's interval ℓᵀU ± |gᵀr| in plain floats, and ours, against rational arithmetic."""
    total = naive = enclosed = 0
    radii = []
    for k in range(systems):
        rng = np.random.default_rng([3, k])
        A, b, L = _tridiagonal(rng, int(rng.integers(6, 24)))
        U = np.linalg.solve(A, b) * (1.0 + rng.choice([0.0, 1e-8, 1e-2]) * rng.normal(size=len(b)))
        truth = _rational(A, b, L)
        for rounding in (False, True):
            c = Exact(rounding=rounding).prepare(LinearSystem(A, b), Queries(L)).certify(U)
            assert c.correction is not None
            naive_ends = c.value - np.abs(c.correction), c.value + np.abs(c.correction)
            low, high = c.interval("prediction").T if rounding else naive_ends
            ends = zip(low, high, truth, strict=True)
            missed = sum(not Fraction(float(x)) <= t <= Fraction(float(y)) for x, y, t in ends)
            if rounding:
                enclosed, total = enclosed + missed, total + len(truth)
                radii += [float(r) for r in c.radius]
            else:
                naive += missed
    return {"intervals": total, "naive": naive, "enclosed": enclosed, "median_radius": float(np.median(radii))}


def poisson(units: int, samples: int, cells: int, side: int) -> dict[str, Any]:
    """Δu = sin(πx) sin(πy), u = 0 on the boundary: random tanh features with least-squares weights, then certified.

    Problem, features and samples are those of Mukherjee et al. (arXiv:2603.19165); their weights are not published, so
    the network is fitted anew.
    """
    rng = np.random.default_rng(417)
    start = time.perf_counter()
    W, shift = rng.normal(size=(units, 2)), rng.normal(size=units)
    inside, t = rng.uniform(-1.0, 1.0, (samples, 2)), rng.uniform(size=(4, 100))
    z, o = np.zeros(100), np.ones(100)
    edge = np.concatenate([np.stack(p, axis=1) for p in ((z, t[0]), (o, t[1]), (t[2], z), (t[3], o))])
    H = np.tanh(inside @ W.T + shift)
    bent = -2.0 * H * (1.0 - H * H) * (W * W).sum(axis=1)
    A = np.concatenate([bent, np.tanh(edge @ W.T + shift)])
    b = np.concatenate([_bells(inside), np.zeros(len(edge))])
    beta = scipy.linalg.lstsq(A, b, cond=1e-12, lapack_driver="gelsy")[0]
    network = MLP([W, beta[None, :]], [shift, np.zeros(1)], "tanh", "none")
    fitted = time.perf_counter()
    line = np.arange(1, side + 1) / (side + 1)
    X = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    problem = ReactionDiffusion(generate("square", cells), source="-sin(pi*x)*sin(pi*y)", degree=2)
    c = certify(problem, network, problem.points(X))
    truth = -_bells(X) / (2.0 * np.pi**2)
    assert c.raw is not None
    assert c.raw_radius is not None
    return {
        "units": units,
        "queries": len(X),
        "cells": cells,
        "error": np.abs(c.raw - truth),
        "bound": c.raw_radius,
        "held": c.contains(truth),
        "guarantee": str(c.guarantee),
        "fit_seconds": fitted - start,
        "certify_seconds": time.perf_counter() - fitted,
    }
