"""Results on disk: strict JSON, written whole or not at all, with a digest of the code that computed them."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from pinnpoint.base.errors import InputError, PinnpointError
from pinnpoint.base.version import __version__

SCHEMA = "pinnpoint-study/1"
FILE = "result.json"
UNUSED = (
    *("campaigns", "cases", "cli", "distributed", "monitoring", "outputs", "service"),
    "report",
)
"""Parts of the package that no study uses."""
TELLING = {"page.py", "paper.py", "plots.py", "registry.py", "runner.py", "bracket_figures.py"}
"""files of the studies that change no number."""
FROM_NUMBERS = {"_checks", "_rows", "_draw", "STUDY"}
"""What a study makes of its stored numbers, anew each time."""


def plain(x: Any) -> Any:
    """Arrays and numpy numbers as lists and Python numbers; what is not finite is an error."""
    if isinstance(x, dict):
        return {str(k): plain(v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return [plain(v) for v in x]
    if isinstance(x, np.ndarray):
        return plain(x.tolist())
    if isinstance(x, np.bool_ | bool):
        return bool(x)
    if isinstance(x, np.integer | int):
        return int(x)
    if isinstance(x, np.floating | float):
        if not np.isfinite(x):
            raise PinnpointError(f"a study computed {float(x)}, which JSON does not hold")
        return float(x)
    return x


def rounded(x: Any, digits: int = 4) -> Any:
    """A field for drawing: so many significant digits, to keep files small."""
    a = np.asarray(x, dtype=float)
    return [float(f"{v:.{digits}g}") for v in a.ravel()]


def write(path: Path, data: Any) -> None:
    """Strict JSON, whole or not at all."""
    text = json.dumps(plain(data), indent=1, allow_nan=False, ensure_ascii=False)
    text = re.sub(r"\[[^\[\]{}\"]*\]", lambda m: " ".join(m[0].split()), text)  # numbers of one list on one line
    replace(path, (text + "\n").encode())


def replace(path: Path, content: bytes) -> None:
    """Write beside, then rename."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_bytes(content)
        os.replace(part, path)
    except OSError as error:
        raise InputError(f"--out: '{path}' could not be written ({error.strerror}); choose another place") from error


def read(path: Path) -> dict[str, Any] | None:
    """A stored result; None where there is none or it is not one."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) and data.get("schema") == SCHEMA else None


@cache
def code() -> str:
    """Digest of the source that computes numbers: results of other code are computed anew; figures may be mended."""
    digest = hashlib.sha256()
    for package in ("pinnpoint", "pinnpoint_paper"):
        root, studies = Path(str(files(package))), package == "pinnpoint_paper"
        for path in sorted(root.rglob("*.py")):
            here = path.relative_to(root)
            if path.name in TELLING if studies else here.parts[0] in UNUSED:
                continue
            digest.update(here.as_posix().encode())
            source = path.read_bytes()
            digest.update(_computing(source) if studies else source)
    return digest.hexdigest()[:16]


def _computing(source: bytes) -> bytes:
    """A study's module without what draws, checks or words stored numbers."""
    tree = ast.parse(source)
    drawing = {
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "pinnpoint_paper.plots"
        for alias in node.names
    }

    def tells(node: ast.stmt) -> bool:
        if isinstance(node, ast.Assign):
            return any(isinstance(t, ast.Name) and t.id in FROM_NUMBERS for t in node.targets)
        if not isinstance(node, ast.FunctionDef):
            return isinstance(node, ast.ImportFrom)
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        return node.name in FROM_NUMBERS or bool(used & (drawing | {"ax", "Row", "Check"}))

    return "\n".join(ast.unparse(node) for node in tree.body if not tells(node)).encode()


def versions() -> dict[str, str]:
    """What computed the numbers."""
    return {
        "pinnpoint": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "machine": platform.machine(),
    }
