"""How wrong are the labels? Finite-difference solutions as Darcy data sets have them, certified.

    python studies/labels.py [--quick] [--out studies/results/labels.json]

Coefficients of 3 and 12 on 64 × 64 pixels from a thresholded Gaussian field; −∇·(κ∇u) = 1, u = 0 on the boundary. Four
ways to make the label that is stored beside κ:

- *spline, five points*: the way of a public generator. κ at the pixels' middles is interpolated by cubic splines to a
  grid of as many nodes with the boundary among them, five-point differences with arithmetic means are solved there, and
  the solution is interpolated back by splines.
- *arithmetic*, *harmonic*: five-point differences on the pixels' middles, half a pixel from the boundary, with
  arithmetic or harmonic means of κ between neighbours (the second are finite volumes).
- *four times finer*: spline, five points on 256 × 256 values of the field, whose κ and u are then thinned to 64 × 64.

Certified are the domain's mean and the averages over 4 × 4 blocks, for κ constant on the stored pixels, on a mesh with
256 squares a side. A label's own mean and averages are those of its values. How far they are off is proved, from both
sides, for the solution of the PDE itself.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.interpolate import make_interp_spline
from scipy.sparse.linalg import spsolve

import pinnpoint as pp
from pinnpoint.fem.families.random_fields import darcy_fields, on_triangles

BLOCKS = 4


def splined(values: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Cubic splines along both axes, beyond the ends as well."""
    for axis in (0, 1):
        values = make_interp_spline(old, values, k=3, axis=axis)(new)
    return values


def five_points(east: np.ndarray, north: np.ndarray, diagonal: np.ndarray, load: float) -> np.ndarray:
    """Solve with couplings between neighbours along both axes, and what each unknown loses to the boundary."""
    n = len(diagonal)
    at = np.arange(n * n).reshape(n, n)
    rows = np.concatenate([at[:-1].ravel(), at[:, :-1].ravel()])
    columns = np.concatenate([at[1:].ravel(), at[:, 1:].ravel()])
    w = np.concatenate([east.ravel(), north.ravel()])
    W = sp.coo_array((np.tile(w, 2), (np.concatenate([rows, columns]), np.concatenate([columns, rows]))))
    A = sp.diags_array(np.asarray(W.sum(axis=1)).ravel() + diagonal.ravel()) - W
    return spsolve(A.tocsc(), np.full(n * n, load)).reshape(n, n)


def by_splines(kappa: np.ndarray) -> np.ndarray:
    """The public generator's way."""
    K = len(kappa)
    middles, nodes = (np.arange(K) + 0.5) / K, np.arange(K) / (K - 1)
    a = splined(kappa, middles, nodes)
    east, north = 0.5 * (a[1:] + a[:-1]), 0.5 * (a[:, 1:] + a[:, :-1])
    out = np.zeros((K, K))
    lost = np.zeros((K - 2, K - 2))
    lost[0] += east[0, 1:-1]
    lost[-1] += east[-1, 1:-1]
    lost[:, 0] += north[1:-1, 0]
    lost[:, -1] += north[1:-1, -1]
    out[1:-1, 1:-1] = five_points(east[1:-1, 1:-1], north[1:-1, 1:-1], lost, 1.0 / (K - 1) ** 2)
    return splined(out, nodes, middles)


def on_pixels(kappa: np.ndarray, mean: Any) -> np.ndarray:
    """Unknowns at the pixels' middles; the boundary is half a pixel away."""
    K = len(kappa)
    lost = np.zeros((K, K))
    for side in ((0, slice(None)), (-1, slice(None)), (slice(None), 0), (slice(None), -1)):
        lost[side] += 2.0 * kappa[side]
    return five_points(mean(kappa[1:], kappa[:-1]), mean(kappa[:, 1:], kappa[:, :-1]), lost, 1.0 / K**2)


