"""Consistent forgeries: an entry changed wherever it stands, every claim made what the checker then proves.

A forger knows the checker: whatever it would prove from altered files becomes the certificate's claim, ids and digests
are right again. Such a bundle must be refused, or its claims must be true of the case, or `verify` must print what was
changed as declared.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import pinnpoint_verify as verifier
from pinnpoint_verify import claims
from tests.support.forged import sealed

FILES = ("certificate.json", "case.json", "proof.json")
CLAIMED = ("center", "radius", "lower", "upper", "value_radius", "raw_radius", "terms", "guarantee")
"""Keys of a query's row that are the claim itself, and are made anew."""
WORDS = {
    "system/": "as stored, are the discrete system",
    "witness/": "as stored, are the discrete system",
    "mesh/": "the mesh",
    "rule/": "the quadrature rules",
    "continuous/": "as stored, belong to the case",
    "dual/": "densities and ∫fΦ",
    "source/": "compared with samples",
    "medium/": "models of A, b, c",
    "lift/": "prediction that was lifted",
    "gap/": "densities of balls",
    "bent/": "geometry",
    "robin/": "lower bounds",
}
"""What is printed as declared about arrays, by the beginning of their names."""


@dataclass(frozen=True)
class Outcome:
    """What became of a forgery: what was changed, the verdict, the checker's words, and the claims in the end."""

    what: str
    verified: bool
    said: str
    claims: list[tuple[float, float]]


