"""Every key of the case file: what it takes and its default, as told by the reader itself while it reads samples.

The samples take every turn of the reader; a test compares the keys that it was seen to ask for with those in its code.
"""

# ruff: noqa: E501 (a key is a line)
from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from pinnpoint.cases.read import read_case
from pinnpoint.cases.tables import REQUIRED, WATCHER

GROUP = "GROUP"
"""Stands for the name of any group."""
MESH = '[mesh]\ngenerate = "square"\n'
SCALAR = '[problem]\nkind = "{kind}"\n{more}[problem.dirichlet]\nGROUP = 0\n[problem.neumann]\nGROUP = 0\n'
SOLID = '[problem]\nkind = "elasticity"\nyoung = 1\npoisson = 0.3\nbody = [0, 0]\n'
QUERY = "[[query]]\nat = [0, 0]\n"
PREDICTION = "[prediction]\nzero = true\n"
PLAIN = SCALAR.format(kind="reaction-diffusion", more="")
MOVING = SCALAR.format(kind="parabolic", more="initial = 1\n")
SAMPLES = [
    f'title = "a"\nunits = "SI"\n{MESH}{PLAIN}{PREDICTION}{QUERY}',
    f"{MESH}{PLAIN}[problem.robin]\nGROUP = {{coefficient = 1, value = 0}}\n{PREDICTION}{QUERY}",
    f"{MESH}{PLAIN}[geometry]\nGROUP = {{circle = [0, 0], radius = 1}}\n{PREDICTION}{QUERY}",
    f"{MESH}{PLAIN}[geometry]\nGROUP = {{ellipse = [0, 0], axes = [2, 1], angle = 0.3}}\n{PREDICTION}{QUERY}",
    f'{MESH}{PLAIN}[geometry]\nGROUP = {{level = "x - y"}}\n{PREDICTION}{QUERY}',
    f"{MESH}{PLAIN}[geometry]\nGROUP = {{sphere = [0, 0, 0], radius = 1}}\n{PREDICTION}{QUERY}",
    f"{MESH}{PLAIN}[geometry]\nGROUP = {{cylinder = [0, 0, 0], axis = [0, 0, 1], radius = 1}}\n{PREDICTION}{QUERY}",
    f'{MESH}{PLAIN}[problem.periodic]\nGROUP = "other"\n{PREDICTION}{QUERY}',
    f'[units]\nlength = "m"\nsolution = "K"\nflux = "W"\n[mesh]\nfile = "a.msh"\n{PLAIN}{PREDICTION}{QUERY}',
    MESH
    + SCALAR.format(kind="reaction-diffusion", more='diffusion = {file = "a.npz"}\nconvection = [1, 2]\n')
    + PREDICTION
    + QUERY,
    MESH + SCALAR.format(kind="semilinear", more="cubic = 1.0\n") + PREDICTION + QUERY,
    f'{MESH}[problem]\nkind = "elasticity"\ndeck = "a.bdf"\n{PREDICTION}{QUERY}'.replace(MESH, ""),
    f'[units]\nlength = "mm"\nforce = "N"\n{MESH}{SOLID}[problem.fixed]\nGROUP = [0, "free"]\n[problem.traction]\n'
    f"GROUP = [0, 0]\n[problem.force]\nGROUP = [0, 0]\nother = {{force = [0, 0], moment = [0], at = [0, 0]}}\n"
    f'{PREDICTION}[[query]]\nkind = "patch"\ngroup = "GROUP"\ncomponent = "x"\n',
    f"{MESH}{SOLID}[problem.dirichlet]\nGROUP = 0\n[problem.neumann]\nGROUP = 0\n{PREDICTION}[[query]]\n"
    'kind = "average"\nat = [0, 0]\nradius = 1\n[[query]]\nkind = "stress"\nat = [0, 0]\ncomponent = "xy"\n'
    '[[query]]\nkind = "patch"\ngroup = "GROUP"\ncomponent = [1, 0]\n[[query]]\nkind = "compliance"\n',
    f'{MESH}{PLAIN}{PREDICTION}[[query]]\nkind = "cells"\nat = [0, 0]\nside = 1\n',
    f"{MESH}{MOVING}{PREDICTION}[time]\nend = 1\nsteps = 2\n[[query]]\nat = [0, 0]\ntime = 1\n"
    '[[query]]\nkind = "average"\nat = [0, 0]\nspread = 1\n[[query]]\nkind = "mean"\nsince = 0.1\n',
    f"{MESH}{MOVING}{PREDICTION}[time]\nnodes = [0, 1]\n{QUERY}",
    *(
        f"{MESH}{PLAIN}[prediction]\n{source}\n{QUERY}"
        for source in (
            'file = "a.npz"',
            'expression = "x"',
            'onnx = "a.onnx"\nfactor = "x"',
            'torch = "a.safetensors"\nfactory = "package.module:build"',
            'torch = "a.safetensors"\nactivation = "tanh"',
            'model = "a.pt2"',
        )
    ),
]
FILES = ("a.msh", "a.bdf", "a.npz", "a.onnx", "a.safetensors", "a.pt2")
VALUES = "number or formula, or a list with one for each component"


