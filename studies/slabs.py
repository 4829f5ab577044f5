"""Do intervals in time hold the PDE's own solution? Random problems, grids, states and points.

    python studies/slabs.py [--cases 200] [--dimension 1] [--quick] [--seed 0] [--store]

Truth from outside, in 200-bit arithmetic, for five families of problems:

- `data`: u is a sum of products of sines in space and of exponentials and sines in time with random decimals; f, the
  Dirichlet data and u₀ follow from it as formulas;
- `flux`: cosines on some axes or all of them, whose sides have zero flux, and a plane with a constant flux where
  something holds the solution; Dirichlet data on the other sides; without any of these and without reaction too;
- `jump`: κ jumps at x = ½, u = sin(k(x − ½))/κ times cosines, so that κ∂u is continuous;
- `rough`: u₀ = 1 against zero boundary values, by its series;
- `drift`: as `data`, with a constant drift.

Linear and quadratic elements, all gradings, damped steps, and states that solve the scheme, solve it badly, or solve
nothing. `share` is |centre − truth| over the radius; an interval counts as narrow where its radius is below a tenth of
the solution's size.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

import pinnpoint as pp

STATES = ("solved", "solved", "noisy", "zero")
CELLS = {1: (4, 14), 2: (2, 5), 3: (2, 2)}
FAMILIES = ("data", "flux", "jump", "rough", "drift")
SIDES = (("left", "right"), ("bottom", "top"), ("front", "back"))
KINDS = {1: "interval", 2: "square", 3: "cube"}
RESULTS = Path(__file__).parent / "results" / "slabs.json"


def decimal(rng: Any, low: float, high: float) -> Decimal:
    """A random decimal with three digits."""
    return Decimal(f"{rng.uniform(low, high):.3f}")


@dataclass(frozen=True)
class Factor:
    """sin(u(k(x − m) + p)) along an axis, u = 1 or π."""

    k: Decimal
    p: Decimal
    pi: bool = False
    middle: Decimal = Decimal(0)

    @property
    def unit(self) -> str:
        """The solution."""
        return "pi" if self.pi else "1"

    def text(self, name: str) -> str:
        """As a formula."""
        return f"sin({self.unit}*({self.k}*({name} - {self.middle}) + ({self.p})))"


@dataclass(frozen=True)
class Term:
    """a Π factors · sin(w t + q) e^{gt}."""

    a: Decimal
    axes: tuple[Factor, ...]
    w: Decimal
    q: Decimal
    g: Decimal

    @classmethod
    def drawn(cls, rng: Any, axes: tuple[Factor, ...]) -> Term:
        """Random but for its factors."""
        return cls(decimal(rng, -1, 1), axes, decimal(rng, 0, 5), decimal(rng, -1.5, 1.5), decimal(rng, -3, 1))

    @property
    def space(self) -> str:
        """What depends on space."""
        return f"({self.a})*" + "*".join(f.text(x) for f, x in zip(self.axes, "xyz", strict=False))

    @property
    def grow(self) -> str:
        """The exponential."""
        return f"exp(({self.g})*t)"

    def text(self, scale: str = "1") -> str:
        """The solution."""
        return f"{scale}*{self.space}*sin({self.w}*t + ({self.q}))*{self.grow}"

    def carried(self, drift: tuple[Decimal, ...]) -> str:
        """What a drift carries, b·∇u."""
        parts = []
        for axis, b in enumerate(drift):
            f, x = self.axes[axis], "xyz"[axis]
            slope = f"{f.unit}*{f.k}*" + f.text(x).replace("sin", "cos", 1)
            rest = [g.text(y) for i, (g, y) in enumerate(zip(self.axes, "xyz", strict=False)) if i != axis]
            parts.append("*".join([f"({b})*({self.a})", slope, *rest]))
        return f"({' + '.join(parts)})*sin({self.w}*t + ({self.q}))*{self.grow}"

    def source(self, kappa: str, c: str, scale: str = "1") -> str:
        """Its source."""
        square = " + ".join(f"({f.unit}*({f.k}))**2" for f in self.axes)
        rate = f"({self.w}*cos({self.w}*t + ({self.q})) + (({self.g}) + {kappa}*({square}) + {c})*sin({self.w}*t + "
        return f"{scale}*{self.space}*{rate}({self.q})))*{self.grow}"

    def __call__(self, x: Any, t: float) -> Any:
        """The value as a 200-bit ball."""
        import flint

        here = ball(self.a) * (ball(self.w) * ball(t) + ball(self.q)).sin() * (ball(self.g) * ball(t)).exp()
        for f, v in zip(self.axes, x, strict=True):
            unit = flint.arb.pi() if f.pi else flint.arb(1)
            here *= (unit * (ball(f.k) * (ball(v) - ball(f.middle)) + ball(f.p))).sin()
        return here


def ball(v: Any) -> Any:
    """A decimal or a float as it stands."""
    import flint

    flint.ctx.prec = 200
    return flint.arb(str(v)) if isinstance(v, Decimal) else flint.arb(float(v))


def at_start(text: str) -> str:
    """A formula at the time zero."""
    return text.replace("*t + ", "*0 + ").replace(")*t)", ")*0)")


@dataclass(frozen=True)
class Drawn:
    """A problem's data, and its solution."""

    given: dict[str, Any]
    truth: Callable[[Any, float], Any]
    end: tuple[float, float] = (0.05, 0.4)
    even: bool = False


