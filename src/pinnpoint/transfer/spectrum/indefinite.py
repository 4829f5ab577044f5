"""What a negative reaction makes of product bounds and of energy errors.

In the words of `separation`: a(v, w) = ∫κ∇v·∇w + c⁺vw, B = a − (q·, ·), S = (I − K)⁻¹ with a(Kv, w) = (qv, w) has its
spectrum between t₋ and t₊, and with a(ẽ, ·) = R_p, a(ε̃, ·) = R_d the errors are e = Sẽ, ε = Sε̃. Two bounds of
B(e, ε) = a(ẽ, Sε̃); the narrower one counts:

- *any states:* with E_± = ‖s ẽ ± ε̃/s‖_a²/4, B(e, ε) ∈ [t₋E₊ − t₊E₋, t₊E₊ − t₋E₋];
- *nearly Galerkin states:* B(e, ε) = a(ẽ, ε̃) + (qẽ, ε), where ‖ẽ‖_q ≤ M η_p + r_p and ‖ε‖_q ≤ (M η_d + r_d)/β, with
  M = √(max q) M_h, r = √(max q/ℓ) ‖R‖_{V_h′}: the residual against the linear elements, which a Galerkin state does not
  have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError
from pinnpoint.rounding.arithmetic import at_most, down, gamma, norm_up, sum_up, up
from pinnpoint.taylor.bernstein import Density, gram, means
from pinnpoint.transfer.boundary.facets import FacetLoad, measures
from pinnpoint.transfer.boundary.gaps import extension_energy, state_energy
from pinnpoint.transfer.continuum import Continuum, shape_table
from pinnpoint.transfer.energy.anchors import DIRICHLET
from pinnpoint.transfer.energy.cells import State
from pinnpoint.transfer.energy.estimator import CHUNK
from pinnpoint.transfer.energy.geometry import Shapes
from pinnpoint.transfer.everywhere.constants import density_constant
from pinnpoint.transfer.everywhere.mesh_constant import MeshConstant, mesh_constant
from pinnpoint.transfer.goals import Functional
from pinnpoint.transfer.media.varied_gaps import mean_size, state_size, varied_flux_change
from pinnpoint.transfer.spectrum.forms import Forms
from pinnpoint.transfer.spectrum.separation import RESERVE, Separation, separation


@dataclass(frozen=True, eq=False)
class Indefinite:
    """Bounds of one problem whose reaction is negative somewhere."""

    model: Continuum
    gap: Separation

    __repr__ = brief

    @classmethod
    def of(cls, model: Continuum) -> Indefinite | None:
        """Of a problem; None where its reaction is nowhere negative."""
        falls = bool(np.any(model.reaction < 0.0)) if model.medium is None else model.deep
        return cls(model, separation(model)) if falls else None

    @cached_property
    def forms(self) -> Forms:
        """The forms on cells."""
        return Forms.of(self.model)

    @cached_property
    def mesh_factor(self) -> float:
        """M with ‖v‖_q ≤ M‖v‖_a for all v orthogonal to the linear elements; infinite where M_h is not at hand."""
        model, gap = self.model, self.gap
        other = np.any(model.reaction > 0.0) or model.exchange is not None or model.gluing is not None
        if (other and not gap.wide) or self.mesh is None:
            return math.inf
        if not gap.wide:
            # indefinite.md, step 3b
            return float(up(math.sqrt(gap.weight) * self.mesh.value * (1.0 + RESERVE)))
        M, D = self.mesh.value, self.forms.apart
        square = (1.0 + D) * M * M  # of ‖v₀‖₂ against ‖v‖_a
        gone = D * D / down(1.0 - D) + float(self.forms.rise.top.max()) * square + (1.0 + D) * self._through(M)
        found = math.sqrt(square) + math.sqrt(up(gone / down(gap.floor * down(1.0 - D)), 16))
        return float(up(math.sqrt(gap.weight) * found, 32))  # indefinite.md, step 13g

    def _through(self, M: float) -> float:
        """Upper bound of ∫αv² over Robin facets where ‖v‖₂ ≤ M‖∇v‖ and that length is 1."""
        model, on = self.model, self.model.exchange
        if on is None:
            return 0.0
        area, slack = measures(model.points[on.vertices])
        share = np.zeros(len(model.kappa))
        np.add.at(share, model.topology.facet_cells[on.facets, 0], up(on.top * area * (1.0 + slack), 8))
        share = np.asarray(up(share / model.anchors.volume, 8))
        steep = share * 2.0 * model.anchors.diameter / (model.d * down(np.sqrt(self.forms.least), 2))
        return float(up(float(share.max()) * M * M + float(steep.max()) * M, 16))  # indefinite.md, step 13f

    @cached_property
    def mesh(self) -> MeshConstant | None:
        """M_h of the mean coefficients with its proof; None where it has none."""
        model, forms = self.model, self.forms
        if not (forms.apart < 1.0 and float(forms.least.min()) > 0.0):
            return None
        least = forms.least if forms.middle.ndim == 3 else None
        same = None if model.gluing is None else model.gluing.vertex
        try:
            return mesh_constant(model.topology, forms.middle, model.kind == DIRICHLET, same=same, least=least)
        except CertificationError:
            return None

    @property
    def witness(self) -> dict[str, Any]:
        """What another program needs to prove the same: m, and the shifts of all factorizations."""
        above, below, first = self.gap.shifts
        constant = self.mesh if math.isfinite(self.mesh_factor) else None
        found = [] if constant is None else [constant.shift, constant.penalty]
        return {"count": self.gap.count, "above": above, "below": below, "first": first, "mesh": found}

    def defect(self, nodal: Vector, source: Density, load: FacetLoad | None) -> float:
        """R = √(max q/ℓ) ‖R‖_{V_h′} of a state with its source and load."""
        if not math.isfinite(self.mesh_factor):
            return math.inf
        wanted = self.model.wanted(nodal, load, dual=False)  # g − αv_h on Robin facets
        found = residual(self.model, self.gap.floor, nodal, source, load if wanted is None else wanted)
        return at_most(float(up(math.sqrt(up(self.gap.weight / self.gap.floor)) * found)))

    def ends(
        self, product: tuple[float, float, float], energies: tuple[float, float], defects: tuple[float, float]
    ) -> tuple[float, float, float]:
        """Ends that hold B(e, ε), and the part of their half-width due to data, from those of a(ẽ, ε̃)."""
        low, high, share = product
        if not math.isfinite(share):
            return product
        t0, t1 = self.gap.low, self.gap.high
        less, more = -low, high  # E₋, E₊: indefinite.md, step 3a
        # indefinite.md, step 1c
        found = -float(up(t1 * less - t0 * more)), float(up(t1 * more - t0 * less))
        M, (eta_p, eta_d), (r_p, r_d) = self.mesh_factor, energies, defects
        if math.isfinite(M):
            error = up(self.gap.gain * (M * eta_d + r_d), 8)  # of the dual in ‖·‖_q: indefinite.md, step 3c
            extra = at_most(up((M * eta_p + r_p) * error, 8))
            other = -float(up(less + extra)), float(up(more + extra))  # indefinite.md, step 3e
            found = other if other[1] - other[0] < found[1] - found[0] else found
        grown = (found[1] - found[0]) / (high - low) if high > low else 1.0
        return found[0], found[1], float(up(share * max(1.0, grown)))

    def energy(self, eta: float, defect: float) -> float:
        """Upper bound of ‖e‖_a."""
        plain = up(eta * self.gap.gain)  # indefinite.md, step 1d
        M = self.mesh_factor
        if not math.isfinite(M):
            return at_most(float(plain))
        length = self.gap.gain * (M * eta + defect)
        # indefinite.md, step 3f
        return at_most(float(min(plain, up(0.5 * eta + math.sqrt(0.25 * eta * eta + length * length), 16))))

    def carried(self, eta: float, defect: float) -> float:
        """Upper bound of ‖qe‖₂."""
        mean = up(self.energy(eta, defect) / math.sqrt(self.gap.floor), 4)
        found = float(up(self.gap.weight * mean))
        if math.isfinite(self.mesh_factor):
            length = up(self.gap.gain * (self.mesh_factor * eta + defect), 8)  # indefinite.md, step 3c
            found = min(found, float(up(math.sqrt(self.gap.weight) * length, 4)))
        return at_most(found)  # everywhere.md, step 2h

    def spread(self, planes: int) -> float:
        """How many times their size data of the boundary may change the solution, where it has so many mirrors."""
        model, gap, copies = self.model, self.gap, 2.0**planes
        volume = sum_up(up(model.topology.volumes * (1.0 + model.anchors.slack), 4))
        one = up(gap.weight * math.sqrt(volume), 4)  # ‖qw₀‖₂
        two = up(gap.weight * gap.gain * gap.weight / gap.floor * math.sqrt(volume), 16)  # ‖qv‖₂
        low = float(model.kappa.min())
        grown = density_constant(model.d, copies * volume) * math.sqrt(copies) * (one + two) / low
        return at_most(float(up(1.0 + grown, 16)))  # everywhere.md, step 2h

    def moved(self, J: Functional, mismatch: float, dual: Vector | None, eta: float) -> float:
        """What Dirichlet data within `mismatch` of the state's changes in a query; η of its dual."""
        model, gap = self.model, self.gap
        volume = np.asarray(up(model.topology.volumes * (1.0 + model.anchors.slack), 4))
        whole = math.sqrt(up(gap.weight * sum_up(volume)))
        if dual is None:  # a point of an interval, by C_pt
            lengths = sum_up(up(volume / model.kappa))
            grown = gap.gain * math.sqrt(gap.weight / gap.floor) * whole * math.sqrt(lengths)
            return at_most(float(up(mismatch * (1.0 + grown), 32)))  # indefinite.md, step 4c
        missing = gap.gain * math.sqrt(gap.weight / gap.floor) * eta  # of ‖ε‖_q
        if J.lift is not None and model.medium is not None:
            # indefinite.md, step 13h
            return varied_flux_change(model, model.medium, mismatch, dual, gap.gain * eta, 1.0 / gap.floor)
        if J.lift is not None:
            reach = state_energy(model, dual) + math.sqrt(1.0 + gap.weight / gap.floor) * gap.gain * eta
            return at_most(float(up(extension_energy(model, mismatch) * reach, 32)))  # indefinite.md, step 4d
        own = 0.0  # ∫|w| + ∫|g|: indefinite.md, step 4a
        if J.source is not None:
            near = slice(None) if J.source.cells is None else J.source.cells
            own += sum_up(up(mean_size(J.source, model.d) * volume[near], 8))
        if J.load is not None:
            area, slack = measures(model.points[J.load.vertices])
            own += sum_up(up(mean_size(J.load.density, model.d - 1) * area * (1.0 + slack), 8))
        heavy = sum_up(up(self.forms.sink.top * state_size(model, dual) * volume, 8))
        return at_most(float(up(mismatch * (own + heavy + whole * missing), 32)))  # indefinite.md, step 4b


