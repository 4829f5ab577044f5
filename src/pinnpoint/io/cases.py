"""Case files: one TOML file says the mesh, the problem, the prediction, the queries and the certificate."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from pinnpoint.errors import InputError
from pinnpoint.expressions import Expression, parse
from pinnpoint.io.fields import SUFFIXES as FIELD_SUFFIXES
from pinnpoint.io.files import PathLike, read_bytes
from pinnpoint.io.overrides import apply_overrides
from pinnpoint.io.tables import REQUIRED, Table, components, number
from pinnpoint.solvers.choice import NAMES

MESH_SUFFIXES = (".msh", ".vtu", ".vtk", ".xdmf", ".inp", ".bdf", ".fem", ".nas")
DECK_SUFFIXES = (".bdf", ".fem", ".nas", ".dat", ".inp")
DOMAINS = ("interval", "square", "cube", "lshape", "dumbbell", "frame", "fichera", "bracket")
PROBLEMS = ("reaction-diffusion", "elasticity", "semilinear")
ACTIVATIONS = ("tanh", "sin", "sigmoid", "softplus", "silu", "gelu", "gelu-tanh")
SOURCES = ("file", "expression", "onnx", "torch", "model", "zero")
CODE_SUFFIXES = (".pt2", ".pt", ".pth", ".pkl", ".pickle", ".joblib")
"""Models whose files can run code when they are opened."""
LINEAR = ("exact", "norm", "inexact", "localized", "randomized")
NONLINEAR = ("root", "stationary")
OPTIONS = {"localized": ("radius",), "randomized": ("probes", "delta", "seed")}
"""Further keys of a method."""

Value = Expression | tuple[Expression | None, ...]
"""One formula for all components, or one for each; None leaves the component free."""
PerGroup = float | Mapping[str, float]


@dataclass(frozen=True)
class MeshSpec:
    """A mesh file, or a standard domain with its cells per unit length; a bracket may have its dofs instead."""

    file: Path | None = None
    generate: str | None = None
    cells: int | None = None
    dofs: int | None = None


@dataclass(frozen=True)
class ForceSpec:
    """A total force on a group: spread evenly, or with a moment and a reference point over the group's nodes."""

    force: tuple[float, ...]
    moment: tuple[float, ...] | None = None
    at: tuple[float, ...] | None = None
    even: bool = True


@dataclass(frozen=True)
class ProblemSpec:
    """The PDE; what does not belong to its kind is None.

    Attributes
    ----------
    deck
        A deck that gives the mesh and everything else; then all but `kind`, `deck` and `subcase` is empty.
    """

    kind: str
    degree: int = 1
    diffusion: PerGroup | None = None
    reaction: Expression | Mapping[str, float] | None = None
    source: Expression | None = None
    cubic: float | None = None
    young: PerGroup | None = None
    poisson: PerGroup | None = None
    body: tuple[Expression, ...] | None = None
    plane: str | None = None
    deck: Path | None = None
    subcase: int | None = None
    dirichlet: Mapping[str, Value] | None = None
    neumann: Mapping[str, Value] | None = None
    force: Mapping[str, ForceSpec] | None = None


@dataclass(frozen=True)
class PredictionSpec:
    """Where the prediction comes from: exactly one of the sources is given."""

    source: str
    file: Path | None = None
    field: str | None = None
    expression: Value | None = None
    onnx: Path | None = None
    torch: Path | None = None
    factory: str | None = None
    activation: str | None = None
    factor: Expression | None = None
    model: Path | None = None
    input: str | None = None
    output: str | None = None


@dataclass(frozen=True)
class QuerySpec:
    """One number that is wanted."""

    name: str
    kind: str
    at: tuple[float, ...] | None = None
    radius: float | None = None
    group: str | None = None
    component: str | None = None
    tolerance: float | None = None


@dataclass(frozen=True)
class CertificateSpec:
    """What is to be proved, and how; `options` are the method's own."""

    target: str = "continuous"
    method: str = "exact"
    rounding: bool = True
    lift: bool = False
    tolerance: float | None = None
    max_dofs: int | None = None
    quadrature: int | None = None
    options: Mapping[str, float | int | str] | None = None


