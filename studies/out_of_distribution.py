"""Loads that a network was not trained for: its error, the proof, the monitor and a conformal band.

    python studies/out_of_distribution.py [--quick] [--out results.json]

Needs the extras `torch` and `conformal`. A plate under combinations of three loads, μ in [0.5, 1.5]³; a coefficient
network of rank 3 (3 × 128 GELU, AdamW, batches of 64) is trained on 512 of them. A conformal band (crepes) is
calibrated on 200 further ones, and a monitor accepts outputs whose certified radius is below the 99th percentile seen
there. Then the same is asked at growing distance from the training box. The band is right for its population and fails
beyond it; the proof holds everywhere, because it never looked at the population.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

import pinnpoint as pp
from pinnpoint import training
from pinnpoint.monitoring.conformal import calibrate

SHIFTS = (0.0, 0.5, 1.0, 2.0, 4.0)


def study(cells: int, epochs: int, count: int) -> list[dict[str, Any]]:
    """One row per distance."""
    rng = np.random.default_rng(3)
    plate = pp.fem.Elasticity(pp.io.generate("square", cells), young=1.0, poisson=0.3, fixed={"left": 0.0})
    family = plate.family(
        [{"force": {"right": (0.0, 1.0)}}, {"traction": {"top": (0.3, -0.5)}}, {"body": ("0", "-x*y")}]
    )
    queries = plate.points(rng.uniform(0.1, 0.9, (8, 2)), "y")
    certifier = family.prepare(queries)
    train, check, known = (rng.uniform(0.5, 1.5, (n, 3)) for n in (512, 128, 200))
    V = training.reduced_basis(certifier, 3, train)
    settings = training.Settings(epochs=epochs, optimizer="adamw", batch=64)
    network = training.train_family(certifier, V, train, check, settings)
    reduced = certifier.reduced(V)
    free = np.asarray(plate.space.free)
    inverse = np.linalg.inv(plate.A.toarray()[np.ix_(free, free)])

    def certified(mu: np.ndarray) -> tuple[Any, np.ndarray]:
        """Certificates of the raw outputs, and dense solves."""
        raw = network(mu) @ reduced.states.values.T
        U = np.zeros((len(mu), plate.system.N))
        U[:, free] = (mu @ family.F)[:, free] @ inverse.T
        return reduced.certify_many(network, mu, raw=raw), (queries.L @ U.T).T

    calibration, truth = certified(known)
    overlay = calibrate(calibration, truth, confidence=0.95, at="raw", difficulty=None)
    accept = np.quantile(calibration.raw_radius, 0.99, axis=0)
    rows = []
    for shift in SHIFTS:
        batch, truth = certified(rng.uniform(0.5, 1.5, (count, 3)) + shift)
        band = overlay.band(batch)
        monitor = pp.Monitor(certifier, accept)
        for certificate in batch:
            monitor.judge(certificate)
        error = np.abs(batch.raw - truth)
        slip = 1e-11 * np.abs(truth).max(axis=0)  # of the dense inverse
        rows.append(
            {
                "shift": shift,
                "loads": count,
                "median error": float(np.median(error)),
                "largest error": float(np.max(error)),
                "proved coverage": float(np.mean(error <= batch.raw_radius + slip)),
                "conformal coverage": float(np.mean(band.covers(truth))),
                "conformal width": float(np.median(band.upper - band.lower)),
                "proved width around the raw output": float(np.median(2.0 * batch.raw_radius)),
                "proved width around the corrected centre": float(np.median(2.0 * batch.radius)),
                "flagged by the monitor": monitor.counts["flag"] / count,
            }
        )
    return rows


def main() -> None:
    """Run, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="coarser, fewer epochs and loads")
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = study(6, 60, 60) if arguments.quick else study(16, 400, 500)
    print("shift  median error  proved coverage  conformal coverage  flagged")
    for row in rows:
        print(
            f"{row['shift']:5.1f}  {row['median error']:12.2e}  {row['proved coverage']:15.4f}  "
            f"{row['conformal coverage']:18.4f}  {row['flagged by the monitor']:7.3f}"
        )
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if not all(row["proved coverage"] == 1.0 for row in rows):
        raise SystemExit("an interval missed the truth")


if __name__ == "__main__":
    main()