def _waves(rng: Any, d: int) -> list[Term]:
    rows = []
    for _ in range(2):
        axes = tuple(Factor(decimal(rng, 0.5, 4.0), decimal(rng, -1.5, 1.5)) for _ in range(d))
        rows.append(Term.drawn(rng, axes))
    return rows


def _coefficients(rng: Any) -> tuple[str, str]:
    return f"{rng.uniform(0.2, 2.0):.3f}", f"{rng.choice([0.0, rng.uniform(0, 4)]):.3f}"


def _data(rng: Any, d: int, mesh: Any) -> Drawn:
    terms, (kappa, c) = _waves(rng, d), _coefficients(rng)
    u = " + ".join(term.text() for term in terms)
    given = {
        "source": " + ".join(term.source(kappa, c) for term in terms),
        "initial": at_start(u),
        "diffusion": float(kappa),
        "reaction": float(c),
        "dirichlet": {"boundary": u},
    }
    return Drawn(given, lambda x, t: sum(term(x, t) for term in terms))


def _drift(rng: Any, d: int, mesh: Any) -> Drawn:
    terms, (kappa, c) = _waves(rng, d), _coefficients(rng)
    b = tuple(Decimal(f"{rng.uniform(-3, 3):.3f}") for _ in range(d))
    u = " + ".join(term.text() for term in terms)
    given = {
        "source": " + ".join(f"{term.source(kappa, c)} + {term.carried(b)}" for term in terms),
        "initial": at_start(u),
        "diffusion": float(kappa),
        "reaction": float(c),
        "convection": [float(x) for x in b],
        "dirichlet": {"boundary": u},
    }
    return Drawn(given, lambda x, t: sum(term(x, t) for term in terms))


def _flux(rng: Any, d: int, mesh: Any) -> Drawn:
    kappa, c = _coefficients(rng)
    free = [bool(rng.integers(2)) for _ in range(d)]
    free[int(rng.integers(d))] = True
    half = Decimal("0.5")
    terms = []
    for _ in range(2):
        axes = tuple(
            Factor(Decimal(int(rng.integers(0, 4))), half, True)
            if own
            else Factor(decimal(rng, 0.5, 4.0), decimal(rng, -1.5, 1.5))
            for own in free
        )
        terms.append(Term.drawn(rng, axes))
    held = not all(free) or float(c) > 0.0
    tilt = [decimal(rng, -1, 1) if own and held else Decimal(0) for own in free]
    plane = " + ".join(f"({a})*{x}" for a, x in zip(tilt, "xyz", strict=False))
    u = " + ".join([*(term.text() for term in terms), plane])
    source = " + ".join([*(term.source(kappa, c) for term in terms), f"{c}*({plane})"])
    neumann = {}
    for axis, own in enumerate(free):
        if own and tilt[axis]:
            for sign, side in zip((-1, 1), SIDES[axis], strict=True):
                neumann[side] = f"({sign * tilt[axis]})*{kappa}"
    dirichlet = {side: u for axis, own in enumerate(free) if not own for side in SIDES[axis]}
    given = {"source": source, "initial": at_start(u), "diffusion": float(kappa), "reaction": float(c)}
    given |= {"dirichlet": dirichlet, "neumann": neumann}

    def truth(x: Any, t: float) -> Any:
        found = sum(term(x, t) for term in terms)
        return found + sum(ball(a) * ball(v) for a, v in zip(tilt, x, strict=True))

    return Drawn(given, truth)


def _jump(rng: Any, d: int, mesh: Any) -> Drawn:
    kappas = [Decimal(f"{10 ** rng.uniform(-1, 1):.3f}") for _ in range(2)]
    c = f"{rng.choice([0.0, rng.uniform(0, 4)]):.3f}"
    axes = (Factor(decimal(rng, 0.5, 4.0), Decimal(0), False, Decimal("0.5")),)
    axes += tuple(Factor(Decimal(int(rng.integers(0, 3))), Decimal("0.5"), True) for _ in range(d - 1))
    term = Term.drawn(rng, axes)
    right = mesh.points[mesh.cells].mean(axis=1)[:, 0] > 0.5
    groups = {"here": np.flatnonzero(~right), "there": np.flatnonzero(right)}
    scales = [f"1/{k}" for k in kappas]
    mean, gap, wave = f"{scales[1]} + {scales[0]}", f"{scales[1]} - {scales[0]}", axes[0].text("x")
    given = {
        "mesh": type(mesh)(mesh.points, mesh.cells, cell_groups=groups, facet_groups=dict(mesh.facet_groups)),
        "source": {g: term.source(str(k), c, s) for g, k, s in zip(groups, kappas, scales, strict=True)},
        "initial": at_start(term.text()).replace(wave, f"(0.5*({mean})*{wave} + 0.5*({gap})*abs({wave}))"),
        "diffusion": np.where(right, float(kappas[1]), float(kappas[0])),
        "reaction": float(c),
        "dirichlet": {side: term.text(s) for side, s in zip(SIDES[0], scales, strict=True)},
    }
    return Drawn(given, lambda x, t: term(x, t) / ball(kappas[int(x[0] > 0.5)]), even=True)


