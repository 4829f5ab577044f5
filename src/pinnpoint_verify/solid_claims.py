"""What a bundle says of a solid, turned into loads and duals for solids.py, and held against the case.

Averages over cells and groups, reactions and the compliance are made here from the mesh: nothing of them is declared.
Formulas are enclosed here (solid_data.py); the densities of points and balls and ∫f·Φ are declared, and compared.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from pinnpoint_verify.arcs import DECLARED, LEFT, Arcs, Pulled, sliver_sizes
from pinnpoint_verify.checker import UNIT, Ball, Density, Shape, areas, mix, up
from pinnpoint_verify.domains import sides_agree
from pinnpoint_verify.formulas import plain
from pinnpoint_verify.own import wanted
from pinnpoint_verify.reader import Array, Bundle, need
from pinnpoint_verify.rows import Row, cells_agree, is_number, same
from pinnpoint_verify.solid_data import Data
from pinnpoint_verify.solid_gaps import DECLARED as GAPS
from pinnpoint_verify.solid_gaps import Gap
from pinnpoint_verify.solid_heat import HEAT, Heat, heat_agrees, weights
from pinnpoint_verify.solid_lifts import Displacement, acting_on_rest, own_agrees, rest_agrees
from pinnpoint_verify.solid_samples import ball_agrees, held_agrees
from pinnpoint_verify.solids import Body, Load, Query, Side, Traction

AXES, POINTED = ("x", "y", "z"), ("point", "average", "stress", "strain")
KINDS = (*POINTED, "cells", "mean", "patch", "reaction", "compliance")
SOLID, GOAL = {"plane", "body", "held", "traction", "force"}, {"known", "constant", "error", "radius"}


def solid(
    bundle: Bundle, proof: Row, case: Row, rows: list[Row]
) -> tuple[list[tuple[float, float]], list[str], list[float], list[str]]:
    """J(u) of every query from the stored states and moments; what was not compared; sizes of what rounding is.

    Then data of which what is stored was used.
    """
    said, blind = proof["solid"], list[str]()
    data = Data(wanted(rows), blind)
    body = Body(bundle, int(proof["degree"]))
    form = SOLID | {"rest"} if "lift" in proof else SOLID
    fits = said.keys() - HEAT == form and len(proof["goals"]) == len(rows)
    need(fits, "proof.json: not the form of a solid")
    case_agrees(bundle, body, said, case, blind)
    theta = material(bundle, body, said["plane"])
    kept = Displacement(bundle, proof["lift"], body, said) if "lift" in proof else None
    need(not kept or not (said.keys() & HEAT or "continuous/weights" in bundle), "lift: of a body with heat or weights")
    rest = {**said, "held": said["rest"]} if kept else said
    values = held(bundle, body, rest)
    if "arcs" in proof:
        need(not kept and not (said.keys() & HEAT or "continuous/weights" in bundle), "arcs: beside a lift or heat")
        body.arcs = Arcs(bundle, body, proof["arcs"], case)
        on_arcs(bundle, body, case)
        blind += [DECLARED, *([LEFT.format(body.arcs.straight)] if body.arcs.straight else [])]
    body.close()
    nodal = bundle("continuous/state", body.size, body.d)
    target = None if body.arcs is None else values[body.facets[body.arcs.at, 0]]
    free = middles(body)
    values[free] = np.nan
    known = ~np.isnan(values)
    need(np.array_equal(nodal[known], values[known]), "state: misses the held displacements")
    load = acting_on_rest(bundle, body, kept) if kept else acting(bundle, body, said, data)
    load.target = target
    heat = Heat(bundle, body, said, data)
    weight = weights(bundle, body, said, load)
    heat.acts(load)
    p = Side(body, nodal, bundle("continuous/moments", len(body.facets), body.d, body.d), load)
    gap = Gap(bundle, body, rest, nodal)
    p.rest = up(p.rest + gap.energy) if gap.open else p.rest
    data.kept += [GAPS] if gap.open else []
    need(body.arcs is None or not gap.open or not np.any(gap.energy[body.arcs.cells]), "gap: beside a curved side")
    if kept:
        rest_agrees(bundle, body, said, kept)
    asked, duals = dict[int, Query](), Duals(bundle, body, rest, p, groups(bundle, case), heat, data)
    for i, (row, goal) in enumerate(zip(rows, proof["goals"], strict=True)):
        fits = goal.keys() == (GOAL | {"own"} if kept else GOAL) and isinstance(goal["known"], bool)
        fits = fits and is_number(goal["constant"]) and is_number(goal["error"]) and goal["error"] >= 0.0
        need(fits, f"{row['name']!r}: a wrong form")
        if kept:
            duals.own(i, row, goal, kept)
        pointed = row["kind"] in POINTED and row.get("group") is None and not goal["known"]
        need(is_number(goal["radius"]) == pointed, f"{row['name']!r}: a ball where there is none, or none")
        if goal["known"]:
            duals.known(i, row, goal)
            continue
        asked[i] = duals.query(i, row, goal)
        if pointed:
            force = kept.force if kept else None
            ball_agrees(bundle, body, rest, i, row, goal, asked[i], blind, heat=heat, weights=weight, force=force)
    for part, g in body.parts():
        sides = {id(s): s for s in (p, *(query.z for query in asked.values()))}.values()
        rich = np.any([side.varies(part) for side in sides], axis=0)
        p.measure(part, g, rich)
        for query in asked.values():
            query.measure(part, g, rich)
    found = []
    for i, goal in enumerate(proof["goals"]):
        constant, error = float(goal["constant"]), float(goal["error"])
        if i in asked:
            found.append(gap.moved(asked[i], *asked[i].bound(constant, error, duals.scale.get(i, 0.0), theta)))
        else:
            found.append((constant, float(up(error))))
        if kept:
            (c, r), (own, off) = found[-1], goal["own"]
            found[-1] = c + own, float(up(r + off + 2.0 * UNIT * (abs(c) + abs(own))))
    return found, blind, [1e-9 * asked[i].size if i in asked else 0.0 for i in range(len(rows))], data.kept


def held(bundle: Bundle, body: Body, said: Row) -> Array:
    """Which components are held, and the values at nodes; NaN where a component is free."""
    values = np.full((body.size, body.d), np.nan)
    for k, given in enumerate(said["held"]):
        facets = bundle(f"continuous/d{k}", None, whole=len(body.facets))
        need(np.all(np.diff(facets) > 0) and len(given) == body.d, "held: facets that are not in order")
        nodes = np.unique(body.nodes_of(body.facets[facets]))
        for c, g in enumerate(given):
            if g is not None:
                need(is_number(g) or isinstance(g, str), "held: neither a number nor a formula")
                need(not np.any(body.held[facets, c]), "held: a component of a facet twice")
                body.held[facets, c] = True
                if isinstance(g, str):  # what the state leaves of it is Gap's
                    continue
                fits = np.isnan(values[nodes, c]) | (values[nodes, c] == g)
                need(np.all(fits), "held: other values where groups meet")
                values[nodes, c] = g
    return values


def on_arcs(bundle: Bundle, body: Body, case: Row) -> None:
    """Groups of data are curves as a whole, or straight; and facets of the same name are those of the curve."""
    for word, letter in (("dirichlet", "d"), ("neumann", "n"), ("force", "q")):
        for k, group in enumerate(case["problem"].get(word) or {}):
            body.arcs.facets_agree(group, bundle(f"continuous/{letter}{k}", None, whole=len(body.facets)))


def middles(body: Body) -> Array:
    """Nodes in the middle of chords of held arcs, where states have other values than what is held."""
    if body.arcs is None or body.degree == 1:
        return np.zeros(0, dtype=int)
    return np.asarray(body.nodes_of(body.facets[body.arcs.at[~body.arcs.free]])[:, 2])


def material(bundle: Bundle, body: Body, plane: str) -> float:
    """θ with |C − Ĉ| ≤ θĈ for the material of E and ν and the stored λ, μ; counts CE_ij's rounding too."""
    E, nu = (Ball(bundle(f"continuous/{k}", body.C)) for k in ("young", "poisson"))
    need(plane in ("strain", "stress"), "plane: neither strain nor stress")
    flat = body.d == 2 and plane == "stress"
    mu = E / (2.0 * (1.0 + nu))
    lam = E * nu / (1.0 - nu * nu if flat else (1.0 + nu) * (1.0 - 2.0 * nu))
    far = [
        up(np.abs(a - b.m) * (1.0 + 4.0 * UNIT) + b.r) / np.maximum(np.abs(a), 1e-280)
        for a, b in ((body.mu, mu), (body.lam, lam))
    ]
    factor = np.where(body.lam >= 0.0, 1.0, (2.0 * body.mu + body.d * np.abs(body.lam)) / body.c_min)
    theta = float(up(np.max(np.maximum(*far) * factor) + 4.0 * UNIT))
    need(theta < 1e-9, "material: λ and μ are not those of E and ν")
    return theta