def leaves(data: Any, path: str = "") -> list[tuple[Any, Any, str]]:
    """Container, key and path of every value; keys of empty containers too."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    found = []
    for key, value in pairs:
        here = f"{path}.{key}" if isinstance(data, dict) else f"{path}[]"
        found += leaves(value, here) if isinstance(value, dict | list) and value else [(data, key, here.lstrip("."))]
    return found


def other(value: Any, rng: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([1, -1, 2]))
    if isinstance(value, float):
        others = [1.5 * value, value + 1.0, -value, value * (1.0 + 1e-3), 0.0]
        return float(rng.choice([x for x in others if x != value]))
    if isinstance(value, str):
        return str(rng.choice([f"{value}+0.25", f"2*({value})", f"{value}x", ""]))
    return 1.0 if value is None else None


def changed_everywhere(texts: dict[str, Any], rng: Any) -> str:
    """Change one value, and every equal one under the same key in all three files."""
    every = [(file, *leaf) for file, data in texts.items() for leaf in leaves(data)]
    every = [leaf for leaf in every if leaf[3] != "id" and not leaf[3].startswith("versions")]
    file, data, key, path = every[int(rng.integers(len(every)))]
    old = data[key]
    new = other(old, rng)
    name = path.rsplit(".", 1)[-1]
    for _, place, k, where in every:
        if where.rsplit(".", 1)[-1] == name and type(place[k]) is type(old) and place[k] == old:
            place[k] = new
    return f"{file}: {path} = {new!r} for {old!r}"


def changed_array(folder: Path, rng: Any) -> str:
    """Change one entry, or all, of one array."""
    files = sorted(folder.rglob("*.npy"))
    file = files[int(rng.integers(len(files)))]
    a, name = np.load(file), file.relative_to(folder).as_posix()
    if not a.size:
        return ""
    at = tuple(int(rng.integers(n)) for n in a.shape)
    how = str(rng.choice(["entry", "all", "sign", "zero"]))
    b = a.copy()
    if a.dtype.kind == "i":
        b[at] += int(rng.choice([1, -1]))
    elif how == "all":
        b = a * float(rng.choice([1.01, 0.5, 2.0]))
    else:
        b[at] = {"entry": 1.1 * a[at] + 1e-3, "sign": -a[at], "zero": 0.0}[how]
    if np.array_equal(a, b):
        return ""
    np.save(file, b)
    return f"{name}: {how} at {at}"


ODD = (math.nan, math.inf, -math.inf, -0.0, 0.0, 1e99, -1e99, 1e-320, 1e-200, 1e308, 2**53)
"""Numbers that arithmetic loses, or that lose others."""
SHAPES = ("empty", "longer", "shorter", "deeper", "whole", "single")


def oddly(folder: Path, texts: dict[str, Any], rng: Any) -> str:
    """Put a number that is none, is huge or tiny, into an array or a text, or give an array another shape or type."""
    files = sorted(folder.rglob("*.npy"))
    if not files or rng.random() < 0.3:
        return _odd_number(texts, rng)
    file = files[int(rng.integers(len(files)))]
    a, name = np.load(file), file.relative_to(folder).as_posix()
    how = str(rng.choice(SHAPES)) if rng.random() < 0.3 else "value"
    if how == "value" and a.size and a.dtype.kind == "f":
        x, some = ODD[int(rng.integers(len(ODD)))], rng.random(a.shape) < rng.choice([0.5 / a.size, 0.1, 1.1])
        some.flat[int(rng.integers(a.size))] = True
        np.save(file, np.where(some, x, a))
        return f"{name}: {x!r} at {int(some.sum())} places"
    np.save(file, _shaped(a, how))
    return f"{name}: {how}"


def _odd_number(texts: dict[str, Any], rng: Any) -> str:
    """In a text, at every place with the same key and number."""
    every = [(file, *leaf) for file, data in texts.items() for leaf in leaves(data)]
    some = [leaf for leaf in every if isinstance(leaf[1][leaf[2]], int | float) and leaf[1][leaf[2]] is not True]
    file, data, key, path = some[int(rng.integers(len(some)))]
    old, new, name = data[key], ODD[int(rng.integers(len(ODD)))], path.rsplit(".", 1)[-1]
    for _, place, k, where in some:
        if where.rsplit(".", 1)[-1] == name and place[k] == old:
            place[k] = new
    return f"{file}: {path} = {new!r} for {old!r}"


def _shaped(a: Any, how: str) -> Any:
    """An array of another shape or type."""
    if how == "empty":
        return np.zeros((0, *a.shape[1:]), a.dtype)
    if how == "longer":
        return np.concatenate([a, a[-1:]])
    if how == "deeper":
        return a[..., None]
    if how == "whole":
        return a.astype(np.int64 if a.dtype.kind == "f" else float)
    return a.astype(np.float32) if how == "single" and a.dtype.kind == "f" else a[:-1]


def narrow_source(folder: Path, texts: dict[str, Any], rng: Any) -> str:
    """A bump in the source that no sample sees, with a mass that moves values by many radii; the claims stay.

    Not of discrete systems, which have only what points of their rules see.
    """
    if texts["proof.json"].get("target") == "discrete":
        return ""
    text = texts["case.json"].get("problem", {}).get("source")
    if not isinstance(text, str) or texts["proof.json"].get("source", text) not in (text, None):
        return ""
    radius = max(row["radius"] for row in texts["certificate.json"]["queries"])
    d = np.load(folder / "mesh" / "nodes.npy").shape[1] if (folder / "mesh" / "nodes.npy").is_file() else 1
    at, width = rng.uniform(0.3, 0.7, d).tolist(), float(rng.choice([1e-3, 1e-4, 1e-5]))
    size = 1e4 * radius / (math.sqrt(math.pi) * width) ** d
    far = "+".join(f"({c}-{x!r})**2" for c, x in zip("xyz", at, strict=False))
    new = f"{text}+{size!r}*exp(-({far})/{width**2!r})"
    _everywhere(texts, text, new)
    return f"case.json: source = {new}"


def _everywhere(texts: dict[str, Any], old: str, new: str) -> None:
    for data in texts.values():
        for place, key, _ in leaves(data):
            if place[key] == old:
                place[key] = new


def narrow_neurons(folder: Path, texts: dict[str, Any], rng: Any) -> str:
    """Two neurons more, a narrow ridge through the first query's point: u_θ and the claim move, the truth does not."""
    files, row = sorted(folder.glob("lift/*w0.npy")), texts["certificate.json"]["queries"][0]
    said, at = texts["proof.json"].get("lift"), row.get("at")
    if len(files) != 1 or not at or not isinstance(said, dict) or said.get("activation") != "tanh":
        return ""
    W, b, last = (np.load(folder / "lift" / f"{name}.npy") for name in ("w0", "b0", "w1"))
    angle, steep = rng.uniform(0.0, 3.0), float(10.0 ** rng.uniform(5.0, 8.0))
    turn = np.array([math.cos(angle), math.sin(angle)])
    size, middle = 40.0 * row["radius"], steep * float(turn @ np.array(at))
    np.save(folder / "lift" / "w0.npy", np.concatenate([W, [steep * turn, steep * turn]]))
    np.save(folder / "lift" / "b0.npy", np.concatenate([b, [2.0 - middle, -2.0 - middle]]))
    np.save(folder / "lift" / "w1.npy", np.concatenate([last, [[0.5 * size, -0.5 * size]]], axis=1))
    by = size * math.tanh(2.0) * math.prod(x * (1.0 - x) for x in at)
    own = texts["proof.json"]["goals"][0]["own"]
    own[0], own[1], row["raw"] = own[0] + by, own[1] + 1e-9 * abs(by), row["raw"] + by
    claim(row, texts["proof.json"]["radius_terms"], row["center"] + by, 1.001 * row["radius"])
    return f"lift: a ridge of width {1.0 / steep:.0e} that moves the value by {by:.1e}"


