"""What `import pinnpoint` offers: names that are loaded when they are used, listed by `dir` and typed for mypy."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pinnpoint as pp

SOURCE = Path(pp.__file__).parent
LAZY = "pinnpoint.base.lazy"
HEAVY = ("numpy", "scipy", "skfem", "meshio", "numba", "torch", "matplotlib")
GATE = """
import sys
allowed = set(sys.stdlib_module_names) | {"numpy", "scipy", "pinnpoint", "pinnpoint_verify"}
class Gate:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in allowed and not top.startswith("_"):
            raise ModuleNotFoundError(f"blocked: {name}", name=name)
sys.meta_path.insert(0, Gate())
"""


def python(code, *arguments, **options):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **options)


def loaded(code):
    """Packages that are loaded after some code, and what it printed."""
    done = python(f"{code}\nimport sys; print('LOADED', *sorted({{m.partition('.')[0] for m in sys.modules}}))")
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split("LOADED")[1].split()), done.stdout


def test_importing_loads_nothing():
    found, _ = loaded("import pinnpoint; assert pinnpoint.__version__; dir(pinnpoint); pinnpoint.InputError")
    assert not found & set(HEAVY)


@pytest.mark.parametrize("words", [["--version"], ["--help"], *([c, "--help"] for c in ("certify", "verify", "serve"))])
def test_help_and_version_load_nothing(words):
    stopped = f"try:\n    main({words!r})\nexcept SystemExit as end:\n    assert not end.code"
    found, said = loaded(f"from pinnpoint.cli.main import main\n{stopped}")
    assert not found & set(HEAVY)
    if words == ["--help"]:
        assert all(command in said for command in "demo check certify verify serve reproduce doctor".split())


def test_the_console_script_is_as_light():
    script = (
        "import importlib.metadata as m\n(e,) = m.entry_points(group='console_scripts', name='pinnpoint')\ne.load()"
    )
    found, _ = loaded(script)
    assert not found & set(HEAVY)


@pytest.mark.parametrize("target", ["continuous", "discrete"])
def test_verify_needs_numpy_and_scipy_alone(tmp_path, target):
    (tmp_path / "case.toml").write_text(
        '[mesh]\ngenerate = "square"\ncells = 3\n[problem]\nkind = "reaction-diffusion"\nsource = "1"\n'
        f'[problem.dirichlet]\nboundary = 0.0\n[prediction]\nzero = true\n[certificate]\ntarget = "{target}"\n'
        "[[query]]\nat = [0.4, 0.3]\n",
        encoding="utf-8",
    )
    words = ["certify", str(tmp_path / "case.toml"), "--quiet"]
    without = (
        f"import sys\nsys.modules['skfem'] = None\nfrom pinnpoint.cli.main import main\nraise SystemExit(main({words}))"
    )
    assert python(without).returncode == 0
    code = f"{GATE}\nfrom pinnpoint.cli.main import main\nraise SystemExit(main(['verify', sys.argv[1]]))"
    done = python(code, tmp_path / "case" / "bundle")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("VERIFIED\n")
    assert not {"skfem", "meshio"} & loaded("import pinnpoint.cli.verify")[0]


def test_the_facade_names_the_same_things_everywhere():
    """The table, `__all__`, `dir` and what type checkers see."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    seen: dict[str, str] = {}
    packages: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "pinnpoint":
            for name in (alias.name for alias in node.names):
                if name in pp._PACKAGES:
                    packages[name] = f"{node.module}.{name}".removeprefix("pinnpoint.")
                else:
                    seen[name] = node.module.removeprefix("pinnpoint.")
    assert seen.pop("__version__") == "base.version"
    assert seen == pp._HOMES
    assert sorted([*seen, "__version__"]) == pp.__all__
    assert packages == pp._PACKAGES
    assert {"fem", "io", "models", *pp.__all__} <= set(dir(pp))
    assert not [name for name in dir(pp) if name.startswith("_") and not name.startswith("__")]
    for name, home in seen.items():
        assert getattr(pp, name) is getattr(importlib.import_module(f"pinnpoint.{home}"), name)


@pytest.mark.parametrize("package", ["fem", "models", "models.runtimes"])
def test_packages_that_import_late_name_the_same_things_everywhere(package):
    """What type checkers see, the table and `__all__`; no name is that of a module beside it."""
    there = importlib.import_module(f"pinnpoint.{package}")
    folder = Path(there.__file__).parent
    tree = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module not in ("typing", LAZY)]
    seen = {a.name: n.module.removeprefix(f"pinnpoint.{package}.") for n in nodes for a in n.names}
    assert seen == there._HOMES
    assert set(there.__all__) <= set(seen)
    for name, home in seen.items():
        assert not (folder / f"{name}.py").exists()
        assert not (folder / name).is_dir()
        importlib.import_module(home if home.startswith("pinnpoint.") else f"pinnpoint.{package}.{home}")
        assert getattr(there, name).__name__.split(".")[-1] == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = there.nothing


def test_the_verb_is_a_function_whatever_was_imported_before():
    """A module of the name of a public function would take its place."""
    for name in pp.__all__:
        assert not (SOURCE / f"{name}.py").exists()
        assert not (SOURCE / name).exists()
    assert {"read_deck", "simjeb"} <= set(dir(pp.io))
    assert "certify_case" in dir(pp.campaigns)
    for module in (pp, pp.io, pp.campaigns):
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            _ = module.nonsense


USER = """
import pinnpoint as pp
from pinnpoint import InputError

mesh = pp.io.read_mesh("part.msh")
reveal_type(mesh)
problem = pp.fem.ReactionDiffusion(mesh, source="1")
reveal_type(problem)
reveal_type(pp.fem.Elasticity)
reveal_type(pp.io.read_deck)
reveal_type(pp.models.MLP)
reveal_type(pp.certify)
reveal_type(pp.campaigns.certify_case)
reveal_type(InputError)
pp.nonsense
pp.io.nonsense
"""


@pytest.mark.optional
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="pip install 'pinnpoint[lint]'")
def test_users_of_mypy_see_types(tmp_path):
    """With the settings and the cache of `make lint`, which has looked at the package before."""
    (tmp_path / "user.py").write_text(USER, encoding="utf-8")
    root = SOURCE.parent.parent
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(tmp_path / "user.py")]
    done = subprocess.run(
        command, cwd=root, env={**os.environ, "MYPYPATH": "src"}, capture_output=True, text=True, check=False
    )
    # the cache may tell of the same file under the folder of an earlier run
    said = [line.partition(": ")[2] for line in done.stdout.splitlines() if "user.py:" in line]
    for line, words in zip(
        said,
        (
            '"pinnpoint.mesh.mesh.Mesh"',
            '"pinnpoint.fem.reaction_diffusion.ReactionDiffusion"',
            "pinnpoint.fem.elastic.elasticity.Elasticity",
            "pinnpoint.io.decks.problems.Deck",
            "pinnpoint.models.networks.mlp.MLP",
            "pinnpoint.certificates.certificate.Certificate",
            "def (",
            "pinnpoint.base.errors.InputError",
            'Module has no attribute "nonsense"',
            'Module has no attribute "nonsense"',
        ),
        strict=True,
    ):
        assert words in line, done.stdout + done.stderr
