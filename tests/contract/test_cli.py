"""The command line: what is refused, what is written, and what it exits with."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import pinnpoint
from pinnpoint.cli.main import main
from pinnpoint.mesh.domains import generate

meshio = pytest.importorskip("meshio")

SCALAR = """title = "Square"
units = "SI"
[mesh]
generate = "square"
cells = 4
[problem]
kind = "reaction-diffusion"
diffusion = 1.0
reaction = 0.0
source = "1"
[problem.dirichlet]
boundary = 0.0
[problem.neumann]
[prediction]
expression = "x*(1-x)*y*(1-y)"
[[query]]
name = "centre"
kind = "point"
at = [0.5, 0.5]
[certificate]
target = "discrete"
method = "exact"
"""
ELASTIC = """[mesh]
generate = "square"
cells = 3
[problem]
kind = "elasticity"
young = 1.0
poisson = 0.3
body = [0, -1]
[problem.dirichlet]
left = 0
[problem.neumann]
right = [1, 0]
[prediction]
zero = true
[[query]]
name = "tip"
at = [1, 0.5]
component = "y"
[certificate]
target = "discrete"
"""
NAMES = ("bundle", "certificate.csv", "certificate.json", "field.vtu", "report.html")


def edit(text, *changes):
    """The text with each old piece replaced by a new one; pairs in a row."""
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert text.count(old) == 1, f"{old!r} is in the text {text.count(old)} times"
        text = text.replace(old, new)
    return text


def scalar(*changes):
    return edit(SCALAR, *changes)


def elastic(*changes):
    return edit(ELASTIC, *changes)


def field(name, base=SCALAR, more=""):
    where = 'expression = "x*(1-x)*y*(1-y)"' if base is SCALAR else "zero = true"
    return edit(base, where, f'file = "{name}"{more}')


def meshed(name, *changes):
    return scalar('generate = "square"\ncells = 4', f'file = "{name}"', *changes)


def query(text):
    return scalar('name = "centre"\nkind = "point"\nat = [0.5, 0.5]', text)


def msh(points, triangles, lines=(), names=()):
    """MSH 2.2 text: triangles and lines are (vertices from 0, tag), names are (dimension, tag, name)."""
    rows = [(1, tag, vertices) for vertices, tag in lines] + [(2, tag, vertices) for vertices, tag in triangles]
    text = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n" + f"{len(names)}\n"
    text += "".join(f'{d} {t} "{n}"\n' for d, t, n in names) + f"$EndPhysicalNames\n$Nodes\n{len(points)}\n"
    text += "".join(f"{i + 1} {x} {y} 0\n" for i, (x, y) in enumerate(points)) + f"$EndNodes\n$Elements\n{len(rows)}\n"
    for i, (kind, tag, vertices) in enumerate(rows):
        text += f"{i + 1} {kind} 2 {tag} {tag} {' '.join(str(v + 1) for v in vertices)}\n"
    return text + "$EndElements\n"


CORNERS = [(0, 0), (1, 0), (1, 1), (0, 1), (0.5, 0.5)]
FAN = [((0, 1, 4), 1), ((1, 2, 4), 1), ((2, 3, 4), 2), ((3, 0, 4), 2)]
SIDES = [((0, 1), 1), ((1, 2), 2), ((2, 3), 3), ((3, 0), 4)]
TITLES = [(2, 1, "soft"), (2, 2, "stiff"), (1, 1, "bottom"), (1, 2, "right"), (1, 3, "top"), (1, 4, "left")]


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Mesh and field files, good and broken."""
    folder = tmp_path_factory.mktemp("files")
    good = msh(CORNERS, FAN, SIDES, TITLES)
    texts = {
        "good.msh": good,
        "junk.msh": "this is no mesh\n" * 20,
        "cut.msh": good[: len(good) // 2],
        "nan.msh": good.replace("\n5 0.5 0.5 0\n", "\n5 nan 0.5 0\n"),
        "inf.msh": good.replace("\n5 0.5 0.5 0\n", "\n5 0.5 inf 0\n"),
        "flat.msh": msh([*CORNERS[:4], (0.5, 0)], FAN, SIDES, TITLES),
        "inverted.msh": msh([*CORNERS[:4], (0.5, -0.5)], FAN, SIDES, TITLES),
        "version.msh": good.replace("2.2 0 8", "1.0 0 8"),
        "partly.msh": msh(CORNERS, [*FAN[:3], (FAN[3][0], 0)], SIDES, TITLES),
        "twice.msh": msh(CORNERS, FAN, [*SIDES, ((1, 2), 2)], TITLES),
        "inside.msh": msh(CORNERS, FAN, [*SIDES, ((0, 4), 5)], [*TITLES, (1, 5, "crack")]),
        "two.msh": msh(
            [*CORNERS[:4], (3, 0), (4, 0), (3, 1)], [((0, 1, 2), 1), ((0, 2, 3), 1), ((4, 5, 6), 2)], SIDES, TITLES
        ),
        "quads.msh": good.replace("1 1 2 1 1 1 2\n", "1 3 2 1 1 1 2 3 4\n"),
        "junk.vtu": "<VTKFile",
        "junk.npz": "no numbers here",
        "mesh.bdf": "GRID,1,,0.,0.,0.\n",
        "bits.xyz": "1",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("empty.msh", "empty.npz"):
        (folder / name).write_bytes(b"")
    (folder / "folder.msh").mkdir()
    values = np.linspace(0.0, 1.0, 25)
    X = generate("square", 4).points
    spoilt = values.copy()
    spoilt[3] = np.nan
    objects = np.array([{"a": 1}] * 25, dtype=object)
    arrays = {
        "good.npz": {"values": values},
        "short.npz": {"values": values[:-1]},
        "long.npz": {"values": np.zeros(26)},
        "wide.npz": {"values": np.zeros((25, 2))},
        "deep.npz": {"values": np.zeros((5, 5, 1))},
        "nan.npz": {"values": spoilt},
        "inf.npz": {"values": np.where(np.isnan(spoilt), np.inf, spoilt)},
        "complex.npz": {"values": values * 1j},
        "text.npz": {"values": values.astype(str)},
        "objects.npz": {"values": objects},
        "unnamed.npz": {"u": values},
        "moved.npz": {"values": values, "points": X + 0.1},
        "points.npz": {"values": values, "points": X[:-1]},
        "doubled.npz": {"values": np.tile(values, 2), "points": np.tile(X, (2, 1))},
        "nanpoints.npz": {"values": values, "points": np.where(X == 0.25, np.nan, X)},
    }
    for name, table in arrays.items():
        np.savez(folder / name, **table)
    np.save(folder / "objects.npy", objects, allow_pickle=True)
    (folder / "pickle.npy").write_bytes(pickle.dumps(values))
    with zipfile.ZipFile(folder / "zip.npz", "w") as archive:
        archive.writestr("values.npy", b"junk")
    whole = (folder / "good.npz").read_bytes()
    (folder / "cut.npz").write_bytes(whole[: len(whole) // 2])
    header = b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000,), }"
    (folder / "huge.npy").write_bytes(header.ljust(127) + b"\n")
    return folder


def run(tmp_path, text, *options, command="certify", files=None):
    """Write the case and run the command in this process; the exit code."""
    path = tmp_path / "case.toml"
    if files is not None and isinstance(text, str):
        for name in files.iterdir():
            text = text.replace(f'"{name.name}"', f'"{name.as_posix()}"')
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return main([command, str(path), *options])


TWO_FLUXES = "[problem.neumann]\nright = 1.0\nboundary = 2.0"
REFUSED = {
    # the file
    "broken TOML": (scalar("cells = 4", "cells = = 4"), "not valid TOML"),
    "key given twice": (scalar("cells = 4", "cells = 4\ncells = 5"), "not valid TOML"),
    "empty file": ("", "case.toml': the file is empty"),
    "not text": (b"\xff\xfe\x00title", "not UTF-8"),
    "unknown section": (SCALAR + "[extra]\na = 1\n", "extra: unknown key"),
    "unknown key": (scalar("diffusion = 1.0", "difusion = 1.0"), "did you mean 'diffusion'"),
    "unknown key of the mesh": (scalar("cells = 4", "cell = 4"), "mesh.cell: unknown key; did you mean 'cells'"),
    "unknown key of a query": (
        scalar("at = [0.5, 0.5]", "at = [0.5, 0.5]\ntol = 1"),
        "'centre': tol: unknown key",
    ),
    "unknown key of the certificate": (SCALAR + "metod = 1\n", "certificate.metod: unknown key; did you mean 'method'"),
    "no mesh": (scalar('[mesh]\ngenerate = "square"\ncells = 4\n', ""), "mesh: is missing"),
    "no problem": ('[mesh]\ngenerate = "square"\n[prediction]\nzero = true\n', "problem: is missing"),
    "no prediction": (scalar('[prediction]\nexpression = "x*(1-x)*y*(1-y)"\n', ""), "prediction: is missing"),
    "no query": (SCALAR[: SCALAR.index("[[query]]")], "query: is missing"),
    "query in single brackets": (scalar("[[query]]", "[query]"), "each in double brackets"),
    "mesh given twice": (scalar("cells = 4", 'cells = 4\nfile = "a.msh"'), "exactly one of 'file' and 'generate'"),
    "prediction given twice": (scalar("[[query]]", "zero = true\n[[query]]"), "prediction: give exactly one"),
    # words
    "unknown kind of problem": (scalar("reaction-diffusion", "reaction-difusion"), "did you mean 'reaction-diffusion'"),
    "unknown kind of query": (
        scalar('"point"', '"pint"'),
        "'centre': kind: 'pint' is not known; did you mean",
    ),
    "unknown method": (scalar('"exact"', '"exakt"'), "certificate.method: 'exakt' is not known; did you mean 'exact'"),
    "nonlinear method": (scalar('"exact"', '"root"'), "'root' does not fit kind = 'reaction-diffusion'"),
    "unknown domain": (scalar('"square"', '"sqare"'), "mesh.generate: 'sqare' is not known; did you mean 'square'"),
    "unknown target": (scalar('"discrete"', '"exact"\n#'), "certificate.target: 'exact' is not known"),
    "a solid with forces of nodes": (
        elastic('target = "discrete"\n', "").replace(
            "[prediction]", "[problem.force]\ntop = {force = [1.0, 0.0], at = [0.5, 1.0]}\n[prediction]", 1
        ),
        "a force with a moment that nodes carry is no traction",
    ),
    "degree 3": (scalar('source = "1"', 'source = "1"\ndegree = 3'), "problem.degree: must lie between 1 and 2"),
    "rounding as text": (SCALAR + 'rounding = "no"\n', "certificate.rounding: must be true or false"),
    "option of another method": (SCALAR + "probes = 3\n", "certificate.probes: only for method = 'randomized'"),
    "localized without radius": (scalar('"exact"', '"localized"'), "certificate.radius"),
    "delta of one": (scalar('"exact"', '"randomized"\ndelta = 1.0'), "certificate.delta: must lie between 0 and 1"),
    "too many probes": (scalar('"exact"', '"randomized"\nprobes = 1000000000'), "certificate.probes: must lie between"),
    "quadrature too high": (SCALAR + "quadrature = 21\n", "certificate.quadrature: must lie between 1 and 20"),
    "fractional quadrature": (SCALAR + "quadrature = 2.5\n", "certificate.quadrature: must be a whole number"),
    "fractional cells": (scalar("cells = 4", "cells = 4.5"), "mesh.cells: must be a whole number"),
    "no cells": (scalar("cells = 4", "cells = 0"), "mesh.cells: must lie between 1"),
    "too many cells": (scalar("cells = 4", "cells = 1000000"), "cells: must lie between 1 and"),
    # groups
    "unknown Dirichlet group": (scalar("boundary = 0.0", "lid = 0.0"), "group 'lid': the mesh has no such boundary"),
    "unknown Neumann group": (scalar("[problem.neumann]", "[problem.neumann]\nlid = 1"), "group 'lid'"),
    "unknown patch": (query('name = "c"\nkind = "patch"\ngroup = "lid"'), "query 'c': group 'lid'"),
    "unknown group of a table": (scalar("diffusion = 1.0", "diffusion = {iron = 1.0}"), "diffusion: group 'iron'"),
    "empty table": (scalar("diffusion = 1.0", "diffusion = {}"), "problem.diffusion: the table is empty"),
    "cells without a value": (
        meshed("good.msh", "diffusion = 1.0", "diffusion = {soft = 1.0}"),
        "2 cells have no value, the first is cell 2 in group 'stiff'",
    ),
    "cells in no group": (
        meshed("partly.msh", "diffusion = 1.0", "diffusion = {soft = 1.0, stiff = 2.0}"),
        "1 cells have no value, the first is cell 3 in no group",
    ),
    "young without a value": (
        elastic('generate = "square"\ncells = 3', 'file = "good.msh"', "young = 1.0", "young = {soft = 1.0}"),
        "problem.young: 2 cells have no value",
    ),
    "Dirichlet groups that disagree": (
        scalar("boundary = 0.0", "left = 0.0\ntop = 1.0"),
        "groups 'left' and 'top' overlap at node",
    ),
    "displacements that disagree": (
        elastic("left = 0", "left = 0\ntop = [0, 1]"),
        "problem.dirichlet: groups 'left' and 'top' overlap at node",
    ),
    "Dirichlet and Neumann": (
        scalar("[problem.neumann]", "[problem.neumann]\nright = 1.0"),
        "problem.neumann: group 'right' shares 4 of its facets with a dirichlet group",
    ),
    "fixed and loaded": (
        elastic("right = [1, 0]", "left = [1, 0]"),
        "problem.neumann: group 'left' shares 3 of its facets",
    ),
    "fixed and loaded in one component": (
        elastic("left = 0", 'left = 0\nright = [0, "free"]'),
        "problem.neumann: group 'right' shares 3 of its facets",
    ),
    "Dirichlet and Neumann in part": (
        meshed(
            "good.msh",
            "boundary = 0.0",
            "left = 0.0",
            "[problem.neumann]",
            "[problem.neumann]\nright = 1.0\nboundary = 2.0",
        ),
        "problem.neumann: group 'boundary' shares 1 of its facets with a dirichlet group",
    ),
    "Neumann groups that overlap": (
        scalar("reaction = 0.0", "reaction = 1", "boundary = 0.0\n", "", "[problem.neumann]", TWO_FLUXES),
        "problem.neumann: groups 'right' and 'boundary' share 4 facets",
    ),
    "condition inside the domain": (
        meshed("inside.msh", "boundary = 0.0", "crack = 0.0"),
        "problem.dirichlet: group 'crack' has 1 facets inside the domain",
    ),
    # data
    "negative diffusion": (scalar("diffusion = 1.0", "diffusion = -1.0"), "problem.diffusion: must be > 0"),
    "zero diffusion in a group": (
        meshed("good.msh", "diffusion = 1.0", "diffusion = {soft = 1.0, stiff = 0}"),
        "problem.diffusion.stiff: must be > 0; got 0",
    ),
    "diffusion as a flag": (scalar("diffusion = 1.0", "diffusion = true"), "problem.diffusion: must be a number"),
    "diffusion of both signs": (scalar("diffusion = 1.0", 'diffusion = "x-0.5"'), "diffusion: must be > 0; it is"),
    "infinite diffusion": (scalar("diffusion = 1.0", "diffusion = inf"), "problem.diffusion: must be finite"),
    "reaction in the spectrum": (
        scalar('target = "discrete"', "").replace("reaction = 0.0", "reaction = -49.3"),
        "problem.reaction: -49.3 is not separated from the eigenvalues",
    ),
    "not unique": (scalar("boundary = 0.0\n", ""), "problem.dirichlet: without a Dirichlet group and without reaction"),
    "a part that nothing holds": (
        meshed("two.msh", "boundary = 0.0", "left = 0.0", "[0.5, 0.5]", "[0.4, 0.5]"),
        "singular",
    ),
    "everything fixed": (scalar("cells = 4", "cells = 1"), "nothing is left"),
    "NaN source": (scalar('source = "1"', "source = nan"), "problem.source: must be finite"),
    "source without a value": (scalar('source = "1"', 'source = "sqrt(x-0.5)"'), "problem.source 'sqrt(x-0.5)': not"),
    "infinite Dirichlet value": (scalar("boundary = 0.0", 'boundary = "1/x"'), "problem.dirichlet.boundary '1/x': not"),
    "flux without a value": (
        scalar("boundary = 0.0", "left = 0.0", "[problem.neumann]", '[problem.neumann]\nright = "log(y-0.5)"'),
        "problem.neumann.right 'log(y-0.5)': not finite",
    ),
    "code in an expression": (
        scalar('source = "1"', "source = \"__import__('os').system('true')\""),
        "problem.source",
    ),
    "attribute in an expression": (scalar('source = "1"', 'source = "x.real"'), "problem.source 'x.real'"),
    "comparison in an expression": (scalar('source = "1"', 'source = "x<1"'), "problem.source 'x<1'"),
    "z in a plane problem": (scalar('source = "1"', 'source = "z"'), "z in a 2D problem"),
    "list for a scalar": (scalar("boundary = 0.0", "boundary = [0.0, 0.0]"), "problem.dirichlet.boundary: has one"),
    "free scalar": (scalar("boundary = 0.0", 'boundary = "free"'), "problem.dirichlet.boundary 'free'"),
    # elasticity
    "incompressible": (elastic("poisson = 0.3", "poisson = 0.5"), "problem.poisson: must lie between -1 and 0.5"),
    "Poisson's ratio of -1": (elastic("poisson = 0.3", "poisson = -1"), "problem.poisson: must lie between -1 and 0.5"),
    "no stiffness": (elastic("young = 1.0", "young = 0.0"), "problem.young: must be > 0"),
    "young is missing": (elastic("young = 1.0\n", ""), "problem.young: is missing"),
    "diffusion of a solid": (
        elastic("young = 1.0", "young = 1.0\ndiffusion = 1"),
        "problem.diffusion: does not belong",
    ),
    "elasticity on a line": (
        elastic('"square"', '"interval"', "[0, -1]", "[0]", "right = [1, 0]", "", "[1, 0.5]", "[1]"),
        "elasticity needs triangles or tetrahedra",
    ),
    "nothing fixed": (elastic("left = 0\n", ""), "problem.dirichlet: nothing holds the body"),
    "all components free": (elastic("left = 0", 'left = ["free", "free"]'), "every component is free"),
    "one direction loose": (elastic("left = 0", 'left = [0, "free"]'), "singular"),
    "a solid that can move": (
        elastic("left = 0", 'left = [0, "free"]', "[1, 0.5]", "[0.5, 0.5]", 'target = "discrete"', ""),
        "problem.dirichlet: the part of the body at",
    ),
    "a point of a free boundary": (elastic('target = "discrete"', ""), "query 'tip': [1.0, 0.5] lies on the free"),
    "nearly incompressible": (elastic("poisson = 0.3", "poisson = 0.499999999999999"), "problem.poisson: in cell 0 it"),
    "short body force": (elastic("[0, -1]", "[0]"), "problem.body: must have 2 components; got 1"),
    "long traction": (elastic("right = [1, 0]", "right = [1, 0, 0]"), "'right': must have 2 components; got 3"),
    "short displacement": (elastic("left = 0", "left = [0]"), "'left': must have 2 components; got 1"),
    "no component": (elastic('component = "y"\n', ""), "query 'tip': needs a component"),
    "component z in a plane": (elastic('"y"', '"z"'), "query 'tip': component: must be 'x' or 'y'; got 'z'"),
    "component of a scalar": (
        scalar("at = [0.5, 0.5]", 'at = [0.5, 0.5]\ncomponent = "x"'),
        "component: the solution has one component",
    ),
    "plane in space": (
        elastic('"square"', '"cube"', "young", 'plane = "stress"\nyoung', "[0, -1]", "[0, 0, 1]", "[1, 0]", "1"),
        "problem.plane: only for 2D",
    ),
    "scalar expression for a vector": (
        elastic("zero = true", 'expression = ["x"]'),
        "prediction.expression: must have 2 components; got 1",
    ),
    # queries
    "point outside": (scalar("[0.5, 0.5]", "[1.5, 0.5]"), "query 'centre': points: point 0 at [1.5, 0.5] is outside"),
    "point in the cut corner": (
        scalar('"square"', '"lshape"', "[0.5, 0.5]", "[0.5, -0.5]"),
        "query 'centre': points: point 0 at [0.5, -0.5] is outside",
    ),
    "point of another dimension": (scalar("at = [0.5, 0.5]", "at = [0.5, 0.5, 0]"), "must have 2 coordinates"),
    "NaN point": (scalar("at = [0.5, 0.5]", "at = [nan, 0.5]"), "query 'centre': at.0: must be finite"),
    "point without a place": (scalar("at = [0.5, 0.5]\n", ""), "query 'centre': at: is missing"),
    "duplicate names": (
        scalar("[certificate]", '[[query]]\nname = "centre"\nat = [0.2, 0.2]\n[certificate]'),
        "query 'centre': queries 1 and 2",
    ),
    "ball without a radius": (query('name = "b"\nkind = "average"\nat = [0.5, 0.5]'), "query 'b': radius: is missing"),
    "ball leaving the domain": (
        query('name = "b"\nkind = "average"\nat = [0.5, 0.5]\nradius = 0.6'),
        "query 'b': radius: the ball",
    ),
    "ball barely leaving the domain": (
        query('name = "b"\nkind = "average"\nat = [0.5, 0.5]\nradius = 0.503'),
        "query 'b': radius: the ball",
    ),
    "ball over the re-entrant corner": (
        edit(
            query('name = "b"\nkind = "average"\nat = [-0.04, 0.3]\nradius = 0.303'),
            '"square"',
            '"lshape"',
        ),
        "query 'b': radius: the ball",
    ),
    "ball outside": (
        query('name = "b"\nkind = "average"\nat = [4, 0.5]\nradius = 0.1'),
        "query 'b': at: point 0 at [4.0, 0.5] is outside",
    ),
    "negative radius": (
        query('name = "b"\nkind = "average"\nat = [0.5, 0.5]\nradius = -1'),
        "radius: must be > 0",
    ),
    "negative tolerance": (
        scalar("at = [0.5, 0.5]", "at = [0.5, 0.5]\ntolerance = -1"),
        "'centre': tolerance: must",
    ),
    "patch with a place": (query('kind = "patch"\ngroup = "left"\nat = [0, 0]'), "query 'q0': at: does not belong"),
    "empty name": (scalar('"centre"', '" "'), "query 1: name: is empty"),
    "name over two lines": (scalar('"centre"', '"a\\nb"'), "query 1: name: must be one line"),
    # mesh files
    "missing mesh": (meshed("none.msh"), "none.msh': no such file"),
    "empty mesh": (meshed("empty.msh"), "empty.msh': the file is empty"),
    "folder for a mesh": (meshed("folder.msh"), "folder.msh': is a directory"),
    "junk mesh": (meshed("junk.msh"), "junk.msh': not a Gmsh file"),
    "cut mesh": (meshed("cut.msh"), "cut.msh': section $"),
    "old mesh": (meshed("version.msh"), "version.msh': MSH version 1.0"),
    "NaN in the mesh": (meshed("nan.msh"), "nan.msh'"),
    "infinite mesh": (meshed("inf.msh"), "inf.msh'"),
    "element without volume": (meshed("flat.msh"), "flat.msh': cells: 1 of 4 have no volume, the first is cell 0"),
    "inverted element": (meshed("inverted.msh"), "inverted.msh': cells: "),
    "facet given twice": (meshed("twice.msh"), "twice.msh': group 'right'"),
    "quadrilaterals": (meshed("quads.msh"), "quads.msh'"),
    "junk VTU": (meshed("junk.vtu"), "junk.vtu': could not be read as VTU"),
    "deck without elements": (meshed("mesh.bdf"), "mesh.bdf': the file holds no intervals"),
    "unknown mesh format": (meshed("bits.xyz"), "mesh.file: "),
    "cells of a file": (meshed("good.msh", "[problem]", "cells = 3\n[problem]"), "mesh.cells: only for a generated"),
    # fields
    "missing field": (field("none.npz"), "none.npz': no such file"),
    "empty field": (field("empty.npz"), "empty.npz': the file is empty"),
    "junk field": (field("junk.npz"), "junk.npz': "),
    "cut field": (field("cut.npz"), "cut.npz': is not a numpy file"),
    "zip that is no archive of arrays": (field("zip.npz"), "zip.npz': "),
    "huge header": (field("huge.npy"), "huge.npy': "),
    "short field": (field("short.npz"), "must hold one value per mesh node, shape (25,); got shape (24,)"),
    "long field": (field("long.npz"), "must hold one value per mesh node, shape (25,); got shape (26,)"),
    "wide field": (field("wide.npz"), "must hold one value per mesh node, shape (25,); got shape (25, 2)"),
    "deep field": (field("deep.npz"), "deep.npz': values: must have shape (n,) or (n, c)"),
    "scalar field for a solid": (field("good.npz", ELASTIC), "shape (16, 2); got shape (25,)"),
    "NaN in the field": (field("nan.npz"), "nan.npz': values: must be finite; 1 of 25 entries"),
    "infinite field": (field("inf.npz"), "inf.npz': values: must be finite; 1 of 25 entries"),
    "complex field": (field("complex.npz"), "complex.npz': values: must hold real numbers"),
    "text field": (field("text.npz"), "text.npz': values: must hold real numbers"),
    "objects in .npz": (field("objects.npz"), "objects.npz': holds a pickle or Python objects"),
    "objects in .npy": (field("objects.npy"), "objects.npy': holds a pickle or Python objects"),
    "pickle": (field("pickle.npy"), "pickle.npy': holds a pickle or Python objects"),
    "field of another name": (field("unnamed.npz"), "unnamed.npz': no array 'values'; it holds u"),
    "points of another mesh": (field("moved.npz"), "25 of 25 mesh points have no given point"),
    "points of another length": (field("points.npz"), "points.npz': points: must be 25 points"),
    "points given twice": (field("doubled.npz"), "25 of 25 mesh points have several given points"),
    "NaN among the points": (field("nanpoints.npz"), "nanpoints.npz': points: must be finite"),
    "prediction without a value": (
        scalar("x*(1-x)*y*(1-y)", "log(x)"),
        "prediction.expression 'log(x)': not finite",
    ),
    "field of an expression": (scalar("[[query]]", 'field = "u"\n[[query]]'), "prediction.field: only with"),
}


def said(capsys):
    """What was printed; the one line on stderr."""
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert err.endswith("\n")
    assert err.count("\n") == 1, err
    assert err.startswith("pinnpoint: ")
    assert "internal error" not in err
    return err


@pytest.mark.parametrize("name", REFUSED)
def test_bad_cases_exit_with_2_and_write_nothing(tmp_path, capsys, files, name):
    text, words = REFUSED[name]
    assert run(tmp_path, text, "--quiet", "--out", str(tmp_path / "out"), files=files) == 2
    err = said(capsys)
    assert words in err, err
    assert os.listdir(tmp_path) == ["case.toml"]


def test_at_least_so_many_kinds_are_refused():
    assert len(REFUSED) >= 55


NEEDS_A_SOLVE = (
    "a part that nothing holds",
    "one direction loose",
    "nearly incompressible",
    "reaction in the spectrum",
)


@pytest.mark.parametrize("name", [name for name in REFUSED if name not in NEEDS_A_SOLVE])
def test_check_refuses_the_same(tmp_path, capsys, files, name):
    text, words = REFUSED[name]
    assert run(tmp_path, text, command="check", files=files) == 2
    assert words in said(capsys)


OVERRIDES = {
    "no value": ("mesh.cells", "override 'mesh.cells': must read key=value"),
    "no key": ("=3", "override '=3': must read key=value"),
    "not a key": ("mesh cells=3", "'mesh cells' is not a dotted key"),
    "unknown key": ("mesh.cels=3", "mesh.cels: unknown key; did you mean 'cells'"),
    "no such query": ("query.7.tolerance=1", "query has entries 0 to 0; got '7'"),
    "not a table": ("title.a=1", "title is not a table"),
    "wrong type": ("mesh.cells=many", "mesh.cells: must be a whole number"),
}


@pytest.mark.parametrize("name", OVERRIDES)
def test_bad_overrides_exit_with_2_and_write_nothing(tmp_path, capsys, name):
    override, words = OVERRIDES[name]
    assert run(tmp_path, SCALAR, "--quiet", "--set", override, "--out", str(tmp_path / "out")) == 2
    assert words in said(capsys)
    assert os.listdir(tmp_path) == ["case.toml"]


def test_an_out_that_cannot_be_a_folder_is_refused_first(tmp_path, capsys):
    """An --out that cannot be a folder is refused before anything is computed."""
    (tmp_path / "taken").write_text("mine")
    for out in ("taken", "taken/below", "taken/far/below"):
        assert run(tmp_path, SCALAR, "--out", str(tmp_path / out)) == 2
        assert "--out: " in said(capsys)
    assert sorted(os.listdir(tmp_path)) == ["case.toml", "taken"]
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs folders that refuse writing")
def test_refused_locked_folder(tmp_path, capsys):
    (tmp_path / "locked").mkdir(mode=0o500)
    assert run(tmp_path, SCALAR, "--out", str(tmp_path / "locked" / "out")) == 2
    assert "--out: " in said(capsys)


def test_refused_case_paths(tmp_path, capsys):
    for path, words in ((tmp_path / "none.toml", "no such file"), (tmp_path, "is a directory")):
        assert main(["certify", str(path), "--quiet"]) == 2
        assert words in said(capsys)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("words", "said_of"),
    [
        ([], "COMMAND"),
        (["certfy"], "certfy"),
        (["certify"], "CASE.toml"),
        (["certify", "a.toml", "--outt"], "--outt"),
        (["check", "a.toml", "--set"], "--set"),
    ],
)
def test_bad_words_on_the_command_line_exit_with_2(capsys, words, said_of):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert said_of in said(capsys)


def shell(*words, cwd):
    source = str(Path(pinnpoint.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source}
    return subprocess.run(
        [sys.executable, "-m", "pinnpoint.cli.main", *words],
        cwd=cwd,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.parametrize("name", ["unknown method", "pickle", "inverted element"])
def test_refused_in_a_shell(tmp_path, files, name):
    text, words = REFUSED[name]
    for file in files.iterdir():
        text = text.replace(f'"{file.name}"', f'"{file.as_posix()}"')
    (tmp_path / "case.toml").write_text(text, encoding="utf-8")
    done = shell("certify", "case.toml", "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["case.toml"]


# What works


def read(folder):
    """The certificate as strict JSON."""

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads((folder / "certificate.json").read_text(encoding="utf-8"), parse_constant=refuse)


def certified(tmp_path, text, *options, code=0, files=None, out="out"):
    assert run(tmp_path, text, "--quiet", "--out", str(tmp_path / out), *options, files=files) == code
    assert sorted(os.listdir(tmp_path / out)) == sorted(NAMES)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]
    return read(tmp_path / out)


def test_a_run_in_a_shell(tmp_path):
    (tmp_path / "case.toml").write_text(SCALAR, encoding="utf-8")
    done = shell("certify", "case.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path)) == ["case", "case.toml"]  # by default beside the case
    assert sorted(os.listdir(tmp_path / "case")) == sorted(NAMES)
    assert "centre" in done.stdout
    lines = done.stderr.splitlines()
    assert len(lines) == 6
    assert all(line.endswith(" s") and "\r" not in line and "\x1b" not in line for line in lines)


def test_a_title_that_the_terminal_cannot_show(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    (tmp_path / "case.toml").write_text(scalar('"Square"', '"Größe"'), encoding="utf-8")
    done = shell("certify", "case.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, r"Gr\xf6\xdfe")
    done = shell("certify", "case.toml", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["title"] == "Größe"
    assert shell("check", "case.toml", cwd=tmp_path).returncode == 0


def test_a_closed_pipe_is_no_error(tmp_path):
    (tmp_path / "case.toml").write_text(SCALAR, encoding="utf-8")
    read_end, write_end = os.pipe()
    os.close(read_end)
    source = str(Path(pinnpoint.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "pinnpoint.cli.main", "check", "case.toml"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": source},
        stdout=write_end,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write_end)
    assert done.stderr == b""


def test_the_json_names_versions_inputs_and_digests(tmp_path):
    data = certified(tmp_path, SCALAR)
    assert data["schema"] == "pinnpoint-certificate/1"
    assert (data["title"], data["units"], data["dofs"]) == ("Square", "SI", 9)
    assert set(data["versions"]) >= {"pinnpoint", "python", "numpy", "scipy"}
    digest = hashlib.sha256((tmp_path / "case.toml").read_bytes()).hexdigest()
    assert data["inputs"]["case"]["sha256"] == digest
    assert data["inputs"]["mesh"] == {"generate": "square", "cells": 4}
    assert data["problem"]["kind"] == "reaction-diffusion"
    assert data["problem"]["dirichlet"] == {"boundary": 0.0}
    assert data["assumptions"]
    assert all(set(a) == {"claim", "status"} for a in data["assumptions"])
    (row,) = data["queries"]
    assert set(row) >= set(
        "name kind at target guarantee confidence rounding value value_radius raw raw_radius center radius lower "
        "upper sensitivity residual_norm terms".split()
    )
    assert (row["name"], row["kind"], row["at"]) == ("centre", "point", [0.5, 0.5])
    assert (row["target"], row["guarantee"], row["confidence"]) == ("discrete", "deterministic", 1.0)
    assert row["rounding"] == "covered"
    assert row["value"] == row["raw"] == 0.0625
    assert row["lower"] < row["center"] < row["upper"]
    assert row["radius"] < 1e-14
    assert abs(row["value"] - row["center"]) <= row["value_radius"]
    assert set(row["terms"]) >= {"correction"}
    assert all(isinstance(v, float) for v in row["terms"].values())


def test_how_the_numbers_came_about_is_recorded(tmp_path, files):
    """Quadrature order, extraction and its mismatches, the files' digests and what --set changed."""
    text = field("good.npz")
    data = certified(tmp_path, text, "--set", "certificate.quadrature=7", "--set", "problem.source=2", files=files)
    assert data["problem"]["quadrature"] == 7
    assert data["problem"]["source"] == 2.0
    assert data["inputs"]["case"]["set"] == ["certificate.quadrature=7", "problem.source=2"]
    digest = hashlib.sha256((files / "good.npz").read_bytes()).hexdigest()
    assert data["inputs"]["prediction"] == {"file": "good.npz", "sha256": digest}
    assert data["prediction"] == {
        "source": "file",
        "extraction": "nodal values",
        "projection_mismatch": 1.0,
        "matching_distance": 0.0,
    }
    data = certified(tmp_path, meshed("good.msh"), files=files)
    assert data["inputs"]["mesh"]["sha256"] == hashlib.sha256((files / "good.msh").read_bytes()).hexdigest()
    assert data["problem"]["quadrature"] == 4


def test_json_on_stdout_is_the_file(tmp_path, capsys):
    out = tmp_path / "out"
    assert run(tmp_path, SCALAR, "--json", "--out", str(out)) == 0
    printed, progress = capsys.readouterr()
    assert printed == (out / "certificate.json").read_text(encoding="utf-8")
    assert len(progress.splitlines()) == 6
    assert run(tmp_path, SCALAR, "--json", "--quiet", "--out", str(out)) == 0
    assert capsys.readouterr() == (printed, "")
    assert run(tmp_path, SCALAR, "--quiet", "--out", str(out)) == 0
    assert capsys.readouterr() == ("", "")


def test_the_csv_says_what_the_json_says(tmp_path):
    data = certified(tmp_path, scalar('"centre"', '"a, \\"b\\""'))
    with (tmp_path / "out" / "certificate.csv").open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["name"] == 'a, "b"'
    for key in ("value", "value_radius", "raw", "raw_radius", "center", "radius", "lower", "upper"):
        assert float(row[f"{key} [SI]"]) == data["queries"][0][key]


def test_the_vtu_holds_prediction_correction_error_and_green_fields(tmp_path, files):
    text = scalar(
        'name = "centre"', 'name = "<centre>"', "[certificate]", '[[query]]\nkind="patch"\ngroup="top"\n[certificate]'
    )
    certified(tmp_path, edit(text, "boundary = 0.0", "left = 0.0"))
    mesh = meshio.read(tmp_path / "out" / "field.vtu")
    assert set(mesh.point_data) == {"prediction", "corrected", "error", "green <centre>", "green q1"}
    square = generate("square", 4)
    np.testing.assert_array_equal(mesh.points[:, :2], square.points)
    np.testing.assert_array_equal(mesh.cells[0].data, square.cells)
    u = mesh.point_data
    np.testing.assert_allclose(u["prediction"] - u["corrected"], u["error"], atol=1e-15)
    x, y = square.points.T
    np.testing.assert_allclose(u["prediction"], x * (1 - x) * y * (1 - y), atol=1e-15)
    assert np.all(u["green q1"][x == 0] == 0)


def test_the_vtu_of_a_plane_part_holds_vectors_of_three(tmp_path):
    data = certified(tmp_path, ELASTIC)
    mesh = meshio.read(tmp_path / "out" / "field.vtu")
    assert mesh.point_data["corrected"].shape == (16, 3)
    tip = mesh.point_data["corrected"][np.all(mesh.points[:, :2] == [1, 1 / 3], axis=1)]
    assert tip.shape == (1, 3)
    assert data["dofs"] == 24
    assert data["units"] == ""


def test_outputs_are_replaced_whole(tmp_path):
    first = certified(tmp_path, SCALAR)
    (tmp_path / "out" / "notes.txt").write_text("mine")
    assert run(tmp_path, SCALAR, "--quiet", "--out", str(tmp_path / "out"), "--set", "problem.source=3") == 0
    second = read(tmp_path / "out")
    assert second["queries"][0]["center"] == pytest.approx(3 * first["queries"][0]["center"])
    assert sorted(os.listdir(tmp_path / "out")) == sorted([*NAMES, "notes.txt"])
    meshio.read(tmp_path / "out" / "field.vtu")


def test_what_others_put_where_the_bundle_goes_is_not_replaced(tmp_path, capsys):
    out = tmp_path / "out"
    (out / "bundle").mkdir(parents=True)
    (out / "bundle" / "mine.txt").write_text("mine")
    assert run(tmp_path, SCALAR, "--out", str(out)) == 2
    assert "'mine.txt' in it belongs to no bundle" in said(capsys)
    assert os.listdir(out) == ["bundle"]
    (out / "bundle" / "mine.txt").unlink()  # an empty folder is nobody's
    assert run(tmp_path, SCALAR, "--quiet", "--out", str(out)) == 0
    (out / "bundle" / "system" / "mine.npy").write_text("mine")  # among the bundle's own files, too
    assert run(tmp_path, SCALAR, "--out", str(out)) == 2
    assert "'system/mine.npy' in it belongs to no bundle" in said(capsys)
    (out / "bundle" / "system" / "mine.npy").unlink()
    (out / "bundle").rename(tmp_path / "kept")
    (out / "bundle").symlink_to(tmp_path / "kept")
    assert run(tmp_path, SCALAR, "--out", str(out)) == 2
    assert "no folder that a certificate has left" in said(capsys)
    (out / "bundle").unlink()
    (out / "report.html").unlink()
    (out / "report.html").mkdir()
    assert run(tmp_path, SCALAR, "--out", str(out)) == 2
    assert "a file is to go there" in said(capsys)


def test_a_refused_run_leaves_old_outputs(tmp_path, capsys):
    certified(tmp_path, SCALAR)
    before = {name: (tmp_path / "out" / name).read_bytes() for name in (*NAMES[1:], "bundle/manifest.json")}
    assert run(tmp_path, SCALAR, "--out", str(tmp_path / "out"), "--set", "query.0.at=[2, 2]") == 2
    assert before == {name: (tmp_path / "out" / name).read_bytes() for name in (*NAMES[1:], "bundle/manifest.json")}


def test_a_folder_of_folders_is_made(tmp_path):
    certified(tmp_path, SCALAR, out="a/b/c")


def test_exit_code_1_where_a_tolerance_is_missed(tmp_path, capsys):
    text = scalar('"exact"', '"norm"', "at = [0.5, 0.5]", "at = [0.5, 0.5]\ntolerance = 1e-6")
    data = certified(tmp_path, text, code=1)
    assert data["queries"][0]["radius"] > 1e-6
    assert run(tmp_path, text, "--out", str(tmp_path / "out")) == 1
    assert "centre: wider than its tolerance" in capsys.readouterr().out
    certified(tmp_path, edit(text, "1e-6", "1e6"))


METHODS = {
    "exact": ("", "deterministic"),
    "norm": ("", "deterministic"),
    "inexact": ("", "deterministic"),
    "localized": ("radius = 0.3", "deterministic"),
    "randomized": ("probes = 24\ndelta = 0.01\nseed = 5", "probabilistic"),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rounding", [True, False])
@pytest.mark.parametrize("text", [SCALAR, ELASTIC], ids=["scalar", "elastic"])
def test_every_method_of_a_case_has_its_guarantee_and_holds_the_truth(tmp_path, text, method, rounding):
    more, guarantee = METHODS[method]
    truth = certified(tmp_path, text)["queries"][0]
    text = edit(text, 'method = "exact"\n', "") if text is SCALAR else text
    data = certified(tmp_path, f'{text}method = "{method}"\nrounding = {str(rounding).lower()}\n{more}\n')
    (row,) = data["queries"]
    assert data["method"].lower().startswith(method)
    assert row["guarantee"] == guarantee
    assert row["rounding"] == ("covered" if rounding else "not covered")
    assert row["confidence"] == (0.99 if method == "randomized" else 1.0)
    slack = 0.0 if rounding else 1e-14
    assert row["lower"] - slack <= truth["center"] <= row["upper"] + slack
    assert abs(row["value"] - truth["center"]) <= row["value_radius"] + slack


@pytest.mark.parametrize(
    ("kind", "at", "dofs"),
    [
        ("interval", [0.5], 3),
        ("square", [0.5, 0.5], 9),
        ("cube", [0.5, 0.5, 0.5], 27),
        ("lshape", [-0.5, 0.5], 33),
        ("dumbbell", [0.5, 0.5], 24),
    ],
)
def test_every_generated_domain_is_certified(tmp_path, kind, at, dofs):
    text = scalar('"square"', f'"{kind}"', "[0.5, 0.5]", str(at), "x*(1-x)*y*(1-y)", "x")
    data = certified(tmp_path, text)
    (row,) = data["queries"]
    assert data["dofs"] == dofs
    assert row["at"] == at
    assert row["center"] > 0
    assert row["raw"] == at[0]


def test_a_prediction_means_the_same_in_every_file_format(tmp_path):
    """The same field by rows, by shuffled rows with points, by column, by VTU and by formula."""
    mesh = generate("square", 4)
    u = mesh.points @ [1.0, 2.0]
    shuffled = np.random.default_rng(1).permutation(len(u))
    wanted = certified(tmp_path, scalar("x*(1-x)*y*(1-y)", "x+2*y"))["queries"][0]
    np.savez(tmp_path / "rows.npz", values=u)
    np.savez(tmp_path / "column.npz", values=u[:, None])
    np.save(tmp_path / "plain.npy", u)
    np.savez(tmp_path / "points.npz", values=u[shuffled], points=mesh.points[shuffled])
    np.savez(tmp_path / "named.npz", v=u)
    points = np.pad(mesh.points, ((0, 0), (0, 1)))[shuffled]
    back = np.argsort(shuffled)
    both = {"u": u[shuffled], "zero": 0 * u}
    meshio.Mesh(points, [("triangle", back[mesh.cells])], point_data=both).write(tmp_path / "field.vtu")
    names = {name: "" for name in ("rows.npz", "column.npz", "plain.npy", "points.npz")}
    for name, more in {**names, "named.npz": '\nfield = "v"', "field.vtu": '\nfield = "u"'}.items():
        (row,) = certified(tmp_path, field(name, more=more))["queries"]
        assert row["value"] == wanted["value"], name
        assert row["raw"] == row["value"]  # the query is inside; the boundary values of this field are not met
        assert row["center"] == pytest.approx(wanted["center"], rel=1e-13)
    np.savez(tmp_path / "wrong.npz", values=np.roll(u, 1))  # rows in another order are another field
    assert certified(tmp_path, field("wrong.npz"))["queries"][0]["value"] != wanted["value"]


def test_vector_prediction_files(tmp_path):
    mesh = generate("square", 3)
    x, y = mesh.points.T
    U = np.stack([x * y, x - 2 * x * y], axis=1)
    text = edit(ELASTIC, "zero = true", 'expression = ["x*y", "x-2*x*y"]')
    wanted = certified(tmp_path, text)["queries"][0]
    assert wanted["raw"] == pytest.approx(wanted["value"])
    np.savez(tmp_path / "rows.npz", values=U)
    np.savez(tmp_path / "points.npz", values=U[::-1], points=mesh.points[::-1])
    np.savez(tmp_path / "third.npz", values=np.pad(U, ((0, 0), (0, 1))))
    np.savez(tmp_path / "both.npz", values=np.pad(U, ((0, 0), (0, 1))), points=np.pad(mesh.points, ((0, 0), (0, 1))))
    cells = [("triangle", mesh.cells)]
    three = np.pad(mesh.points, ((0, 0), (0, 1)))
    meshio.Mesh(three, cells, point_data={"u": np.pad(U, ((0, 0), (0, 1)))}).write(tmp_path / "field.vtu")
    for name in ("rows.npz", "points.npz", "third.npz", "both.npz", "field.vtu"):
        (row,) = certified(tmp_path, field(name, ELASTIC))["queries"]
        assert row["value"] == pytest.approx(wanted["value"], rel=1e-14), name


def test_own_field_is_read_back(tmp_path):
    """The corrected field of one run is the prediction of the next, and then nothing is left to correct."""
    first = certified(tmp_path, SCALAR)["queries"][0]
    (row,) = certified(tmp_path, field("out/field.vtu", more='\nfield = "corrected"'), out="again")["queries"]
    assert abs(row["value"] - first["center"]) < 1e-15
    assert row["value_radius"] < 1e-15


def test_zero_prediction_is_the_lifting(tmp_path):
    data = certified(tmp_path, scalar('expression = "x*(1-x)*y*(1-y)"', "zero = true", "boundary = 0.0", "left = 2"))
    assert data["queries"][0]["value"] == 0.0
    assert data["prediction"]["projection_mismatch"] == 0.0


@pytest.mark.parametrize("version", ["gmsh22", "gmsh"])
@pytest.mark.filterwarnings("ignore")
def test_gmsh_with_groups(tmp_path, capsys, version):
    """κ = 1 | 4, u = 1/4 at the left, unit flux at the right: 1/4 + x, then 3/4 + (x − 1/2)/4."""
    mesh = generate("square", 4)
    middle = mesh.points[mesh.cells].mean(axis=1)[:, 0] > 0.5
    cells = [("triangle", mesh.cells[~middle]), ("triangle", mesh.cells[middle])]
    cells += [("line", mesh.facets("left")), ("line", mesh.facets("right"))]
    tags = [np.full(len(c), t) for (_, c), t in zip(cells, (1, 2, 1, 2), strict=True)]
    names = {"soft": np.array([1, 2]), "stiff": np.array([2, 2]), "inlet": np.array([1, 1]), "outlet": np.array([2, 1])}
    entity = np.tile([2, 2], (len(mesh.points), 1))
    entity[:3] = [[1, 1], [1, 2], [2, 1]]
    written = meshio.Mesh(
        np.pad(mesh.points, ((0, 0), (0, 1))),
        cells,
        cell_data={"gmsh:physical": tags, "gmsh:geometrical": tags},
        field_data=names,
        point_data={"gmsh:dim_tags": entity} if version == "gmsh" else {},
    )
    written.write(tmp_path / "part.msh", file_format=version, binary=False)
    queries = (
        '[[query]]\nname = "outlet"\nkind = "patch"\ngroup = "outlet"\n'
        '[[query]]\nname = "ball"\nkind = "average"\nat = [0.75, 0.5]\nradius = 0.2\n[certificate]'
    )
    text = meshed(
        "part.msh",
        "diffusion = 1.0",
        "diffusion = {soft = 1.0, stiff = 4}",
        'source = "1"',
        "source = 0",
        "boundary = 0.0",
        "inlet = 0.25",
        "[problem.neumann]",
        "[problem.neumann]\noutlet = 1",
        "[certificate]",
        queries,
    )
    rows = certified(tmp_path, text)["queries"]
    assert [row["kind"] for row in rows] == ["point", "patch", "average"]
    assert [row["name"] for row in rows] == ["centre", "outlet", "ball"]
    np.testing.assert_allclose([row["center"] for row in rows], [0.75, 0.875, 0.8125], rtol=1e-12)
    capsys.readouterr()
    assert main(["check", str(tmp_path / "case.toml")]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "group 'soft': 2D, 16 cells, area 0.5 [SI]" in out
    assert "group 'outlet': 1D, 4 facets, length 1 [SI]" in out
    assert "group 'boundary': 1D, 16 facets, length 4 [SI]" in out
    assert "dirichlet on 'inlet': 0.25" in out
    assert "neumann on 'outlet': 1" in out
    assert "total applied load [SI]: 1\n" in out
    assert "unknowns: 20 of 25" in out
    assert "predicted memory: 0." in out
    assert "3 queries; method exact" in out


def test_check_of_a_solid(tmp_path, capsys):
    text = elastic('"square"', '"cube"', "[0, -1]", '[0, 0, "-x"]', "[1, 0]", "[2, 0, 1]", "[1, 0.5]", "[1, 0.5, 0.5]")
    assert run(tmp_path, edit(text, "left = 0", 'left = 0\nbottom = ["free", 0, "0.5*x"]'), command="check") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert os.listdir(tmp_path) == ["case.toml"]
    assert "case: elasticity, 3D, 162 tetrahedra, 64 nodes" in out
    assert "group 'left': 2D, 18 facets, area 1\n" in out
    assert "(free, 0.0, 0.5*x)" in out
    assert "total applied load: 2, 0, 0.5\n" in out
    assert "unknowns: 120 of 192" in out


def test_check_tells_what_convection_will_do_to_intervals(tmp_path, capsys):
    for speed, told in (("1", False), ("200", True)):
        stream = f'kind = "reaction-diffusion"\nconvection = ["{speed}", "0"]'
        text = scalar('kind = "reaction-diffusion"', stream, 'target = "discrete"', 'target = "continuous"')
        assert run(tmp_path, text, command="check") == 0
        assert ("note: convection: the Péclet number h|b|/A of cells is up to" in capsys.readouterr().out) == told


def test_check_of_an_interval(tmp_path, capsys):
    text = scalar('"square"', '"interval"', "x*(1-x)*y*(1-y)", "x", "[0.5, 0.5]", "0.5")
    assert run(tmp_path, text, command="check") == 0
    out = capsys.readouterr().out
    assert "group 'left': 0D, 1 facets, points 1" in out


def test_doctor_and_version(capsys):
    assert main(["doctor"]) == 0
    assert "numpy" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0


def test_the_demo_writes_its_certificate_and_finds_the_bump(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "demo"), "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "certificate.json" in out
    assert sorted(os.listdir(tmp_path)) == ["demo"]
    data = read(tmp_path / "demo")
    bump = data["queries"][0]
    assert not bump["lower"] <= bump["raw"] <= bump["upper"]
    assert main(["certify", str(tmp_path / "demo" / "case.toml"), "--quiet", "--out", str(tmp_path / "again")]) == 0
    again = read(tmp_path / "again")["queries"][0]
    assert again["center"] == pytest.approx(bump["center"], rel=1e-13)
    assert again["value"] == pytest.approx(bump["value"], rel=1e-13)
    (tmp_path / "file").write_text("mine")
    assert main(["demo", "--out", str(tmp_path / "file"), "--quiet"]) == 2
    assert "--out: " in said(capsys)
