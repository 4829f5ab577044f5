"""The tree that proves coercivity at linear cost, for the checker."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.fem.problem import FiniteElements
from pinnpoint.fem.stability.coercivity import Ground
from pinnpoint.fem.stability.paths import path_witness
from pinnpoint.outputs.bundle.files import Writer

RESERVE = 0.5
"""The share of a proved bound that is claimed: the checker's rounding of the assembly is another one."""


def paths(out: Writer, problem: Any, alpha: float) -> dict[str, Any] | None:
    """Tree, λ, μ and x of linear elements without a reaction; None where the checker has no such proof."""
    if not isinstance(problem, FiniteElements) or problem.degree != 1 or problem.mesh.dim == 1:
        return None
    ground = Ground.of(problem)
    if ground.mass is not None:
        return None
    mesh, lam = problem.mesh, ground.lam
    _, tree, x = path_witness(mesh, ground.held, ground.least, ground.moving, elastic=lam is not None)
    cells = np.sort(mesh.cells, axis=1)
    depth = np.empty(len(cells), dtype=np.int64)
    for k, level in enumerate(tree.levels):
        depth[level] = k
    away = ~(cells[:, :, None] == tree.facet[:, None, :]).any(axis=2)
    out.array("paths/parent", tree.parent)
    out.array("paths/depth", depth)
    out.array("paths/opposite", np.argmax(away, axis=1))
    out.array("paths/home", tree.home)
    out.array("paths/x", x / float(x.max()))
    out.array("paths/mu", ground.mu)
    out.array("paths/lam", np.zeros(len(cells)) if lam is None else lam)
    return {"how": "paths", "alpha": RESERVE * alpha}
