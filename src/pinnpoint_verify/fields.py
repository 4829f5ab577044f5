"""Every key of a bundle's JSON files and how it is treated; what is not in this table is refused.

`PROVED` keys are computed again from the stored arrays, `COMPARED` ones are held against another file or the arrays,
`DERIVED` ones follow from others that are checked. A `WITNESS` leads to a proof, and any that does will do. `DECLARED`
ones cannot be checked here: they are printed as they stand. A path ends in ``.*`` for any name, in ``.**`` for anything
below, and ``[]`` is an entry of a list. The table sees to it that every key is known and that declared ones are
printed; what compares or proves the others is in agreement.py, rows.py, assumptions.py and claims.py.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pinnpoint_verify.reader import need

PROVED, COMPARED, DERIVED, DECLARED, WITNESS = "proved", "compared", "derived", "declared", "witness"
MOST_TEXT = 4000
"""Characters of a text."""

CERTIFICATE = {
    "schema": COMPARED,
    "id": PROVED,
    "of": DECLARED,
    "title": COMPARED,
    "units": COMPARED,
    "units.*": COMPARED,
    "versions.*": DECLARED,
    "method": COMPARED,
    "dofs": PROVED,
    "radius_terms[]": COMPARED,
    "inputs.case.file": DECLARED,
    "inputs.case.sha256": DECLARED,
    "inputs.case.set[]": DECLARED,
    "inputs.mesh.file": DECLARED,
    "inputs.mesh.sha256": DECLARED,
    "inputs.mesh.generate": COMPARED,
    "inputs.mesh.cells": COMPARED,
    "inputs.mesh.dofs": COMPARED,
    "inputs.diffusion.file": DECLARED,
    "inputs.diffusion.sha256": DECLARED,
    "inputs.reaction.file": DECLARED,
    "inputs.reaction.sha256": DECLARED,
    "inputs.deck.file": DECLARED,
    "inputs.deck.sha256": DECLARED,
    "inputs.deck.with_included_sha256": DECLARED,
    "inputs.prediction.file": DECLARED,
    "inputs.prediction.sha256": DECLARED,
    "problem.quadrature": COMPARED,
    "problem.**": COMPARED,
    "prediction.source": COMPARED,
    "prediction.extraction": DECLARED,
    "prediction.projection_mismatch": DECLARED,
    "prediction.matching_distance": DECLARED,
    "prediction.model": DECLARED,
    "refinement.tolerance[]": COMPARED,
    "refinement.steps[].dofs": DECLARED,
    "refinement.steps[].cells": DECLARED,
    "refinement.steps[].radius[]": DECLARED,
    "refinement.stopped": DECLARED,
    "refinement.until": COMPARED,
    "solver": DECLARED,
    "interval_of": DERIVED,
    "notes[]": DECLARED,
    "assumptions[].claim": DERIVED,
    "assumptions[].status": DERIVED,
    "queries[].name": COMPARED,
    "queries[].kind": COMPARED,
    "queries[].at[]": COMPARED,
    "queries[].component": COMPARED,
    "queries[].component[]": COMPARED,
    "queries[].group": COMPARED,
    "queries[].group[]": COMPARED,
    "queries[].ball": COMPARED,
    "queries[].side": COMPARED,
    "queries[].tolerance": COMPARED,
    "queries[].accept": COMPARED,
    "queries[].limit.*": COMPARED,
    "queries[].verdicts.accept": DERIVED,
    "queries[].verdicts.limit": DERIVED,
    "queries[].target": COMPARED,
    "queries[].guarantee": DERIVED,
    "queries[].confidence": DERIVED,
    "queries[].rounding": COMPARED,
    "queries[].value": PROVED,
    "queries[].value_radius": DERIVED,
    "queries[].raw": DECLARED,
    "queries[].raw_radius": DERIVED,
    "queries[].center": PROVED,
    "queries[].radius": PROVED,
    "queries[].lower": PROVED,
    "queries[].upper": PROVED,
    "queries[].sensitivity": DECLARED,
    "queries[].residual_norm": DECLARED,
    "queries[].terms.*": DECLARED,
    "queries[].narrowing": DECLARED,
    "queries[].mesh_estimate": DECLARED,
    "queries[].route": DECLARED,
    "queries[].band.*": DECLARED,
    "derived[].name": COMPARED,
    "derived[].kind": COMPARED,
    "derived[].derived_from[]": COMPARED,
    "derived[].poisson": COMPARED,
    "derived[].order": COMPARED,
    "derived[].along": COMPARED,
    "derived[].toward[]": COMPARED,
    "derived[].accept": COMPARED,
    "derived[].limit.*": COMPARED,
    "derived[].verdicts.accept": DERIVED,
    "derived[].verdicts.limit": DERIVED,
    **{f"derived[].{key}": DERIVED for key in ("target", "guarantee", "confidence", "rounding", "value")},
    **{f"derived[].{key}": PROVED for key in ("center", "radius", "lower", "upper")},
}
"""Of certificate.json."""
CASE = {
    "geometry.**": DECLARED,
    "title": DECLARED,
    "units": DECLARED,
    "units.*": DECLARED,
    "mesh": DECLARED,
    "mesh.file": DECLARED,
    "mesh.generate": DECLARED,
    "mesh.cells": DECLARED,
    "mesh.dofs": DECLARED,
    "mesh.straight": DECLARED,
    **{
        f"problem.{key}.**": DECLARED
        for key in (
            "kind degree diffusion convection reaction source cubic g young "
            "poisson body plane expansion temperature deck subcase "
            "dirichlet neumann robin periodic force"
        ).split()
    },
    **{
        f"prediction.{key}": DECLARED
        for key in (
            "source file field expression expression[] onnx torch factory activation factor model input output zero"
        ).split()
    },
    "queries[].name": DECLARED,
    "queries[].kind": DECLARED,
    "queries[].at[]": DECLARED,
    "queries[].radius": DECLARED,
    "queries[].side": DECLARED,
    "queries[].group": DECLARED,
    "queries[].group[]": DECLARED,
    "queries[].component": DECLARED,
    "queries[].component[]": DECLARED,
    "queries[].tolerance": DECLARED,
    "queries[].accept": DECLARED,
    "queries[].limit.*": DECLARED,
    "derived[].name": DECLARED,
    "derived[].kind": DECLARED,
    "derived[].derived_from[]": DECLARED,
    "derived[].poisson": DECLARED,
    "derived[].order": DECLARED,
    "derived[].along": DECLARED,
    "derived[].toward[]": DECLARED,
    "derived[].accept": DECLARED,
    "derived[].limit.*": DECLARED,
    "derived[].at[]": DECLARED,
    "derived[].group": DECLARED,
    "derived[].tolerance": DECLARED,
    "certificate.target": DECLARED,
    "certificate.method": DECLARED,
    "certificate.rounding": DECLARED,
    "certificate.lift": DECLARED,
    "certificate.weighted": DECLARED,
    "certificate.tolerance": DECLARED,
    "certificate.accept": DECLARED,
    "certificate.budget": DECLARED,
    "certificate.until": DECLARED,
    "certificate.max_dofs": DECLARED,
    "certificate.quadrature": DECLARED,
    "certificate.options.*": DECLARED,
    "notes.queries[]": DECLARED,
    "notes.space[]": DECLARED,
}
"""Of case.json: what was asked is the user's word, and all of it is printed; certificate and proof are held to it."""
PROOF = {
    "target": COMPARED,
    "method": COMPARED,
    "radius_terms[]": COMPARED,
    "components": COMPARED,
    "degree": COMPARED,
    "weighted": COMPARED,
    "reduction": PROVED,
    "coercivity.how": PROVED,
    "coercivity.alpha": WITNESS,
    "coercivity.theta": WITNESS,
    "coercivity.scheme": WITNESS,
    "coercivity.damped": WITNESS,
    "coercivity.gamma": WITNESS,
    "coercivity.mass.*": WITNESS,
    "coercivity.floor.*": WITNESS,
    "arcs.groups[]": COMPARED,
    "arcs.away": COMPARED,
    "solid.plane": COMPARED,
    "solid.body[]": COMPARED,
    "solid.temperature": COMPARED,
    "solid.held[][]": COMPARED,
    "solid.traction[][]": COMPARED,
    "solid.force[][]": COMPARED,
    "solid.rest[][]": COMPARED,
    "goals[].kind": COMPARED,
    "goals[].compared": WITNESS,
    "goals[].known": COMPARED,
    "goals[].acts": COMPARED,
    "goals[].constant": DECLARED,
    "goals[].error": DECLARED,
    "goals[].scale": DECLARED,
    "goals[].radius": DECLARED,
    "goals[].kappa": COMPARED,
    "goals[].own[]": DECLARED,
    "goals[].own": COMPARED,
    "goals[].at[]": COMPARED,
    "goals[].average": COMPARED,
    "goals[].side": COMPARED,
    "goals[].axis": COMPARED,
    "goals[].flux": COMPARED,
    "goals[].boundary": DECLARED,
    "goals[].least": DECLARED,
    "goals[].local": COMPARED,
    "goals[].local.*": DECLARED,
    "goals[].left": COMPARED,
    "goals[].left.*": DECLARED,
    "goals[].mean": COMPARED,
    "goals[].mean.*": WITNESS,
    "lift": COMPARED,
    "lift.kind": DECLARED,
    "lift.formula": DECLARED,
    "lift.layers": DECLARED,
    "lift.activation": DECLARED,
    "lift.box": DECLARED,
    "lift.inputs": DECLARED,
    "lift.inputs[]": DECLARED,
    "lift.parts[].**": DECLARED,
    "lift.factor": DECLARED,
    "lift.offset": DECLARED,
    "source": COMPARED,
    "source[]": COMPARED,
    "range": COMPARED,
    "range[]": DECLARED,
    "spectrum.count": PROVED,
    "spectrum.above": WITNESS,
    "spectrum.below": WITNESS,
    "spectrum.first": WITNESS,
    "spectrum.mesh[]": WITNESS,
    "reaction.g": COMPARED,
    "reaction.range": WITNESS,
    "reaction.range[]": WITNESS,
    "reaction.bend": PROVED,
    "medium.**": DECLARED,
    "mismatch": DECLARED,
    "bent.groups[]": COMPARED,
    "raised": COMPARED,
    "raised.ends": DECLARED,
    "goals[].raised": COMPARED,
    "dirichlet[]": COMPARED,
    "neumann[]": COMPARED,
    "unsupported": DECLARED,
}
"""Of proof.json."""
TABLES = {"certificate.json": CERTIFICATE, "case.json": CASE, "proof.json": PROOF}


