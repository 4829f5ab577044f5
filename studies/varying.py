"""Random problems of the wider kinds with known solutions: whether the truth is inside, and how wide intervals are.

    python studies/varying.py [--cases 500] [--seconds 400] [--quick] [--only Robin] [--seed 0]

For each kind so many problems on lines and in the plane, and an eighth of that in space: coefficients that vary, with
an average over a free side or the flux through the boundary and a point value (tests/support/varied.py), Robin sides
with points, balls, averages and fluxes (robin.py there), periodic pairs (periodic.py), and negative reactions with
points, a fifth of them lifts (helmholtz.py; where k² is not separated from the spectrum they count as refused). What
was found is kept in results/varying.json after every few cases: the campaign may be stopped and goes on where it was.
Problems are drawn from --seed on, one number each: those from 0 are in results/varying.json, and another --seed starts
beyond them and needs an --out of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import pinnpoint as pp
from tests.support import helmholtz, periodic, robin, varied

SIZES = {1: (4, 24), 2: (3, 13), 3: (2, 5)}
OUT = Path(__file__).parent / "results" / "varying.json"
DECADES = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0]
BEYOND = 10000
"""Numbers from here on draw problems that are not in results/varying.json."""
Drawn = tuple[Any, Any, Any, Any, bool]
"""A problem, its prediction, queries, their truths, and whether the prediction is lifted."""


def varying(kind: str, d: int, seed: int) -> Drawn:
    """Coefficients that vary inside cells."""
    rng = np.random.default_rng([seed, d, 7])
    case = varied.draw(seed, kind, d, int(rng.integers(*SIZES[d])))
    queries, truth = varied.ask(case, rng, points=d < 3 or seed % 8 == 0)
    return case.problem, case.problem.space.U0, queries, truth, False


def sides(kind: str, d: int, seed: int) -> Drawn:
    """Robin sides, or periodic pairs."""
    rng = np.random.default_rng([0, d, seed])
    if kind == "Robin":
        case = robin.random_case(rng, d)
        return case.problem, case.problem.space.U0, case.queries, case.truths, False
    problem, queries, truth, _ = periodic.random_case(rng, d)
    return problem, problem.space.U0, queries, truth, False


def indefinite(kind: str, d: int, seed: int) -> Drawn:
    """Negative reactions."""
    rng = np.random.default_rng([3, d, seed])
    problem, u, X, truth = helmholtz.random_case(rng, d, helmholtz.SIZES | {3: (4, 9)})
    lifted = bool(rng.random() < 0.2)
    guess = f"1.05*({u})" if lifted else np.zeros(len(problem.nodes))
    return problem, guess, problem.points(X), truth, lifted


KINDS = dict.fromkeys(("scalar", "constant matrix", "matrix", "convection"), varying)
KINDS |= {"Robin": sides, "periodic": sides, "Helmholtz": indefinite}


def one(kind: str, d: int, seed: int) -> list[tuple[float, float, bool]]:
    """Radius relative to the truth, distance relative to the radius, and whether the truth is inside.

    None of these where k² is not separated from the spectrum. Truths of averages and fluxes have 13 digits.
    """
    problem, guess, queries, truth, lifted = KINDS[kind](kind, d, seed)
    try:
        c = pp.certify(problem, guess, queries, lift=lifted)
    except pp.InputError as error:
        if "not separated" not in str(error):
            raise
        return []
    assert str(c.guarantee) == "deterministic"
    slack = 0.0 if kind not in ("Robin", "periodic") else 1e-13 * (1.0 + np.abs(truth))
    off = np.maximum(np.abs(c.center - truth) - slack, 0.0) / c.radius
    rows = zip(c.radius / np.maximum(np.abs(truth), 0.01), off, strict=True)
    return [(float(r), float(o), bool(o <= 1.0)) for r, o in rows]


def added(row: dict[str, Any], found: list[tuple[float, float, bool]], seconds: float) -> dict[str, Any]:
    """A row of the table with one case more; radii relative to the truth are counted by decades."""
    radii = [r for r, _, _ in found]
    below = row.get("radius / truth below", {})
    return {
        "cases": row.get("cases", 0) + (1 if found else 0),
        "refused": row.get("refused", 0) + (0 if found else 1),
        "intervals": row.get("intervals", 0) + len(found),
        "missed": row.get("missed", 0) + sum(not inside for _, _, inside in found),
        "largest distance / radius": max([row.get("largest distance / radius", 0.0), *(o for _, o, _ in found)]),
        "radius / truth below": {f"{t:g}": below.get(f"{t:g}", 0) + sum(r < t for r in radii) for t in DECADES},
        "seconds": round(row.get("seconds", 0.0) + seconds, 2),
    }


def keep(path: Path, table: dict[str, Any]) -> None:
    """Write the table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    """Go on with the campaign for some time; 1 if an interval missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=400.0, help="stop after so much processor time")
    parser.add_argument("--quick", action="store_true", help="16 cases of each kind, as the tests run it")
    parser.add_argument("--only", choices=KINDS, help="one kind")
    parser.add_argument("--seed", type=int, default=0, help="the first number that problems are drawn with")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    if given.seed and given.out == OUT:
        parser.error("--seed: results/varying.json has those drawn from 0; name another file with --out")
    if 0 < given.seed < BEYOND:
        parser.error(f"--seed: got {given.seed}, and from there on most problems are those drawn from 0; take {BEYOND}")
    cases = 16 if given.quick else given.cases
    table = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
    for kind in [given.only] if given.only else KINDS:
        for d, count in ((1, cases // 2), (2, cases // 2), (3, cases // 8)):
            name = f"{kind}, {d}D"
            while time.process_time() < given.seconds and (row := table.get(name, {})).get("cases", 0) < count:
                start, seed = time.process_time(), row.get("cases", 0) + row.get("refused", 0)
                table[name] = added(row, one(kind, d, given.seed + seed), time.process_time() - start)
                if seed % 20 == 0:
                    keep(given.out, table)
            keep(given.out, table)
            print(name, table.get(name), flush=True)
    sys.exit(1 if any(row["missed"] for row in table.values()) else 0)


if __name__ == "__main__":
    main()
