"""Tables of the documentation that are made of stored results: python docs/tables.py writes them into their pages.

A table stands between `<!-- table: NAME -->` and `<!-- /table -->`.
"""

from __future__ import annotations

import decimal
import json
import math
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import case_keys

SECTIONS = ("", "units", "mesh", "geometry", "problem", "box", "time", "prediction", "query", "certificate")
ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "studies" / "results"
KINDS = {"scalar": "κ(x), c(x)", "constant matrix": "matrix, constant", "matrix": "matrix A(x)"}
STATUSES = ("proved again", "compared", "declared")
"""Of assumptions."""
KINDS |= {word: word for word in ("convection", "Robin", "Helmholtz", "periodic")}


def read(name: str) -> Any:
    """Stored results."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def table(head: list[str], rows: list[list[str]]) -> str:
    """Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def tell(x: float) -> str:
    """Two digits; powers of ten where they are shorter."""
    if x == 0.0:
        return "0"
    if 0.01 <= abs(x) < 1e4:
        return f"{x:.0f}" if abs(x) >= 99.5 else f"{x:.2g}"
    return f"{x:.1e}".replace("e-0", "e-").replace("e+0", "e")


def costs() -> str:
    """Every method, a few and many queries."""
    found = read("method_costs")
    few, many = found["few"], found["many"]
    head = ["method", f"prepare, {few['queries']} queries", f"prepare, {many['queries']} queries"]
    head += [f"certify a state, {few['queries']}", f"{many['queries']} queries", "median relative radius", "guarantee"]
    rows = []
    for name, row in few["rows"].items():
        other = many["rows"][name]
        rows.append(
            [
                f"`{name}`",
                f"{tell(row['prepare [s]'])} s",
                f"{tell(other['prepare [s]'])} s",
                f"{tell(row['certify [ms]'])} ms",
                f"{tell(other['certify [ms]'])} ms",
                tell(row["relative radius"]),
                row["guarantee"],
            ]
        )
    return table(head, rows)


def continuous() -> str:
    """The PDE's own solution."""
    found = read("method_costs")["continuous"]
    rows = [
        [name, str(row["dofs"]), f"{tell(row['seconds'])} s", tell(row["radius"])]
        for name, row in found["rows"].items()
    ]
    return table(["elements", "unknowns", "everything together", "median radius"], rows)


def loads() -> str:
    """Reduced bases and our family, loads as parameters."""
    found = read("comparison")["loads"]
    head = ["pyMOR's basis and estimator", "error of its value", "its bound / error", "its bounds below the error"]
    head += ["our bound / error", "once: pyMOR, ours", "a load: pyMOR, ours"]
    rows = [
        [
            f"{r['rank']} of 8, `{r['reductor']}`",
            tell(r["pymor"]["median error"]),
            tell(r["pymor"]["median bound / error"]),
            f"{r['pymor']['bounds below the error']} of {found['loads'] * found['queries']}",
            f"{r['ours']['median bound / error']:.2g}",
            f"{tell(r['offline [s]'])} s, {tell(found['ours, offline [s]'])} s",
            f"{tell(r['online [ms]'])} ms, {tell(1000.0 * r['ours, online [ms]'])} µs",
        ]
        for r in found["rows"]
        if r["reductor"] == "CoerciveRBReductor" or r["rank"] == found["rows"][0]["rank"]
    ]
    return table(head, rows)


def operator() -> str:
    """A parameter in the operator."""
    found = read("comparison")["operator"]
    many, one = tell(found["reduced, in batches [ms]"]), tell(found["reduced, alone [ms]"])
    eta = found["reduced, η by the mesh"], found["reduced, worst η by the mesh"]
    all_, each = tell(found["discrete, in batches [ms]"]), tell(found["discrete, alone [ms]"])
    return table(
        ["", "once", "a parameter", "error of its value", "bound / error"],
        [
            [
                f"pyMOR, basis of {found['rank']}",
                f"{tell(found['pymor, offline [s]'])} s",
                f"{tell(found['pymor, online [ms]'])} ms",
                tell(found["pymor"]["median error"]),
                tell(found["pymor"]["median bound / error"]),
            ],
            [
                f'pinnpoint, `reduce(target="discrete")`, rank {found["rank"]}: its own values',
                f"{tell(found['discrete, once [s]'])} s",
                f"{all_} ms in batches, {each} ms alone",
                tell(found["discrete"]["median error"]),
                f"{found['discrete']['median bound / error']:.3f} (worst {found['discrete, worst bound / error']:.2f})",
            ],
            [
                "the same bound of pyMOR's values",
                "",
                "",
                tell(found["pymor, our bound"]["median error"]),
                f"{found['pymor, our bound']['median bound / error']:.3f}",
            ],
            [
                "pinnpoint, `Exact`",
                "–",
                f"{tell(found['ours, per parameter [ms]'])} ms",
                f"at most {tell(found['ours, widest radius'])}",
                "–",
            ],
            [
                f"pinnpoint, `operators(groups).reduce`, rank {found['rank']}: averages of the PDE's own solution",
                f"{tell(found['reduced, once [s]'])} s",
                f"{many} ms in batches, {one} ms alone",
                f"± {tell(found['reduced, median radius'])}, {tell(100.0 * found['reduced, median radius / value'])} %",
                f"η {eta[0]:.3f} times the mesh's (worst {eta[1]:.3f})",
            ],
            [
                "pinnpoint, `operators`, any κ: the same averages",
                f"{tell(found['family, once [s]'])} s",
                f"{tell(found['family, per parameter [ms]'])} ms",
                f"± {tell(found['family, median radius'])}, {tell(100.0 * found['family, median radius / value'])} %",
                "–",
            ],
        ],
    )


