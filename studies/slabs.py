"""Do intervals in time hold the PDE's own solution? Random problems, grids, states and points.

    python studies/slabs.py [--cases 200] [--dimension 1] [--quick] [--seed 0]

Truth from outside: u is a sum of products of sines in space and exponentials and sines in time with random decimals;
f = u_t − κΔu + cu, the boundary data and u₀ follow from it as formulas, and its values are computed in 200-bit
arithmetic. Dirichlet data in space and time, with and without reaction, linear and quadratic elements, all gradings,
damped steps, and states that solve the scheme, solve it badly, or solve nothing. `share` is |centre − truth| over the
radius; an interval counts as narrow where its radius is below a tenth of the solution's size.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

import pinnpoint as pp

STATES = ("solved", "solved", "noisy", "zero")
CELLS = {1: (6, 16), 2: (3, 7), 3: (2, 3)}


@dataclass(frozen=True)
class Truth:
    """Σ a Π sin(k x_i + p_i) · sin(w t + q) e^{gt}."""

    terms: tuple[tuple[Decimal, ...], ...]
    d: int

    @classmethod
    def drawn(cls, rng: Any, d: int) -> Truth:
        """Two terms of random decimals."""
        one = lambda low, high: Decimal(f"{rng.uniform(low, high):.3f}")  # noqa: E731
        rows = []
        for _ in range(2):
            space = [x for _ in range(d) for x in (one(0.5, 4.0), one(-1.5, 1.5))]
            rows.append((one(-1, 1), *space, one(0, 5), one(-1.5, 1.5), one(-3, 1)))
        return cls(tuple(rows), d)

    def text(self, kappa: str | None = None, c: str = "0") -> str:
        """U itself, or f."""
        parts = []
        for a, *k, w, q, g in self.terms:
            space = "*".join(f"sin({k[2 * i]}*{x} + ({k[2 * i + 1]}))" for i, x in enumerate("xyz"[: self.d]))
            wave, slope, grow = f"sin({w}*t + ({q}))", f"cos({w}*t + ({q}))", f"exp(({g})*t)"
            if kappa is None:
                parts.append(f"({a})*{space}*{wave}*{grow}")
                continue
            square = " + ".join(f"({k[2 * i]})**2" for i in range(self.d))
            rate = f"({w}*{slope} + (({g}) + {kappa}*({square}) + {c})*{wave})"
            parts.append(f"({a})*{space}*{rate}*{grow}")
        return " + ".join(parts)

    def start(self) -> str:
        """U at the time zero."""
        return self.text().replace("*t + ", "*0 + ").replace(")*t)", ")*0)")

    def __call__(self, x: Any, t: float) -> Any:
        """The value as a 200-bit ball."""
        import flint

        flint.ctx.prec = 200
        ball = lambda v: flint.arb(str(v)) if isinstance(v, Decimal) else flint.arb(float(v))  # noqa: E731
        total = flint.arb(0)
        for a, *k, w, q, g in self.terms:
            here = ball(a) * (ball(w) * ball(t) + ball(q)).sin() * (ball(g) * ball(t)).exp()
            for i in range(self.d):
                here *= (ball(k[2 * i]) * ball(x[i]) + ball(k[2 * i + 1])).sin()
            total += here
        return total


def case(rng: Any, d: int) -> dict[str, Any]:
    """One random problem: its interval against the truth."""
    u = Truth.drawn(rng, d)
    n = int(rng.integers(*CELLS[d], endpoint=True))
    kappa, c = f"{rng.uniform(0.2, 2.0):.3f}", f"{rng.choice([0.0, rng.uniform(0, 4)]):.3f}"
    degree = int(rng.choice([1, 2])) if d == 1 else 1
    end = float(f"{rng.uniform(0.05, 0.4):.3f}")
    problem = pp.fem.Parabolic(
        pp.io.generate({1: "interval", 2: "square", 3: "cube"}[d], n),
        source=u.text(kappa, c),
        initial=u.start(),
        diffusion=float(kappa),
        reaction=float(c),
        dirichlet={"boundary": u.text()},
        end=end,
        steps=int(rng.integers(3, 10)),
        grade=str(rng.choice(["end", "both", "none"])),
        damped=int(rng.choice([0, 0, 2])),
        degree=degree,
        scheme="cg2" if degree == 2 else "cg1",
    )
    x = rng.uniform(0.15, 0.85, size=d)
    route = problem.transfer(problem.points([x]))
    kind = str(rng.choice(STATES))
    levels = problem.states().copy()
    free = problem.stationary.space.free
    if kind != "solved":
        levels[:, free] = 0.0 if kind == "zero" else levels[:, free] + 0.1 * rng.normal(size=levels[:, free].shape)
    bound = replace(route, states=lambda: levels).bound(_context(route))
    radius = float(sum(v[0] for v in bound.terms.values()))
    truth = u(x, end)
    gap = abs(truth - float(bound.center[0]))  # type: ignore[index]
    return {
        "kind": kind,
        "degree": degree,
        "holds": bool(gap <= radius),
        "share": float(gap) / radius,
        "narrow": radius < 0.1 * max(abs(float(truth)), 0.1),
        "proved": bound.proved,
    }


def _context(route: Any) -> Any:
    from pinnpoint.certificates.transfer import TransferContext

    return TransferContext(route.queries.names, None, lambda _: np.inf, False, None)


def campaign(cases: int, d: int, seed: int = 0) -> dict[str, Any]:
    """Counts over random cases."""
    rows = [case(np.random.default_rng([seed, d, i]), d) for i in range(cases)]
    return {
        "cases": len(rows),
        "misses": sum(not r["holds"] for r in rows),
        "narrow": sum(r["narrow"] for r in rows),
        "largest share": max(r["share"] for r in rows),
        "unproved": sum(not r["proved"] for r in rows),
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--dimension", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    begin = time.process_time()
    found = campaign(6 if given.quick else given.cases, given.dimension, given.seed)
    print(f"{given.dimension}D, seed {given.seed}: {found}, {time.process_time() - begin:.0f} s")


if __name__ == "__main__":
    main()
