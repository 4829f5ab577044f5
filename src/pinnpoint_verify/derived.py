"""Derived quantities again, in exact arithmetic: their intervals hold every value of the components' box.

Everything is rational: of a norm only squares are compared, and of a symmetric matrix only the signs of the
coefficients of a shifted characteristic polynomial, whose roots are all real.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from pinnpoint_verify.reader import larger, need, smaller
from pinnpoint_verify.rows import Row, is_number, near, same, verdict_agrees

Numbers = list[Fraction]
WORST = ("deterministic", "probabilistic", "estimate")
WORDS = {2: ["x", "y"], 3: ["x", "y", "z"]}
PAIRS = {d: [a + b for i, a in enumerate(words) for b in words[i:]] for d, words in WORDS.items()}


def derived_agree(certificate: Row, case: Row, rows: list[Row], dimension: int) -> list[str]:
    """Lines on what follows from the queries; refuses what does not."""
    found, asked = certificate.get("derived", []), case.get("derived", [])
    need(len(found) == len(asked), "certificate: another number of derived quantities than the case")
    by_name, lines = {row["name"]: row for row in rows}, list[str]()
    names = [*by_name, *(one["name"] for one in found)]
    need(len(set(names)) == len(names), "certificate: names of derived quantities are not different")
    for row, query in zip(found, asked, strict=True):
        name = row["name"]
        need(isinstance(name, str), "certificate: a derived quantity without a name")
        for key in ("name", "kind", "derived_from", "order", "poisson", "accept", "limit", "along", "toward"):
            need(same(row.get(key), query.get(key)), f"{name!r}: another {key} than in the case")
        need(all(part in by_name for part in row["derived_from"]), f"{name!r}: derived from what is not there")
        parts = [by_name[part] for part in row["derived_from"]]
        question_agrees(row, query, parts, case, dimension)
        numbers_agree(row, parts, along_of(row, by_name, dimension))
        verdict_agrees({**row, "raw": None})
        lines.append(f"{name}: follows from {', '.join(row['derived_from'])}, [{row['lower']!r}, {row['upper']!r}]")
    return lines


def question_agrees(row: Row, query: Row, parts: list[Row], case: Row, d: int) -> None:
    """The components are those of one vector or tensor, at one place."""
    name, kind = row["name"], row["kind"]
    need(kind in ("magnitude", "von-mises", "principal"), f"{name!r}: unknown kind of derived quantity")
    words = WORDS if kind == "magnitude" else PAIRS
    fits = d in words and len(parts) == len(words[d])
    need(fits, f"{name!r}: another number of components than a {kind} has")
    fits = kind != "principal" or (type(row.get("order")) is int and 1 <= row["order"] <= d)
    need(fits and ("order" in row) == (kind == "principal"), f"{name!r}: a wrong order")
    strained = kind == "von-mises" and d == 2 and case["problem"].get("plane", "strain") != "stress"
    nu = row.get("poisson")
    need(nu is None or (kind == "von-mises" and d == 2 and is_number(nu)), f"{name!r}: a Poisson's ratio")
    if "prediction" not in case:  # asked in Python: places and material are not told
        return
    own = "point" if kind == "magnitude" else "stress"
    for part, word in zip(parts, words[d], strict=True):
        fits = part["kind"] == own and part.get("component") == word and same(part.get("group"), query.get("group"))
        fits = fits and (query.get("at") is None or same(part["at"], query["at"]))
        need(fits, f"{name!r}: {part['name']!r} is not its {word}")
    need((query.get("at") is None) != (query.get("group") is None), f"{name!r}: at no place, or at two")
    if strained and "deck" not in case["problem"]:
        given = case["problem"]["poisson"]
        known = list(given.values()) if isinstance(given, dict) else [given]
        need(any(is_number(v) and float(v) == nu for v in known), f"{name!r}: another Poisson's ratio than the case's")
    need(strained or nu is None or "deck" in case["problem"], f"{name!r}: a Poisson's ratio, and it does not count")


def along_of(row: Row, by_name: dict[str, Row], d: int) -> tuple[Numbers, Row] | None:
    """Floats y and the query for yᵀBσ of a von Mises stress, where there is one."""
    name = row["name"]
    if "along" not in row and "toward" not in row:
        return None
    fits = row["kind"] == "von-mises" and row.get("poisson") is None and row.get("along") in by_name
    need(fits and isinstance(row.get("toward"), list), f"{name!r}: along what is not there")
    y, part = row["toward"], by_name[row["along"]]
    n = len(PAIRS[d]) if d in PAIRS else 0
    fits = len(y) == n and all(map(is_number, y)) and isinstance(part.get("component"), list)
    need(fits and len(part["component"]) == n, f"{name!r}: along no direction of stresses")
    numbers = [Fraction(v) for v in y]
    pull = [Fraction(v) * (1 if word[0] == word[1] else 2) for v, word in zip(part["component"], PAIRS[d], strict=True)]
    need(pull == times(form("von-mises", n, None), numbers), f"{name!r}: {part['name']!r} is not along it")
    first = by_name[row["derived_from"][0]]
    fits = part["kind"] == first["kind"] and same(part.get("group"), first.get("group"))
    need(fits and part.get("group") is not None, f"{name!r}: {part['name']!r} is at another place")
    return numbers, part


def numbers_agree(row: Row, parts: list[Row], along: tuple[Numbers, Row] | None = None) -> None:
    """Ends by exact arithmetic; labels are those of the weakest component."""
    name, nu = row["name"], row.get("poisson")
    ends = [(Fraction(part["lower"]), Fraction(part["upper"])) for part in parts]
    fits = all(is_number(row[k]) for k in ("value", "center", "radius", "lower", "upper"))
    need(fits and row["lower"] <= row["upper"], f"{name!r}: an interval without all of its numbers")
    low, high = Fraction(row["lower"]), Fraction(row["upper"])
    if row["kind"] == "principal":
        proved = principal_holds(ends, row["order"], low, high)
    else:
        B = form(row["kind"], len(parts), nu)
        below, over = at_least(B, ends, low), at_most(B, ends, high)
        if along is not None:
            y, part = along
            found = along_holds(B, ends, y, (Fraction(part["lower"]), Fraction(part["upper"])), low, high)
            below, over, parts = below or found[0], over or found[1], [*parts, part]
        proved = below and over
    need(proved, f"{name!r}: [{row['lower']!r}, {row['upper']!r}] does not hold what its components allow")
    for key in ("target", "confidence", "rounding"):
        need(all(same(row[key], part[key]) for part in parts), f"{name!r}: another {key} than its components")
    worst = larger((part["guarantee"] for part in parts), key=WORST.index)
    need(row["guarantee"] == worst, f"{name!r}: the guarantee is not that of its components")
    c, r = Fraction(row["center"]), Fraction(row["radius"])
    half = larger(high - c, c - low)
    fits = r >= half >= 0 and near(row["radius"], float(half), 1e-12, 1e-299)
    need(fits, f"{name!r}: center ± radius is not the interval")
    x = [Fraction(part["value"] if part["raw"] is None else part["raw"]) for part in parts[: len(ends)]]
    own = plainly(row, x, nu)
    size = larger(1e-300, *(abs(float(v)) for v in x))
    need(near(row["value"], own, 1e-9, 1e-7 * size), f"{name!r}: value is not that of its components, {own!r}")


def form(kind: str, n: int, nu: Any) -> list[Numbers]:
    """B of the norm √(xᵀBx)."""
    one, half = Fraction(1), Fraction(-1, 2)
    if kind == "magnitude":
        return [[one * (i == j) for j in range(n)] for i in range(n)]
    if n == 3:
        v = Fraction(0 if nu is None else nu)
        own, mixed = 1 - v + v * v, -(Fraction(1, 2) + v - v * v)
        return [[own, one * 0, mixed], [one * 0, one * 3, one * 0], [mixed, one * 0, own]]
    straight = (0, 3, 5)
    B = [[one * 0] * 6 for _ in range(6)]
    for i in range(6):
        B[i][i] = one if i in straight else one * 3
        for j in straight:
            B[i][j] = half if i in straight and i != j else B[i][j]
    return B


def times(B: list[Numbers], x: Numbers) -> Numbers:
    """B x."""
    return [sum((b * v for b, v in zip(row, x, strict=True)), Fraction(0)) for row in B]


def dot(x: Numbers, y: Numbers) -> Fraction:
    """xᵀy."""
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def at_most(B: list[Numbers], ends: list[tuple[Fraction, Fraction]], high: Fraction) -> bool:
    """A convex function is largest at a vertex."""
    return high >= 0 and all(dot(list(x), times(B, list(x))) <= high * high for x in product(*ends))


def at_least(B: list[Numbers], ends: list[tuple[Fraction, Fraction]], low: Fraction) -> bool:
    """p(x) ≥ cᵀBx / p(c) by Cauchy and Schwarz."""
    if low <= 0:
        return True
    c, r = [(a + b) / 2 for a, b in ends], [(b - a) / 2 for a, b in ends]
    g = times(B, c)
    least = dot(c, g) - sum(abs(v) * w for v, w in zip(g, r, strict=True))
    return least >= 0 and least * least >= low * low * dot(c, g)


def along_holds(
    B: list[Numbers],
    ends: list[tuple[Fraction, Fraction]],
    y: Numbers,
    own: tuple[Fraction, Fraction],
    low: Fraction,
    high: Fraction,
) -> tuple[bool, bool]:
    """With ℓ = By and q² = yᵀBy: p² ≥ (ℓᵀx)²/q², and p² = (ℓᵀx)²/q² + xᵀ(B − ℓℓᵀ/q²)x, the last largest at a vertex."""
    g = times(B, y)
    square = dot(y, g)
    if square <= 0 or own[0] > own[1]:
        return False, False
    least = larger(Fraction(0), own[0], -own[1])
    top = larger(own[0] ** 2, own[1] ** 2) / square
    rest = larger(dot(list(x), times(B, list(x))) - dot(g, list(x)) ** 2 / square for x in product(*ends))
    below = low <= 0 or least * least >= low * low * square
    return below, high >= 0 and top + larger(rest, Fraction(0)) <= high * high


def tensor(x: Numbers) -> list[Numbers]:
    """The symmetric matrix of its upper triangle, row by row."""
    if len(x) == 3:
        return [[x[0], x[1]], [x[1], x[2]]]
    return [[x[0], x[1], x[2]], [x[1], x[3], x[4]], [x[2], x[4], x[5]]]


def above(A: list[Numbers], t: Fraction) -> int:
    """How many eigenvalues exceed t: sign changes of det(s I − (A − t I)), all of whose roots are real."""
    M = [[a - t * (i == j) for j, a in enumerate(row)] for i, row in enumerate(A)]
    d = len(M)
    minors = sum((M[i][i] * M[j][j] - M[i][j] ** 2 for i in range(d) for j in range(i + 1, d)), Fraction(0))
    coefficients = [Fraction(1), -sum((M[i][i] for i in range(d)), Fraction(0)), minors]
    if d == 3:
        (a, b, c), (_, e, f), (_, _, g) = M
        coefficients.append(-(a * (e * g - f * f) - b * (b * g - c * f) + c * (b * f - c * e)))
    signs = [v > 0 for v in coefficients if v != 0]
    return sum(one != two for one, two in pairwise(signs))


def principal_holds(ends: list[tuple[Fraction, Fraction]], order: int, low: Fraction, high: Fraction) -> bool:
    """Weyl: no eigenvalue moves further from that of the middle than the norm of the widths."""
    A, R = tensor([(a + b) / 2 for a, b in ends]), tensor([(b - a) / 2 for a, b in ends])
    square = sum((r * r for row in R for r in row), Fraction(0))
    wide = smaller(root_above(square), larger(sum(row, Fraction(0)) for row in R))
    return above(A, high - wide) < order <= above(A, low + wide)


def root_above(q: Fraction) -> Fraction:
    """A rational number a little above √q."""
    scale = 10**60 * larger(1, q.denominator)
    return Fraction(math.isqrt(math.ceil(q * scale * scale)) + 1, scale)


def plainly(row: Row, x: Numbers, nu: Any) -> float:
    """The quantity of given components in floats, for comparison."""
    if row["kind"] != "principal":
        B = form(row["kind"], len(x), nu)
        return math.sqrt(float(dot(x, times(B, x))))
    A = tensor(x)
    size = larger((abs(v) for v in x), default=Fraction(0)) * 3 + Fraction(1, 10**300)
    low, high = -size, size
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if above(A, middle) >= row["order"] else (low, middle)
    return float((low + high) / 2)