def dual_weighted() -> str:
    """Estimates and bounds of point values."""
    found = read("comparison")["dual-weighted"]
    rows = []
    for name, row in found["rows"].items():
        rows.append(
            [
                name,
                f"{tell(row['seconds'])} s",
                tell(row["median error"]),
                tell(row.get("median radius", float("nan"))),
                tell(row["median |estimate| / error"]),
                f"{row['below the error']} of {found['queries']}",
            ]
        )
        rows[-1][3] = rows[-1][3].replace("nan", "–")
    head = ["", "time", "median error of its value", "median radius", "estimate or radius / error", "below the error"]
    return table(head, rows)


def conformal() -> str:
    """Bands and proofs, in and beyond the population."""
    found = read("comparison")["conformal"]
    head = ["loads shifted by", "median error", "95 % band", "bands that hold", "proved, median", "proofs that hold"]
    return table(
        head,
        [
            [
                f"{r['shift']:g}",
                tell(r["median error"]),
                f"± {tell(r['band'])}",
                f"{r['bands that hold']:.3f}",
                f"± {tell(r['proved radius about the surrogate'])}",
                f"{r['proofs that hold']:.3f}",
            ]
            for r in found["rows"]
        ],
    )


def solid_rows(part: str | tuple[str, ...], *, discrete: bool = False) -> str:
    """Intervals of solids: those whose names begin so."""
    rows = []
    for name, row in read("solids").items():
        if not name.startswith(part) or bool(row.get("discrete")) != discrete:
            continue
        how = f"P{row['degree']}, {row['dofs']:,}" + (f", {row['meshes']} meshes" if row.get("adaptive") else "")
        asked = {key: q for key, q in row["queries"].items() if not re.search(r"\] ([xyz]{2}|along)$", key)}
        for k, (query, found) in enumerate(asked.items()):
            label = re.sub(r", (the linear.*|P\d.*|\d+)$", "", name)
            first = [label, how] if k == 0 else ["", ""]
            spent = f"{row['seconds']:.0f} s, {row['memory [GB]']:.1f} GB" if k == 0 else ""
            rows.append([*first, query, about(found["lower"], found["upper"]), tell(found["relative"]), spent])
    return table(["", "elements, displacements", "query", "interval", "radius / value", "processor, memory"], rows)


def pinnacle() -> str:
    """PINNacle's elliptic tasks."""
    rows = []
    for name, row in read("pinnacle").items():
        most, least = (row.get(f"published, error at {end}") for end in ("most", "least"))
        said = "" if most is None else f"{tell(least)} to {tell(most)}" if least else f"at most {tell(most)}"
        what = f"P{row['degree']}, {row['dofs']:,}"
        rows.append([name, what, str(row["points"]), tell(row["widest"]), said, f"{row['seconds']:.0f} s"])
    return table(
        ["task", "elements, unknowns", "points", "widest radius", "largest error of what is published", "processor"],
        rows,
    )


def containment() -> str:
    """Random problems of the wider kinds."""
    found, rows = read("varying"), []
    for kind in dict.fromkeys(name.rpartition(",")[0] for name in found):
        each = [found[f"{kind}, {d}D"] for d in (1, 2, 3)]
        below = [sum(row["radius / truth below"][word] for row in each) for word in ("0.01", "0.0001")]
        counts = " + ".join(str(row["cases"]) for row in each)
        off = max(row["largest distance / radius"] for row in each)
        total = [sum(row[word] for row in each) for word in ("intervals", "missed")]
        rows.append([KINDS[kind], counts, f"{total[0]:,}", str(total[1]), *(f"{n:,}" for n in below), f"{off:.2f}"])
    head = ["kind", "cases in 1D + 2D + 3D", "intervals", "missed", "within 1 %", "within 0.01 %", "largest share"]
    return table(head, rows)