@dataclass(frozen=True)
class Case:
    """A case file that was read; `mesh` is None where a deck gives the mesh."""

    title: str
    units: str
    mesh: MeshSpec | None
    problem: ProblemSpec
    prediction: PredictionSpec
    queries: tuple[QuerySpec, ...]
    certificate: CertificateSpec
    path: Path
    resolved: Mapping[str, Any]
    overrides: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The case with all defaults filled in, as plain data for JSON."""
        return copy.deepcopy(dict(self.resolved))


def read_case(path: PathLike, overrides: Sequence[str] = ()) -> Case:
    """Read a case file strictly: unknown keys, wrong types and missing files are refused.

    What needs the mesh (do groups exist, do points lie inside) is checked later.

    Parameters
    ----------
    path
        The TOML file; paths in it are relative to it.
    overrides
        ``key.sub=value`` texts that replace or add values, e.g. ``query.0.tolerance=1e-3``.
    """
    data = read_bytes(path, "case file")
    target = Path(path).absolute()
    try:
        raw = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"case file '{target}': is not UTF-8 text (byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"case file '{target}': is not valid TOML: {error}") from error
    except RecursionError as error:
        raise InputError(f"case file '{target}': nested too deeply") from error
    root = Table("", apply_overrides(raw, overrides), target.parent)
    sections = {
        "title": root.text("title", target.stem),
        "units": root.text("units", ""),
        "mesh": _mesh(root),
        "problem": _problem(root.table("problem", required=True)),
        "prediction": _prediction(root.table("prediction", required=True)),
    }
    sections["queries"] = _queries(root, sections["problem"].kind)
    sections["certificate"] = _certificate(root.table("certificate"), sections["problem"].kind)
    root.done()
    resolved = {name: _plain(value) for name, value in sections.items()}
    return Case(**sections, path=target, resolved=resolved, overrides=tuple(overrides))


def _mesh(root: Table) -> MeshSpec | None:
    problem = root.data.get("problem")
    if isinstance(problem, dict) and "deck" in problem:
        root.refuse(["mesh"], "problem.deck gives the mesh; give only one of them")
        return None
    table = root.table("mesh", required=True)
    if table.has("file") == table.has("generate"):
        raise InputError("mesh: give exactly one of 'file' and 'generate'")
    file = table.path("file", MESH_SUFFIXES, None)
    domain = table.choice("generate", DOMAINS, None)
    if file is not None:
        table.refuse(["cells", "dofs"], "only for a generated mesh; remove it")
    if domain == "bracket":
        if table.has("cells") and table.has("dofs"):
            raise InputError("mesh.dofs: give cells or dofs, not both")
    else:
        table.refuse(["dofs"], "only for generate = 'bracket'; remove it")
    cells = table.whole("cells", 32 if domain and domain != "bracket" else None, low=1)
    dofs = table.whole("dofs", None, low=1)
    table.done()
    return MeshSpec(file, domain, cells, dofs)


def _problem(table: Table) -> ProblemSpec:
    kind = table.choice("kind", PROBLEMS, "elasticity" if table.has("deck") else REQUIRED)
    if table.has("deck"):
        spec = ProblemSpec(kind, deck=table.path("deck", DECK_SUFFIXES), subcase=table.whole("subcase", 1, low=1))
        table.refuse([f.name for f in fields(ProblemSpec) if f.name not in table.known], "the deck gives it; remove it")
        if kind != "elasticity":
            raise InputError(f"problem.kind: a deck is an elasticity problem; got '{kind}'")
        table.done()
        return spec
    table.refuse(["subcase"], "only with a deck; remove it")
    elastic = kind == "elasticity"
    values: dict[str, Any] = {"degree": table.whole("degree", 1, low=1, high=2)}
    scalar, solid = ("diffusion", "reaction", "source"), ("young", "poisson", "body", "plane", "force")
    table.refuse(scalar if elastic else solid, f"does not belong to kind = '{kind}'; remove it")
    if elastic:
        values |= _elastic(table)
        values["force"] = _forces(table.table("force")) if table.has("force") else None
    else:
        values["diffusion"] = table.numbers("diffusion", "positive", 1.0)
        values["reaction"] = _reaction(table)
        values["source"] = table.expression("source", 0.0)
    if kind == "semilinear":
        values["cubic"] = table.number("cubic")
        if values["cubic"] < 0.0:
            raise InputError(
                f"problem.cubic: must be ≥ 0, a monotone reaction; got {values['cubic']!r}. For λ < 0 the PDE can have "
                "several solutions or none: verify a discrete root in Python, fem.Semilinear with target='discrete'"
            )
    else:
        table.refuse(["cubic"], "only for kind = 'semilinear'; remove it")
    values["dirichlet"] = _conditions(table.table("dirichlet"), elastic, free=elastic)
    values["neumann"] = _conditions(table.table("neumann"), elastic, free=False)
    table.done()
    return ProblemSpec(kind, **values)


def _elastic(table: Table) -> dict[str, Any]:
    poisson = table.numbers("poisson")
    for group, nu in poisson.items() if isinstance(poisson, dict) else [("", poisson)]:
        if not -1.0 < nu < 0.5:
            raise InputError(f"{table.key('poisson')}{group and '.'}{group}: must lie between -1 and 0.5; got {nu!r}")
    body = table.take("body", None)
    if body is not None:
        if not isinstance(body, list):
            raise InputError(f"{table.key('body')}: must be a list with one entry for each component; got {body!r}")
        body = components(table.key("body"), body)
    young = table.numbers("young", "positive")
    return {
        "young": young,
        "poisson": poisson,
        "body": body,
        "plane": table.choice("plane", ("strain", "stress"), None),
    }


def _forces(table: Table) -> dict[str, ForceSpec]:
    """Total forces on groups: a list, or a table with force, moment and at."""
    found = {}
    for group in table.data:
        value = table.take(group)
        if not isinstance(value, dict):
            found[group] = ForceSpec(_numbers(table.key(group), value))
            continue
        inner = Table(table.key(group), value, table.folder)
        parts = {key: _numbers(inner.key(key), inner.take(key)) for key in ("force", "moment", "at") if inner.has(key)}
        inner.known.extend(("force", "moment", "at"))
        inner.done()
        if "force" not in parts and "moment" not in parts:
            raise InputError(f"{inner.name}: give a force, a moment, or both")
        size = len(parts["moment"]) if "force" not in parts else len(parts["force"])
        found[group] = ForceSpec(
            parts.get("force", (0.0,) * max(size, 2)), parts.get("moment"), parts.get("at"), even=False
        )
    return found


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    row = value if isinstance(value, list) else [value]
    if not 1 <= len(row) <= 3:
        raise InputError(f"{name}: must have 1 to 3 numbers; got {len(row)}")
    return tuple(number(f"{name}.{k}", v) for k, v in enumerate(row))


def _reaction(table: Table) -> Expression | Mapping[str, float]:
    """A formula, or numbers for cell groups."""
    if isinstance(table.data.get("reaction"), dict):
        return table.numbers("reaction", "nonnegative")  # type: ignore[no-any-return]
    reaction: Expression = table.expression("reaction", 0.0)
    if reaction.constant is not None and reaction.constant < 0:
        raise InputError(f"{reaction.name}: must be ≥ 0; got {reaction.constant!r}")
    return reaction


def _conditions(table: Table, elastic: bool, *, free: bool) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for group in table.data:
        value = table.take(group)
        if isinstance(value, list) and not elastic:
            raise InputError(f"{table.key(group)}: has one component; give a number or a formula, not a list")
        found[group] = components(table.key(group), value, free=free)
        if isinstance(value, list) and all(v is None for v in found[group]):  # type: ignore[union-attr]
            raise InputError(f"{table.key(group)}: every component is free, so nothing is fixed; remove it")
    return found


def _prediction(table: Table) -> PredictionSpec:
    given = [s for s in SOURCES if table.has(s)]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        for source in SOURCES:
            table.take(source, None)
        for key in ("field", "factory"):
            table.take(key, None)
        table.done()
        raise InputError(f"prediction: give exactly one of {', '.join(SOURCES)}; got {found}")
    source = given[0]
    table.known.extend(s for s in SOURCES if s != source)
    if source != "file":
        table.refuse(["field"], "only with prediction.file; remove it")
    if source != "torch":
        table.refuse(["factory", "activation"], "only with prediction.torch; remove it")
    if source not in ("onnx", "torch"):
        table.refuse(["factor"], "only with a network; remove it")
    if source != "onnx":
        table.refuse(["input", "output"], "only with prediction.onnx; remove it")
    values: dict[str, Any] = {}
    if source == "file":
        values = {"file": table.path("file", FIELD_SUFFIXES), "field": table.text("field", None)}
    elif source == "expression":
        values["expression"] = components(table.key("expression"), table.take("expression"))
    elif source == "onnx":
        values = {"onnx": table.path("onnx", (".onnx",)), "factor": _factor(table)}
        values |= {"input": table.text("input", None), "output": table.text("output", None)}
    elif source == "model":
        values["model"] = table.path("model", CODE_SUFFIXES)
    elif source == "torch":
        values = {"torch": table.path("torch", (".safetensors",)), "factor": _factor(table)}
        if table.has("activation"):
            table.refuse(["factory"], "give prediction.activation or prediction.factory, not both")
            values["activation"] = table.choice("activation", ACTIVATIONS, None)
        else:
            values["factory"] = _factory(table)
    elif not table.flag("zero", True):
        raise InputError("prediction.zero: must be true; name another source instead")
    table.known.extend(("field", "factory", "activation", "factor", "input", "output"))
    table.done()
    return PredictionSpec(source, **values)


def _factor(table: Table) -> Expression | None:
    """What a network's output is multiplied with."""
    if not table.has("factor"):
        return None
    return parse(str(table.text("factor")), name=table.key("factor"))


