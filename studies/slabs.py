"""Do intervals in time hold the PDE's own solution? Random problems, grids, states and points.

    python studies/slabs.py [--cases 200] [--dimension 1] [--quick] [--fine] [--seed 0] [--first 0] [--out FILE]
                           [--store]

Truth from outside, in 200-bit arithmetic, for five families of problems:

- `data`: u is a sum of products of sines in space and of exponentials and sines in time with random decimals; f, the
  Dirichlet data and u₀ follow from it as formulas;
- `flux`: cosines on some axes or all of them, whose sides have zero flux, and a plane with a constant flux where
  something holds the solution; Dirichlet data on the other sides; without any of these and without reaction too;
- `jump`: κ jumps at x = ½, u = sin(k(x − ½))/κ times cosines, so that κ∂u is continuous;
- `rough`: u₀ = 1 against zero boundary values, by its series;
- `drift`: as `data`, with a constant drift.

Linear and quadratic elements, all gradings, damped steps, and states that solve the scheme, solve it badly, or solve
nothing. With `--fine` quadratic elements with more cells and steps, nearly always states that solve the scheme, and
beside points averages over the domain at a time or over times, and over squares. `share` is |centre − truth| over the
radius; an interval counts as narrow where its radius is below a tenth of the solution's size, and as sharp where it is
below a hundredth of the value itself. `--out` keeps every case as it is done, one line each, and goes on from there.
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
FINE = {1: (12, 24), 2: (5, 9), 3: (2, 3)}
ASKED = ("point", "point", "mean", "times", "block")
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

    def phase(self, x: Any) -> Any:
        """What stands in the sine."""
        import flint

        unit = flint.arb.pi() if self.pi else flint.arb(1)
        return unit * (ball(self.k) * (x - ball(self.middle)) + ball(self.p))

    def mean(self, low: Any, high: Any) -> Any:
        """Its mean from one place to another."""
        if not self.k:
            return self.phase(low).sin()
        return (self.phase(low).cos() - self.phase(high).cos()) / (self.phase(high) - self.phase(low))


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

    def __call__(self, x: Any, t: Any) -> Any:
        """The value as a 200-bit ball; its mean where x is a pair of corners, or t a pair of times."""
        here = ball(self.a) * (self._during(*t) if isinstance(t, tuple) else self._moment(ball(t)))
        if isinstance(x, tuple):
            for f, low, high in zip(self.axes, *x, strict=True):
                here *= f.mean(ball(low), ball(high))
            return here
        for f, v in zip(self.axes, x, strict=True):
            here *= f.phase(ball(v)).sin()
        return here

    def _moment(self, t: Any) -> Any:
        return (ball(self.w) * t + ball(self.q)).sin() * (ball(self.g) * t).exp()

    def _during(self, start: float, end: float) -> Any:
        w, q, g = ball(self.w), ball(self.q), ball(self.g)

        def sum_until(t: Any) -> Any:
            return (g * t).exp() * (g * (w * t + q).sin() - w * (w * t + q).cos()) / (g * g + w * w)

        return (sum_until(ball(end)) - sum_until(ball(start))) / (ball(end) - ball(start))


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
    truth: Callable[[Any, Any], Any]
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

    def truth(x: Any, t: Any) -> Any:
        found = sum(term(x, t) for term in terms)
        middle = [(ball(a) + ball(b)) / 2 for a, b in zip(*x, strict=True)] if isinstance(x, tuple) else map(ball, x)
        return found + sum(ball(a) * v for a, v in zip(tilt, middle, strict=True))

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


def case(rng: Any, d: int, family: str = "data", fine: bool = False) -> dict[str, Any]:
    """One random problem: its interval against the truth."""
    n = int(rng.integers(*(FINE if fine else CELLS)[d], endpoint=True))
    n += n % 2 if family == "jump" else 0
    mesh = pp.io.generate(KINDS[d], n)
    drawn = MAKERS[family](rng, d, mesh)
    given = {"mesh": mesh, **drawn.given}
    degree = int(rng.choice([1, 2])) if d < 3 else 1
    degree = 2 if fine else degree
    end = float(f"{rng.uniform(*drawn.end):.3f}")
    problem = pp.fem.Parabolic(
        given.pop("mesh"),
        **given,
        end=end,
        steps=int(rng.integers(*((n, n + 4) if fine else (2, 6)))),
        grade=str(rng.choice(["end", "both", "none"])),
        damped=int(rng.choice([0, 0, 2])),
        degree=degree,
        scheme="cg2" if degree == 2 else "cg1",
    )
    x = rng.uniform(0.15, 0.85, size=d)
    when = end if rng.integers(3) else float(f"{rng.uniform(0.3, 1.0) * end:.4f}")
    asked = str(rng.choice(ASKED)) if fine and family not in ("jump", "rough") else "point"
    route, place, time = _asked(problem, asked, x, when)
    kind = str(rng.choice(STATES))
    kind = "solved" if fine and rng.integers(8) else kind
    levels = route.states().copy()
    free = slice(None) if route.stepper.free is None else route.stepper.free
    if kind != "solved":
        levels[:, free] = 0.0 if kind == "zero" else levels[:, free] + 0.1 * rng.normal(size=levels[:, free].shape)
    bound = replace(route, states=lambda: levels).bound(_context(route))
    radius = float(sum(v[0] for v in bound.terms.values()))
    truth = drawn.truth(place, time)
    gap = abs(truth - float(bound.center[0]))  # type: ignore[index]
    return {
        "family": family,
        "kind": kind,
        "degree": degree,
        "asked": asked,
        "holds": bool(gap <= radius),
        "share": float(gap) / radius,
        "narrow": radius < 0.1 * max(abs(float(truth)), 0.1),
        "sharp": radius < 0.01 * abs(float(truth)),
        "proved": bound.proved,
    }


def _asked(problem: Any, asked: str, x: Any, when: float) -> tuple[Any, Any, Any]:
    """A query's route, and the place and the time for the truth."""
    whole = tuple((v,) * len(x) for v in (0.0, 1.0))
    if asked == "point":
        return problem.transfer(problem.points([x], time=when)), x, when
    if asked == "mean":
        return problem.transfer(problem.mean(time=when)), whole, when
    if asked == "times":
        return problem.transfer(problem.mean(since=0.5 * when, time=when)), whole, (0.5 * when, when)
    half = 0.125
    x = np.round(x * 64) / 64  # so that corners are floats
    block = problem.cells([x], side=2.0 * half, time=when)
    return problem.transfer(block), (tuple(x - half), tuple(x + half)), when