class About(NamedTuple):
    """What the reader cannot tell: an example, what it is for, and what it takes where it reads by itself."""

    example: str
    text: str
    kind: str = ""
    chosen: bool = False
    """One of several ways, or with a default that the text tells: none of them is needed by itself."""


ABOUT = {
    "title": About('"Bracket"', "Heads everything that is written; default: the file's name.", chosen=True),
    "units": About(
        '"SI"', "One label for all quantities, or a table of labels, below. Nothing is converted.", "text or table"
    ),
    "units.length": About('"mm"', "Lengths and displacements; areas and volumes get `mm²` and `mm³`."),
    "units.force": About('"N"', "Elasticity: forces; stresses get `N/mm²`, loads on plane bodies `N/mm`."),
    "units.solution": About('"K"', "The solution of other problems."),
    "units.flux": About('"W"', "Fluxes, and the total of the source."),
    "mesh": About("[mesh]", "The domain, unless `problem.deck` brings it."),
    "mesh.file": About('"part.msh"', "A mesh with its groups; either this or `generate`."),
    "mesh.generate": About('"square"', "A standard domain."),
    "mesh.cells": About("32", "Cells per unit length of a generated mesh; default 32, and for a bracket its own."),
    "mesh.dofs": About("5000", "Unknowns of a generated bracket, instead of `cells`."),
    "mesh.straight": About(
        "true", "Leave out the mid-side nodes of a second-order mesh ([curved domains](curved.md))."
    ),
    "problem": About("[problem]", "The PDE."),
    "problem.kind": About('"reaction-diffusion"', "Which PDE; a deck is elasticity."),
    "problem.degree": About("2", "Of the elements: linear or quadratic."),
    "problem.diffusion": About(
        '"1 + x*y"',
        'A in −∇·(A∇u) + b·∇u + c u = f; a formula, or a matrix `[["2", "x"], ["x", "3"]]`, is not for elasticity, and for `parabolic` with averages over balls, blocks and cells.',
    ),
    "problem.diffusion.file": About(
        '"kappa.npz"',
        "One number for each cell, of a diffusion also one matrix, or a picture; the reaction may have one too.",
        chosen=True,
    ),
    "problem.diffusion.field": About('"kappa"', "The array in an .npz file; default `values`."),
    "problem.diffusion.grid": About(
        '"nodes"',
        "The file is a picture on a regular grid, `values[i, j]` at the i-th x and the j-th y: of pixels (`cells`), of their corners, averaged (`nodes`) or interpolated (`bilinear`), each taken where the cell's centre is.",
    ),
    "problem.diffusion.box": About("[[0.0, 1.0], [0.0, 1.0]]", "Where the picture lies; default: around the mesh."),
    "problem.convection": About('["y", "-x"]', "b; c − ½∇·b ≥ 0, and nothing may flow in where no value is fixed."),
    "problem.reaction": About(
        '"1 + x**2"',
        "c; negative numbers where [a gap in the spectrum](indefinite.md) is proved.",
        "number or formula, or a table group → number",
    ),
    "problem.source": About('"exp(x)*sin(3*y)"', "f."),
    "problem.initial": About('"x*(1-x)"', "u at t = 0, for `parabolic`; t may stand in its source and boundary data."),
    "problem.cubic": About("20.0", "λ ≥ 0 in … + λu³ = f, for `semilinear`.", chosen=True),
    "problem.g": About('"sinh(u)"', "In the place of `cubic`: g in … + g(u) = f, a formula in u.", chosen=True),
    "problem.young": About("210e3", "Young's modulus."),
    "problem.poisson": About("0.3", "Poisson's ratio, between −1 and 0.5."),
    "problem.body": About(
        '["0", "0", "-1"]',
        "Force per volume; by groups of cells it is constant on each.",
        "list of numbers or formulas, one for each component, or a table group → list of numbers",
    ),
    "problem.expansion": About("1.2e-5", "Thermal expansion α of elasticity; with `temperature`."),
    "problem.temperature": About('"80 - 2*x"', "How much warmer the body is than where it is free of stress."),
    "problem.plane": About('"stress"', "Of two-dimensional elasticity; default `strain`."),
    "problem.deck": About(
        '"part.bdf"', "Mesh, materials, supports and loads all from a deck; nodes in order of their ids.", chosen=True
    ),
    "problem.subcase": About("1", "Of the deck."),
    "problem.dirichlet": About(
        "[problem.dirichlet]", "Given values; elasticity may say `fixed` instead, as Python does."
    ),
    "problem.dirichlet.GROUP": About(
        "0.0",
        'Group → value; `boundary` is the whole boundary, and a group inside overrides it. For elasticity `"free"` leaves a '
        'component alone: `left = [0.0, "free"]`.',
        VALUES,
    ),
    "problem.neumann": About(
        "[problem.neumann]", "Given fluxes; elasticity may say `traction` instead, as Python does."
    ),
    "problem.neumann.GROUP": About("1.0", "Group → flux κ∂u/∂n, or traction.", VALUES),
    "problem.robin": About("[problem.robin]", "Robin conditions κ∂u/∂n + coefficient·u = value ([Robin](robin.md))."),
    "problem.robin.GROUP": About(
        "{ coefficient = 2.0, value = 1.0 }", "Group → its coefficient ≥ 0 and its value.", "table"
    ),
    "problem.robin.GROUP.coefficient": About("2.0", "≥ 0, proved so."),
    "problem.robin.GROUP.value": About('"x*y"', "g."),
    "geometry": About("[geometry]", "Curves that boundary groups are ([curved domains](curved.md))."),
    "geometry.GROUP": About("{circle = [0, 0], radius = 0.5}", "One curve of a group.", "table"),
    "geometry.GROUP.circle": About("[0.0, 0.0]", "The centre of a circle.", "list of 2 numbers"),
    "geometry.GROUP.ellipse": About("[0, 0]", "The centre of an ellipse.", "list of 2 numbers"),
    "geometry.GROUP.axes": About("[2, 1]", "Its half axes.", "list of 2 numbers"),
    "geometry.GROUP.angle": About("0.3", "By how much the first is turned from the x axis, in radians."),
    "geometry.GROUP.level": About('"x**2 + 2*y**4 - 1"', "A formula that vanishes on the curve."),
    "geometry.GROUP.sphere": About("[0, 0, 0]", "The centre of a sphere.", "list of 3 numbers"),
    "geometry.GROUP.cylinder": About("[0, 0, 0]", "A point of a cylinder's axis.", "list of 3 numbers"),
    "geometry.GROUP.axis": About("[0, 0, 1]", "The direction of a cylinder's axis.", "list of 3 numbers"),
    "geometry.GROUP.radius": About("0.5", "Of a circle, sphere or cylinder."),
    "problem.periodic": About("[problem.periodic]", "Pairs of boundary groups that are glued ([Robin](robin.md))."),
    "problem.periodic.GROUP": About('"right"', "Group → the group it is glued to, a translate with a matching mesh."),
    "problem.fixed": About("[problem.fixed]", "Elasticity's other word for `problem.dirichlet`."),
    "problem.fixed.GROUP": About('[0.0, "free"]', "As `problem.dirichlet`.", VALUES),
    "problem.traction": About("[problem.traction]", "Elasticity's other word for `problem.neumann`."),
    "problem.traction.GROUP": About("[0.0, -1.0]", "As `problem.neumann`.", VALUES),
    "problem.force": About("[problem.force]", "Total forces, for elasticity."),
    "problem.force.GROUP": About(
        "[0.0, -100.0]",
        "Group → a total force, spread evenly; or a table with `force`, `moment` and `at`.",
        "list or table",
    ),
    "problem.force.GROUP.force": About(
        "[0.0, -100.0]", "At a reference point; the group's nodes carry it.", "list of numbers"
    ),
    "problem.force.GROUP.moment": About("[50.0]", "One number in the plane, three in space.", "list of numbers"),
    "problem.force.GROUP.at": About(
        "[1.0, 0.5]", "The reference point; default: the group's centre.", "list of numbers"
    ),
    "box": About(
        "[box]", "In the place of `[mesh]` and `[problem]`: an equation on a box, without mesh and solve.", "table"
    ),
    "box.sides": About("[[0, 1], [0, 2]]", "A pair for each axis, one to three.", "list of pairs"),
    "box.boundary": About(
        '["neumann", ["dirichlet", "neumann"]]',
        "`dirichlet`, `neumann` or `periodic`, for all axes or each; a pair gives both ends. Default `dirichlet`.",
        "text or list",
    ),
    "box.diffusion": About("[1.0, 0.5]", "κ > 0, or one for each axis; default 1.", "number or list"),
    "box.convection": About("[3.0, 0.0]", "b, one for each axis; 0 along axes with Neumann ends.", "list of numbers"),
    "box.reaction": About("2.0", "c; default 0.", "number"),
    "box.source": About('"sin(pi*x)*exp(-t)"', "f; default 0.", "number or formula"),
    "box.initial": About('"x*(1-x)"', "u₀, in time; default 0.", "number or formula"),
    "box.nonlinear": About('"5*(u**3 - u)"', "g(u), in time.", "formula in u"),
    "box.dirichlet": About(
        '{"x+" = "1 + t"}',
        "u on Dirichlet faces `x-`, `x+`, `y-` …, or one for all; default 0.",
        "number, formula or table",
    ),
    "box.neumann": About('{"y-" = 0.5}', "κ∂_n u on Neumann faces; default 0.", "number, formula or table"),
    "time": About("[time]", "The time grid of `parabolic`."),
    "time.end": About("0.5", "Where it ends; with `steps`."),
    "time.steps": About("32", "How many; with `end`."),
    "time.nodes": About("[0.0, 0.1, 0.5]", "In the place of `end` and `steps`: all times, from 0.", "list of numbers"),
    "time.grade": About(
        '"both"', "Where steps are short: at the `end` or at `both` ends (rough initial values), or nowhere, `none`."
    ),
    "time.scheme": About(
        '"cg2"',
        "Linear in time (Crank–Nicolson with averaged data), or quadratic, `cg2`, best with `degree = 2`; any two go together.",
    ),
    "time.damped": About("4", "So many first steps of backward Euler, for rough initial values."),
    "prediction": About("[prediction]", "What is to be certified: exactly one of the first six."),
    "prediction.file": About('"field.npz"', "Nodal values, in the mesh's order, or matched by `points`.", chosen=True),
    "prediction.field": About('"u"', "Which field of the file."),
    "prediction.expression": About('"x*(1-x)"', "A formula.", VALUES),
    "prediction.onnx": About('"net.onnx"', "A network.", chosen=True),
    "prediction.input": About('"points"', "Name of the ONNX input, where there are several."),
    "prediction.output": About('"u"', "Name of the ONNX output, where there are several."),
    "prediction.torch": About('"weights.safetensors"', "Weights, with `activation` or `factory`.", chosen=True),
    "prediction.activation": About('"tanh"', "Of a plain chain of layers."),
    "prediction.factory": About(
        '"package.module:build"', "A function that builds the module that the weights belong to.", chosen=True
    ),
    "prediction.factor": About('"x*(1-x)"', "What the network's output is multiplied with.", "formula", chosen=True),
    "prediction.model": About(
        '"net.pt2"', "A file that can run code when it is opened; needs `--trust-model`.", chosen=True
    ),
    "prediction.zero": About("true", "The zero field, but for the given values.", chosen=True),
    "query": About("[[query]]", "What is asked, in double brackets, once for each.", "list of tables"),
    "query.name": About('"centre"', "Messages and tables call it so; default `q0`, `q1`, …", chosen=True),
    "query.kind": About(
        '"average"',
        "What is asked; see below.",
    ),
    "query.at": About("[0.5, 0.5]", "Where: the point, or the ball's centre.", "list of numbers"),
    "query.radius": About("0.1", "Of the ball."),
    "query.time": About("0.5", "When, for `parabolic`; default: the end."),
    "query.since": About(
        "0.1", "The first of the times that are averaged over until `time`; for `parabolic`: balls, cells, `mean`."
    ),
    "query.spread": About("0.05", "Of a Gaussian weight, in the place of `radius`, for `parabolic`.", chosen=True),
    "query.side": About("0.2", "Of the square or cube about `at`, for `cells`."),
    "query.group": About('"outlet"', "A boundary group, or a group of cells."),
    "query.component": About(
        '"y"', "Of the displacement, or two axes of a stress or strain; a patch also takes a vector."
    ),
    "query.tolerance": About("1e-3", "How narrow the proof must be."),
    "query.accept": About("1e-2", "How wrong the prediction may be: proved within, proved beyond, or undecided."),
    "query.limit": About(
        "{ above = 0.0, below = 0.2 }",
        "Where the true value must lie: holds by proof, violated by proof, or undecided.",
    ),
    "query.limit.above": About("0.0", "The smallest value that keeps the limit."),
    "query.limit.below": About("0.2", "The largest value that keeps the limit."),
    "certificate": About("[certificate]", "What is proved, and how."),
    "certificate.target": About('"discrete"', "The PDE's own solution, or that of the discrete system."),
    "certificate.method": About('"exact"', "See [choose a method](choose.md); default for `semilinear`: `root`."),
    "certificate.rounding": About("true", "Whether rounding errors are covered."),
    "certificate.lift": About("true", "Certify what the prediction leaves over; see [the lift](lift.md)."),
    "certificate.tolerance": About("1e-4", "For all queries: the mesh is refined until every proof is that narrow."),
    "certificate.accept": About("1e-2", "For all queries."),
    "certificate.limit": About(
        "{ below = 0.2 }", "For all queries, not for the components of norms and principal values."
    ),
    "certificate.limit.above": About("0.0", "As `query.limit.above`."),
    "certificate.limit.below": About("0.2", "As `query.limit.below`."),
    "certificate.until": About(
        '"decided"',
        "What refinement is for: `tolerance`, or `decided`, only until every verdict is; default `tolerance`.",
    ),
    "certificate.max_dofs": About("200000", "Where refinement ends."),
    "certificate.budget": About(
        "2000000",
        "Work on the integrals of a query, in pieces; default 400,000. Less makes intervals wider, never wrong. In time "
        "it is that on initial values, sources that do not move and balls.",
    ),
    "certificate.quadrature": About("6", "Order of the quadrature of loads."),
    "certificate.solver": About('"amg"', "Of linear systems; default: what fits."),
    "certificate.radius": About("0.3", "For `localized`, which needs it."),
    "certificate.probes": About("16", "For `randomized`."),
    "certificate.delta": About("0.05", "For `randomized`: probability to fail, below 1."),
    "certificate.seed": About("0", "For `randomized`."),
    "certificate.polish": About("2", "For nonlinear problems: Newton steps before the proof."),
}