def _factory(table: Table) -> str:
    text = str(table.text("factory"))
    module, colon, name = text.partition(":")
    if not colon or not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise InputError(f"{table.key('factory')}: must read 'package.module:function'; got '{text[:60]}'")
    return text


def _queries(root: Table, problem: str) -> tuple[QuerySpec, ...]:
    rows = root.take("query")
    if not isinstance(rows, list) or not rows:
        raise InputError("query: give at least one [[query]], each in double brackets")
    queries = [_query(Table(f"query.{i}", row, root.folder), i, problem) for i, row in enumerate(rows)]
    names = [q.name for q in queries]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InputError(f"query.{i}.name: '{name}' is taken by query.{names.index(name)}; names must differ")
    return tuple(queries)


def _query(table: Table, i: int, problem: str) -> QuerySpec:
    name = table.text("name", f"q{i}")
    if not name.strip():
        raise InputError(f"{table.key('name')}: is empty; give the query a name, or leave it out")
    kind = table.choice("kind", ("point", "average", "patch", "flux"), "point")
    at = radius = group = None
    if kind in ("patch", "flux"):
        if kind == "flux" and problem == "elasticity":
            raise InputError(
                f"{table.key('kind')}: 'flux' does not fit kind = 'elasticity'; average over the patch instead"
            )
        table.refuse(["at", "radius"], f"does not belong to a {kind}; remove it")
        group = table.text("group")
    else:
        table.refuse(["group"], f"does not belong to kind = '{kind}'; remove it")
        at = _coordinates(table)
        if kind == "average":
            radius = table.number("radius", sign="positive")
        else:
            table.refuse(["radius"], "does not belong to a point; write kind = 'average' for a ball")
    if problem != "elasticity":
        table.refuse(["component"], "the solution has one component; remove it")
    component = table.choice("component", ("x", "y", "z"), None)
    tolerance = table.number("tolerance", None, "positive")
    table.known.extend(("at", "radius", "group"))
    table.done()
    return QuerySpec(name, kind, at, radius, group, component, tolerance)