def traction(body: Body, c: int, at: Array, value: Array, e1: Array) -> Traction:
    """A component that is constant on each facet."""
    beta = np.broadcast_to(np.asarray(value)[:, None, None], (len(at), body.d, body.d))
    return Traction(c, at, beta, np.zeros(len(at)), np.broadcast_to(e1, len(at)), np.zeros(len(at)), True)


def acting(bundle: Bundle, body: Body, said: Row, data: Data) -> Load:
    """The solid's own load: numbers as they are, formulas by bounds of their own, total forces spread evenly."""
    load, F = Load(body), len(body.facets)
    need(len(said["body"]) == body.d, "proof.json: a body force with another number of components")
    for c, f in enumerate(said["body"]):
        name = f"source/f{c}"
        if f"{name}_at" in bundle:
            x, V = Density(bundle, name, body.d, body.C), body.points[body.cells]
            load.f[c] = data.bounded(f"body force {AXES[c]}", x, np.arange(body.C), f, V)
        else:
            need(is_number(f), f"{name}: is missing")
            load.f[c] = float(f) if f else None
    for k, given in enumerate(said["traction"]):
        facets = ordered(bundle, f"continuous/n{k}", F)
        need(len(given) == body.d, "proof.json: a traction with another number of components")
        if body.arcs is not None and np.isin(facets, body.arcs.at).all():
            load.pulled = Pulled(body.arcs) if load.pulled is None else load.pulled
            for c, t in enumerate(given):
                need(t is None or is_number(t) or isinstance(t, str), "traction: neither a number nor a formula")
                if t:
                    load.pulled.add(facets, c, t)
            continue
        for c, t in enumerate(given):
            name = f"source/t{k}_{c}"
            if f"{name}_at" in bundle:
                x = Density(bundle, name, body.d - 1, F)
                need(np.array_equal(x.at, facets), f"{name}: on other facets")
                x = data.bounded(f"traction {AXES[c]}", x, facets, t, body.points[body.facets[facets]])
                beta, high, e1, e2 = (a[facets] for a in x.on(0, F))
                flat = is_number(t) and not np.any(np.ptp(beta, axis=(1, 2)))
                load.tractions.append(Traction(c, facets, beta, high, e1, e2, flat))
            elif t is not None:
                need(is_number(t), f"{name}: is missing")
                if t:
                    load.tractions.append(traction(body, c, facets, np.full(len(facets), float(t)), 0.0))
    for k, forces in enumerate(said["force"]):
        facets = ordered(bundle, f"continuous/q{k}", F)
        need(body.arcs is None or not np.isin(facets, body.arcs.at).any(), "force: on a curved side")
        need(len(forces) == body.d and all(map(is_number, forces)), "proof.json: a force that is no vector")
        area = areas(body.points[body.facets[facets]]).total()
        for c, force in enumerate(forces):
            if force:
                t = Ball(force) / area
                load.tractions.append(traction(body, c, facets, np.full(len(facets), float(t.m)), t.r))
    return load