def _rough(rng: Any, d: int, mesh: Any) -> Drawn:
    kappa, c = _coefficients(rng)
    given = {"source": 0.0, "initial": 1.0, "diffusion": float(kappa), "reaction": float(c)}

    def truth(x: Any, t: float) -> Any:
        import flint

        pi, found = flint.arb.pi(), (-ball(Decimal(c)) * ball(t)).exp()
        for v in x:
            total, j = flint.arb(0), 1
            while True:
                last = (-((pi * j) ** 2) * ball(Decimal(kappa)) * ball(t)).exp()
                if float(last) < 1e-40:
                    break
                total += 4 / (pi * j) * (pi * j * ball(v)).sin() * last
                j += 2
            found *= total
        return found

    return Drawn(given | {"dirichlet": {"boundary": 0.0}}, truth)


MAKERS = {"data": _data, "flux": _flux, "jump": _jump, "rough": _rough, "drift": _drift}


def case(rng: Any, d: int, family: str = "data") -> dict[str, Any]:
    """One random problem: its interval against the truth."""
    n = int(rng.integers(*CELLS[d], endpoint=True))
    n += n % 2 if family == "jump" else 0
    mesh = pp.io.generate(KINDS[d], n)
    drawn = MAKERS[family](rng, d, mesh)
    given = {"mesh": mesh, **drawn.given}
    degree = int(rng.choice([1, 2])) if d < 3 else 1
    end = float(f"{rng.uniform(*drawn.end):.3f}")
    problem = pp.fem.Parabolic(
        given.pop("mesh"),
        **given,
        end=end,
        steps=int(rng.integers(2, 6)),
        grade=str(rng.choice(["end", "both", "none"])),
        damped=int(rng.choice([0, 0, 2])),
        degree=degree,
        scheme="cg2" if degree == 2 else "cg1",
    )
    x = rng.uniform(0.15, 0.85, size=d)
    when = end if rng.integers(3) else float(f"{rng.uniform(0.3, 1.0) * end:.4f}")
    route = problem.transfer(problem.points([x], time=when))
    kind = str(rng.choice(STATES))
    levels = route.states().copy()
    free = slice(None) if route.stepper.free is None else route.stepper.free
    if kind != "solved":
        levels[:, free] = 0.0 if kind == "zero" else levels[:, free] + 0.1 * rng.normal(size=levels[:, free].shape)
    bound = replace(route, states=lambda: levels).bound(_context(route))
    radius = float(sum(v[0] for v in bound.terms.values()))
    truth = drawn.truth(x, when)
    gap = abs(truth - float(bound.center[0]))  # type: ignore[index]
    return {
        "family": family,
        "kind": kind,
        "degree": degree,
        "holds": bool(gap <= radius),
        "share": float(gap) / radius,
        "narrow": radius < 0.1 * max(abs(float(truth)), 0.1),
        "proved": bound.proved,
    }


def _context(route: Any) -> Any:
    from pinnpoint.certificates.transfer import TransferContext

    return TransferContext(route.functionals.names, None, lambda _: np.inf, False, None)


def campaign(cases: int, d: int, seed: int = 0, families: tuple[str, ...] = FAMILIES) -> dict[str, Any]:
    """Counts over random cases, the families in turn."""
    rows = [case(np.random.default_rng([seed, d, i]), d, families[i % len(families)]) for i in range(cases)]
    found = {
        "cases": len(rows),
        "misses": sum(not r["holds"] for r in rows),
        "narrow": sum(r["narrow"] for r in rows),
        "largest share": max(r["share"] for r in rows),
        "unproved": sum(not r["proved"] for r in rows),
    }
    for word in ("family", "kind", "degree"):
        found[word] = {str(k): sum(r[word] == k for r in rows) for k in sorted({r[word] for r in rows})}
    return found


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--dimension", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--store", action="store_true", help="add the counts to studies/results/slabs.json")
    given = parser.parse_args()
    begin = time.process_time()
    found = campaign(8 if given.quick else given.cases, given.dimension, given.seed)
    found["seconds"] = round(time.process_time() - begin)
    print(f"{given.dimension}D, seed {given.seed}: {found}")
    if given.store:
        stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        stored[f"{given.dimension}D, seed {given.seed}"] = found
        RESULTS.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