def radii() -> str:
    """Radii at points, quadratic elements on 32 × 32 squares."""
    rows = [
        [name, tell(row["radius"]), "" if row["wanted"] is None else tell(row["wanted"]), f"{row['seconds']:.1f} s"]
        for name, row in read("radii").items()
    ]
    return table(["problem", "radius", "aim", "processor"], rows)


def scoreboard() -> str:
    """The field's tasks with networks trained here; proved numbers are rounded outward."""
    rows = []
    for name, row in read("scoreboard").items():
        least, most = row["proved at least"], row["proved at most"]
        proved = f"{outward(least, 4, up=False)} to {outward(most, 4)}" if least else f"at most {outward(most, 2)}"
        others = [f"at most {outward(other['proved at most'], 2)}" for other in row.get("seeds", {}).values()]
        proved += f" (another seed: {', '.join(others)})" if others else ""
        known = f"{row['true error']:.4g}" if "true error" in row else "not known"
        spent = f"{row['training [s]']:.0f} s, {row['certifying [s]']:.0f} s"
        loss = "none" if row["loss"] is None else tell(row["loss"])
        rows.append([f"[{name}](../studies/tasks/{row['script']})", row["definition"], loss, known, proved, spent])
    head = ["task and its script", "certified is", "loss", "true error", "proved error", "training, proof"]
    return table(head, rows)


def counts() -> str:
    """How many tasks are certified, and as what."""
    board, rows = _board(), read("scoreboard")
    meshed = {name.partition(",")[0]: "published, error at most" in row for name, row in read("pinnacle").items()}
    mine = {who: {n: r for n, r in rows.items() if n.startswith(who)} for who in ("DeepXDE", "PINNacle")}

    def told(
        what: str, named: bool, holds: Callable[[str, dict[str, Any]], bool], more: Sequence[str] = ()
    ) -> list[str]:
        found = [[n.partition(" ")[2] for n, r in mine[who].items() if holds(n, r)] for who in mine]
        found[1] += more
        return [what, *(f"{len(x)}" + (f": {', '.join(x)}" if named and x else "") for x in found)]

    trained = lambda r: r["loss"] is not None  # noqa: E731
    other = lambda r: any(word in r["definition"] for word in ("polygon", "polyhedra", "-gons"))  # noqa: E731
    bare = [
        [n for n, told in meshed.items() if told is given and f"PINNacle {n}" not in rows] for given in (True, False)
    ]
    return table(
        ["", "DeepXDE's forward demos", "PINNacle's 22 tasks"],
        [
            told("certified", False, lambda n, r: True, [*bare[0], *bare[1]]),
            told("networks trained here", False, lambda n, r: trained(r)),
            told("no network: what is published, or stated in the code", True, lambda n, r: not trained(r), bare[0]),
            told("no prediction at all: intervals of the solution alone", True, lambda n, r: False, bare[1]),
            told("polygons or polyhedra in place of round holes", True, lambda n, r: other(r)),
            told(
                "networks of two seeds, both with a radius below the largest value of the solution",
                False,
                lambda n, r: (
                    len(found := [r, *r.get("seeds", {}).values()]) > 1
                    and all(board.is_narrow(n, one) for one in found)
                ),
            ),
            told("a radius above it", True, lambda n, r: not board.is_narrow(n, r)),
            told(
                "a radius above it with the second seed",
                True,
                lambda n, r: not all(board.is_narrow(n, one) for one in r.get("seeds", {}).values()),
            ),
        ],
    )


def outward(value: float, digits: int, *, up: bool = True) -> str:
    """So many digits of a number, rounded up, or down."""
    rounding = decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR
    return f"{float(decimal.Context(prec=digits, rounding=rounding).create_decimal(value)):.{digits}g}"


def out_of_reach() -> str:
    """What is refused, and why."""
    return table(["task", "what it is", "why not"], [[name, *why] for name, why in _board().REFUSED.items()])


def _board() -> Any:
    """The study."""
    sys.path.insert(0, str(ROOT / "studies"))
    import scoreboard as board

    return board


def labels() -> str:
    """Labels of Darcy data sets and their proved errors, in per cent."""
    rows = []
    for name, row in read("labels")["rows"].items():
        least, most = row["mean, at least"], row["mean, at most"]
        middle = len(least) // 2
        half = [0.5 * (x[middle - 1] + x[middle]) if len(x) % 2 == 0 else x[middle] for x in (least, most)]
        rows.append(
            [
                name,
                f"{_down(half[0])} to {_up(half[1])} %",
                f"{_down(least[-1])} to {_up(most[-1])} %",
                f"{_down(row['blocks, at least, median'])} to {_up(row['blocks, at most, median'])} %",
                f"{_down(row['blocks, at least, largest'])} %",
            ]
        )
    head = ["label", "mean of u off by, median", "largest", "averages over blocks, median", "largest, at least"]
    return table(head, rows)