def _context(route: Any) -> Any:
    from pinnpoint.certificates.transfer import TransferContext

    return TransferContext(route.functionals.names, None, lambda _: np.inf, False, None)


def campaign(
    cases: int,
    d: int,
    seed: int = 0,
    families: tuple[str, ...] = FAMILIES,
    *,
    fine: bool = False,
    first: int = 0,
    out: Path | None = None,
) -> dict[str, Any]:
    """Counts over random cases, the families in turn."""
    rows = [json.loads(line) for line in out.read_text().splitlines()] if out is not None and out.exists() else []
    for i in range(first + len(rows), first + cases):
        begin = time.process_time()
        row = case(np.random.default_rng([seed, d, i]), d, families[i % len(families)], fine)
        rows.append(row | {"seconds": round(time.process_time() - begin, 2)})
        if out is not None:
            with out.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    found = {
        "cases": len(rows),
        "misses": sum(not r["holds"] for r in rows),
        "narrow": sum(r["narrow"] for r in rows),
        "sharp": sum(r["sharp"] for r in rows),
        "largest share": max(r["share"] for r in rows),
        "unproved": sum(not r["proved"] for r in rows),
    }
    for word in ("family", "kind", "degree", "asked"):
        found[word] = {str(k): sum(r[word] == k for r in rows) for k in sorted({r[word] for r in rows})}
    found["seconds"] = round(sum(r["seconds"] for r in rows))
    return found


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--dimension", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--fine", action="store_true", help="quadratic elements, more cells and steps, averages too")
    parser.add_argument("--out", type=Path, default=None, help="one line for each case, as it is done")
    parser.add_argument("--store", action="store_true", help="add the counts to studies/results/slabs.json")
    given = parser.parse_args()
    cases = 8 if given.quick else given.cases
    found = campaign(cases, given.dimension, given.seed, fine=given.fine, first=given.first, out=given.out)
    name = f"{given.dimension}D, seed {given.seed}{', fine' if given.fine else ''}"
    print(f"{name}: {found}")
    if given.store:
        stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        stored[name] = found
        RESULTS.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
