"""Bundles of equations with g(u), and consistent forgeries of them."""

from __future__ import annotations

import re

import numpy as np

import pinnpoint as pp
from pinnpoint_verify.claims import verify

CELLS = {1: ("interval", 6), 2: ("square", 2), 3: ("cube", 2)}


def written(folder, d=2, degree=1, g="sinh(u)", source="3+x", groups=(), cells=None, prediction=None, **more):
    """The certificate of a point, the mean, and fluxes through and averages over groups, with its bundle."""
    name, count = CELLS[d]
    words = {"cubic": g} if isinstance(g, float) else {"g": g}
    problem = pp.fem.Semilinear(pp.io.generate(name, cells or count), source=source, degree=degree, **words, **more)
    queries = problem.points(np.full((1, d), 0.4)) + problem.mean()
    for group in groups:
        queries = queries + (problem.flux(group) if group in more["robin"] else problem.patch(group))
    lift = prediction is not None
    given = prediction
    if not lift:
        given = problem.space.U0.copy()
        given[problem.space.free] += 0.1
        given = given if problem.linear.loops is None else given[problem.linear.loops.same]
    certificate = pp.certify(problem, given, queries, lift=lift)
    pp.write_bundle(folder, certificate, problem, given, queries)
    return certificate


def radii(folder) -> np.ndarray:
    """The checker's own."""
    lines = [line for line in verify(folder) if ": proved " in line]
    return np.array([float(re.search(r"± ([\d.e+-]+);", line)[1]) for line in lines])


def scaled(name, factor):
    """An array times a factor."""
    return lambda forger: forger.array(name, lambda a: factor * a)


def words(word, new):
    """Other words of the problem in case and certificate, and in the proof where it repeats them."""

    def change(forger):
        forger.json("case.json", lambda data: data["problem"].update({word: new}))
        if word == "g":
            forger.json("proof.json", lambda data: data["reaction"].update(g=new))

    return change


def moved(forger):
    """A point elsewhere, in all files."""

    def change(data):
        for row in data.get("queries", data.get("goals", [])):
            if "at" in row:
                row["at"] = [x + 1e-3 for x in row["at"]]

    for name in ("case.json", "certificate.json", "proof.json"):
        forger.json(name, change)


def narrower(forger):
    """Half of every interval, with terms that add up."""

    def change(data):
        for row in data["queries"]:
            for k in data["radius_terms"]:
                row["terms"][k] *= 0.5
            row["radius"] = sum(row["terms"][k] for k in data["radius_terms"])
            row["lower"] = float(np.nextafter(row["center"] - row["radius"], -np.inf))
            row["upper"] = float(np.nextafter(row["center"] + row["radius"], np.inf))
            row["value_radius"] = abs(row["value"] - row["center"]) + row["radius"]

    forger.json("certificate.json", change)


FORGED = {
    "another g": words("g", "u"),
    "a scaled dual": scaled("dual/z0", 1.1),
    "a scaled dual flux": scaled("dual/t1", 1.1),
    "another state": scaled("continuous/state", 1.05),
    "other slopes": scaled("reaction/slope", 1.2),
    "no remainder on cells": scaled("reaction/off", 0.0),
    "another point": moved,
    "narrower": narrower,
}
"""What every bundle of a reaction must refuse."""
