"""What bounds that hold everywhere start from: a state with its flux, and what both leave on each cell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.base.threads import on_all_cores
from pinnpoint.rounding.arithmetic import down, up
from pinnpoint.transfer.cells import State, remains
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.estimator import CHUNK, Bounds, Side
from pinnpoint.transfer.everywhere.powers import powers
from pinnpoint.transfer.geometry import Shapes


@dataclass(frozen=True, eq=False)
class CellNorms:
    """Upper bounds of norms of δ = σ − κ∇u_h and of ϱ = f − c u_h + ∇·σ on each cell.

    Attributes
    ----------
    volume
        |K|, (C,).
    peak
        sup κ^{-½}|δ|, (C,).
    means
        (3, C): mean over K of (κ^{-½}|δ| / peak)^p for p = 2, 4, 6.
    density
        ‖ϱ‖_{L²(K)}, (C,).
    """

    volume: Vector
    peak: Vector
    means: Vector
    density: Vector

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Setting:
    """A state with its flux.

    Attributes
    ----------
    model
        The problem.
    side
        ũ with its flux.
    bounds
        What the estimator says of it.
    """

    model: Continuum
    side: Side
    bounds: Bounds

    __repr__ = brief

    def __post_init__(self) -> None:
        if self.model.coefficients is not None:
            raise InputError(
                "problem: bounds that hold everywhere and corrected values need a scalar diffusion and a reaction that "
                "are constant on each cell, and no convection; ask for points"
            )

    @cached_property
    def energy(self) -> float:
        """η ≥ ‖u − ũ‖_a for the Dirichlet values of ũ."""
        return self.model.estimator.energy(self.bounds)

    @cached_property
    def norms(self) -> CellNorms:
        """Of δ and ϱ."""
        return cell_norms(self.model, self.side)

    @property
    def proved(self) -> bool:
        """Whether the data were enclosed."""
        load = self.side.load
        return self.side.source.proved and (load is None or load.density.proved)


def cell_norms(model: Continuum, side: Side) -> CellNorms:
    """Norms of what a state and a flux leave on each cell."""
    T, C, estimator = model.topology, len(model.kappa), model.estimator
    volume, peak, density, means = np.empty(C), np.empty(C), np.empty(C), np.empty((3, C))

    def work(part: slice) -> None:
        shapes = Shapes.of(model.points, T.cells[part])
        k, c, f = model.kappa[part], model.reaction[part], side.source
        state = State.of(shapes, side.nodal[model.cell_nodes[part]].T, model.degree)
        source = np.ascontiguousarray(f.coefficients[part].T)
        s = estimator.outward(side.flux, part)
        left = remains(shapes, k, c, state, source, f.high[part], f.error1[part], f.error2[part], s, model.degree - 1)
        low = down(shapes.volume * (1.0 - shapes.slack), 4)
        volume[part] = up(shapes.volume * (1.0 + shapes.slack), 4)
        fuzz = up(left.fuzz / down(np.sqrt(low), 2), 8)  # κ^{-½}|Δδ| at every point
        peak[part], means[:, part] = powers(left.delta, k, fuzz)
        density[part] = up(np.sqrt(left.oscillation**2 + left.defect**2 / low), 8)  # everywhere.md, step 2e

    on_all_cores(work, [slice(a, min(a + CHUNK, C)) for a in range(0, C, CHUNK)])
    return CellNorms(volume, peak, means, density)
