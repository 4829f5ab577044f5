"""What bounds that hold everywhere start from: a state with its flux, and what both leave on each cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.base.threads import on_all_cores
from pinnpoint.rounding.arithmetic import down, gamma, up
from pinnpoint.taylor.bernstein import Density, gram
from pinnpoint.taylor.inputs import ORDER
from pinnpoint.transfer.continuum import Continuum, shape_table
from pinnpoint.transfer.energy.cells import COUNT, Remains, State, remains
from pinnpoint.transfer.energy.estimator import CHUNK, Bounds, Side
from pinnpoint.transfer.energy.geometry import Shapes
from pinnpoint.transfer.everywhere.powers import powers


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
class OnCells:
    """What a state and its flux leave on each cell, filled in part by part.

    Attributes
    ----------
    norms
        Of δ and ϱ.
    moments, blur
        ∫_K (f − c u_h)λ_i − κ∇u_h·∇λ_i as computed, (d + 1, C), and bounds of the rounding, (C,).
    share
        Lower bounds of |K|/(d + 1), (C,).
    """

    model: Continuum
    source: Density
    norms: CellNorms
    moments: Vector
    blur: Vector
    share: Vector

    __repr__ = brief

    @classmethod
    def empty(cls, model: Continuum, side: Side) -> OnCells:
        """Of a state, with nothing filled in."""
        C = len(model.kappa)
        norms = CellNorms(np.empty(C), np.empty(C), np.empty((3, C)), np.empty(C))
        return cls(model, side.source, norms, np.empty((model.d + 1, C)), np.empty(C), np.empty(C))

    def take(self, part: slice, shapes: Shapes, state: State, left: Remains, high: Vector | float) -> None:
        """Fill in some cells; where coefficients vary only the norms, and `high` is what projections leave of Rδ."""
        norms, k, c, d = self.norms, self.model.kappa[part], self.model.reaction[part], shapes.d
        low = down(shapes.volume * (1.0 - shapes.slack), 4)
        norms.volume[part] = up(shapes.volume * (1.0 + shapes.slack), 4)
        varies = self.model.medium is not None
        rest = left.fuzz + (peak_constant(d) * high if varies else 0.0)  # everywhere.md, step 2g
        fuzz = up(rest / down(np.sqrt(low), 2), 8)  # κ^{-½}|Δδ| at every point
        norms.peak[part], norms.means[:, part] = powers(left.delta, np.ones_like(k) if varies else k, fuzz)
        norms.density[part] = up(np.sqrt(left.oscillation**2 + left.defect**2 / low), 8)  # everywhere.md, step 2e
        if varies:
            return
        source = np.ascontiguousarray(self.source.coefficients[part].T)
        mass = _against_linear(d) @ (source - c * state.coefficients)
        slope = np.einsum("cn,icn->in", state.slopes.mean(axis=0), shapes.gradients)
        self.moments[:, part] = (mass - k * slope) * shapes.volume
        size = np.abs(source).max(axis=0) + c * state.top + d * k * state.size * shapes.steep
        blur = 3.0 * (shapes.slack + gamma(COUNT)) * size + c * state.blur
        self.blur[part] = up(blur * shapes.volume, 16)  # band.md, step 2e
        self.share[part] = low / (d + 1.0)


def peak_constant(d: int) -> float:
    """C with sup |p| ≤ C rms p on a simplex for polynomials of the models' degree q: the binomial of q + d over d."""
    return float(math.comb(ORDER[d] + d, d))  # everywhere.md, step 2g


@cache
def _against_linear(d: int) -> Any:
    """Means of quadratics against λ_i, from their coefficients."""
    return sp.csr_array(shape_table(d, 1) @ gram(d))


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
    seen
        What was kept of the cells on the way.
    thorough
        Whether the mesh constant may cost whatever it takes.
    carried
        An upper bound of ‖γe‖₂, where c e and b·∇e are at least −γ|e| in the mean over level sets; zero where they are
        not negative.
    lengths
        Upper bounds of ‖u − ũ‖₂ and of the energy norm, where neither is what the mesh constant and η say.
    """

    model: Continuum
    side: Side
    bounds: Bounds
    seen: OnCells | None = None
    thorough: bool = True
    carried: float = 0.0
    lengths: tuple[float, float] | None = None

    __repr__ = brief

    @cached_property
    def energy(self) -> float:
        """η ≥ ‖u − ũ‖_a for the Dirichlet values of ũ."""
        return self.model.estimator.energy(self.bounds)

    @cached_property
    def cells(self) -> OnCells:
        """Norms and moments of what is left on each cell."""
        return on_cells(self.model, self.side) if self.seen is None else self.seen

    @property
    def norms(self) -> CellNorms:
        """Of δ and ϱ."""
        return self.cells.norms

    @property
    def proved(self) -> bool:
        """Whether the data were enclosed."""
        load = self.side.load
        return self.side.source.proved and (load is None or load.density.proved)


def measured(model: Continuum, side: Side) -> Setting:
    """A state with its flux, and everything in one pass over the cells."""
    if model.coefficients is not None:
        raise InputError(
            "problem: corrected values need a scalar diffusion and a reaction that are constant on each cell, and no "
            "convection; ask for points"
        )
    seen = OnCells.empty(model, side)
    return Setting(model, side, model.estimator.measure(side, [], seen)[0], seen)


def on_cells(model: Continuum, side: Side) -> OnCells:
    """What a state and a flux leave on each cell."""
    T, C, estimator = model.topology, len(model.kappa), model.estimator
    found = OnCells.empty(model, side)

    def work(part: slice) -> None:
        shapes = Shapes.of(model.points, T.cells[part])
        k, c, f = model.kappa[part], model.reaction[part], side.source
        state = State.of(shapes, side.nodal[model.cell_nodes[part]].T, model.degree)
        source = np.ascontiguousarray(f.coefficients[part].T)
        s = estimator.outward(side.flux, part)
        left = remains(shapes, k, c, state, source, f.high[part], f.error1[part], f.error2[part], s, model.degree - 1)
        found.take(part, shapes, state, left, 0.0)

    on_all_cores(work, [slice(a, min(a + CHUNK, C)) for a in range(0, C, CHUNK)])
    return found
