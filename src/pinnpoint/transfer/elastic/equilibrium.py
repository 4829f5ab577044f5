"""A stress in equilibrium for each state: an equilibrated start, improved, and the cost of what it leaves.

How the facet moments are found does not matter for a proof: whatever they are, their defects are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import up
from pinnpoint.taylor.bernstein import Density, from_linear, linear_projection
from pinnpoint.transfer.elastic.forces import body_moments, oscillation, traction_cost, traction_moments
from pinnpoint.transfer.elastic.lift import lifted, mass
from pinnpoint.transfer.elastic.loads import Load, StressLoad
from pinnpoint.transfer.elastic.modes import Modes, improved
from pinnpoint.transfer.elastic.product import Side, cubic_nodes, split_values
from pinnpoint.transfer.elastic.solid import Solid
from pinnpoint.transfer.elastic.start import Start, averaged
from pinnpoint.transfer.elastic.strains import Strains
from pinnpoint.transfer.elastic.stress import Aim, StressSpace
from pinnpoint.transfer.elastic.tree import Tree
from pinnpoint.transfer.energy.geometry import Shapes

ITERATIONS = 8
"""Steps of conjugate gradients; after these the bound is about 1.1 times the best that such stresses give."""
CHUNK = 4096
Increment = Callable[[Vector], Vector]
"""r ↦ nearly the w with a(w, φ) = r·φ for all φ, zero where displacements are held; (nodes · d,) both."""


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """What all states of one solid share."""

    solid: Solid

    @cached_property
    def space(self) -> StressSpace:
        """Stresses from facet moments."""
        return StressSpace.of(self.solid.topology, self.solid.lam, self.solid.mu)

    @cached_property
    def tree(self) -> Tree:
        """Ways from each cell to where the solid is held."""
        return Tree.of(self.solid.topology, self.solid.held, self.solid.lam, self.solid.mu)

    @cached_property
    def _start(self) -> Start:
        return Start.of(self.space, self.solid.fixed)

    @cached_property
    def _modes(self) -> Modes:
        return Modes.of(self.space, self.solid.fixed)

    def side(self, nodal: Vector, load: Load, increment: Increment, sign: float = 1.0, *, acts: bool = True) -> Side:
        """A state with its load, a stress for it, and what that leaves over.

        Parameters
        ----------
        nodal
            Displacements, (nodes, d).
        """
        solid, C = self.solid, len(self.solid.mu)
        load = load.on_all(C)
        fm, fm_error = self._body(load)
        gm, gm_error, gm_data, rough = self._tractions(load)
        m = self._moments(nodal, load, fm, gm, increment)
        found = self.space.balance(m, fm, fm_error)
        stray = np.asarray(up(gm_error + gm_data))
        lost = up(stray + self._unknown(load))
        force, moment = up(found[0] + lost), up(found[1] + up(solid.topology.diameters, 8) * lost, 8)
        more = np.asarray(up(self.space.norm_factor * stray, 4))
        osc, osc_data = self._oscillation(load)
        left = self._left(load.stress)
        carried = self.tree.cost(force, moment, self.space.norm_factor)  # elasticity.md, step 6b
        data = up(osc_data + self.space.norm_factor * gm_data)
        rest = np.asarray(up(osc + rough + more + left + carried, 8))  # elasticity.md, step 2b
        data = np.minimum(data, rest)
        return Side(nodal, load, m, fm, up(fm_error), rest, data, force, moment, stray, sign, acts)

    def _body(self, load: Load) -> tuple[Vector, Vector]:
        C, d = len(self.solid.mu), self.solid.d
        if load.body is None:
            return np.zeros((C, d + 1, d)), np.zeros(C)
        moments, rounding, _ = body_moments(self.solid.topology, self._filled(load.body))
        return moments, rounding

    def _unknown(self, load: Load) -> Vector:
        """Bounds of Σ_i |∫ε λ_i| on cells: at most the length of ∫|ε_c|, because Σ λ_i = 1."""
        square = np.zeros(len(self.solid.mu))
        for f in load.body or ():
            square = square + (0.0 if f is None else f.error1**2)
        vol = self.solid.topology.volumes * (1.0 + self.solid.slack)
        return np.asarray(up(vol * np.sqrt(square), 16))  # elasticity.md, step 5a

    def _filled(self, body: tuple[Density | None, ...]) -> tuple[Density, ...]:
        none = Density.constant(np.zeros(len(self.solid.mu)), self.solid.d)
        return tuple(none if f is None else f for f in body)

    def _oscillation(self, load: Load) -> tuple[Vector, Vector]:
        if load.body is None:
            return np.zeros(len(self.solid.mu)), np.zeros(len(self.solid.mu))
        return oscillation(self.solid.topology, self._filled(load.body), self.solid.c_min)

    def _tractions(self, load: Load) -> tuple[Vector, Vector, Vector, Vector]:
        """Moments where tractions are given, sums over each cell of their errors, and what is not linear in them."""
        solid, T, d = self.solid, self.solid.topology, self.solid.d
        gm = np.zeros((len(T.facets), d, d))
        error, data, rough = (np.zeros(len(solid.mu)) for _ in range(3))
        for traction in load.traction:
            t = traction.on
            found, rounding, unknown = traction_moments(T, t.facets, [t.density])
            gm[t.facets, :, traction.component] += found[..., 0]
            cells = T.facet_cells[t.facets, 0]
            np.add.at(error, cells, d * up(rounding))
            np.add.at(data, cells, d * up(unknown))
            if not traction.flat:
                rough = up(rough + traction_cost(T, t.facets, [t.density], solid.c_min))
        return gm, up(error, 8), up(data, 8), rough

    def _left(self, S: StressLoad | None) -> Vector:
        """What is not quadratic, or not known, of a stress load: its norm."""
        if S is None:
            return np.zeros(len(self.solid.mu))
        solid, d = self.solid, self.solid.d
        size = up(S.weight.high + S.weight.error2) * d * np.abs(S.tensor).max(axis=1)
        vol = solid.topology.volumes * (1.0 + self.solid.slack)
        return np.asarray(up(size * np.sqrt(vol / solid.c_min), 16))  # elasticity.md, step 2d

    def _moments(self, nodal: Vector, load: Load, fm: Vector, gm: Vector, increment: Increment) -> Vector:
        """Facet moments near the state's own stress, in equilibrium but for rounding."""
        solid, d = self.solid, self.solid.d
        at = self.stress(nodal)
        if load.stress is not None:
            linear = load.stress.weight.coefficients @ linear_projection(d).T
            at = at - linear[:, :, None] * load.stress.tensor[:, None, :]
        aim = self._aim(at, load)
        mean = at.mean(axis=1)
        if solid.degree == 1:  # keeping the state's own stress is the classical trap: see step 3
            at = averaged(self.space, mean)
            mean = at.mean(axis=1)
            r = solid.against_means(mean) - solid.vector(Load(load.body, load.traction))
            mean = mean - self.stress(increment(r).reshape(-1, d)).mean(axis=1)
        m = self._start.equilibrated(at, mean, fm, gm)
        m = improved(self.space, self._modes, m, fm, aim, ITERATIONS)
        return np.where(solid.fixed[:, None, :], gm, m)

    def stress(self, nodal: Vector) -> Vector:
        """Cε(u_h) at the vertices of all cells, (C, d + 1, ns)."""
        solid, C = self.solid, len(self.solid.mu)
        parts = []
        for a in range(0, C, CHUNK):
            part = slice(a, min(a + CHUNK, C))
            shapes = Shapes.of(solid.points, solid.topology.cells[part])
            local = nodal[solid.cell_nodes[part]]
            parts.append(Strains.of(shapes, local, solid.degree, solid.lam[part], solid.mu[part]).stress)
        return np.concatenate(parts)

    def _aim(self, linear: Vector, load: Load) -> Aim:
        """What σ_h should be near: Cε(u_h) − S − τ, as far as linear functions on the split have it."""
        solid, d = self.solid, self.solid.d
        cells = np.flatnonzero(load.varies(len(solid.mu)))
        if not len(cells):
            return Aim(linear)
        own = (np.eye(d + 1) + 1.0) / ((d + 1) * (d + 2))
        to_linear = np.linalg.solve(own, cubic_nodes(d).T @ np.asarray(mass(d, 3)))
        extra = np.zeros((len(cells), d + 1, d + 1, linear.shape[2]))
        if load.body is not None:
            f = np.stack([b.coefficients[cells] for b in self._filled(load.body)], axis=2)
            extra -= np.einsum("la,nsav->nslv", to_linear, lifted(solid.topology, cells, f)[0], optimize=True)
        if load.stress is not None:
            w = load.stress.weight.coefficients[cells]
            w = w - from_linear(w @ linear_projection(d).T)
            more = np.einsum("la,sap,np->nsl", to_linear, split_values(d), w, optimize=True)
            extra -= more[..., None] * load.stress.tensor[cells][:, None, None, :]
        return Aim(linear, cells, extra)
