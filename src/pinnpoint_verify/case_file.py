"""`verify --inputs`: a case file says just what case.json says, table by table and key by key.

Every key of the file is compared, or refused by its name; where the file is silent, what is stored is the default.
"""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from pinnpoint_verify.formulas import plain
from pinnpoint_verify.reader import Refused, need
from pinnpoint_verify.rows import from_file, same

Row = dict[str, Any]
TABLES = {"title", "units", "mesh", "problem", "prediction", "geometry", "query", "certificate"}
"""What a case file may hold whose case.json is stored."""
SOURCES = ("file", "expression", "onnx", "torch", "model", "zero")
"""Of predictions."""
FILED = {"file", "deck", "onnx", "torch", "model"}
"""Keys of files."""
DATA = {"diffusion", "convection", "reaction", "source", "g", "cubic", "young", "poisson", "body", "expansion"}
DATA |= {"temperature", "dirichlet", "neumann", "robin", "force", "expression", "factor"}
"""Keys of numbers and formulas; all others are words, lists of numbers and tables of them."""
SECOND = {"fixed": "dirichlet", "traction": "neumann"}
"""Second names of keys, of elasticity."""
PROBLEM = {"degree": 1, "diffusion": 1.0, "reaction": 0.0, "source": 0.0, "dirichlet": {}, "neumann": {}}
DECK = {"kind": "elasticity", "subcase": 1}
CERTIFICATE = {"target": "continuous", "rounding": True, "lift": False}
"""What is stored where a file is silent."""
OPTIONS = ("radius", "probes", "delta", "seed", "polish", "solver")
"""Keys of a certificate's table that are stored as its options."""


def case_agrees(given: Row, case: Row, stem: str) -> str:
    """What a case file says is what is stored; `stem` is its title where it gives none."""
    for key in given:
        need(key in TABLES, f"inputs: the case file has {key!r}, which is not part of such a case")
    for key in ("mesh", "problem", "prediction", "geometry", "certificate"):
        need(isinstance(given.get(key, {}), dict), f"inputs: the case file's {key} is no table")
    title, units = given.get("title", stem), given.get("units", "")
    units = {key: word for key, word in units.items() if word != ""} if isinstance(units, dict) else units
    agrees("title", title, case.get("title"))
    agrees("units", units, case.get("units"))
    _mesh(given.get("mesh", {}), case.get("mesh") or {})
    _problem(given.get("problem", {}), case["problem"])
    _prediction(given.get("prediction", {}), case.get("prediction", {}))
    _geometry(given.get("geometry", {}), case.get("geometry") or {})
    _certificate(dict(given.get("certificate", {})), case)
    asked = given.get("query", [])
    fits = isinstance(asked, list) and all(isinstance(q, dict) for q in asked)
    need(fits, "inputs: the case file's query is no list")
    common = {key: given["certificate"][key] for key in ("accept", "limit") if key in given.get("certificate", {})}
    _queries(asked, case, common)
    return ", title, units, words of mesh and prediction, problem, queries and certificate as stored"


def agrees(name: str, value: Any, stored: Any, fits: bool | None = None) -> None:
    """Refuse another value than the stored one, by its name."""
    fits = alike(value, stored) if fits is None else fits
    need(fits, f"inputs: the case file has {name} = {value!r}, stored is {stored!r}")


def tabled(name: str, own: Row, said: Row, silent: Row) -> None:
    """Every key of a table is the stored one; what it is silent of is the default, or not there."""
    for key, value in own.items():
        need(key in said, f"inputs: the case file has {name}.{key} = {value!r}, and nothing of it is stored")
        agrees(f"{name}.{key}", value, said[key], fitting(key, value, said[key]))
    for key, stored in said.items():
        fits = key in own or (key in silent and alike(silent[key], stored))
        need(fits, f"inputs: the case file says nothing of {name}.{key}, stored is {stored!r}")


def fitting(key: str, value: Any, stored: Any) -> bool:
    """Whether a value is the stored one: of files by name, of data as numbers and formulas."""
    if key in FILED:
        return filed(value, stored)
    if key in ("diffusion", "reaction") and isinstance(value, dict) and "file" in value:
        rest = {k: v for k, v in value.items() if k != "file"}
        whole = from_file(stored) and alike(rest, {k: v for k, v in stored.items() if k != "file"})
        return whole and filed(value["file"], stored["file"])
    if key == "robin":
        return _robin(value, stored)
    if key == "force":
        return _forces(value, stored)
    return alike(value, stored, data=key in DATA)


def alike(value: Any, stored: Any, *, data: bool = False) -> bool:
    """The same values, numbers as numbers; with `data` formulas without coordinates are numbers too."""
    if isinstance(value, dict):
        keyed = isinstance(stored, dict) and value.keys() == stored.keys()
        return keyed and all(alike(v, stored[k], data=data) for k, v in value.items())
    if isinstance(stored, list):
        row = value if isinstance(value, list) else [value]
        fits = len(row) == len(stored) and not (isinstance(value, str) and data)
        return fits and all(alike(v, s, data=data) for v, s in zip(row, stored, strict=True))
    if isinstance(value, bool) or isinstance(stored, bool):
        return value is stored
    if data:
        value, stored = number_of(value), number_of(stored)
    numbers = isinstance(value, int | float) and isinstance(stored, int | float)
    return bool(value == stored) if numbers else type(value) is type(stored) and same(value, stored)


def number_of(given: Any) -> Any:
    """A number where a formula has no coordinates, else its text."""
    try:
        return plain(given)
    except (Refused, ArithmeticError, LookupError, TypeError, ValueError):
        return given.strip() if isinstance(given, str) else given


