"""The house: a room imports only rooms before it, no module imports itself by way of others, and nobody by string."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import pinnpoint
import pinnpoint_verify

ROOT = Path(pinnpoint.__file__).parent
CHECKER = sorted(Path(pinnpoint_verify.__file__).parent.glob("*.py"))
LOSE = {"fmax", "nanmax", "nanmin", "nansum", "nan_to_num", "nanargmax", "nanargmin"}
"""Functions of numpy that drop what is no number (`fmin` of upper bounds keeps one that holds)."""
SOURCE = ROOT.parent
STOREYS = {  # from the ground up
    "ground": "base",
    "proved numbers": "rounding formulas taylor",
    "space and algebra": "models mesh solvers systems",
    "proofs": "report certificates transfer certifiers",
    "problems": "fem boxes",
    "documents": "io cases training outputs",
    "programs": "monitoring campaigns service distributed cli",
}
ROOMS = " ".join(STOREYS.values()).split()
BY_STRING = {"base/lazy.py", "__init__.py", "cli/dispatch.py", "models/runtimes/files.py"}
"""The table of public names, the one of commands, and modules that users name."""
NAMED = (ast.Attribute, ast.Name)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOKED_AT = (ast.Import, ast.ImportFrom, ast.Call, *NAMED, *FUNCTIONS)
INSIDE = (  # within `rounding` too there is an order
    "arithmetic doubles balls lanes slices sliced_dots compiled compiled_norms matrices bounds coercivity forms "
    "stability"
).split()


@cache
def modules() -> dict[str, Path]:
    """Every module by its dotted name; a package is its __init__."""
    by_name = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        by_name[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return by_name


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """What a file holds: calls, names, imports and functions, of all that its tree has."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if path.name == "__init__.py":  # a facade tells type checkers what it imports late; nothing else may look upward
        tree.body = [n for n in tree.body if not (isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")]
    return [node for node in ast.walk(tree) if isinstance(node, LOOKED_AT)]


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """Modules that a file imports, at once, late, or for types alone."""
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path.name}: relative import"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                found.add(name if name in known else str(node.module))
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.split(".")[0].startswith("pinnpoint")}


@cache
def graph() -> dict[str, set[str]]:
    known = modules()
    return {name: imported(path, known) - {name} for name, path in known.items()}