def kept_claims(bundle: Path, to: Path, seed: int, change: Callable[[Path, Any, Any], str]) -> Outcome | None:
    """A forgery whose claims are false by its making: what the checker would prove of it is not claimed."""
    if to.exists():
        shutil.rmtree(to)
    shutil.copytree(bundle, to)
    texts = {name: json.loads((to / name).read_text(encoding="utf-8")) for name in FILES}
    what = change(to, texts, np.random.default_rng(seed))
    if not what:
        return None
    for name, data in texts.items():
        (to / name).write_text(json.dumps(data, ensure_ascii=False) + "\n", encoding="utf-8")
    sealed(to)
    good, said, _ = checked(to)
    return Outcome(what, good, said, [])


def claim(row: dict[str, Any], terms: list[str], c: float, r: float) -> None:
    """Numbers of a row that fit together."""
    row["terms"] |= dict.fromkeys(terms, 0.0) | {terms[0]: r, "correction": abs(row["value"] - c)}
    row |= {"center": c, "radius": r, "value_radius": abs(row["value"] - c) + r}
    row |= {"lower": float(np.nextafter(c - r, -np.inf)), "upper": float(np.nextafter(c + r, np.inf))}
    if row.get("raw") is not None:
        row["raw_radius"] = abs(row["raw"] - c) + r
        row["terms"]["mismatch"] = abs(row["raw"] - row["value"])


def checked(folder: Path) -> tuple[bool, str, list[tuple[float, float]]]:
    """The verdict, what is printed, and what the checker proves of each query whatever is claimed."""
    found: list[tuple[float, float]] = []
    said, own = io.StringIO(), claims.holds

    def holds(row: Any, c: float, r: float) -> str:
        found.append((c, r))
        return own(row, c, r)

    with mock.patch.object(claims, "holds", holds), contextlib.redirect_stdout(said):
        code = verifier.main(folder)
    return code == 0, said.getvalue(), found


def proved(folder: Path) -> list[tuple[float, float]]:
    """What the checker would prove of every query."""
    found: list[tuple[float, float]] = []
    with (
        mock.patch.object(claims, "holds", lambda row, c, r: found.append((c, r)) or ""),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        verifier.main(folder)
    return found


def changed(folder: Path, texts: dict[str, Any], rng: Any) -> str:
    """Change an entry of an array, or a value wherever it stands."""
    arrays = any(folder.rglob("*.npy"))
    return changed_array(folder, rng) if arrays and rng.random() < 0.5 else changed_everywhere(texts, rng)


def forge(bundle: Path, to: Path, seed: int, change: Callable[[Path, Any, Any], str] = changed) -> Outcome | None:
    """A forgery by its seed; None where nothing was changed."""
    rng = np.random.default_rng(seed)
    if to.exists():
        shutil.rmtree(to)
    shutil.copytree(bundle, to)
    texts = {name: json.loads((to / name).read_text(encoding="utf-8")) for name in FILES}
    what = change(to, texts, rng)
    if not what:
        return None
    for _ in range(2):
        for name, data in texts.items():
            (to / name).write_text(json.dumps(data, ensure_ascii=False) + "\n", encoding="utf-8")
        sealed(to)
        good, said, _ = checked(to)
        if good:
            break
        found = proved(to)
        rows = texts["certificate.json"].get("queries")
        if not isinstance(rows, list) or len(found) != len(rows) or not all(math.isfinite(r) for _, r in found):
            break
        with contextlib.suppress(LookupError, TypeError):
            for row, (c, r) in zip(rows, found, strict=True):
                claim(row, texts["proof.json"]["radius_terms"], c, 1.0000001 * r + 1e-300)
    rows = texts["certificate.json"].get("queries") or []
    ends = [(row.get("lower"), row.get("upper")) for row in rows if isinstance(row, dict)]
    return Outcome(what, good, said, ends)


def false_claims(outcome: Outcome, truths: list[tuple[float, float]]) -> bool:
    """Whether some claim lies apart from an interval that holds the truth."""
    pairs = zip(outcome.claims, truths, strict=True)
    return any(low > high_true or high < low_true for (low, high), (low_true, high_true) in pairs)


def is_told(outcome: Outcome, honest: str) -> bool:
    """Whether `verify` prints the change: a declared line that the honest bundle lacks, or words about arrays."""
    declared = {line for line in outcome.said.splitlines() if line.startswith("declared:")}
    name = outcome.what.partition(":")[0]
    if name in FILES:
        return bool(declared - set(honest.splitlines()))
    return any(word in line for start, word in WORDS.items() if name.startswith(start) for line in declared)
