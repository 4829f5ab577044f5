"""Witnesses of a solid's own solution: states, facet moments, material, data, and every query in its bounded form."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Guarantee
from pinnpoint.fem.data.coefficients import per_cell
from pinnpoint.fem.elastic.lifted_solids import LiftedSolid
from pinnpoint.fem.elastic.solids import solid_of
from pinnpoint.mesh.facets import facet_keys
from pinnpoint.models.smooth import SmoothField
from pinnpoint.outputs.bundle.document import text
from pinnpoint.outputs.bundle.files import Writer
from pinnpoint.outputs.bundle.parts import density
from pinnpoint.outputs.bundle.predictions import kept
from pinnpoint.systems.goals import CellStressAlong
from pinnpoint.systems.queries import Queries
from pinnpoint.taylor.inputs import fixed
from pinnpoint.transfer.elastic.arcs import Arcs
from pinnpoint.transfer.elastic.gaps import Gap
from pinnpoint.transfer.elastic.goals import trace_of
from pinnpoint.transfer.elastic.lift import table
from pinnpoint.transfer.elastic.route import Witness
from pinnpoint.transfer.elastic.solid import Solid


def solid(out: Writer, witness: Witness, problem: Any, queries: Queries) -> dict[str, Any]:
    """States and moments of the transfer with what defines the solid; nothing that the checker can find itself."""
    lifted = problem if isinstance(problem, LiftedSolid) else None
    route, body = witness.route, witness.route.solid
    problem = problem if lifted is None else lifted.base
    whole = body if lifted is None and body.arcs is None else solid_of(problem, body.topology)
    for name, a in (("lam", body.lam), ("mu", body.mu)):
        out.array(f"continuous/{name}", a)
    for name in ("young", "poisson"):
        out.array(f"continuous/{name}", per_cell(name, problem.given[name], problem.mesh))
    out.array("continuous/state", witness.primal.nodal)
    out.array("continuous/moments", witness.primal.m)
    for letter, parts in (("d", whole.dirichlet), ("n", whole.traction), ("q", whole.forces)):
        for k, (facets, _) in enumerate(parts):
            out.array(f"continuous/{letter}{k}", np.sort(facets))
    for k, (facets, _) in enumerate(body.traction if lifted is not None else ()):
        out.array(f"continuous/s{k}", np.sort(facets))
    if any(isinstance(text(g), str) for _, given in body.dirichlet for g in given if g is not None):
        _gap(out, witness.gap)
    lifts = _data(out, body, whole if lifted is None else body)
    curved = _arcs(out, body.arcs, problem) if body.arcs is not None else {}
    if body.weights is not None:
        out.array("continuous/weights", body.weights)
    if body.thermal is not None:
        out.array("continuous/expansion", per_cell("expansion", problem.given["expansion"], problem.mesh))
        density(out, "source/s", body.expansion)
        if isinstance(body.thermal.temperature, np.ndarray):
            out.array("continuous/temperature", body.thermal.temperature)
    said: list[dict[str, Any]] = []
    for i, J in enumerate(route.goals):
        radius = J.ball if np.isfinite(J.ball) else None
        said.append({"known": J.known, "constant": J.constant, "error": J.error, "radius": radius})
        if not (J.known or J.own):
            side = witness.duals[i]
            out.array(f"dual/z{i}", side.nodal)
            out.array(f"dual/m{i}", side.m)
        if radius is not None:
            weight = [f for f in J.load.body or () if f is not None]
            lifts |= bool(weight)
            density(out, f"dual/w{i}", weight[0] if weight else _weight(J))
    if lifts:
        numerators, denominator = table(body.d)
        out.array("lift/table", numerators)
        out.array("lift/denominator", np.array([float(denominator)]))
    about: dict[str, Any] = {"goals": said, "solid": _said(problem, whole)} | curved
    if lifted is None:
        return about
    own, error, _ = lifted.own_values(queries)
    for i, row in enumerate(said):
        row["own"] = [float(own[i]), float(error[i])]
    about["solid"]["rest"] = [[None if g is None else text(g) for g in given] for _, given in body.dirichlet]
    components = [kept(out, part, f"lift/c{c}_") for c, part in enumerate(lifted.lift.parts)]
    return about | {"lift": {"kind": "vector", "parts": components}}


def _gap(out: Writer, gap: Gap) -> None:
    """What the state leaves of formulas that are held."""
    for name, a in (("energy", gap.energy), ("length", gap.length), ("top", gap.top), ("facets", gap.facets)):
        out.array(f"gap/{name}", a)
    for name, a in (("components", gap.components), ("values", gap.values), ("errors", gap.errors)):
        out.array(f"gap/{name}", a)


def _weight(J: Any) -> Any:
    assert J.load.stress is not None
    return J.load.stress.weight


def _said(problem: Any, body: Any) -> dict[str, Any]:
    """Data in words: numbers, formulas, None where a component is free, not loaded or no formula."""
    heat = {}
    if body.thermal is not None:
        theta = body.thermal.temperature
        heat["temperature"] = None if isinstance(theta, np.ndarray) else text(theta)
    return {
        **heat,
        "plane": problem.given["plane"],
        "body": [text(f) for f in body.body],
        "held": [[None if g is None else text(g) for g in given] for _, given in body.dirichlet],
        "traction": [[None if t is None else text(t) for t in given] for _, given in body.traction],
        "force": [[float(x) for x in total] for _, total in body.forces],
    }


def _arcs(out: Writer, arcs: Arcs, problem: Any) -> dict[str, Any]:
    """Curved sides in the order of their chords, and whose they are."""
    order = np.argsort(arcs.facets)
    out.array("arcs/facets", arcs.facets[order])
    out.array("arcs/shape", arcs.shape[order])
    n, curves = len(arcs.topology.points), problem.bending.geometry
    keys = [facet_keys(np.sort(problem.mesh.facets(group), axis=1), n) for group in curves]
    own = facet_keys(arcs.topology.facets[arcs.facets[order]], n)
    out.array("arcs/group", np.argmax([np.isin(own, mine) for mine in keys], axis=0))
    return {"arcs": {"groups": list(curves), "away": float(arcs.away.max())}}


def _data(out: Writer, body: Solid, whole: Solid) -> bool:
    """Enclosures of data that are more than numbers, on straight sides; whether a body force is among them."""
    load, some = body.load, False
    curved = np.zeros(0, dtype=np.intp) if body.arcs is None else body.arcs.facets
    for c, f in enumerate(load.body or ()):
        if f is not None and not _plain(body.body[c]):
            density(out, f"source/f{c}", f)
            some = True
    tractions = iter(load.traction)
    for k, (facets, given) in enumerate(whole.traction):
        for c, t in enumerate(given):
            if t is not None and len(facets) and not np.isin(facets, curved).any() and fixed(t) != (0.0, 0.0):
                one = next(tractions)
                if not _plain(t):
                    density(out, f"source/t{k}_{c}", one.on.density, one.on.facets)
    return some


def _warm_obstacle(witness: Witness) -> str:
    """Why the checker cannot prove what is asked of a heated body; empty where it can."""
    body = witness.route.solid
    assert body.thermal is not None
    theta = body.thermal.temperature
    if not isinstance(theta, np.ndarray) and text(theta) is None:
        return "temperature: is a function, and the checker has no formula to compare with; give a formula"
    even = not isinstance(theta, np.ndarray) and _plain(theta) and all(_plain(f) for f in body.body)
    for name, J in zip(witness.route.queries.names, witness.route.goals, strict=True):
        if np.isfinite(J.ball) and not even:
            return (
                f"query '{name}': values at points of a body whose temperature or force varies cannot be re-checked "
                "with thermal expansion; ask for averages over cells or groups"
            )
    return ""


def _plain(given: Any) -> bool:
    """A number, exactly."""
    value = fixed(given)
    return value is not None and value[1] == 0.0


def solid_obstacle(certificate: Certificate) -> str:
    """Why the checker cannot prove a solid's certificate; empty where it can, and where it is not one."""
    witness = certificate.evidence.witness
    if not isinstance(witness, Witness):
        return ""
    body = witness.route.solid
    if body.thermal is not None and (why := _warm_obstacle(witness)):
        return why
    curved = witness.route.curved
    sides = [*body.traction, *curved]
    data = [*body.body, *(t for _, given in sides for t in given if t is not None)]
    opaque = any(text(f) is None and not isinstance(f, SmoothField) for f in data)
    if certificate.guarantee is not Guarantee.ESTIMATE and opaque:
        return (
            "problem: a body force or a traction is a function, and the checker has no formula to compare with; give a "
            "formula, or a plain function, which makes the result an estimate"
        )
    for name, goal in zip(witness.route.queries.names, witness.route.queries.goals or (), strict=True):
        if isinstance(goal, CellStressAlong) and trace_of(goal, body.d) != 0.0:
            return f"query '{name}': stresses along a tensor with a trace cannot be re-checked; take its deviator"
    groups = [facets for facets, _ in curved]
    if body.arcs is not None and any(not np.isin(facets, body.arcs.facets).all() for facets in groups):
        return "traction: on a group that is curved in part; for a bundle give the curved facets a group of their own"
    if any(text(g) is None for _, given in body.dirichlet for g in given if g is not None):
        return "fixed: a held displacement is a function, and the checker has no formula to compare with"
    return ""
