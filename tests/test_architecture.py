"""Imports point downward only, and the core needs numpy and scipy alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pinnpoint

ROOT = Path(pinnpoint.__file__).parent
LAYERS = [  # from the bottom up; a module imports its own layer and those before it
    {"errors", "version", "threads", "memory", "units", "meaning"},
    {"arrays", "brief", "asking"},
    {"rounding"},
    {"solvers", "verdicts"},
    {"spaces", "facets", "mesh", "curves", "quality", "refinement", "expressions", "derivatives", "signs", "bernstein"},
    {"taylor"},
    {"models"},  # `data`, which it reads, holds no modules
    {"io"},
    {"report"},  # plain data in, HTML out
    {"systems", "queries", "nonlinear", "semilinear", "cubic", "reaction"},
    {"record", "certificate", "batch", "printed"},
    {"transfer", "orders"},
    {"certifiers"},
    {"families"},
    {"fem"},
    {"decks", "adapters"},
    {"certification", "monitor", "conformal"},
    {"adaptivity", "training"},
    {"bundles"},
    {"__init__"},
    {"cases", "foreign"},
    {"outputs", "verifier", "service"},
    {"distributed", "campaigns"},
    {"reproduce"},
    {"cli"},
    {"__main__"},
]
HEIGHT = {name: i for i, layer in enumerate(LAYERS) for name in layer}
# within `rounding` too there is an order
INSIDE = (
    "__init__ arithmetic doubles balls lanes slices sliced_dots compiled compiled_norms matrices bounds coercivity "
    "forms stability"
).split()


def modules():
    return sorted(ROOT.rglob("*.py"))


def imported(path: Path) -> set[str]:
    found = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if path.name == "__init__.py":  # a facade tells type checkers what it imports late; nothing else may look upward
        tree.body = [n for n in tree.body if not (isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pinnpoint"):
            parts = node.module.split(".")[1:]
            if parts:
                found.add(".".join(parts))
            else:
                found |= {alias.name for alias in node.names}
            if len(parts) == 1:
                inside = [alias.name for alias in node.names if (ROOT / parts[0] / f"{alias.name}.py").exists()]
                found |= {f"{parts[0]}.{name}" for name in inside}
        elif isinstance(node, ast.Import):
            found |= {a.name.removeprefix("pinnpoint.") for a in node.names if a.name.startswith("pinnpoint.")}
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path.name}: relative import"
    return found


def test_imports_point_downward():
    checked = 0
    for path in modules():
        here = path.relative_to(ROOT).with_suffix("").parts
        for name in imported(path):
            there = name.split(".")
            checked += 1
            assert HEIGHT[there[0]] <= HEIGHT[here[0]], f"{'.'.join(here)} imports {name}, which is above it"
            if here[0] == there[0] == "rounding" and len(there) > 1:
                assert INSIDE.index(there[1]) <= INSIDE.index(here[1]), f"{'.'.join(here)} imports {name}"
    assert checked > 80


def test_every_module_has_a_layer():
    for path in modules():
        assert path.relative_to(ROOT).with_suffix("").parts[0] in HEIGHT


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
    for path in modules():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile", "__import__"), path
            if isinstance(node, ast.Import):
                assert not any(a.name in ("pickle", "marshal", "shelve") for a in node.names), path


def test_public_names():
    assert len(pinnpoint.__all__) <= 40
    for name in pinnpoint.__all__:
        assert hasattr(pinnpoint, name)
    assert sorted(pinnpoint.__all__) == list(pinnpoint.__all__)
