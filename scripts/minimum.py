"""Print the oldest versions that pyproject.toml declares, as requirements: python scripts/minimum.py.

Of the package itself and of the extras whose code its tests run; test tools are today's.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

EXTRAS = ("fast", "frame", "mesh", "plot", "skfem")
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "python-flint")


def oldest() -> list[str]:
    """``name==version`` for each ``name>=version``."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [*project["dependencies"], *(r for extra in EXTRAS for r in project["optional-dependencies"][extra])]
    found = [re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement) for requirement in declared]
    return [f"{m[1]}=={m[2]}" for m in found if m]


if __name__ == "__main__":
    print(" ".join([*oldest(), *TOOLS]))