def ordered(bundle: Bundle, name: str, count: int) -> Array:
    """Numbers in order, each once."""
    at = bundle(name, None, whole=count)
    need(len(at) and np.all(np.diff(at) > 0), f"{name}: none, or not in order")
    return at


class Duals:
    """Dual loads of queries, made from their words."""

    def __init__(
        self, bundle: Bundle, body: Body, said: Row, p: Side, groups: dict[str, Array], heat: Heat, data: Data
    ) -> None:
        self.bundle, self.body, self.said, self.p, self.groups, self.heat = bundle, body, said, p, groups, heat
        self.data = data
        self.scale: dict[int, float] = {}

    def query(self, i: int, row: Row, goal: Row) -> Query:
        """The query with its dual side."""
        kind, body, load = row["kind"], self.body, Load(self.body)
        need(kind in KINDS, f"{row['name']!r}: no theorem for this kind of query")
        name, value = row["name"], np.zeros((body.size, body.d))
        free = (
            kind == "patch" or (kind in POINTED and row.get("group") is None) or (kind == "stress" and self.heat.given)
        )
        need(free or goal["constant"] == goal["error"] == 0.0, f"{name!r}: a {kind} has no constant")
        if kind == "compliance":
            need(not self.heat.given, f"{name!r}: the work of the loads with thermal expansion")
            zero = all(g in (None, 0.0) for given in self.said["held"] for g in given)
            need(zero, f"{name!r}: held displacements are not zero")
            return Query(self.p, self.p, 1.0, True)
        if kind == "reaction":
            value = self.reaction(i, row)
        elif kind == "patch":
            self.patch(i, row, goal, load)
        else:
            self.volume(i, row, load, goal)
        z, m = self.bundle(f"dual/z{i}", body.size, body.d), self.bundle(f"dual/m{i}", len(body.facets), body.d, body.d)
        for c in range(body.d):
            nodes = np.setdiff1d(body.nodes_of(body.facets[body.held[:, c]]), middles(body))
            need(np.array_equal(z[nodes, c], value[nodes, c]), f"{name!r}: the dual state has other boundary values")
        acts = kind != "reaction"
        return Query(self.p, Side(body, z, m, load), 1.0 if acts else -1.0, acts)

    def volume(self, i: int, row: Row, load: Load, goal: Row) -> None:
        """ϱ e_k, ϱ CE_ij, ϱ E_ij at points; the same of averages over cells."""
        body, kind, name = self.body, row["kind"], row["name"]
        over = kind in ("cells", "mean") or row.get("group") is not None
        if over:
            cells = np.arange(body.C) if kind == "mean" else ordered(self.bundle, f"mesh/chosen{i}", body.C)
            cells_agree(row, cells)
            vol = Shape(body.points[body.cells[cells]]).vol.total()
            if body.arcs is not None:
                vol = vol + sliver_sizes(body.arcs)[np.isin(body.arcs.cells, cells)].total()
            weight: Any = np.zeros(body.C)
            weight[cells] = 1.0 / float(vol.m)
            self.scale[i] = float(up(vol.r / (vol.m - vol.r) + 4.0 * UNIT))
            if self.heat.given and kind == "stress":
                self.heat.known(row, cells, goal)
        else:
            weight = Density(self.bundle, f"dual/w{i}", body.d, body.C)
        letters = row["component"]
        if isinstance(letters, list):
            self.along(name, kind, letters, load, weight, over=over)
            return
        size = 2 if kind in ("stress", "strain") else 1
        fits = isinstance(letters, str) and len(letters) == size and all(c in AXES[: body.d] for c in letters)
        need(fits, f"{name!r}: not a component")
        if size == 1:
            load.f[AXES.index(letters)] = weight
            return
        a, b = (AXES.index(c) for c in letters)
        E = np.zeros((body.d, body.d))
        E[a, b] = E[b, a] = 0.5 if a != b else 1.0
        T = np.broadcast_to(E, (body.C, body.d, body.d))
        if kind == "stress":
            T = 2.0 * body.mu[:, None, None] * E + (body.lam[:, None, None] * np.eye(body.d) if a == b else 0.0)
        load.weight, load.tensor = weight, np.asarray(T)

    def along(self, name: str, kind: str, given: list[Any], load: Load, weight: Any, *, over: bool) -> None:
        """The average of E : σ over cells, E by its entries xx, xy, …; what cancels in CE is rounded all the same."""
        body, d = self.body, self.body.d
        fits = kind == "stress" and over and len(given) == d * (d + 1) // 2 and all(map(is_number, given))
        need(fits, f"{name!r}: not a direction of stresses")
        E = np.zeros((d, d))
        E[np.triu_indices(d)] = given
        E = np.triu(E) + np.triu(E, 1).T
        trace = sum(map(Fraction, np.diag(E).tolist()))
        need(trace == 0, f"{name!r}: a direction with a trace is not checked")
        load.weight, load.tensor = weight, 2.0 * body.mu[:, None, None] * E

    def facets(self, i: int, group: str) -> Array:
        """Of a query's group, on the boundary; those of a support or a load of the same name."""
        body, every = self.body, self.body.facets
        stored = self.bundle(f"mesh/facets{i}", None, body.d, whole=body.n)
        keys, own = (np.ravel_multi_index(tuple(x.T), (body.n,) * body.d) for x in (every, stored))
        facets = np.searchsorted(keys, own).clip(max=len(every) - 1)
        fits = len(facets) and np.all(np.diff(facets) > 0) and np.array_equal(every[facets], stored)
        need(fits and not np.any(body.inner[facets]), f"mesh/facets{i}: not on the boundary")
        fits = group not in self.groups or np.array_equal(facets, self.groups[group])
        need(fits, f"mesh/facets{i}: not the facets of {group!r}")
        return facets

    def reaction(self, i: int, row: Row) -> Array:
        """Values of the dual state: e_k on the group, which shares no vertex with others that are held so."""
        body, facets, k = self.body, self.facets(i, row["group"]), AXES.index(row["component"])
        curved = body.arcs is not None and np.isin(facets, body.arcs.at).any()
        need(not curved, f"{row['name']!r}: a reaction of a curved group")
        others = np.setdiff1d(np.nonzero(body.held[:, k])[0], facets)
        fits = np.all(body.held[facets, k]) and not np.isin(body.facets[facets], body.facets[others]).any()
        need(fits, f"{row['name']!r}: not a whole held part")
        value = np.zeros((body.size, body.d))
        value[np.unique(body.nodes_of(body.facets[facets])), k] = 1.0
        return value

    def directions(self, row: Row, facets: Array) -> Ball:
        """Of an average over a group, (n, d)."""
        body, given = self.body, row["component"]
        if given == "normal":
            cell = body.owner[facets]
            g = Shape(body.points[body.cells[cell]])
            place = np.argmax(body.cell_facets[cell] == facets[:, None], axis=1)
            n = -g.grad[np.arange(len(facets)), place]
            return n / mix("nc,nc->n", n, n).sqrt()[:, None]
        if isinstance(given, list):
            need(len(given) == body.d and all(map(is_number, given)), f"{row['name']!r}: not a direction")
            return Ball(np.tile(np.array(given, dtype=float), (len(facets), 1)))
        need(given in AXES[: body.d], f"{row['name']!r}: not a component")
        return Ball(np.tile(np.eye(body.d)[AXES.index(given)], (len(facets), 1)))

    def patch(self, i: int, row: Row, goal: Row, load: Load) -> None:
        """Traction direction/|Γ| where a component is free; what is held has to be the goal's constant."""
        body, facets = self.body, self.facets(i, row["group"])
        curved = body.arcs is not None and np.isin(facets, body.arcs.at).any()
        need(not curved, f"{row['name']!r}: an average over a curved group")
        each = areas(body.points[body.facets[facets]])
        area, v, mean = each.total(), self.directions(row, facets), Ball(0.0)
        self.scale[i] = float(up(area.r / (area.m - area.r) + 4.0 * UNIT))
        for c in range(body.d):
            some = ~body.held[facets, c] & (v.m[:, c] != 0.0)
            if np.any(some):
                e1 = up(v.r[some, c] / area.low)
                load.tractions.append(traction(body, c, facets[some], v.m[some, c] / float(area.m), e1))
            for k, given in enumerate(self.said["held"]):
                mine = np.isin(facets, self.bundle(f"continuous/d{k}", None, whole=len(body.facets)))
                if given[c] is not None and np.any(mine):
                    V = body.points[body.facets[facets[mine]]]
                    values = self.data.means(given[c], V) if isinstance(given[c], str) else float(given[c])
                    mean = mean + (v[mine, c] * each[mine] * values).total()
        mean = mean / area
        far = abs(float(mean.m) - goal["constant"])
        fits = far <= goal["error"] + 1e-13 * abs(goal["constant"]) + mean.r
        need(fits, f"{row['name']!r}: the held part has another mean")
        goal["error"] = float(up(far + mean.r))
        need(bool(load.tractions) != goal["known"], f"{row['name']!r}: known, or not known")

    def own(self, i: int, row: Row, goal: Row, u: Displacement) -> None:
        """The value that a lifted prediction has of a query."""
        body, kind, none = self.body, row["kind"], np.zeros(0, dtype=int)
        fits = kind == "patch" or (kind != "compliance" and not isinstance(row.get("component"), list))
        need(fits, f"{row['name']!r}: is not checked through a lift")
        facets = self.facets(i, row["group"]) if kind in ("patch", "reaction") else none
        v = self.directions(row, facets).m if kind == "patch" else np.zeros((0, body.d))
        over = kind in ("cells", "mean") or (kind in ("stress", "strain") and row.get("group") is not None)
        cells = none
        if over:
            cells = np.arange(body.C) if kind == "mean" else ordered(self.bundle, f"mesh/chosen{i}", body.C)
        own_agrees(row, goal["own"], u, cells, facets, v)

    def known(self, i: int, row: Row, goal: Row) -> None:
        """A value that the held data have: of a point there, or of a group that is held."""
        need(row["kind"] in ("point", "patch"), f"{row['name']!r}: a {row['kind']} is not known from the data")
        if row["kind"] == "patch":
            self.patch(i, row, goal, Load(self.body))
        else:
            held_agrees(self.bundle, self.body, self.said, row, goal, self.data)


