"""What is declared, compared with samples: stored data against the case's formulas, mollifiers and ∫fΦ.

Nothing here is part of a proof, and nothing here can make a bundle verify: it can only refuse. Quadrature is done with
two rules, and what they differ by is allowed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint_verify.averages import bare, chosen, density_agrees, mean_along, slope_agrees, slope_height
from pinnpoint_verify.bent import DECLARED, LEFT, Bent
from pinnpoint_verify.blocks import proved_block
from pinnpoint_verify.calm import calm, scales
from pinnpoint_verify.checker import (
    DIRICHLET,
    NEUMANN,
    Ball,
    Cells,
    Density,
    Discrete,
    Mesh,
    Query,
    Shape,
    Side,
    areas,
    means,
    quadratic,
    up,
)
from pinnpoint_verify.constants import even_height, integral, settled, stays, value_at
from pinnpoint_verify.domains import side_of, sides_agree, unfolded
from pinnpoint_verify.formulas import formula, lone, plain
from pinnpoint_verify.glued import flow_agrees
from pinnpoint_verify.lifts import Lift, alike, lift_agrees, own_value
from pinnpoint_verify.networks import NetworkLeftover
from pinnpoint_verify.own import data_bounds, held_gap, kept_below, load_bounds, source_bounds, wanted
from pinnpoint_verify.point_kernels import (
    Kernel,
    constants_agree,
    loads_agree,
    mass_agrees,
    point_agrees,
    potential_agrees,
)
from pinnpoint_verify.points import is_plain, proved_ball, proved_point
from pinnpoint_verify.reader import Array, Bundle, larger, need, smaller
from pinnpoint_verify.reference import compare, directions, distance, potential, radial, rule
from pinnpoint_verify.residuals import Leaves, Leftover, by_pairs, fluxes
from pinnpoint_verify.robin_matrix import robin_matrix
from pinnpoint_verify.rows import from_file, is_number
from pinnpoint_verify.varying_samples import Coefficients

Row = dict[str, Any]
FINER = {1: ((1, 64), (1, 128), (1, 192)), 2: ((96, 64), (192, 128), (384, 192)), 3: ((48, 48), (64, 64), (96, 96))}
"""Directions and radii of finer samples of ∫fΦ."""


class Samples:
    """All comparisons of one bundle."""

    def __init__(self, bundle: Bundle, mesh: Mesh, proof: Row, case: Row) -> None:
        self.bundle, self.mesh, self.proof, self.case = bundle, mesh, proof, case
        self.harmonic = (
            bool(np.any(mesh.cubic))
            or mesh.reaction is not None
            or any(name.startswith("dual/phi") for name in bundle.arrays)
        )
        self.balls: dict[int, tuple[Array, float, float, float, float]] = {}
        self.slopes: dict[int, tuple[float, float]] = {}
        self.kernels: dict[int, Kernel] = {}
        self.blind: list[str] = []
        self.stored = np.ones(mesh.C, dtype=bool), np.ones(len(mesh.facets), dtype=bool)
        self.unproved: list[str] = []
        self.proved: set[int] = set()
        problem, lift = case["problem"], proof["lift"] is not None
        self.lift = Lift(bundle, proof["lift"]) if lift and proof["lift"]["kind"] != "opaque" else None
        self.left: Leaves = Leftover(proof["lift"], mesh.d)
        if self.lift is not None and self.lift.layers:
            self.left = NetworkLeftover(self.lift.layers, proof["lift"], mesh.d)
        self.source = plain(problem.get("source")) if self.lift else proof["source"]
        self.parts, self.region = self._by_groups(proof["source"])
        self.held = [plain(v) for v in (problem.get("dirichlet") or {}).values()] if self.lift else proof["dirichlet"]
        self.over = list(problem.get("dirichlet") or {})
        need(len(self.over) == len(proof["dirichlet"]), "dirichlet: not that of the case")
        for key in ("source", "dirichlet", "neumann"):
            table = key != "source" or self.parts
            given = list((problem.get(key) or {}).values()) if table else [problem.get(key)]
            given += [pair[1] for pair in (problem.get("robin") or {}).values()] if key == "neumann" else []
            data = proof[key] if table else [proof[key]]
            fits = data == [None] * len(data) if lift else alike(data, [plain(v) for v in given])
            need(fits, f"{key}: not that of the case")
        need("bent" not in proof or mesh.medium is not None, "bent: of coefficients that are constant on cells")
        self.bent = Bent(bundle, proof, case, mesh.points, mesh.cells) if "bent" in proof else None
        self.unproved += [] if self.bent is None else [DECLARED]
        if self.bent is not None and self.bent.straight > 0:
            self.unproved.append(LEFT.format(self.bent.straight))
        self.varied = Coefficients(mesh, proof, case, self.bent) if mesh.medium is not None else None
        self.blind += [] if self.varied is None else [*self.varied.blind, "A where coefficients vary inside cells"]
        if self.varied is not None and self.varied.b is not None:
            self.varied.flow()
            if mesh.pairs is not None:
                flow_agrees(self.varied.convection, mesh)
        constant = () if self.varied is not None else (("diffusion", mesh.kappa, 1.0), ("reaction", mesh.c, 0.0))
        cubic = (("cubic", mesh.cubic, 0.0),) if mesh.reaction is None else ()
        for key, values, usual in (*constant, *cubic):
            given = plain(problem.get(key, usual))
            self.blind += [f"the {key} on each cell, which comes from a file"] if from_file(given) else []
            known = list(given.values()) if isinstance(given, dict) and not from_file(given) else [given]
            known = [plain(lone(v, mesh.d)) for v in known]
            fits = not all(isinstance(v, int | float) for v in known) or np.all(np.isin(values, known))
            fits = fits and (self.varied is not None or not any(isinstance(v, str | list) for v in known))
            fits = fits and not any(isinstance(v, bool) for v in known)
            need(fits, f"{key}: not that of the case")
            self.blind += [f"{key} by cells"] if None in known else []
        drift = self.varied is None and problem.get("convection") is not None
        need(not drift, "convection: not that of the case, whose proof has none")
        for key in ("source", "dirichlet", "neumann"):
            data = proof[key] if isinstance(proof[key], list) else [proof[key]]
            self.blind += [] if lift or None not in data else [f"{key} data"]
        if lift and self.lift is None:
            self.blind.append("value and residual of the prediction that was lifted")
        elif self.lift and proof["neumann"] and not self.left.known:
            self.blind.append("fluxes of the prediction that was lifted")
        elif self.lift and self.source is None:
            self.blind.append("source data")

    def _by_groups(self, given: Any) -> tuple[list[Any], Array]:
        """Formulas of the groups that a source is given by, and the group of each cell; none of one formula."""
        if not isinstance(given, list):
            return [], np.zeros(0, dtype=int)
        table = self.case["problem"].get("source")
        need(isinstance(table, dict) and given and None not in given, "source: not that of the case")
        region = self.bundle("source/region", None, whole=len(given))
        need(len(region) == self.mesh.C, "source: a group for each cell")
        self.source = None
        self.blind.append("which cells are in the groups of the source")
        return given, region

    def _settle(self, goal: Row, name: str) -> None:
        """Of a source by groups, the formula about a point."""
        if self.parts:
            x0 = np.array(goal["at"], dtype=float)
            gaps = ((self.mesh.points[self.mesh.cells].mean(axis=1) - x0) ** 2).sum(axis=1)
            cell = self.cell_of(x0, np.argsort(gaps)[:64])
            need(cell >= 0, f"{name!r}: the point is outside the mesh")
            self.source = self.parts[self.region[cell]]

    def _parted(self) -> Array:
        """Facets between groups of the source."""
        mesh = self.mesh
        if not self.parts:
            return np.zeros(len(mesh.facets), dtype=bool)
        return (mesh.neighbour >= 0) & (self.region[mesh.owner] != self.region[mesh.neighbour])

    def prove(self, p: Side, rows: list[Row]) -> None:
        """Bounds of the data from the case's formulas; what keeps the stored ones is compared with samples."""
        close, lift = wanted(rows), self.proof["lift"] is not None
        if isinstance(self.left, NetworkLeftover):
            self.left.close = self._fine(rows)
        texts, region = (self.parts, self.region) if self.parts else ([self.source], np.zeros(self.mesh.C, dtype=int))
        groups = [self._facets(f"continuous/n{k}") for k in range(len(self.proof["neumann"]))]
        if lift:  # checking.md, step 14e
            on, free = np.concatenate([np.zeros(0, dtype=int), *groups]), np.nonzero(self.mesh.kind == NEUMANN)[0]
            need(np.array_equal(np.sort(on), free), "Neumann data: what a lift leaves is not on all free facets, once")
        if self.bent is not None:  # data carried back by the map stay declared
            self._calm(scales(p), texts, region, groups)
            region = np.where(self.bent.bent, -1, region)
            groups = [facets[~self.bent.bent[self.mesh.owner[facets]]] for facets in groups]
        loads = self.proof["neumann"]
        if lift:
            texts, region = self._leftover()
            loads, groups = self._fluxes(groups)
        self.free = list(zip(loads, groups, strict=True))
        if self.mesh.reaction is not None:
            self.mesh.reaction.enclose(p, self.source, close)
            self.stored = np.zeros(self.mesh.C, dtype=bool), load_bounds(p, loads, groups, close)
        elif not lift or texts[0] is not None:
            cells = source_bounds(p, texts, region, close)
            self.stored = cells, load_bounds(p, loads, groups, close)
        self._prove_exchange(close)
        self._prove_range()
        loads = self.stored[1][[] if p.load is None else p.load.at]
        for what, some, where in (("the source", self.stored[0], "cells"), ("fluxes", loads, "facets")):
            count = f"{int(some.sum())} of {len(some)} {where}"
            self.unproved += [f"enclosures of {what} on {count}"] if some.any() else []
        if self.varied is not None and self.mesh.medium.kept:
            count = f"{self.mesh.medium.kept} of {self.mesh.C} cells"
            self.unproved.append(f"models of A, b, c and c − ∇·b on {count}, with kinks or curves")
        if self.proof["raised"] is not None:
            self.unproved.append("polynomials of the Dirichlet data that are lifted into cells")

    def _calm(self, size: dict[str, float], texts: list[Any], region: Array, groups: list[Array]) -> None:
        """Formulas do not vary faster on bent cells than samples see."""
        mesh, one = self.mesh, self.varied
        assert self.bent is not None
        assert one is not None
        held = [self.bundle(f"continuous/d{k}", None, whole=len(mesh.facets)) for k in range(len(self.held))]
        robin = self.coefficients()
        parts = [("source", size["source"], texts, [np.nonzero(region == k)[0] for k in range(len(texts))], False)]
        parts.append(("Neumann data", size["through"], self.proof["neumann"], groups, True))
        parts.append(("Dirichlet data", size["held"], self.held, held, True))
        parts.append(("robin", size["alpha"], [text for text, _ in robin], [facets for _, facets in robin], True))
        for r, A in enumerate(one.A):
            cells = np.nonzero(mesh.medium.region == r)[0]
            flow = [] if one.b is None or is_number(one.b[r]) else one.b[r]
            for what, of in (("A", np.ravel(np.array(A, dtype=object)).tolist()), ("b", flow), ("c", [one.c[r]])):
                parts.append((f"medium: {what}", size[what], of, [cells] * len(of), False))
        for what, floor, formulas, where, sides in parts:
            for text, at in zip(formulas, where, strict=True):
                own = mesh.owner[at] if sides else at
                V = mesh.points[(mesh.facets if sides else mesh.cells)[at]]
                some = self.bent.bent[own]
                calm(what, text, self.bent, V[some], own[some], floor)

    def coefficients(self) -> list[tuple[Any, Array]]:
        """Robin coefficients by groups, with their facets."""
        given = [plain(pair[0]) for pair in (self.case["problem"].get("robin") or {}).values()]
        return [(text, self._facets(f"robin/r{k}")) for k, text in enumerate(given)]

    def _fine(self, rows: list[Row]) -> float:
        """How small remainders of a network's residual are to be, so that they are lost in the claimed radii."""
        length, least = float(np.ptp(self.mesh.points, axis=0).max()), smaller([row["radius"] for row in rows])
        return 2e-7 * float(least) * float(self.mesh.kappa.min()) / length**2

    def _leftover(self) -> tuple[list[Any], Array]:
        """What a lifted formula leaves of the source, and on which cells; None where it is no formula."""
        plain_ = self.left.known and self.source is not None and not self.parts and not np.any(self.mesh.cubic)
        if plain_ and self.varied is None:
            return by_pairs(self.left, self.mesh, self.source)
        only, one = np.zeros(self.mesh.C, dtype=int), self.varied
        if not plain_ or one is None or len(one.A) > 1:
            return [None], only
        return [self.left.varied(self.source, one.A[0], None if one.b is None else one.b[0], one.c[0])], only

    def _unnamed(self, groups: list[Array]) -> list[Any]:
        """Neumann data of groups of facets: those of the side they lie on, and zero on what the case does not name."""
        mesh, data = self.mesh, {name: plain(g) for name, g in (self.case["problem"].get("neumann") or {}).items()}
        sides = {name: side_of(name, mesh.points, self.case) for name in data}
        if self.case["problem"].get("robin") or any(side is None for side in sides.values()):
            return list(data.values())
        found = list[Any]()
        for facets in groups:
            on = [g for name, g in data.items() if np.all(sides[name][mesh.facets[facets]])]  # type: ignore[index]
            found.append(on[0] if on else 0.0)
        return found

    def _fluxes(self, groups: list[Array]) -> tuple[list[Any], list[Array]]:
        """What a lifted formula leaves of the fluxes on facets across an axis."""
        given, one = self._unnamed(groups), self.varied
        known = self.left.known and len(given) == len(groups) and None not in given
        if not known or (one is not None and len(one.A) > 1):
            return [None] * len(groups), groups
        return fluxes(self.left, self.mesh, groups, given, None if one is None else one.A[0])

    def prove_point(self, i: int, query: Query, goal: Row, row: Row) -> None:
        """The density and ∫fΦ of a point from the case's formula, where that is one; the density of a ball."""
        even = goal["kind"] == "block" or (goal["kind"] == "ball" and goal["radius"] is None)
        if even and self.bent is None and query.phi is None:
            (proved_block if goal["kind"] == "block" else proved_ball)(query, goal, row["name"])
            self.proved.add(i)
            return
        if not is_plain(goal, self.mesh, query):
            return
        self._settle(goal, row["name"])
        x0 = np.array(goal["at"], dtype=float)
        cell = self.cell_of(
            x0, np.argsort(((self.mesh.points[self.mesh.cells].mean(axis=1) - x0) ** 2).sum(axis=1))[:64]
        )
        need(cell >= 0 and goal["at"] == row["at"], f"{row['name']!r}: the point is outside the mesh")
        text = self.source
        if self.proof["lift"] is not None:
            texts, region = self._leftover()
            text = texts[region[cell]]
        if text is not None and proved_point(query, goal, row, text, self._parted(), cell):
            self.proved.add(i)

    def prove_constant(self, i: int, query: Query | None, goal: Row, row: Row) -> None:
        """What a query has of the data themselves, and the height of an even density (checking.md, section 14)."""
        mesh, name, kind = self.mesh, row["name"], goal["kind"]
        if kind == "cells" and query is not None and self.bent is None:
            cells = chosen(self.bundle, i, row, mesh.C)
            even_height(goal, query.w, cells, mesh.C, Shape(mesh.points[mesh.cells[cells]]).vol.total(), name)
        part = np.zeros(0, dtype=int)
        if kind in ("patch", "flux"):
            part = self.bundle(f"dual/facets{i}", None, whole=len(mesh.facets))
            need(len(part) and np.all(np.diff(part) > 0), f"{name!r}: facets are not in order")
        if kind == "patch":
            self._prove_mean(query, goal, name, part)
        elif kind == "flux" and mesh.exchange is not None and np.any(np.isin(part, mesh.exchange.at)):
            found = [self._through(k, part) for k in range(len(self.proof["neumann"]))]
            self._settled(goal, found, f"{name!r}: the data of the group have the integral")
        elif goal["known"] and kind == "point":
            self._prove_held(goal, name)

    def _settled(self, goal: Row, found: list[Ball | None], words: str, size: float = 0.0) -> None:
        """The sum of what is found, in the place of the stored constant; what has no bound is declared."""
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            self.unproved.append(f"what the query {words.partition(':')[0]} has of the boundary data")
            return
        settled(goal, sum(known, Ball(0.0)), size, words)

    def left_of(self, k: int) -> Any:
        """Dirichlet data of a group, less what was lifted; None where they are not followed."""
        given = self.held[k]
        if given is None or self.proof["lift"] is None:
            return given
        return self.left.held(given) if self.lift is not None and self.left.known else None

    def _prove_held(self, goal: Row, name: str) -> None:
        """The value at a point of the Dirichlet boundary, of one of the groups that meet there."""
        x0, mesh = np.array(goal["at"], dtype=float), self.mesh
        near = float("inf")
        for k in range(len(self.held)):
            V = mesh.points[mesh.facets[self.bundle(f"continuous/d{k}", None, whole=len(mesh.facets))]]
            if not len(V) or distance(x0, V) > 1e-12 * float(mesh.h.max()):
                continue
            text = self.left_of(k)
            found = None if text is None or self.bent is not None else value_at(text, x0)
            if found is None:
                self.unproved.append(f"the value of {name!r} on the Dirichlet boundary")
                return
            off = abs(goal["constant"] - float(found.m))
            fits = off <= goal["error"] + found.r + 1e-12 * (abs(goal["constant"]) + abs((goal["own"] or [0.0])[0]))
            near = smaller(near, float(up(off + found.r))) if fits else near
        need(near < math.inf, f"{name!r}: not the value on the Dirichlet boundary")
        goal["error"] = near  # checking.md, step 14a

    def _prove_mean(self, query: Query | None, goal: Row, name: str, part: Array) -> None:
        """The share of an average over a group that is held."""
        mesh, found = self.mesh, list[Ball | None]()
        size = areas(mesh.points[mesh.facets[part]]).total()
        for k in range(len(self.held)):
            these = np.intersect1d(part, self.bundle(f"continuous/d{k}", None, whole=len(mesh.facets)))
            if not these.size:
                continue
            text = self.left_of(k)
            bent = self.bent is not None and bool(np.any(self.bent.bent[mesh.owner[these]]))
            one = None if text is None or bent else integral(text, mesh.points[mesh.facets[these]])
            found.append(None if one is None else one / size)
        own = abs((goal["own"] or [0.0])[0])
        self._settled(goal, found, f"{name!r}: the Dirichlet part has the mean", own)
        if query is not None and query.z.load is not None and self.bent is None:
            even_height(goal, query.z.load, part[mesh.kind[part] != DIRICHLET], len(mesh.facets), size, name)

    def _through(self, k: int, part: Array) -> Ball | None:
        """The integral of Neumann or Robin data of a group over some facets."""
        given = self.proof["neumann"][k]
        these = np.intersect1d(part, self._facets(f"continuous/n{k}"))
        if given is None or (self.bent is not None and these.size):
            return None if these.size else Ball(0.0)
        return integral(given, self.mesh.points[self.mesh.facets[these]])

    def _prove_range(self) -> None:
        """That the source stays in the range that is stored."""
        if self.proof["range"] is None:
            return
        mesh, (low, high) = self.mesh, (float(x) for x in self.proof["range"])
        texts, region = (self.parts, self.region) if self.parts else ([self.source], np.zeros(mesh.C, dtype=int))
        texts, region = self._leftover() if self.proof["lift"] is not None else (texts, region)
        for k, text in enumerate(texts):
            V = mesh.points[mesh.cells[region == k]]
            ends = np.full(len(V), low), np.full(len(V), high)
            if text is None or self.bent is not None or not stays(text, V, *ends):
                self.unproved.append("the range of the source")
                return

    def _prove_exchange(self, close: float) -> None:
        """Models and lower bounds of Robin coefficients from the case's formulas."""
        own, rough, bounded = self.mesh.exchange, 0, True
        for k, pair in enumerate((self.case["problem"].get("robin") or {}).values()):
            text = plain(pair[0])
            if own is None or not isinstance(text, str):
                continue
            facets = self.bundle(f"robin/r{k}", None, whole=len(self.mesh.facets))
            need(np.all(np.isin(facets, own.at)), "robin: not that of the case")
            if self.bent is not None:  # those carried back by the map stay declared
                rough += int(np.sum(self.bent.bent[self.mesh.owner[facets]]))
                facets = facets[~self.bent.bent[self.mesh.owner[facets]]]
            at = np.searchsorted(own.at, facets)
            stored = np.stack([own.high[at], own.e1[at], own.e2[at]], axis=1)
            V = self.mesh.points[self.mesh.facets[facets]]
            rest, kept = data_bounds(text, V, own.beta[at], stored, close)
            own.replace(at, rest)
            rough += int(kept.sum())
            low, top = (end[at] for end in own.ends)
            bounded = bounded and bool(np.all(own.low[at] > 0.0)) and stays(text, V, low, top)
        if own is not None and not np.all(own.plain) and (rough or not bounded):
            some = f"enclosures on {rough} facets and " if rough else ""
            self.unproved.append(f"{some}lower bounds of Robin coefficients that are formulas")

    def _facets(self, name: str) -> Array:
        """Facets of a group, in order."""
        facets = self.bundle(name, None, whole=len(self.mesh.facets))
        need(len(facets) and np.all(np.diff(facets) > 0), "Neumann data: facets of no group, or not in order")
        return facets

    def _sides(self, name: str, facets: Array) -> None:
        """Facets of a group of data are those of a side, or of a curve, that the case names."""
        sides_agree(self.mesh.points, {name: facets}, self.case)
        if self.bent is not None:
            self.bent.facets_agree(name, facets)

    def value(self, given: Any, X: Array, cells: Any = None) -> Array:
        """Dirichlet data at points of these cells, less the prediction where that was lifted."""
        Y = X if self.bent is None or cells is None else self.bent.at(X, cells)[0]
        return formula(given, Y) - (self.lift(X).v if self.lift else 0.0)

    def through(self, given: Any, X: Array, facets: Array) -> Array:
        """Neumann data at points of facets."""
        if self.bent is None:
            return formula(given, X)
        Y, size = self.bent.area(X, self.mesh.owner[facets], self.mesh.points[self.mesh.facets[facets]])
        return formula(given, Y) * size  # curved.md, step 1a

    def prediction(self, d: Discrete, rows: list[Row], goals: list[Row]) -> None:
        """What was lifted is the case's prediction, and the certificate's values are its own."""
        if self.proof["lift"] is not None:
            lift_agrees(self.lift, d, rows, goals, self.case, self.mesh.points)

    def system(self, d: Discrete, rows: list[Row]) -> None:
        """The stored matrix is that of the mesh and the coefficients; ℓ of groups are their means or fluxes."""
        mesh, m = self.mesh, self.mesh.d
        unfolded(mesh)
        if self.varied is not None:
            return
        T = mesh.nodes_of(mesh.cells)
        hats, rises = (x.m for x in quadratic(np.eye(T.shape[1]), m, mesh.degree))
        one, two = means(m, 2).m, means(m, 4).m
        mass = np.einsum("pjk,jklm,qlm->pq", hats, two, hats)
        K = sp.csr_array((d.N, d.N))
        for g in mesh.parts():
            slopes = 2.0 * np.einsum("pjk,nkc->npjc", rises, g.grad.m)
            local = np.einsum("npjc,jk,nqkc->npq", slopes, one, slopes, optimize=True) * g.kappa[:, None, None]
            local = (local + g.c[:, None, None] * mass) * g.vol.m[:, None, None]
            at = T[g.part]
            i, j = np.broadcast_to(at[:, :, None], local.shape), np.broadcast_to(at[:, None, :], local.shape)
            K = K + sp.csr_array((local.ravel(), (i.ravel(), j.ravel())), shape=K.shape)
        K, held = K + self._exchanged(d.N), self._by_formula()
        seen = ~np.isin(d.free, mesh.nodes_of(mesh.facets[held]))  # formulas are integrated by the producer's own rule
        far = abs((K[d.free] - d.rows)[seen]).max() if np.any(seen) else 0.0
        need(far <= 1e-11 * abs(K).max(), "a: is not the matrix of the mesh and the coefficients (sampled)")
        for number, row in enumerate(rows):
            if row["kind"] not in ("patch", "flux") or "group" not in row:
                continue
            facets = mesh.facets[self.bundle(f"dual/facets{number}", None, whole=len(mesh.facets))]
            on = mesh.nodes_of(facets)
            area = areas(mesh.points[facets]).m
            hats = quadratic(np.eye(on.shape[1]), m - 1, mesh.degree if m > 1 else 1)[0].m
            share = np.einsum("pjk,jk->p", hats, means(m - 1, 2).m) / area.sum()
            ell = np.bincount(on.ravel(), (area[:, None] * share).ravel(), minlength=d.N)
            part = self.bundle(f"dual/facets{number}", None, whole=len(mesh.facets))
            if row["kind"] == "flux" and np.any(np.isin(on, mesh.nodes_of(mesh.facets[held]))):
                continue  # the rows of these nodes hold α by the producer's own rule
            if row["kind"] == "flux" and np.any(mesh.alpha[part]):
                weight = (area * mesh.alpha[part])[:, None] * np.einsum("pjk,jk->p", hats, means(m - 1, 2).m)
                ell = -np.bincount(on.ravel(), weight.ravel(), minlength=d.N)
            elif row["kind"] == "flux":
                ell = K[np.unique(on)].sum(axis=0)
            gap = np.abs(d.L[[number]].toarray()[0] - ell).max()
            need(gap <= 1e-10 * np.abs(ell).max(), f"{row['name']!r}: ℓ is not that of the group (sampled)")

    def _exchanged(self, size: int) -> Any:
        """∫ αφ_iφ_j over the Robin facets with numbers α."""
        mesh, own = self.mesh, self.mesh.exchange
        at = np.zeros(0, dtype=int) if own is None else own.at[own.plain]
        return robin_matrix(mesh, mesh.facets[at], mesh.alpha[at], size)

    def _by_formula(self) -> Array:
        """Robin facets whose α is a formula."""
        own = self.mesh.exchange
        return np.zeros(0, dtype=int) if own is None else own.at[~own.plain]

    def _robin(self, given: Any, facets: Array) -> list[int]:
        """α of a group is the case's: numbers as they are, formulas and their bounds in samples."""
        own, mesh = self.mesh.exchange, self.mesh
        if given == 0.0:
            return []
        need(own is not None and np.all(np.isin(facets, own.at)), "robin: not that of the case")
        at = np.searchsorted(own.at, facets)
        bent = self.bent is not None and bool(np.any(self.bent.bent[mesh.owner[facets]]))
        if is_number(given) and not bent:
            need(own.holds(at, given), "robin: not that of the case")
            return list(facets.tolist())
        need(isinstance(given, str) or bent, "robin: not that of the case")
        V = mesh.points[mesh.facets[facets]]
        f = lambda X, bary, at: self.through(given, X, facets[at])  # noqa: E731
        compare("robin", (own.beta[at], own.high[at], own.e1[at], own.e2[at]), V, f)
        bary = np.concatenate([np.eye(mesh.d), rule(mesh.d - 1, 9)[0]])
        values, (low, top) = self.through(given, np.einsum("qi,nic->nqc", bary, V), facets), (own.low[at], own.top[at])
        slack = 1e-12 * np.abs(values).max(axis=1)
        fits = np.all(low <= values.min(axis=1) + slack) and np.all(values.max(axis=1) <= top + slack)
        need(fits, "robin: a bound that the formula does not keep (sampled)")
        return list(facets.tolist())

    def primal(self, p: Side, g: Cells) -> None:
        """S = f − λu_h³ on a range of cells, or what a lifted prediction leaves of f, f + κΔu − c u."""
        self.range(p, g)
        if self.varied is not None and self.mesh.medium.kept:
            self.varied.models(g)
        if self.varied is not None and self.mesh.medium.loose:
            self.varied.bounds(g)
        if self.parts:
            return self._grouped(p, g)
        if self.source is None:
            return
        u = p.nodal[self.mesh.nodes_of(self.mesh.cells[g.part])[:, : self.mesh.d + 1]]

        def f(X: Array, bary: Array, at: Array) -> Array:
            at = some[at]
            if self.bent is not None:
                return self.spread(self.source, X, g.part.start + at)
            return self.rest(X, g.kappa[at, None], g.c[at, None]) - g.cubic[at, None] * (u[at] @ bary.T) ** 3

        some = np.nonzero(self.stored[0][g.part])[0]
        if len(some):
            data = tuple(x[some] for x in p.given)
            compare("source", data, self.mesh.points[self.mesh.cells[g.part]][some], f)

    def spread(self, given: Any, X: Array, cells: Array) -> Array:
        """A source at points of cells."""
        if self.bent is None:
            return np.broadcast_to(formula(given, X), X.shape[:-1])
        Y, J = self.bent.at(X, cells)
        return formula(given, Y) * np.linalg.det(J)  # curved.md, step 1a

    def _grouped(self, p: Side, g: Cells) -> None:
        """The source of each group on a range of cells."""
        own, some = self.region[g.part], np.nonzero(self.stored[0][g.part])[0]
        if not len(some):
            return

        def f(X: Array, bary: Array, at: Array) -> Array:
            cells = g.part.start + some[at]
            values = [self.spread(part, X, cells) for part in self.parts]
            return np.asarray(np.select([own[some[at]][:, None] == k for k in range(len(self.parts))], values))

        data = tuple(x[some] for x in p.given)
        compare("source", data, self.mesh.points[self.mesh.cells[g.part]][some], f)

    def range(self, p: Side, g: Cells) -> None:
        """What is claimed to hold the source holds its stored means, and its values where it can be evaluated."""
        if self.proof["range"] is None:
            return
        low, high = (float(x) for x in self.proof["range"])
        slip = 1e-10 * larger(abs(low), abs(high))
        if not np.any(self.mesh.cubic) and self.mesh.reaction is None:
            mean = np.einsum("njk,jk->n", p.f, means(self.mesh.d, 2).m)
            fits = np.all(mean >= low - p.e1 - slip) and np.all(mean <= high + p.e1 + slip)
            need(fits, "range: the stored source has other means")
        if self.source is None:
            self.blind.append("the range of the source")
        elif self.lift is not None:
            bary, _ = rule(self.mesh.d, 4)
            X = np.einsum("qi,nic->nqc", bary, self.mesh.points[self.mesh.cells[g.part]])
            f = self.rest(X, g.kappa[:, None], g.c[:, None])
            slip += 1e-9 * float(np.abs(p.f).max(initial=0.0))
            need(low - slip <= f.min() and f.max() <= high + slip, "range: the source has other values (sampled)")

    def boundary(self, p: Side, raised: Any = None) -> float:
        """Max |g_D − u_h| on Γ_D: proved, or of lifted predictions compared with samples; g_N."""
        mesh, claimed, seen, m = self.mesh, float(self.proof["mismatch"]), list[int](), self.mesh.d - 1
        proved = claimed
        lift = self.lift
        need("boundary" not in self.over or np.all(mesh.kind != NEUMANN), "kind: not all of the boundary is fixed")
        for k, given in enumerate(self.held):
            facets = self.bundle(f"continuous/d{k}", None, whole=len(mesh.facets))
            seen += facets.tolist()
            some = len(facets) or self.over[k] == "boundary"  # whose facets other groups may all override
            need(some and np.all(np.diff(facets) > 0), "kind: facets of no group, or not in order")
            T = mesh.facets[facets]
            self._sides(self.over[k], T)
            b = quadratic(p.nodal[mesh.nodes_of(T)], m, mesh.degree if m else 1)[0].m
            bary, _ = rule(m, 5)
            sampled = isinstance(given, str) or (given is not None and self.lift is not None)
            at = np.einsum("njk,qj,qk->nq", b, bary, bary, optimize=True) if sampled else b
            X = np.einsum("qi,nic->nqc", bary, mesh.points[T])
            cells = mesh.owner[facets]
            gap = 0.0 if given is None else np.abs(self.value(given, X, cells) - at if sampled else at - given)
            if raised is not None:
                unseen = lift is None and self.proof["lift"] is not None  # then all of the prediction is declared
                need(given is not None or unseen, "raised: data of which nothing is known")
                at = np.concatenate([np.eye(mesh.d), bary])
                X = np.einsum("qi,nic->nqc", at, mesh.points[T])
                own = np.einsum("njk,qj,qk->nq", b, at, at, optimize=True)
                if not unseen:
                    raised.compare(facets, (self.value(given, X, cells) if sampled else given) - own, bary)
            size = float(np.abs(b).max(initial=0.0))
            if lift is not None:  # points are rounded, and so is a prediction that vanishes on a side
                own = lift(X)
                size += float((np.abs(own.v) + np.abs(own.g).max(axis=0) * np.abs(X).max()).max(initial=0.0))
            top = (1e-13 * size + 1e-9 * claimed) * sampled
            need(np.max(gap, initial=0.0) <= claimed + top, "state: misses the Dirichlet data")
            carried = isinstance(given, str) and self.bent is not None and bool(np.any(self.bent.bent[cells]))
            if carried:
                self.unproved.append(f"how well the state meets the Dirichlet data of {self.over[k]!r}, on curves")
            elif isinstance(given, str) and self.proof["lift"] is None:
                proved = float(np.maximum(proved, held_gap(given, mesh.points[T], b, claimed)))
            elif lift is not None and self.left.known and given is not None and (left := self.left.held(given)):
                proved = float(np.maximum(proved, held_gap(left, mesh.points[T], b, claimed)))
            elif lift is not None:
                self.unproved.append(f"how well the prediction meets the Dirichlet data of {self.over[k]!r}")
            if given is not None and raised is not None and self.proof["lift"] is None and not carried:
                fits = kept_below(given, mesh.points[T], b, raised.tops(facets))
                need(fits, "raised: the Dirichlet data are larger somewhere than their polynomials")
        fixed = np.nonzero(mesh.kind == DIRICHLET)[0].tolist()
        need(sorted(seen) == fixed, "kind: not the facets with Dirichlet data")
        loaded = set() if p.load is None else set(p.load.at.tolist())
        robin, seen_robin = self.case["problem"].get("robin") or {}, list[int]()
        free = [*(self.case["problem"].get("neumann") or {}), *robin]
        for k, given in enumerate(self.proof["neumann"]):
            facets = self._facets(f"continuous/n{k}")
            if lift is None or len(free) == len(self.proof["neumann"]):
                self._sides(free[k], mesh.facets[facets])
            if given == 0.0 and p.load is not None:
                here = np.isin(p.load.at, facets)
                empty = not np.any(p.load.beta[here]) and not np.any(p.load.rest[here])
                need(empty, "Neumann data: a load that the case does not have")
                loaded -= set(facets.tolist())
            if given == 0.0:
                continue
            need(p.load is not None and set(facets.tolist()) <= loaded, "Neumann data: facets without their load")
            loaded -= set(facets.tolist())
            some = facets[self.stored[1][facets]]
            if given is not None and p.load is not None and len(some):
                data = tuple(a[some] for a in p.load.on(0, len(mesh.facets)))
                f = lambda X, bary, at, given=given, some=some: self.through(given, X, some[at])  # noqa: E731
                compare("Neumann data", data, mesh.points[mesh.facets[some]], f)
        need(not loaded, "Neumann data: a load that the case does not have")
        for k, (group, pair) in enumerate(robin.items()):
            facets = self.bundle(f"robin/r{k}", None, whole=len(mesh.facets))
            self._sides(group, mesh.facets[facets])
            seen_robin += self._robin(plain(pair[0]), facets)
        known = [] if mesh.exchange is None else mesh.exchange.at.tolist()
        need(sorted(seen_robin) == known, "robin: facets of no group")
        return proved

    def rest(self, X: Array, kappa: Any, c: Any) -> Array:
        """The source at points, or what a lifted prediction leaves of it."""
        if self.lift is not None and self.varied is not None:
            return formula(self.source, X) + self.varied.applied(self.lift, X)
        own = None if self.lift is None else self.lift(X)
        return formula(self.source, X) + (0.0 if own is None else kappa * own.lap - c * own.v)

    def ball(self, i: int, goal: Row, row: Row) -> tuple[Array, float, float, float, float]:
        """x₀, R, the radius of the average, C and its error; the ball must lie where the coefficients are constant."""
        if i in self.balls:
            return self.balls[i]
        self._settle(goal, row["name"])
        mesh, name, d = self.mesh, row["name"], self.mesh.d
        x0, a, R = np.array(goal["at"], dtype=float), float(goal["average"]), float(goal["radius"])
        need(goal["at"] == row["at"] and (a > 0.0) == (row["kind"] == "average"), f"{name!r}: not the query's ball")
        jump = (mesh.neighbour < 0) | (mesh.kappa[mesh.owner] != mesh.kappa[mesh.neighbour]) | self._parted()
        if not self.harmonic:
            jump |= mesh.c[mesh.owner] != mesh.c[mesh.neighbour]
        inside = 0.0 < R <= distance(x0, mesh.walls(jump)) * (1.0 + 1e-12) and a <= R
        need(inside, f"{name!r}: the ball leaves where the coefficients are constant")
        gaps = ((mesh.points[mesh.cells].mean(axis=1) - x0) ** 2).sum(axis=1)
        cell = self.cell_of(x0, np.argsort(gaps)[:64])
        need(cell >= 0, f"{name!r}: the point is outside the mesh")
        kappa, c = float(mesh.kappa[cell]), 0.0 if self.harmonic else float(mesh.c[cell])
        need(goal["kappa"] == kappa, f"{name!r}: not the diffusion at the point")
        C0 = C = math.nan
        if R * math.sqrt(abs(c) / kappa) < 20.0 and self.source is not None:
            C0, C = self._integral(goal, name, x0, cell, (kappa, c, R, a))
        elif R * math.sqrt(abs(c) / kappa) < 20.0:
            C0, C = (radial(d, kappa, c, R, a, lambda r: 0.0 * r, n)[0] for n in (24, 32))
        else:
            self.blind.append(f"the mollifier of {name!r}")
        self.balls[i] = x0, R, a, C, 1e-8 * abs(C) + 10.0 * abs(C - C0)
        return self.balls[i]

    def _integral(self, goal: Row, name: str, x0: Array, cell: int, form: Any) -> tuple[float, float]:
        """∫fΦ by radial solves, ever finer until it fits; C of two of them."""
        d, (kappa, c, R, a) = self.mesh.d, form

        def found(count: int, n: int) -> Any:
            points, weights = directions(d, count)
            f = lambda r: self.rest(x0 + r[:, None, None] * points, kappa, float(self.mesh.c[cell])) @ weights  # noqa: E731
            return radial(d, kappa, c, R, a, f, n)

        (_, first, _), (C0, rough, _), (C, value, size) = (found(24, n) for n in (19, 24, 32))
        off = goal["error"] + 10.0 * larger(abs(value - rough), abs(value - first) / 20.0) + 1e-9 * size
        fits, seen = abs(goal["constant"] - value) <= off, [value]
        for count, n in () if fits else FINER[d]:  # a narrow feature: what two finer ones differ by is allowed
            _, value, size = found(count, n)
            off = goal["error"] + 4.0 * abs(value - seen[-1]) + 1e-7 * size
            seen.append(value)
            fits = len(seen) > 2 and abs(goal["constant"] - value) <= off
            if fits:
                break
        need(fits, f"{name!r}: ∫fΦ is {float(value)!r}, not {goal['constant']!r} (sampled)")
        return C0, C

    def cell_of(self, x0: Array, some: Array) -> int:
        """A cell that holds a point, among some; −1 where none does."""
        V = self.mesh.points[self.mesh.cells[some]]
        E = (V[:, 1:] - V[:, :1]).swapaxes(1, 2)
        t = np.linalg.solve(E, (x0 - V[:, 0])[:, :, None])[:, :, 0]
        least = np.minimum(t.min(axis=1), 1.0 - t.sum(axis=1))
        return int(some[np.argmax(least)]) if least.max() > -1e-9 else -1

    def dual(self, i: int, query: Query, g: Cells, goal: Row, row: Row) -> None:
        """W of a point or a ball on a range of cells, C (1 − s); for cubic problems Φ, and what they add up to."""
        mesh, low, high = self.mesh, g.part.start, g.part.stop
        V, name = mesh.points[mesh.cells[g.part]], row["name"]
        if self.harmonic and mesh.reaction is None:
            self._linearised(query, g, V, name)
        if self.varied is not None and goal["radius"] is not None:
            point_agrees(self.kernel(i, goal, row), query, g, name, self.bent)
            if query.phi is not None:
                potential_agrees(self.kernel(i, goal, row), query, g, name)
            return
        if bare(goal) and i not in self.proved:
            need(query.phi is None or not np.any(query.phi.beta), f"{name!r}: an average has no kernel")
            density_agrees(self.bundle, mesh, i, query.w, g, goal, row, self.bent)
            return
        if i in self.proved:
            return
        if goal["kind"] == "gradient":
            height, off = self.slope(i, goal, row)
            if not math.isnan(height):
                slope_agrees(mesh, query.w, g, goal, name, height, off)
            return
        if goal["radius"] is None:
            if query.phi is not None:
                empty = not any(np.any(x.beta) or np.any(x.rest) for x in (query.w, query.phi))
                need(empty, f"{name!r}: not the form of a {goal['kind']}")
            return
        x0, R, a, C, off = self.ball(i, goal, row)
        far = np.sqrt(((V - x0) ** 2).sum(axis=2))
        first, last = far.min(axis=1), far.max(axis=1)
        data = query.w.on(low, high)
        stored = np.any(data[0], axis=(1, 2)) | (data[1] + data[2] + data[3] > 0.0)
        here = np.nonzero(stored | (first - g.h < R))[0]
        cut = ((last > R * (1.0 - 1e-9)) & (first - g.h < R))[here]
        if math.isnan(C):
            return
        loose = np.where(cut, 0.02 * C * np.minimum(1.0, g.h[here] / R), off)

        def w(X: Array, bary: Array, at: Array) -> Array:
            return C * np.maximum(0.0, 1.0 - ((X - x0) ** 2).sum(axis=-1) / R**2)

        compare(f"mollifier of {name!r}", tuple(x[here] for x in data), V[here], w, loose)
        if query.phi is not None:  # singular, and with kinks at its spheres
            kappa = float(goal["kappa"])
            crossed = (first - g.h < R) & (last > R * (1.0 - 1e-9)) | (first < a) & (last > a) | (first <= g.h)
            keep = np.nonzero(~crossed)[0]
            unit = {1: R / kappa, 2: 1.0 / (4.0 * math.pi * kappa), 3: 1.0 / (4.0 * math.pi * kappa * R)}[mesh.d]

            def phi(X: Array, bary: Array, at: Array) -> Array:
                return potential(mesh.d, kappa, R, a, np.sqrt(((X - x0) ** 2).sum(axis=-1)))

            data = tuple(x[keep] for x in query.phi.on(low, high))
            compare(f"kernel of {name!r}", data, V[keep], phi, 1e-8 * unit)

    def _linearised(self, query: Query, g: Cells, V: Array, name: str) -> None:
        """The stored w − (c + 3λu_h²)Φ − 3λu_h² z_h against the stored w, Φ and states."""
        need(query.phi is not None, f"{name!r}: no kernel is stored")
        mesh, z, low, high = self.mesh, query.z, g.part.start, g.part.stop
        u, v = (side.nodal[mesh.nodes_of(mesh.cells[g.part])] for side in (query.p, z))
        w, f = query.w.on(low, high), query.phi.on(low, high)  # type: ignore[union-attr]
        c = g.c if mesh.medium is None else 0.0 * g.c
        slope = 3.0 * g.cubic * np.abs(u).max(axis=1) ** 2
        loose = w[1] + w[3] + (c + slope) * (f[1] + f[3]) + 1e-12 * (slope * np.abs(v).max(axis=1))

        def whole(X: Array, bary: Array, at: Array) -> Array:
            a, b = (np.einsum("njk,qj,qk->nq", x[0][at], bary, bary, optimize=True) for x in (w, f))
            bent = 3.0 * g.cubic[at, None] * (u[at] @ bary.T) ** 2
            return np.asarray(a - (c[at, None] + bent) * b - bent * (v[at] @ bary.T))

        compare(f"dual source of {name!r}", (z.f, z.high, z.e1, z.e2), V, whole, loose)

    def goal(self, i: int, query: Query | None, p: Side, goal: Row, row: Row) -> None:
        """What else a query's form consists of: masses, loads of groups, values on the Dirichlet boundary."""
        mesh, name, kind = self.mesh, row["name"], goal["kind"]
        if self.lift is not None:
            self.own(i, goal, row)
        if kind in ("patch", "flux"):
            self._group(i, query, goal, name)
        elif bare(goal):
            need(goal["constant"] == 0.0 and query is not None, f"{name!r}: an average has no constant")
        elif kind == "gradient":
            need(query is not None, f"{name!r}: a derivative without its dual")
            if i not in self.proved:
                self.slope(i, goal, row)
        elif goal["known"]:
            return
        elif query is not None and query.z.load is not None:
            at = query.z.load
            end = mesh.d == 1 and len(at.at) == 1 and at.beta[0, 0] == 1.0
            end = end and mesh.points[mesh.facets[at.at[0], 0], 0] == goal["at"][0] and goal["constant"] == 0.0
            need(end and (self.harmonic or not np.any(query.z.source.beta)), f"{name!r}: not a unit load")
        elif query is not None and self.varied is not None:
            kernel = self.kernel(i, goal, row)
            constants_agree(kernel, query.w, mesh, lambda X: self.rest(X, 0.0, 0.0), goal, name)
            loads_agree(kernel, query, name)
            if query.phi is not None:
                mass_agrees(kernel, query.phi, mesh, name)
        elif query is not None and i not in self.proved:
            _, R, a, C, off = self.ball(i, goal, row)
            if math.isnan(C):
                return
            mass = C * {1: 4.0 / 3.0, 2: math.pi / 2.0, 3: 8.0 * math.pi / 15.0}[mesh.d] * R**mesh.d
            self._mass(f"mollifier of {name!r}", query.w, mass, off / C)
            if query.phi is not None:  # −κΔv = 1 for v = −|x − x₀|²/(2dκ), so ∫Φ = ∫w |x − x₀|²/(2dκ) − the query's
                d = mesh.d
                second = mass * R**2 * d / (d + 4.0) - a * a * d / (d + 2.0)
                self._mass(f"kernel of {name!r}", query.phi, second / (2.0 * d * float(goal["kappa"])), off / C)

    def kernel(self, i: int, goal: Row, row: Row) -> Kernel:
        """The kernel of a point where coefficients vary."""
        assert self.varied is not None
        if i not in self.kernels:
            self._settle(goal, row["name"])
            fits = goal["kind"] == "point" and goal["at"] == row["at"] and self.source is not None
            need(fits, f"{row['name']!r}: a kernel of no point, or a source without a formula")
            found = self.varied.kernel(goal, row["name"])
            walls = found.stretched(self.mesh.points[self.mesh.facets[self._parted()]])
            whole = not len(walls) or goal["radius"] <= distance(np.zeros(self.mesh.d), walls) * (1.0 + 1e-12)
            need(whole, f"{row['name']!r}: the ball leaves where the source is one formula")
            self.kernels[i] = found
        return self.kernels[i]

    def slope(self, i: int, goal: Row, row: Row) -> tuple[float, float]:
        """The height of a derivative's density and its error; the ball, and −∫f∂_lΦ, are compared on the way."""
        if i in self.slopes:
            return self.slopes[i]
        self._settle(goal, row["name"])
        name, d = row["name"], self.mesh.d
        x0, R, kappa, c = self._constant(goal, name)
        factor = kappa if goal["flux"] else 1.0
        if self.source is None or R * math.sqrt(c / kappa) >= 20.0:
            self.blind.append(f"the density and ∫f∂Φ of {name!r}")
            self.slopes[i] = (math.nan, 0.0)
            return self.slopes[i]

        def found(count: int, n: int) -> Any:
            f = mean_along(d, int(goal["axis"]), x0, lambda X: self.rest(X, kappa, c), count)
            return slope_height(d, kappa, c, R, f, n)

        (A0, rough, _), (A, value, size) = found(24, 24), found(32, 32)
        value, rough, size = factor * value, factor * rough, factor * size
        off = goal["error"] + 10.0 * abs(value - rough) + 1e-8 * size
        fits, seen = abs(goal["constant"] - value) <= off, [value]
        for count, n in () if fits else FINER[d]:
            value, size = (factor * x for x in found(count, n)[1:])
            off = goal["error"] + 4.0 * abs(value - seen[-1]) + 1e-7 * size
            seen.append(value)
            fits = fits or (len(seen) > 2 and abs(goal["constant"] - value) <= off)
        need(fits, f"{name!r}: −∫f∂Φ is {float(value)!r}, not {goal['constant']!r} (sampled)")
        self.slopes[i] = factor * A, factor * (1e-8 * abs(A) + 10.0 * abs(A - A0))
        return self.slopes[i]

    def _constant(self, goal: Row, name: str) -> tuple[Array, float, float, float]:
        """x₀, R, κ and c of a ball where the coefficients are constant."""
        mesh = self.mesh
        x0, R = np.array(goal["at"], dtype=float), float(goal["radius"])
        need(x0.shape == (mesh.d,), f"{name!r}: the point has another dimension")
        jump = (mesh.neighbour < 0) | (mesh.kappa[mesh.owner] != mesh.kappa[mesh.neighbour])
        jump |= (mesh.c[mesh.owner] != mesh.c[mesh.neighbour]) | self._parted()
        inside = 0.0 < R <= distance(x0, mesh.walls(jump)) * (1.0 + 1e-12)
        need(inside, f"{name!r}: the ball leaves where the coefficients are constant")
        gaps = ((mesh.points[mesh.cells].mean(axis=1) - x0) ** 2).sum(axis=1)
        cell = self.cell_of(x0, np.argsort(gaps)[:64])
        need(cell >= 0, f"{name!r}: the point is outside the mesh")
        kappa = float(mesh.kappa[cell])
        need(goal["kappa"] == kappa, f"{name!r}: not the diffusion at the point")
        return x0, R, kappa, float(mesh.c[cell])

    def own(self, i: int, goal: Row, row: Row) -> None:
        """The lifted prediction's own value of a query."""
        assert self.lift is not None
        name = row["name"]
        V = np.zeros((0, self.mesh.d, self.mesh.d))
        if goal["kind"] == "patch":
            V = self.mesh.points[self.mesh.facets[self.bundle(f"dual/facets{i}", None, whole=len(self.mesh.facets))]]
        if goal["kind"] == "cells":
            V = self.mesh.points[self.mesh.cells[chosen(self.bundle, i, row, self.mesh.C)]]
        own = self.left.value(goal, V) if self.left.known else None
        if own is not None:
            goal["own"] = list(own)
            return
        if goal["kind"] == "flux":
            self.blind.append(f"the flux of the prediction that was lifted, of {name!r}")
            return
        self.unproved.append(f"the lifted prediction's own value of {name!r}")
        factor = float(goal["kappa"]) if goal.get("flux") else 1.0
        rough, value = ([factor * x for x in own_value(self.lift, goal, V, n)] for n in (12, 16))
        off = goal["own"][1] + 10.0 * abs(value[0] - rough[0]) + 1e-10 * value[1]
        need(abs(goal["own"][0] - value[0]) <= off, f"{name!r}: the prediction's own value is {value[0]!r} (sampled)")

    def _mass(self, what: str, w: Density, mass: float, share: float) -> None:
        """The integral of stored data."""
        held = float(np.sum(w.beta.mean(axis=1) * self.mesh.top[w.at]))
        size = float(np.sum(np.abs(w.beta).max(axis=1) * self.mesh.top[w.at]))
        off = share * larger(abs(mass), size) + float(np.sum(self.mesh.top[w.at] * w.rest[:, 1]))
        need(abs(held - mass) <= off, f"{what}: its integral is {held!r}, not {float(mass)!r} (sampled)")

    def _robin_flux(self, query: Query | None, part: Array, goal: Row, name: str) -> None:
        """∫ g − ∫ αu: the load is −α, and the constant ∫ g."""
        mesh, load = self.mesh, None if query is None else query.z.load
        own, on = mesh.exchange, part
        need(load is not None, f"{name!r}: not the load of a flux through Robin facets")
        assert load is not None
        fits = np.array_equal(load.at, on) and np.all(np.isin(on, own.at))
        at = np.searchsorted(own.at, on) if fits else on
        fits = fits and np.array_equal(load.beta, -own.model.beta[at]) and np.all(load.rest >= own.model.rest[at])
        need(fits, f"{name!r}: not the load of a flux through Robin facets")

    def _group(self, i: int, query: Query | None, goal: Row, name: str) -> None:
        """An average over a group, or a flux through it."""
        mesh, kind = self.mesh, goal["kind"]
        part = self.bundle(f"dual/facets{i}", None, whole=len(mesh.facets))
        need(len(part) and np.all(np.diff(part) > 0), f"{name!r}: facets are not in order")
        need(query is None or self.harmonic or not np.any(query.z.source.beta), f"{name!r}: not the form of a {kind}")
        if kind == "flux" and mesh.exchange is not None and np.any(np.isin(part, mesh.exchange.at)):
            self._robin_flux(query, part, goal, name)
            return
        if kind == "flux":
            need(goal["constant"] == 0.0, f"{name!r}: a flux has no constant")
            return
        fixed = mesh.kind[part] == DIRICHLET
        places = np.zeros(0, int) if query is None or query.z.load is None else query.z.load.at
        need(np.array_equal(places, part[~fixed]), f"{name!r}: not the load of the group")
