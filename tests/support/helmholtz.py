"""Random problems with negative reactions and known solutions."""

from __future__ import annotations

import math

import numpy as np

import pinnpoint as pp

PI = math.pi
NAMES = ("x", "y", "z")


def solution(rng, d):
    """A formula of u, of −Δu, and u itself: waves and a polynomial that need not vanish on the boundary."""
    formulas, laplacians, parts = [], [], []
    for _ in range(2):
        mode, a = rng.integers(1, 4, d), float(rng.uniform(-1.0, 1.0))
        wave = "*".join(f"sin({k}*pi*{x})" for k, x in zip(mode, NAMES, strict=False))
        formulas.append(f"({a!r})*{wave}")
        laplacians.append(f"({a!r})*{int(mode @ mode)}*pi**2*{wave}")
        parts.append(lambda X, a=a, mode=mode: a * np.prod(np.sin(PI * mode * X), axis=1))
    if rng.random() < 0.5:
        a, b = (float(v) for v in rng.uniform(-0.5, 0.5, 2))
        formulas.append(f"({a!r})*{NAMES[0]}**3+({b!r})*{NAMES[d - 1]}")
        laplacians.append(f"(-6*({a!r})*{NAMES[0]})")
        parts.append(lambda X, a=a, b=b: a * X[:, 0] ** 3 + b * X[:, d - 1])
        data = formulas[-1]
    else:
        data = 0.0
    return "+".join(formulas), "+".join(laplacians), data, lambda X: sum(p(X) for p in parts)


SIZES = {1: (16, 40), 2: (9, 17), 3: (2, 5)}


def random_case(rng, d, sizes=SIZES):
    """A problem, its points and the values there."""
    u, laplacian, data, truth = solution(rng, d)
    kappa = float(10.0 ** rng.uniform(-1.0, 1.0))
    cells = int(rng.integers(*sizes[d]))
    most = {1: 120.0, 2: 70.0, 3: 29.0}[d]
    c = -kappa * float(rng.uniform(0.3, 1.0) * most if rng.random() < 0.7 else rng.uniform(1.0, 0.9 * d * PI**2))
    mesh = pp.io.generate({1: "interval", 2: "square", 3: "cube"}[d], cells)
    problem = pp.fem.ReactionDiffusion(
        mesh,
        source=f"{kappa!r}*({laplacian})+({c!r})*({u})",
        diffusion=kappa,
        reaction=c,
        dirichlet={"boundary": data},
        degree=int(rng.integers(1, 3)),
    )
    X = rng.uniform(0.15, 0.85, (2, d))
    return problem, u, X, truth(X)


def campaign(seed, count, d):
    """Intervals checked and missed, problems refused, the largest |off|/radius, and intervals that say something."""
    rng = np.random.default_rng(seed)
    checked = missed = refused = narrow = 0
    worst = 0.0
    for _ in range(count):
        problem, u, X, truth = random_case(rng, d)
        lifted = rng.random() < 0.2
        try:
            guess = f"1.05*({u})" if lifted else (lambda P: 0.0 * P[:, 0])
            found = pp.certify(problem, guess, problem.points(X), lift=lifted)
        except pp.InputError as error:
            if "not separated" not in str(error) and "lift" not in str(error):
                raise
            refused += 1
            continue
        off = np.abs(found.center - truth) / found.radius
        checked, missed = checked + len(X), missed + int(np.sum(~found.contains(truth)))
        worst, narrow = max(worst, float(off.max())), narrow + int(np.sum(found.radius < 0.1))
    return {"checked": checked, "missed": missed, "refused": refused, "worst": worst, "narrow": narrow}