def case_agrees(bundle: Bundle, body: Body, said: Row, case: Row, blind: list[str]) -> None:
    """Data, supports and material are the case's, where it says them; groups are sides where the domain has a name."""
    problem, d = case["problem"], body.d
    need(problem.get("kind") == "elasticity", "case.json: not an elastic problem")
    if "deck" in problem:
        blind.append("the loads, supports and materials of a deck")
        return
    need(same(said["plane"], problem.get("plane", "strain")), "plane: not that of the case")
    heat_agrees(said, problem, bundle, body, blind)
    given = None if "continuous/weights" in bundle else problem.get("body")
    need(same(said["body"], parts(0.0 if given is None else given, d)), "body: not that of the case")
    for word, key, letter in (("dirichlet", "held", "d"), ("neumann", "traction", "n"), ("force", "force", "q")):
        groups = problem.get(word) or {}
        need(len(groups) == len(said[key]), f"{key}: not that of the case")
        for k, (group, data) in enumerate(groups.items()):
            if word == "force":
                need(isinstance(data, dict) and data.get("even") is True, "force: not an even traction")
                data = [float(x) for x in data["force"]]
            need(same(said[key][k], parts(data, d)), f"{key}: not that of the case")
            facets = bundle(f"continuous/{letter}{k}", None, whole=len(body.facets))
            sides_agree(body.points, {group: body.facets[facets]}, case)
    if "boundary" in (problem.get("dirichlet") or {}):
        facets = [bundle(f"continuous/d{k}", None, whole=len(body.facets)) for k in range(len(said["held"]))]
        need(np.all(np.isin(np.nonzero(~body.inner)[0], np.concatenate(facets))), "held: not all of the boundary")
    for word in ("young", "poisson"):
        given, own = problem.get(word), bundle(f"continuous/{word}", body.C)
        known = list(given.values()) if isinstance(given, dict) else [plain(given)]
        if not all(map(is_number, known)):
            blind.append(f"{word} by cells")
            continue
        need(np.all(np.isin(own, np.array(known, dtype=float))), f"{word}: not that of the case")
        if isinstance(given, dict):
            blind.append(f"which cells the groups of {word} are")


def groups(bundle: Bundle, case: Row) -> dict[str, Array]:
    """Facets of the groups that hold or load; what others override of the whole boundary is no group."""
    words = (("dirichlet", "d"), ("neumann", "n"), ("force", "q"))
    found = {
        group: bundle.arrays[f"continuous/{letter}{k}"]
        for word, letter in words
        for k, group in enumerate(case["problem"].get(word) or {})
    }
    found.pop("boundary", None)
    return found


def parts(given: Any, count: int) -> list[Any]:
    """Data by component, as the proof has them."""
    each = list(given) if isinstance(given, list) else [given] * count
    need(len(each) == count, "case.json: data with another number of components")
    each = [None if x in (None, "free") else plain(x) for x in each]
    return [float(x) if is_number(x) else x for x in each]
