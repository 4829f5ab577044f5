"""Train the neural operator with two heads that comes with the package. Needs the extra `torch`.

    python studies/train_two_heads.py OUT.safetensors [--steps 2000] [--quick]

−∇·(κ∇u) = 1 on the unit square, 64 × 64 pixels, κ of two values from a thresholded Gaussian field (the Darcy benchmark
of the literature), with contrasts between 1 and 12 rather than 4 alone; `training.TwoHeads` with 8 channels and 3
layers, Adam, batches of 4. The loss is the certified bound of the energy error itself: no instance is solved, here or
anywhere in training. A run that was killed goes on from its checkpoint beside the file.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint.fem.families.random_fields import darcy_fields
from pinnpoint.training import TwoHeads

CELLS = 64
CONTRAST = 12.0


def draw(rng: np.random.Generator, count: int, cells: int = CELLS) -> Any:
    """Fields of two values, one and between one and `CONTRAST`; either may be the larger part."""
    fields = darcy_fields(cells, count, int(rng.integers(2**31)), low=1.0, high=2.0) - 1.0
    return np.exp(fields * np.log(CONTRAST) * rng.random((count, 1, 1)))


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--quick", action="store_true", help="16 × 16 pixels, 60 steps")
    options = parser.parse_args()
    cells, steps = (16, 60) if options.quick else (CELLS, options.steps)
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", cells), source=1.0)
    start = time.process_time()

    def report(step: int, gap: float) -> None:
        print(f"{step} steps, {time.process_time() - start:.0f} s, relative η {gap:.4f}", flush=True)

    heads = TwoHeads(problem).train(
        lambda rng, count: draw(rng, count, cells),
        steps,
        checkpoint=options.out.with_suffix(".checkpoint.safetensors"),
        every=20 if options.quick else 100,
        report=report,
    )
    heads.save(options.out)
    fresh = np.random.default_rng(2**40)
    K = darcy_fields(cells, 64, int(fresh.integers(2**31)))
    from torch import as_tensor, no_grad

    with no_grad():
        gap, size = heads.gap(heads._kappa(K), *(as_tensor(a).float() for a in heads.predict(K)))
    found = np.sqrt((gap / size).numpy())
    print(f"64 fields of 3 and 12: relative η median {np.median(found):.4f}, largest {found.max():.4f}")


if __name__ == "__main__":
    main()
