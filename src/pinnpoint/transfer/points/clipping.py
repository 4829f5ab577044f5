"""The part of a simplex where a linear function is positive, as simplices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pinnpoint.base.arrays import Index, Vector

PARTS = {
    1: {1: ["0 01"]},
    2: {1: ["0 01 02"], 2: ["0 1 02", "1 02- 12"]},
    3: {
        1: ["0 01 02 03"],
        2: ["0 1 02 03", "1 02- 03 12", "1 03- 12 13"],
        3: ["0 1 2 03", "1 2 03- 13", "2 03- 13- 23"],
    },
}
"""By dimension and number of positive corners, which come first: corners i, and points ij where the edge from i to j
is cut, at the fraction τ_ij from i. The volume is the product of the τ, or of 1 − τ where a minus follows."""


def positive_parts(y: Vector) -> Iterator[tuple[Index, Vector | None, Vector]]:
    """Simplices that make up {y > 0}.

    *Guarantee:* the barycentric corners are nonnegative and add up to one exactly; the computed points where edges are
    cut have |y| ≤ 4u(max y − min y), and the simplices of a row share them. So these do not overlap, hold every point
    with a larger y, and none with y below minus that. (For two corners of four, the four points need not be in one
    plane. But a plane through three of them separates the positive corners from the others, so each segment between
    their edge and the opposite one meets it once; the two triangles, which share a diagonal, are a graph over these
    segments.) Shares have relative errors of at most γ_3.

    Parameters
    ----------
    y
        Corner values (n, d + 1).

    Yields
    ------
    rows, corners, share
        Rows of y; barycentric corners (rows, d + 1, d + 1) of one simplex each, or None if it is the whole one; its
        part of the volume.
    """
    m = y.shape[1]
    count = (y > 0.0).sum(axis=1)
    whole = np.flatnonzero(count == m)
    if len(whole):
        yield whole, None, np.ones(len(whole))
    for inside, parts in PARTS[m - 1].items():
        rows = np.flatnonzero(count == inside)
        if not len(rows):
            continue
        order = np.argsort(-y[rows], axis=1, kind="stable")
        v = np.take_along_axis(y[rows], order, axis=1)
        each = np.arange(len(rows))
        for part in parts:
            corners, share = np.zeros((len(rows), m, m)), np.ones(len(rows))
            for row, name in enumerate(part.split()):
                i = int(name[0])
                if len(name) == 1:
                    corners[each, row, order[:, i]] = 1.0
                    continue
                j = int(name[1])
                near = 1.0 - v[:, i] / (v[:, i] - v[:, j])  # continuous.md, step 8c
                far = 1.0 - near  # exactly
                corners[each, row, order[:, i]] = near
                corners[each, row, order[:, j]] = far
                share *= near if name.endswith("-") else far
            yield rows, corners, share