ANY: Any = object()
LIST: Any = object()
NOTHING: Any = object()


@dataclass
class Node:
    """A place in a table: how the value here is treated, how anything below, and the places below."""

    how: str = ""
    below: str = ""
    next: dict[Any, Node] = field(default_factory=dict)

    def step(self, key: Any) -> Node | None:
        """The place below; a name of its own goes before any name."""
        found = self.next.get(key) or (None if key is LIST else self.next.get(ANY))
        return found or (Node(self.below, self.below) if self.below else None)


@cache
def tree(file: str) -> Node:
    """The table of a file by its steps."""
    root = Node()
    for path, how in TABLES[file].items():
        at = root
        for name in path.replace("[]", ".[]").split("."):
            if name == "**":
                at.how = at.below = how
                break
            at = at.next.setdefault({"[]": LIST, "*": ANY}.get(name, name), Node())
        else:
            at.how = how
    return root


def declared(file: str, data: Any, at: Node | None = None, path: str = "") -> Any:
    """What is declared of a file's data, or `NOTHING`; refuses a key that its table does not have."""
    at = tree(file) if at is None else at
    if isinstance(data, dict | list):
        pairs = list(data.items()) if isinstance(data, dict) else [(LIST, value) for value in data]
        found = []
        fits = at.below or (at.next and isinstance(data, list) == (LIST in at.next))
        need(fits, f"{file}: {path!r} should be a table, a list or a value, and is another one")
        for key, value in pairs:
            here = f"{path}[]" if key is LIST else f"{path}.{key[:100]}".removeprefix(".")
            below = at.step(key)
            need(below is not None, f"{file}: {here!r} is not a key of a bundle")
            found.append((key, declared(file, value, below, here)))
        found = [(key, value) for key, value in found if value is not NOTHING]
        whole = dict(found) if isinstance(data, dict) else [value for _, value in found]
        return whole if found or (not data and at.below == DECLARED) else NOTHING
    need(at.how, f"{file}: {path!r} is not a value of a bundle")
    need(not isinstance(data, str) or len(data) <= MOST_TEXT, f"{file}: {path!r} is too long a text")
    return data if at.how == DECLARED else NOTHING


def lines(file: str, data: Any, names: list[str]) -> list[str]:
    """What is declared of a file, a line for each key and for each query; refuses unknown keys."""
    said, word, rows = declared(file, data), file.removesuffix(".json"), ("queries", "goals")
    top = {} if said is NOTHING else said
    found = [f"{word}, {key}: {plain(value)}" for key, value in top.items() if key not in rows]
    for key in rows:
        for name, row in zip(names, data.get(key, []), strict=False):
            part = declared(file, row, tree(file).next[key].next[LIST])
            found += [] if part is NOTHING else [f"{word}, {name!r}: {plain(part)}"]
    return found


def plain(value: Any) -> str:
    """A value as JSON."""
    return json.dumps(value, ensure_ascii=False)
