"""Which equation a case names: a closed set of keys for each kind, and no reaction that the proof does not have."""

from __future__ import annotations

from typing import Any

from pinnpoint_verify.formulas import plain
from pinnpoint_verify.reader import Bundle, need
from pinnpoint_verify.rows import Row, from_file, is_number, near

SIDES = {"kind", "degree", "dirichlet", "neumann"}
SCALAR = SIDES | {"source", "diffusion", "reaction", "robin", "periodic"}
KEYS = {
    "reaction-diffusion": SCALAR | {"convection"},
    "semilinear": SCALAR | {"cubic", "g"},
    "elasticity": SIDES | {"young", "poisson", "body", "plane", "expansion", "temperature", "force"},
    "a deck": {"kind", "degree", "deck", "subcase"},
    "a system": {"source"},
}
"""Keys of `problem` by its kind; of an elastic system made in Python the case says nothing, or of its source null."""


def equation_agrees(bundle: Bundle, case: Row, proof: Row) -> None:
    """Keys of `problem` are those of its kind, the kind fits the proof, and g and λ are there just where it has them.

    That λ and g are the proof's is compared where these are read: reactions.py, samples.py, systems.py.
    """
    problem = case["problem"]
    need(isinstance(problem, dict), "case.json: no problem")
    kind = kind_of(problem, proof)
    odd = sorted(problem.keys() - KEYS[kind])
    need(not odd, f"case.json: problem.{''.join(odd[:1])} is not part of {kind}")
    need(kind != "a system" or problem.get("source") is None, "case.json: problem.source is not part of a system")
    named = sorted({"g", "cubic"} & problem.keys())
    need(len(named) == (kind == "semilinear"), "case.json: problem.g and problem.cubic are not one of the two")
    stored = "system/cubic" in bundle
    if proof["target"] == "discrete":
        has = ["cubic"] if stored and "mesh/nodes" in bundle else []
        need(named == has, f"case.json: problem.{'g' if 'g' in named else 'cubic'} is not that of the proof")
    need("reaction" in proof or "g" not in named, "case.json: problem.g, and the proof has no such reaction")
    lam = problem.get("cubic", 0.0)
    every = list(lam.values()) if isinstance(lam, dict) else [lam]
    fits = all(is_number(x) or (x is None and "prediction" not in case) for x in every)
    need(fits, "case.json: problem.cubic is no number, nor a table of these")
    symmetric(problem.get("diffusion"))


def kind_of(problem: Row, proof: Row) -> str:
    """The kind of a problem, which scalar ones and systems made in Python may leave out."""
    elastic = "solid" in proof or proof["components"] != 1
    kind = problem.get("kind")
    if kind is None and elastic:
        return "a system"
    usual = "semilinear" if {"g", "cubic"} & problem.keys() else "reaction-diffusion"
    kind = usual if kind is None else kind
    fits = kind in ("elasticity", "reaction-diffusion", "semilinear") and (kind == "elasticity") == elastic
    need(fits, "case.json: problem.kind is another kind of problem than the proof's")
    return "a deck" if elastic and "deck" in problem else str(kind)


def symmetric(given: Any) -> None:
    """A matrix says the same above and below its diagonal; each of a table of groups."""
    if isinstance(given, dict) and not from_file(given):
        for one in given.values():
            symmetric(one)
    if not isinstance(given, list):
        return
    fits = all(isinstance(row, list) and len(row) == len(given) for row in given)
    need(fits, "diffusion: not a square matrix")
    for i, row in enumerate(given):
        for j in range(i):
            a, b = plain(row[j]), plain(given[j][i])
            alike = near(a, b, 1e-12) if is_number(a) and is_number(b) else a == b
            need(alike, "diffusion: a matrix that is not symmetric")
