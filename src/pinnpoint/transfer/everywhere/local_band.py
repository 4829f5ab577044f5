"""The band: a bound of |u − u_h| on each cell, from what state and flux leave nearby and from ‖u − u_h‖₂.

About each point x of a cell a ball of radius r is taken, whose potential Φ (`balls`) is tested with:

    inside                |e(x)| ≤ κ⁻¹(‖Φ‖₂ (‖ϱ‖ + max c E) + ‖∇Φ‖_{p′}‖δ‖_p) + E/√|B|,
    over Γ_D              |e(x)| ≤ 2T_r + E/√|B|,      T_r the level-set bound on the ball,

norms over the ball. In a box e is continued across the faces, and the first holds at the boundary too. Of a few radii
the best counts, cell by cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np

from pinnpoint.base.arrays import Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import down, gamma, up
from pinnpoint.transfer.continuum import Continuum, bernstein
from pinnpoint.transfer.energy.anchors import DIRICHLET, NEUMANN
from pinnpoint.transfer.everywhere.balls import ball_volume, ball_volume_up, gradient_norm, potential_norm
from pinnpoint.transfer.everywhere.bounds import CellBounds
from pinnpoint.transfer.everywhere.boxes import box_sides, rim_height
from pinnpoint.transfer.everywhere.constants import density_constant, flux_constant
from pinnpoint.transfer.everywhere.covers import Cover, cover
from pinnpoint.transfer.everywhere.l2 import MeanError, l2_error
from pinnpoint.transfer.everywhere.level_sets import with_field
from pinnpoint.transfer.everywhere.mirrors import unmet
from pinnpoint.transfer.everywhere.neighbourhoods import Neighbourhoods
from pinnpoint.transfer.everywhere.powers import power, root
from pinnpoint.transfer.everywhere.residual import source_norms
from pinnpoint.transfer.everywhere.setting import CellNorms, Setting

ROUTE = "band"
PAIRED = "band across pairs"
RADII = 4
"""Of balls."""
POWERS = {1: (2.0, 4.0, math.inf), 2: (3.0, 4.0, 6.0, math.inf), 3: (4.0, 6.0, math.inf)}
"""Exponents p of ‖δ‖_p, by dimension."""


COPIES = np.arange(7.0)
"""How many faces of a box balls may meet: each doubles what is seen of δ."""


@dataclass(frozen=True, eq=False)
class Near:
    """What lies within r of each cell, from above.

    Attributes
    ----------
    inside, held
        Whether balls about its points stay in Ω; whether they meet no part of its boundary but Γ_D.
    kappa
        κ there from below; zero where it is not one number.
    reaction
        The largest c.
    density
        ‖ϱ‖₂.
    lengths
        ‖κ^{-½}δ‖_p by p.
    state
        The largest |u_h|.
    """

    inside: Mask
    held: Mask
    kappa: Vector
    reaction: Vector
    density: Vector
    lengths: dict[float, Vector]
    state: Vector


@dataclass(frozen=True, eq=False)
class Band:
    """Everything that bounds on cells are made of."""

    model: Continuum
    norms: CellNorms
    top: Vector
    """The largest |ũ| on each cell where u itself is asked for, zero for |u − ũ|."""
    error: MeanError
    unrolled: Cover | None = None
    """Where there are periodic pairs."""

    __repr__ = brief

    @cached_property
    def radii(self) -> Vector:
        """Radii to try: about where r‖δ‖, or r²‖ϱ‖ without δ, and E/√|B_r| balance, in calm and in wild cells."""
        d, power = self.model.d, 1.0
        width = 0.9 * float(np.max(np.ptp(self.model.points, axis=0)))
        width = width if self.unrolled is None else min(width, 0.49 * self.unrolled.least)
        norms, slope = self.norms, self.norms.peak / np.sqrt(self.model.kappa)
        if not np.any(np.quantile(slope, 0.5)):
            slope, power = norms.density / (np.sqrt(norms.volume) * self.model.kappa), 2.0
        with np.errstate(divide="ignore"):
            wild, calm = (self.error.value / np.quantile(slope, (0.98, 0.02))) ** (2.0 / (d + 2.0 * power))
        low, high = (float(np.clip(x, min(self.model.spacing, width), width)) for x in (0.6 * wild, 1.3 * calm))
        return np.geomspace(low, max(high, 1.01 * low), RADII)

    @cached_property
    def neighbourhoods(self) -> Neighbourhoods:
        """Of the mesh, and of its translates across periodic pairs."""
        return Neighbourhoods(self.model.topology, None if self.unrolled is None else self.unrolled.shifts)

    @cached_property
    def _rows(self) -> tuple[Vector, Vector, float, list[int]]:
        """Rows whose largest values and whose sums are wanted, a scale of the latter, and which of the first vary."""
        T, C = self.model.topology, len(self.model.kappa)
        outer, free = np.zeros(C), np.zeros(C)
        outer[T.facet_cells[T.boundary, 0]] = 1.0
        free[T.facet_cells[self.model.kind == NEUMANN, 0]] = 1.0
        k = self.model.kappa
        n = self.norms
        tops = np.stack([outer, free, k, -k, self.model.reaction, n.peak, self.top])
        scale = float(n.peak.max(initial=0.0)) or 1.0
        square = (n.peak / scale) ** 2
        powers = [up(n.volume * power(square, i) * n.means[i - 1], 64) for i in (1, 2, 3)]
        vary = [i for i, row in enumerate(tops) if row.min() < row.max()]  # others are what they are in any ball
        return tops, np.stack([up(n.density**2), *powers]), scale, vary

    def near(self, r: float, *, continued: bool = False) -> Near:
        """What lies within r; whether that meets the boundary is not asked where e is continued across it."""
        tops, sums, scale, vary = self._rows
        rows = [i for i in vary if i > 1 or not continued]
        top = tops.copy()
        if continued:
            top[:2] = 0.0
        top[rows], total = self.neighbourhoods.gather(r, tops[rows], sums)  # band.md, step 4d
        size = {math.inf: top[5]} | {2.0 * i: up(scale * root(total[i], i), 64) for i in (1, 2, 3)}
        size[3.0] = np.asarray(up(np.cbrt(size[2.0] * size[4.0] ** 2), 64))  # band.md, step 4c
        kappa = np.where(top[2] == -top[3], top[2], 0.0)
        return Near(top[0] == 0.0, top[1] == 0.0, kappa, top[4], up(np.sqrt(total[0]), 8), size, top[6])

    @cached_property
    def sides(self) -> Vector | None:
        """Kinds of the faces of a box."""
        return box_sides(self.model)

    def images(self, r: float) -> tuple[Vector, Vector] | None:
        """How many Dirichlet and how many Neumann faces of the box balls about each cell may meet."""
        if self.sides is None or 2.0 * r > self._narrow * (1.0 - 1e-9):
            return None
        held, free = np.zeros((2, len(self.model.kappa)))
        for gap, kind in zip(self._gaps, self.sides.ravel(), strict=True):
            if kind == 0:  # glued: nothing ends there
                continue
            (held if kind == DIRICHLET else free)[gap <= r * (1.0 + 1e-9)] += 1.0
        return held, free

    @cached_property
    def _narrow(self) -> float:
        """The shortest side of the bounding box."""
        return float(np.min(np.ptp(self.model.points, axis=0)))

    @cached_property
    def _gaps(self) -> Vector:
        """Distances of each cell from the planes of the bounding box, (2 d, C), in the order of `sides`."""
        X, cells = self.model.points, self.model.topology.cells
        corners = [X[cells[:, i]].T for i in range(cells.shape[1])]
        least, most = corners[0], corners[0]
        for corner in corners[1:]:
            least, most = np.minimum(least, corner), np.maximum(most, corner)
        low, high = X.min(axis=0)[:, None], X.max(axis=0)[:, None]
        return np.stack([least - low, high - most]).reshape(-1, len(cells))

    def within(self, r: float) -> Vector:
        """Bounds with balls of one radius; infinite where their hypotheses are not met."""
        d, E, images = self.model.d, self.error.value, self.images(r)
        if self.unrolled is not None and 2.0 * r > self.unrolled.least * (1.0 - 1e-9):  # robin.md, step 7f
            return np.full(len(self.model.kappa), np.inf)
        near = self.near(r, continued=images is not None)
        root, volume = down(math.sqrt(ball_volume(d, r)), 2), ball_volume_up(d, r)
        inside, zero = near.inside, np.zeros(len(near.kappa))
        held, free = (zero, zero) if images is None else images
        if images is not None:
            inside = np.ones(len(zero), dtype=bool)
        faces = (held + free).astype(np.intp)
        twice, corner = 2.0 ** (0.5 * free) if np.any(free) else 1.0, np.where(held > 2.0, 2.0, 1.0)
        flux = {p: near.lengths[p] for p in POWERS[d]}
        slope = reduce(np.minimum, ((gradient_norm(d, p, r) * 2.0 ** (COPIES / p))[faces] * v for p, v in flux.items()))
        mass = near.density + near.reaction * (E + near.state * math.sqrt(volume))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            root_kappa = np.sqrt(near.kappa)
            # band.md, step 4a
            found = potential_norm(d, r) * twice * mass / near.kappa + slope / root_kappa
            found = found + corner * (twice * E / root + near.state)  # band.md, step 5b
            if not np.all(inside):
                level = reduce(np.minimum, (flux_constant(d, p, volume) * v for p, v in flux.items()))
                # band.md, step 4e
                second = 2.0 * (density_constant(d, volume) * near.density / near.kappa + level / root_kappa)
                second = second + E / root + near.state  # band.md, step 6a
                found = np.where(inside, found, np.where(near.held, second, np.inf))
        found = np.where((near.kappa > 0.0) & ~np.isnan(found), found, np.inf)
        return np.asarray(up(found, 64))

    def best(self) -> tuple[Vector, Vector]:
        """The smallest bounds over all radii, and which radius each is from."""
        table = np.stack([self.within(float(r)) for r in self.radii])
        return table.min(axis=0), np.argmin(table, axis=0)


def local(setting: Setting) -> Sequence[CellBounds]:
    """Bounds of |u − ũ| on each cell, u with the Dirichlet values of ũ; none where the mesh constant is not at hand.

    *Guarantee:* deterministic where the data are enclosed. *Assumes:* κ, c ≥ 0 constant on each cell. *Cost:* the mesh
    constant, once a mesh, and a few passes over the cells.
    """
    return _found(setting, setting.norms, np.zeros(len(setting.model.kappa)), setting.side.flux)


def around(setting: Setting) -> Sequence[CellBounds]:
    """The same where there are periodic pairs, with ‖u − ũ‖₂ from the energy; none where coefficients vary.

    *Guarantee:* deterministic where the data are enclosed. *Assumes:* κ and c ≥ 0 constant on each cell, no Robin
    sides, pairs that are exact translates. *Cost:* a few passes over the cells and their translates.
    """
    model = setting.model
    if model.gluing is None or model.medium is not None or model.exchange is not None or setting.lengths is None:
        return []
    if model.reacts:  # |g(u) − g(u_h)| has no bound by |e|
        return []
    unrolled, norms, sure = cover(model), setting.norms, True
    if isinstance(unrolled, str):
        return []
    if np.any(model.kind == NEUMANN):
        field, divergence, sure = unmet(model, setting.side.flux)
        norms = with_field(norms, field, divergence)  # band.md, step 5c
    error = l2_error(setting, thorough=setting.thorough)
    error = replace(error, value=min(error.value, setting.lengths[0]))  # robin.md, step 7g
    band = Band(model, norms, np.zeros(len(model.kappa)), error, unrolled)
    return [CellBounds(PAIRED, band.best()[0], setting.proved and sure, {})]


def left_over(setting: Setting) -> Sequence[CellBounds]:
    """Bounds of |u| on each cell for what a lift leaves over, from its own residual: no δ enters, but |ũ| does."""
    model, nodal = setting.model, setting.side.nodal
    w, rim = nodal[model.cell_nodes], rim_height(model, nodal)
    top = np.abs(bernstein(w, model.d, model.degree)).max(axis=1) + gamma(16) * np.abs(w).max(axis=1) + rim
    found = _found(setting, source_norms(model, setting.side.source), np.asarray(up(top)), None)
    return [replace(one, bounds=np.asarray(up(one.bounds + rim))) for one in found]  # band.md, step 6b


def _found(setting: Setting, norms: CellNorms, top: Vector, flux: Vector | None) -> Sequence[CellBounds]:
    model = setting.model
    if model.gluing is not None:
        return []
    error = l2_error(setting, thorough=setting.thorough)
    if error.constant is None or not math.isfinite(error.value):
        return []
    sure = True
    if np.any(model.kind == NEUMANN):
        field, divergence, sure = unmet(model, flux)
        norms = with_field(norms, field, divergence)  # band.md, step 5c
    band = Band(model, norms, top, error)
    bounds, which = band.best()
    numbers = {
        "error": error.value,
        "defect": error.defect,
        "radii": band.radii.tolist(),
        "radius": which.tolist(),
        "shift": error.constant.shift,
        "penalty": error.constant.penalty,
        "eigenvalue": error.constant.eigenvalue,
    }
    return [CellBounds(ROUTE, bounds, setting.proved and sure, numbers)]
