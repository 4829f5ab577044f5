"""Case files: one TOML file says the mesh, the problem, the prediction, the queries and the certificate."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.base.files import PathLike, read_bytes
from pinnpoint.cases.geometry import read_geometry
from pinnpoint.cases.goals import read_certificate, read_limit, read_queries, read_units
from pinnpoint.cases.kinds import KINDS
from pinnpoint.cases.kinds.coefficients import CoefficientFile
from pinnpoint.cases.overrides import apply_overrides
from pinnpoint.cases.plain import printable, require_plain
from pinnpoint.cases.predictions import read_prediction
from pinnpoint.cases.problems import read_mesh_spec, read_problem
from pinnpoint.cases.specs import Case
from pinnpoint.cases.tables import SPACE, SPACE_TIME, Table
from pinnpoint.cases.times import read_time
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.bent.shapes import Shape, said
from pinnpoint.systems.limits import Limit


def read_case(path: PathLike, overrides: Sequence[str] = ()) -> Case:
    """Read a case file strictly, see `case_of`.

    Parameters
    ----------
    path
        The TOML file; paths in it are relative to it.
    overrides
        ``key.sub=value`` texts that replace or add values, e.g. ``query.0.tolerance=1e-3``.
    """
    return case_of(read_table(path, overrides), path, overrides)


def case_of(root: Table, path: PathLike, overrides: Sequence[str] = ()) -> Case:
    """What the tables of a case file say: unknown keys, wrong types and missing files are refused.

    What needs the mesh (do groups exist, do points lie inside) is checked later.
    """
    target = Path(path).absolute()
    sections = {
        "title": root.text("title", printable(target.stem)),
        "units": "",
        "mesh": read_mesh_spec(root),
        "problem": read_problem(root.table("problem", required=True)),
    }
    kind = KINDS[sections["problem"].kind]
    sections["time"] = read_time(root, kind)
    variables = SPACE_TIME if kind.moves else SPACE
    sections["prediction"] = read_prediction(root.table("prediction", required=True), variables)
    sections["units"] = read_units(root, kind.quantities, f"kind = '{kind.name}'")
    geometry = read_geometry(root.table("geometry"), kind)
    if geometry:
        sections["geometry"] = geometry
    certificate = root.table("certificate")
    sections["queries"] = read_queries(root, kind, read_limit(certificate))
    sections["certificate"] = read_certificate(certificate, kind)
    root.done()
    resolved = {
        name: _plain(value, target.parent) for name, value in sections.items() if name != "time" or value is not None
    }
    words = {word: other for word, other in kind.words.items() if other in root.data["problem"]}
    return Case(**sections, path=target, resolved=resolved, overrides=tuple(overrides), words=words)


def read_table(path: PathLike, overrides: Sequence[str] = ()) -> Table:
    """The tables of a case file, with what replaces its values."""
    return table_of(read_bytes(path, "case file"), path, overrides)


def table_of(data: bytes, path: PathLike, overrides: Sequence[str] = ()) -> Table:
    """The tables that the content of a case file has; those of a box have "box" in the place of a mesh."""
    target = Path(path).absolute()
    try:
        raw = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"case file '{target}': is not UTF-8 text (byte {error.start})") from error
    except RecursionError as error:
        raise InputError(f"case file '{target}': is nested too deeply") from error
    except ValueError as error:  # TOMLDecodeError, and numbers of more digits than Python reads
        raise InputError(f"case file '{target}': is not valid TOML: {str(error)[:200]}") from error
    require_plain(raw, f"case file '{target}'")
    return Table("", apply_overrides(raw, overrides), target.parent)


def _plain(value: Any, folder: Path) -> Any:
    """Plain data for JSON; what is None is left out of tables, and files have names relative to the case's folder.

    Of files that lie elsewhere the name alone stays: where they lie is nobody's business who reads a bundle.
    """
    if isinstance(value, Expression):
        return value.text if value.constant is None else value.constant
    if isinstance(value, Limit):
        return value.said()
    if isinstance(value, Shape):
        return said(value)
    if isinstance(value, CoefficientFile):
        return {k: _plain(v, folder) for k, v in vars(value).items() if k != "name" and v is not None}
    if is_dataclass(value):
        return {k: _plain(v, folder) for k, v in vars(value).items() if v is not None}
    if isinstance(value, Mapping):
        return {k: _plain(v, folder) for k, v in value.items()}
    if isinstance(value, tuple):
        return ["free" if v is None else _plain(v, folder) for v in value]
    if isinstance(value, Path):
        return printable(value.relative_to(folder).as_posix() if value.is_relative_to(folder) else value.name)
    return value