def residual(model: Continuum, floor: float, nodal: Vector, source: Density, load: FacetLoad | None) -> float:
    """Upper bound of sup R(v_h)/‖v_h‖_a over linear v_h that vanish on Γ_D, from R(φ_i) enclosed.

    Σ m_i v_i² ≤ (d + 2)‖v_h‖₂² with the lumped masses m_i = Σ_K |K|/(d + 1).
    """
    T, d, n = model.topology, model.d, len(model.points)
    of = np.arange(n) if model.gluing is None else model.gluing.vertex
    value, off, heavy = np.zeros(n), np.zeros(n), np.zeros(n)
    hats = shape_table(d, 1) @ gram(d)
    for a in range(0, len(T.cells), CHUNK):
        part = slice(a, min(a + CHUNK, len(T.cells)))
        shapes = Shapes.of(model.points, T.cells[part])
        u = State.of(shapes, nodal[model.cell_nodes[part]].T, model.degree)
        f = source.coefficients[part].T
        lower, flow, size, loose = _acting(model, part, shapes, u)
        # indefinite.md, step 3d
        each = (hats @ (f - lower) - np.einsum("cn,icn->in", flow, shapes.gradients)) * shapes.volume
        size = size + np.abs(f).max(axis=0)
        wrong = 3.0 * (shapes.slack + gamma(80)) * size + loose + source.error1[part]
        wrong = up(wrong * shapes.volume * (1.0 + shapes.slack), 16)
        for i in range(d + 1):
            at = of[T.cells[part, i]]
            value += np.bincount(at, each[i], minlength=n)
            off += np.bincount(at, wrong + gamma(64) * np.abs(each[i]), minlength=n)
            heavy += np.bincount(at, shapes.volume * (1.0 - shapes.slack) / (d + 1), minlength=n)
    if load is not None:
        area, slack = measures(model.points[load.vertices])
        g = load.density
        each = (g.coefficients @ (shape_table(d - 1, 1) @ gram(d - 1)).T) * area[:, None]
        size = 3.0 * (slack + gamma(80)) * np.abs(g.coefficients).max(axis=1)
        wrong = up(area * (1.0 + slack) * (size + g.error1), 16)
        for i in range(d):
            value += np.bincount(of[load.vertices[:, i]], each[:, i], minlength=n)
            off += np.bincount(of[load.vertices[:, i]], wrong + gamma(64) * np.abs(each[:, i]), minlength=n)
    free = of == np.arange(n)
    free[of[np.unique(T.facets[model.dirichlet_facets()])]] = False
    if not free.any():
        return 0.0
    r = up(np.abs(value[free]) + up(off[free], 64), 4)
    length = norm_up(up(r / np.sqrt(heavy[free] * (1.0 - gamma(128))), 8))
    return at_most(float(up(math.sqrt((d + 2) / floor) * length, 8)))  # indefinite.md, step 3d


def _acting(model: Continuum, part: slice, shapes: Shapes, u: State) -> tuple[Vector, Vector, Vector, Vector]:
    """Bernstein coefficients of c u_h and means of A∇u_h on cells, the size of both, and bounds of their errors."""
    if model.medium is None:
        k, c = model.kappa[part], model.reaction[part]
        size = np.abs(c) * u.top + shapes.d * k * u.size * shapes.steep
        return c * u.coefficients, k * u.slopes.mean(axis=0), size, np.abs(c) * u.blur
    found = model.medium.act(part, shapes, u, transposed=False)
    flow = means(shapes.d) @ found.flux.reshape(len(found.flux), -1)
    size = np.abs(found.lower).max(axis=0) + np.abs(found.flux).max(axis=0).sum(axis=0) * shapes.steep
    loose = found.lower_error + (found.flux_error * shapes.steep).sum(axis=0) * (1.0 + shapes.slack)
    # what is left of both is orthogonal to quadratics: indefinite.md, step 13g
    return found.lower, flow.reshape(found.flux.shape[1:]), size, np.asarray(loose)