def _coordinates(table: Table) -> tuple[float, ...]:
    value = table.take("at")
    row = value if isinstance(value, list) else [value]
    if not 1 <= len(row) <= 3:
        raise InputError(f"{table.key('at')}: must have 1 to 3 coordinates; got {len(row)}")
    return tuple(number(f"{table.key('at')}.{k}", v) for k, v in enumerate(row))


def _certificate(table: Table, problem: str) -> CertificateSpec:
    nonlinear = problem == "semilinear"
    method = table.choice("method", LINEAR + NONLINEAR, "root" if nonlinear else "exact")
    if (method in NONLINEAR) != nonlinear:
        fitting = ", ".join(NONLINEAR if nonlinear else LINEAR)
        raise InputError(f"certificate.method: '{method}' does not fit kind = '{problem}'; use one of {fitting}")
    for other, keys in OPTIONS.items():
        if other != method:
            table.refuse(keys, f"only for method = '{other}'; remove it")
    values: dict[str, Any] = {
        "radius": table.number("radius", None, "positive"),
        "probes": table.whole("probes", None, low=1, high=100_000),
        "delta": table.number("delta", None, "positive"),
        "seed": table.whole("seed", None),
        "polish": table.whole("polish", None),
        "solver": table.choice("solver", NAMES[:-2], None),
    }
    if values["solver"] is not None and nonlinear:
        raise InputError("certificate.solver: is for linear problems; remove it")
    if values["polish"] is not None and not nonlinear:
        raise InputError(f"certificate.polish: Newton steps are for kind = 'semilinear'; got kind = '{problem}'")
    if values["delta"] is not None and values["delta"] >= 1:
        raise InputError(f"certificate.delta: must lie between 0 and 1; got {values['delta']!r}")
    spec = CertificateSpec(
        table.choice("target", ("continuous", "discrete"), "continuous"),
        method,
        table.flag("rounding", True),
        table.flag("lift", False),
        table.number("tolerance", None, "positive"),
        table.whole("max_dofs", None, low=1, high=10**9),
        table.whole("quadrature", None, low=1, high=20),
        {k: v for k, v in values.items() if v is not None},
    )
    table.done()
    return spec


def _plain(value: Any) -> Any:
    """Plain data for JSON; what is None is left out of tables."""
    if isinstance(value, Expression):
        return value.text if value.constant is None else value.constant
    if is_dataclass(value):
        return {f.name: _plain(v) for f in fields(value) if (v := getattr(value, f.name)) is not None}
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return ["free" if v is None else _plain(v) for v in value]
    return str(value) if isinstance(value, Path) else value