def heads() -> str:
    """Certified errors of the shipped operator with and without its second head."""
    rows = []
    for name, row in read("two-heads")["rows"].items():
        least = f"{_up(row['median'])} %", f"{_up(row['largest'])} %", f"± {_up(row['mean of u'])} %"
        rows.append([name.replace("1 steps", "1 step"), *least, f"{tell(row['ms'])} ms"])
    return table(["from", "energy error at most, median", "largest", "mean of u", "an instance"], rows)


def _down(share: float) -> str:
    return f"{math.floor(1e4 * share) / 100.0:.2f}"


def _up(share: float) -> str:
    return f"{math.ceil(1e4 * share) / 100.0:.2f}"


def about(lower: float, upper: float) -> str:
    """An interval as its middle and its radius, digits as far as the radius reaches; outward."""
    radius, middle = 0.5 * (upper - lower), 0.5 * (upper + lower)
    if radius == 0.0:
        return f"{middle:g}"
    digits = max(0, 1 - math.floor(math.log10(radius)))
    shown = round(middle, digits)
    wide = math.ceil(max(upper - shown, shown - lower) * 10**digits) / 10**digits
    return f"{shown:.{digits}f} ± {wide:.{digits}f}" if wide >= 0.01 else f"{shown:.{digits}f} ± {tell(wide)}"


def keys(section: str) -> str:
    """The keys of a section of the case file."""
    return table(["key", "takes", "default", "for example", ""], case_keys.rows(section))


def assumptions() -> str:
    """What each route of the checker rests on."""
    data = json.loads((ROOT / "docs" / "assumptions.json").read_text(encoding="utf-8"))
    rows = []
    for route in data["routes"]:
        said = {s: "; ".join(a["claim"] for a in route["assumes"] if a["status"] == s) for s in STATUSES}
        pages = ", ".join(f"[{page.removesuffix('.md')}]({page})" for page in route["pages"])
        name = f"**{route['route']}** ({route['target']}): {route['of']}"
        rows.append([name, *(said[s] or "nothing" for s in STATUSES), ", ".join(route["checker"]), pages])
    return table(["route", *STATUSES, "in src/pinnpoint_verify", "pages"], rows)


def verified() -> str:
    """Which kinds of certificates have bundles that verify."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for name, outcome in read("verified").items():
        problem, query, method, target = (word.strip() for word in name.split(","))
        words = query if method == "exact" else f"{query} ({method})"
        found.setdefault((problem, target or "its own", outcome), []).append(words)
    rows = [[problem, target, ", ".join(words), outcome] for (problem, target, outcome), words in found.items()]
    return table(["problem", "target", "queries (method, where it is not exact)", "verdict on the bundle"], rows)


TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "costs": ("choose.md", costs),
    "continuous": ("choose.md", continuous),
    "loads": ("comparison.md", loads),
    "operator": ("comparison.md", operator),
    "dual-weighted": ("comparison.md", dual_weighted),
    "conformal": ("comparison.md", conformal),
    "cook": ("solids.md", partial(solid_rows, "Cook")),
    "plate": ("solids.md", partial(solid_rows, "plate")),
    "cantilever": ("solids.md", partial(solid_rows, "cantilever")),
    "ellipses": ("solids.md", partial(solid_rows, ("elliptic", "thick"))),
    "bracket-discrete": ("solids.md", partial(solid_rows, "bracket", discrete=True)),
    "bracket": ("solids.md", partial(solid_rows, "bracket")),
    "pinnacle": ("pinnacle.md", pinnacle),
    "containment": ("varying.md", containment),
    "radii": ("varying.md", radii),
    "scoreboard": ("scoreboard.md", scoreboard),
    "counts": ("scoreboard.md", counts),
    "out-of-reach": ("scoreboard.md", out_of_reach),
    "labels": ("labels.md", labels),
    "assumptions": ("trust.md", assumptions),
    "verified": ("trust.md", verified),
    "two-heads": ("tutorials/operator.md", heads),
    **{f"case-{section}": ("case.md", partial(keys, section)) for section in SECTIONS},
}


def _place(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- table: {name} -->\n)(.*?)(<!-- /table -->)", flags=re.S)


def shown(name: str) -> str:
    """The table as its page has it."""
    page, _ = TABLES[name]
    match = _place(name).search((ROOT / "docs" / page).read_text(encoding="utf-8"))
    if match is None:
        raise ValueError(f"{page} has no place for the table {name}")
    return match[2].strip()


def made(name: str) -> str:
    """The table as the results have it."""
    return TABLES[name][1]().strip()


def main() -> None:
    """Write all tables."""
    for name, (page, make) in TABLES.items():
        path = ROOT / "docs" / page
        text = path.read_text(encoding="utf-8")
        new = make()
        text = _place(name).sub(lambda m, new=new: f"{m[1]}\n{new}\n\n{m[3]}", text)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