def filed(value: Any, stored: Any) -> bool:
    """A file's name under the case's folder; of one that lies elsewhere the last part alone is stored."""
    if not isinstance(value, str) or not isinstance(stored, str):
        return False
    for kind in (PurePosixPath, PureWindowsPath):
        path = kind(value)
        if path.is_absolute():
            fits = shown(path.as_posix()).endswith("/" + stored)
        else:
            fits = shown(path.as_posix()) == stored
        if fits:
            return True
    return False


def shown(text: str) -> str:
    """A name on one line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _mesh(own: Row, said: Row) -> None:
    """Of a domain that is generated the cells have a default; mid-side nodes are left out only where that is said."""
    own = {key: value for key, value in own.items() if not (key == "straight" and value is False)}
    tabled("mesh", own, said, {"cells": 32} if own.get("generate") not in (None, "bracket") else {})


def _problem(own: Row, said: Row) -> None:
    if "deck" in own:
        silent = DECK | {"degree": said.get("degree")}
    else:
        silent = PROBLEM
        own = {SECOND.get(key, key) if said.get("kind") == "elasticity" else key: v for key, v in own.items()}
    tabled("problem", own, said, silent)


def _prediction(own: Row, said: Row) -> None:
    given = [source for source in SOURCES if source in own]
    need(len(given) == 1, f"inputs: the case file's prediction is of {' and '.join(given) or 'no source'}")
    agrees("prediction", given[0], said.get("source"))
    if given == ["zero"]:
        need(own["zero"] is True, "inputs: the case file's prediction.zero is not true")
        said = {"zero": True} | said
    tabled("prediction", own, {key: value for key, value in said.items() if key != "source"}, {})


def _geometry(own: Row, said: Row) -> None:
    for group, curve in own.items():
        need(group in said, f"inputs: the case file has geometry.{group} = {curve!r}, and nothing of it is stored")
        whole = isinstance(curve, dict)
        curve = {"angle": 0.0} | curve if whole and "ellipse" in curve else curve
        fits = whole and curve.keys() == said[group].keys()
        fits = fits and all(alike(v, said[group][key], data=key == "level") for key, v in curve.items())
        agrees(f"geometry.{group}", curve, said[group], fits)
    for group, stored in said.items():
        need(group in own, f"inputs: the case file says nothing of geometry.{group}, stored is {stored!r}")


def _certificate(own: Row, case: Row) -> None:
    """Limits are the queries'."""
    own.pop("limit", None)
    said = dict(case["certificate"])
    options = said.pop("options", {})
    method = "root" if case["problem"].get("kind") == "semilinear" else "exact"
    tabled("certificate", own, said | options, CERTIFICATE | {"method": method})
    need(not options.keys() - set(OPTIONS), f"case.json: unknown options {sorted(options.keys() - set(OPTIONS))[:1]}")


def _robin(value: Any, stored: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(stored, dict) or value.keys() != stored.keys():
        return False
    for group, one in value.items():
        whole = isinstance(one, dict) and {"coefficient"} <= one.keys() <= {"coefficient", "value"}
        if not whole or not alike([one["coefficient"], one.get("value", 0.0)], stored[group], data=True):
            return False
    return True


def _forces(value: Any, stored: Any) -> bool:
    """A force is even over its group where it is numbers alone; of one that is a moment the force is zero."""
    if not isinstance(value, dict) or not isinstance(stored, dict) or value.keys() != stored.keys():
        return False
    for group, one in value.items():
        row = dict(one) if isinstance(one, dict) else {"force": one}
        if isinstance(one, dict) and "moment" in row:
            moment = row["moment"] if isinstance(row["moment"], list) else [row["moment"]]
            row = {"force": [0.0] * (3 if len(moment) == 3 else 2)} | row
        if not alike(row | {"even": not isinstance(one, dict)}, stored[group]):
            return False
    return True


def _queries(asked: list[Row], case: Row, common: Row) -> None:
    """Each query of the file is stored, and each stored one is asked, or what another follows from (derived.py)."""
    rows = {str(row["name"]): row for row in case["queries"]}
    derived = case.get("derived", [])
    left = [*rows, *(str(row["name"]) for row in derived)]
    for i, own in enumerate(asked):
        row = {"name": f"q{i}", "kind": "point"} | {k: v for k, v in common.items() if k == "limit"} | own
        name = row["name"]
        found = [one for one in derived if _derives(one, name)] if name not in rows else [rows[name]]
        need(found, f"inputs: the case file's query {name!r} is not stored")
        for stored in found:
            _asked_alike(common | row if stored in derived else row, stored)  # which have the case's accept as well
            left = [one for one in left if one != stored["name"]]
    parts = {part for row in derived for part in (*row["derived_from"], row.get("along"))}
    for name in left:
        need(name in parts, f"inputs: the stored query {name!r} is not in the case file: another number of queries")


def _derives(stored: Row, name: Any) -> bool:
    """Whether a stored quantity is the file's query of that name; of principal values there is one for each axis."""
    principal = stored["kind"] == "principal"
    return bool(stored["name"] == (f"{name} {stored.get('order')}" if principal else name))


def _asked_alike(row: Row, stored: Row) -> None:
    made = {"derived_from", "poisson", "order", "along", "toward"} if "derived_from" in stored else set()
    for key in row.keys() | (stored.keys() - made):
        fits = key in row and key in stored and (alike(row[key], stored[key]) or key == "name")
        need(fits, f"inputs: the case file's query {row['name']!r} has another {key}")