def arithmetic(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of two neighbours."""
    return 0.5 * (a + b)


def harmonic(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of two neighbours."""
    return 2.0 * a * b / (a + b)


def certifier(pixels: int, finer: int) -> Any:
    """Mean and blocks on a mesh with `finer` squares along the side of a pixel."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", pixels * finer), source=1.0)
    middles = (np.arange(BLOCKS) + 0.5) / BLOCKS
    at = np.stack(np.meshgrid(middles, middles, indexing="ij"), axis=-1).reshape(-1, 2)
    asked = problem.mean("mean") + problem.cells(at, side=1.0 / BLOCKS, name=[f"block {i}" for i in range(len(at))])
    return problem.operators().prepare(asked, steps=5, dual_steps=3)


def values(label: np.ndarray) -> np.ndarray:
    """A label's own mean and averages over blocks."""
    size = len(label) // BLOCKS
    blocks = label.reshape(BLOCKS, size, BLOCKS, size).mean(axis=(1, 3))
    return np.concatenate([[label.mean()], blocks.ravel()])


def study(pixels: int, count: int, finer: int) -> dict[str, Any]:
    """Every kind of label, the bounds of its errors, and how sharp they are."""
    fine = darcy_fields(4 * pixels, count, 21)
    thin = fine[:, 1::4, 1::4]
    prepared, rows = certifier(pixels, finer), {}
    kinds: dict[str, Any] = {
        "spline, five points": by_splines,
        "arithmetic": lambda k: on_pixels(k, arithmetic),
        "harmonic": lambda k: on_pixels(k, harmonic),
    }
    begun = time.process_time()
    big = np.kron(thin, np.ones((finer, finer)))
    nodes = np.zeros((count, (pixels * finer + 1) ** 2))
    truth = prepared.certify_many(on_triangles(big), nodes)
    seconds = (time.process_time() - begun) / count
    scale = np.concatenate([truth.center[:, :1], np.repeat(truth.center[:, 1:].max(axis=1)[:, None], BLOCKS**2, 1)], 1)
    labels = {name: np.array([values(make(k)) for k in thin]) for name, make in kinds.items()}
    labels["four times finer"] = np.array([values(by_splines(k)[1::4, 1::4]) for k in fine])
    for name, found in labels.items():
        away = np.abs(found - truth.center)
        least, most = np.maximum(away - truth.radius, 0.0) / (scale + truth.radius), (away + truth.radius) / scale
        rows[name] = {
            "mean, at least": sorted(least[:, 0].tolist()),
            "mean, at most": sorted(most[:, 0].tolist()),
            "blocks, at least, median": float(np.median(least[:, 1:])),
            "blocks, at most, median": float(np.median(most[:, 1:])),
            "blocks, at least, largest": float(least[:, 1:].max()),
        }
    radius = truth.radius / scale
    return {
        "pixels": pixels,
        "count": count,
        "mesh": pixels * finer,
        "seconds": seconds,
        "certified": int(truth.certified.sum()),
        "radius of means": float(np.median(radius[:, 0])),
        "radius of blocks": float(np.median(radius[:, 1:])),
        "rows": rows,
    }


def draw(found: dict[str, Any], path: Path) -> None:
    """The means' errors of all instances, sorted, as bands between their bounds."""
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(6.4, 3.4))
    for (name, row), colour in zip(found["rows"].items(), ("#b3391f", "#a8842c", "#3f9a8f", "#3f6fc0"), strict=True):
        share = (np.arange(found["count"]) + 0.5) / found["count"]
        low, high = (100.0 * np.array(row[f"mean, {side}"]) for side in ("at least", "at most"))
        ax.fill_between(100.0 * share, low, high, color=colour, alpha=0.35, linewidth=0)
        ax.plot(100.0 * share, 0.5 * (low + high), color=colour, label=name)
    ax.set_xlabel("instances, %")
    ax.set_ylabel("error of the label's mean, %")
    ax.set_ylim(bottom=0.0)
    ax.legend(frameon=False, fontsize="small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main() -> None:
    """Compute, store and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="8 × 8 pixels, three instances")
    parser.add_argument("--out", type=Path, default=Path("studies/results/labels.json"))
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    found = study(8, 3, 2) if options.quick else study(64, 24, 4)
    options.out.write_text(json.dumps(found, indent=1), encoding="utf-8")
    if options.figure is not None:
        draw(found, options.figure)


if __name__ == "__main__":
    main()