def room(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def test_there_are_few_rooms_and_no_loose_modules():
    packages = {p.parent.name for p in ROOT.glob("*/__init__.py")}
    assert packages == set(ROOMS)
    assert len(ROOMS) <= 24
    assert len(STOREYS) == 7
    assert {p.name for p in ROOT.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_a_room_imports_only_rooms_before_it():
    checked = 0
    for name, others in graph().items():
        if room(name) in ("", "__main__"):
            continue
        for other in others:
            beside = other.split(".")[0] != "pinnpoint"
            if beside:
                assert room(name) == "cli", f"{name} imports {other}"
                continue
            checked += 1
            assert room(other) in ROOMS, f"{name} imports {other}: import the module that it comes from"
            assert ROOMS.index(room(other)) <= ROOMS.index(room(name)), f"{name} imports {other}, which is above it"
            if room(name) == room(other) == "rounding" and {name, other} <= {f"pinnpoint.rounding.{i}" for i in INSIDE}:
                assert INSIDE.index(other.split(".")[2]) <= INSIDE.index(name.split(".")[2]), f"{name} imports {other}"
    assert checked > 800


def test_no_module_imports_itself_by_way_of_others():
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        raise AssertionError(" → ".join(error.args[1])) from None


def test_nobody_imports_by_string():
    for path in modules().values():
        words = {n.attr if isinstance(n, ast.Attribute) else n.id for n in nodes_of(path) if type(n) in NAMED}
        called = words & {"import_module", "__import__", "run_module", "run_path"}
        assert not called or path.relative_to(ROOT).as_posix() in BY_STRING, f"{path.name}: {called}"


def test_core_needs_numpy_and_scipy_alone():
    """Block everything else that is not the standard library, then certify something."""
    code = """
import sys
allowed = set(sys.stdlib_module_names) | {"numpy", "scipy", "pinnpoint"}
class Gate:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in allowed and not top.startswith("_"):
            raise ModuleNotFoundError(f"blocked: {name}", name=name)
sys.meta_path.insert(0, Gate())
import numpy as np
import pinnpoint as pp
A = np.diag([2.0, 3.0]) + 0.1
for method in (pp.Exact(), pp.Norm(), pp.Inexact(), pp.Randomized(), pp.Localized(projectors=np.array([True, False]))):
    c = pp.certify(pp.LinearSystem(A, np.ones(2)), np.zeros(2), pp.Queries(np.eye(2)), method)
n = 600
S = np.diag(np.full(n, 4.0)) - np.ones((n, n)) / n
c = pp.certify(pp.LinearSystem(S, np.ones(n)), np.zeros(n), pp.Queries(np.eye(n)[:3]))  # above the compiled threshold
try:
    c.to_frame()
except pp.DependencyMissingError as error:
    assert "pinnpoint[frame]" in str(error)
else:
    raise SystemExit("pandas was not blocked")
print("fine")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "fine", done.stderr


def test_no_assert_guards_input_and_nothing_is_evaluated():
    for path in modules().values():
        for node in nodes_of(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile", "__import__"), path
            if isinstance(node, ast.Import):
                assert not any(a.name in ("pickle", "marshal", "shelve") for a in node.names), path


def test_every_public_name_exists_and_there_are_few():
    shapes = {"Circle", "Cylinder", "Ellipse", "LevelSet", "Sphere"}  # of boundaries, as the contract names them
    assert len(set(pinnpoint.__all__) - shapes) <= 40
    for name in pinnpoint.__all__:
        assert hasattr(pinnpoint, name)
    assert sorted(pinnpoint.__all__) == list(pinnpoint.__all__)


def functions() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    return [(name, node) for name, path in modules().items() for node in nodes_of(path) if isinstance(node, FUNCTIONS)]


def test_certificates_are_made_in_one_place():
    makers = {
        name
        for name, path in modules().items()
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Certificate"
    }
    assert makers == {"pinnpoint.certificates.assembly"}


def test_few_functions_are_long():
    long = [f"{name}.{f.name}" for name, f in functions() if f.end_lineno - f.lineno >= 60]
    assert len(long) <= 8, long


def test_importing_the_package_loads_next_to_nothing():
    code = "import sys, pinnpoint; print(sum(m.startswith('pinnpoint') for m in sys.modules), 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, heavy = done.stdout.split()
    assert int(loaded) <= 10
    assert heavy == "False"


def test_a_plain_case_loads_what_it_needs(tmp_path):
    """Neither routes that it does not go nor parts of NumPy that nobody uses; whoever asks NumPy for these has them."""
    path = tmp_path / "case.toml"
    path.write_text(
        '[mesh]\ngenerate = "square"\ncells = 2\n[problem]\nkind = "reaction-diffusion"\nsource = 1.0\n'
        "[problem.dirichlet]\nboundary = 0.0\n[prediction]\nzero = true\n[[query]]\nat = [0.5, 0.4]\n"
    )
    code = (
        "import sys; from pinnpoint.cli.main import main; assert not main(sys.argv[1:]); loaded = [*sys.modules]; "
        "import numpy; print(*loaded, numpy.f2py.__name__, 'f2py' in dir(numpy), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, "certify", str(path), "--quiet", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *loaded, name, listed = done.stderr.split()
    assert (name, listed) == ("numpy.f2py", "True")
    unused = {"numpy.f2py", "numpy.testing", "pinnpoint.certifiers.norm", "pinnpoint.certifiers.nonlinear.base"}
    unused |= {"pinnpoint.transfer.everywhere.asked", "pinnpoint.fem.mesh_estimate", "pinnpoint.io.decks.problems"}
    assert not unused & set(loaded)
    assert "pinnpoint.transfer.equilibrated" in loaded


def test_the_checker_loads_no_module_of_the_program_that_it_checks():
    code = "import sys, pinnpoint_verify; print([m for m in sys.modules if m.split('.')[0] == 'pinnpoint'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    for path in (SOURCE / "pinnpoint_verify").rglob("*.py"):
        assert not {name for name in imported(path, modules()) if name.split(".")[0] == "pinnpoint"}, path


def test_few_ask_an_object_what_it_is():
    """`hasattr` and `getattr` are for the border to other libraries."""
    asked = [
        name
        for name, path in modules().items()
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("hasattr", "getattr")
    ]
    assert len(asked) <= 60, asked


def test_few_arguments_may_be_anything():
    types = [
        argument.annotation
        for _, f in functions()
        for argument in (*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs, f.args.vararg, f.args.kwarg)
        if argument is not None and argument.arg not in ("self", "cls")
    ]
    anything = sum(isinstance(t, ast.Name) and t.id == "Any" for t in types)
    assert anything <= 0.08 * len(types), f"{anything} of {len(types)}"


@pytest.mark.parametrize("file", CHECKER, ids=lambda f: f.stem)
def test_no_bound_is_decided_by_what_loses_no_numbers(file):
    """`max(0.0, nan)` is 0.0, and `not x > limit` is true of nan."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    bare = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.Call) and _named(n.func) in ("max", "min")]
    assert not bare, f"{file.name}: max or min at lines {bare}; use larger and smaller"
    lost = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr in LOSE]
    assert not lost, f"{file.name}: lines {lost}"
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and _named(call.func) == "need":
            wrong = [n.lineno for n in ast.walk(call.args[0]) if _denies_an_order(n)]
            assert not wrong, f"{file.name}: lines {wrong} accept what is no number"


def _named(f):
    return f.id if isinstance(f, ast.Name) else None


def _denies_an_order(node):
    """`not a > b` and `not np.any(a > b)`: true where a or b is no number."""
    if not (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return False
    order = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
    return any(isinstance(n, ast.Compare) and any(isinstance(o, order) for o in n.ops) for n in ast.walk(node))