class Key(NamedTuple):
    """One key as the reader has it."""

    kinds: tuple[str, ...]
    defaults: tuple[Any, ...]


def seen() -> dict[str, Key]:
    """Every key that the reader asks for in the samples, with what it takes and its defaults."""
    found: dict[str, Key] = {}

    def told(key: str, kind: str, default: Any) -> None:
        old = found.get(key, Key((), ()))
        kinds = dict.fromkeys((*old.kinds, kind))
        if len(kinds) > 1:  # "text" is what choices and files are read from
            kinds.pop("text", None)
        shown = old.defaults if any(default is d for d in old.defaults) else (*old.defaults, default)
        found[key] = Key(tuple(kinds), shown)

    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            (Path(folder) / name).write_bytes(b"x")
        WATCHER.append(told)
        try:
            for sample in SAMPLES:
                path = Path(folder) / "case.toml"
                path.write_text(sample, encoding="utf-8")
                read_case(path)
        finally:
            WATCHER.pop()
    return found


def rows(section: str) -> list[list[str]]:
    """The table of one section, or of what stands above all sections."""
    found = seen()
    lines = []
    for key, about in ABOUT.items():
        top, dot, _ = key.partition(".")
        if (top if dot or top not in ("title", "units") else "") != section or key == section:
            continue
        known = found.get(key, Key((about.kind,), ()))
        takes, left_out = about.kind or "; ".join(known.kinds), "" if about.chosen else default(known)
        lines.append([f"`{key}`", takes, left_out, _code(about.example), about.text])
    return lines


def default(key: Key) -> str:
    """What a key is where it is left out."""
    if any(value is REQUIRED for value in key.defaults):
        return "needed"
    value = next(iter(key.defaults), None)
    if value is None or value == "" or isinstance(value, dict):
        return ""
    return _code(json.dumps(value))


def _code(text: str) -> str:
    return f"`{text}`"
