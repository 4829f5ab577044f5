"""Case files: everything the contract shows is read, everything else is refused by its key."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pinnpoint.base.errors import InputError
from pinnpoint.cases.read import read_case
from pinnpoint.cases.specs import Case

SQUARE = """title = "Square"
units = "SI"

[mesh]
generate = "square"
cells = 8

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
target = "continuous"
method = "exact"
rounding = true
"""

ELASTIC = """[mesh]
file = "part.msh"
[problem]
kind = "elasticity"
degree = 2
young = {steel = 210e9, copper = 120_000_000_000}
poisson = 0.3
body = ["0", "0", "-1"]
plane = "strain"
[problem.dirichlet]
left = [0, "free", "0.1*y"]
clamp = 0
[problem.neumann]
right = [1.0, "sin(x)", 0]
top = "-1"
[prediction]
file = "field.npz"
[[query]]
name = "tip"
at = [1, 0.5, 0.5]
component = "z"
tolerance = 1e-3
[[query]]
name = "ball"
kind = "average"
at = [0.5, 0.5, 0.5]
radius = 0.1
component = "x"
[[query]]
kind = "patch"
group = "right"
component = "y"
[certificate]
target = "discrete"
method = "randomized"
probes = 8
delta = 0.01
seed = 3
rounding = false
lift = true
tolerance = 1e-4
quadrature = 6
"""


@pytest.fixture
def case(tmp_path):
    for name in ("part.msh", "part.bdf", "field.npz", "field.vtu", "net.onnx", "weights.safetensors", "weights.pt"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "empty.msh").write_bytes(b"")
    (tmp_path / "folder.msh").mkdir()

    def read(text=SQUARE, overrides=()) -> Case:
        path = tmp_path / "case.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_case(path, overrides)

    return read


def test_the_contract_s_case(case, tmp_path):
    c = case()
    assert (c.title, c.units, c.path) == ("Square", "SI", tmp_path / "case.toml")
    assert (c.mesh.generate, c.mesh.cells, c.mesh.file) == ("square", 8, None)
    p = c.problem
    assert (p.kind, p.diffusion, p.reaction.constant, p.source.text, p.degree) == (
        "reaction-diffusion",
        1.0,
        0.0,
        "1",
        1,
    )
    assert p.dirichlet["boundary"].constant == 0.0
    assert p.neumann == {}
    assert c.prediction.source == "expression"
    assert c.prediction.expression([[0.5, 0.5]]) == 0.0625
    (query,) = c.queries
    assert (query.name, query.kind, query.at, query.tolerance) == ("centre", "point", (0.5, 0.5), None)
    assert (c.certificate.target, c.certificate.method, c.certificate.rounding) == ("continuous", "exact", True)
    assert c.certificate.lift is False


def test_every_key_of_elasticity_is_read(case, tmp_path):
    c = case(ELASTIC)
    p = c.problem
    assert c.title == "case"
    assert c.mesh.file == tmp_path / "part.msh"
    assert (p.young, p.poisson, p.degree, p.plane) == ({"steel": 210e9, "copper": 120e9}, 0.3, 2, "strain")
    assert [b.constant for b in p.body] == [0.0, 0.0, -1.0]
    first, second, third = p.dirichlet["left"]
    assert (first.constant, second, third.text) == (0.0, None, "0.1*y")
    assert p.dirichlet["clamp"].constant == 0.0
    assert p.neumann["right"][1].text == "sin(x)"
    assert c.prediction.file == tmp_path / "field.npz"
    assert [q.name for q in c.queries] == ["tip", "ball", "q2"]
    assert [q.component for q in c.queries] == ["z", "x", "y"]
    assert (c.queries[1].radius, c.queries[2].group, c.queries[0].tolerance) == (0.1, "right", 1e-3)
    assert c.certificate.options == {"probes": 8, "delta": 0.01, "seed": 3}
    assert (c.certificate.tolerance, c.certificate.quadrature, c.certificate.lift) == (1e-4, 6, True)


def test_the_resolved_case_is_plain(case):
    for text in (SQUARE, ELASTIC):
        c = case(text)
        plain = c.to_dict()
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        plain["problem"]["kind"] = "changed"
        assert c.to_dict()["problem"]["kind"] == c.problem.kind
    assert c.to_dict()["problem"]["dirichlet"]["left"] == [0.0, "free", "0.1*y"]
    assert case().to_dict()["certificate"]["target"] == "continuous"


OTHERS = {
    "semilinear": (
        SQUARE.replace('"reaction-diffusion"', '"semilinear"\ncubic = 20.0').replace('method = "exact"', ""),
        lambda c: (c.problem.cubic, c.certificate.method) == (20.0, "root"),
    ),
    "another reaction": (
        SQUARE.replace('"reaction-diffusion"', '"semilinear"\ng = "sinh(u)+u"').replace('method = "exact"', ""),
        lambda c: (c.problem.cubic, c.problem.g.text) == (None, "sinh(u)+u"),
    ),
    "a reaction below zero": (
        SQUARE.replace("reaction = 0.0", "reaction = -25.0"),
        lambda c: c.problem.reaction.constant == -25.0,
    ),
    "stationary": (
        SQUARE.replace('"reaction-diffusion"', '"semilinear"\ncubic = 0').replace('"exact"', '"stationary"'),
        lambda c: c.certificate.method == "stationary",
    ),
    "no certificate section": (SQUARE[: SQUARE.index("[certificate]")], lambda c: c.certificate.target == "continuous"),
    "diffusion as formula": (
        SQUARE.replace("diffusion = 1.0", 'diffusion = "1+x*y"'),
        lambda c: (c.problem.diffusion.text, c.to_dict()["problem"]["diffusion"]) == ("1+x*y", "1+x*y"),
    ),
    "diffusion as matrix": (
        SQUARE.replace("diffusion = 1.0", 'diffusion = [["2", "x"], ["x", 3]]'),
        lambda c: c.to_dict()["problem"]["diffusion"] == [[2.0, "x"], ["x", 3.0]],
    ),
    "convection": (
        SQUARE.replace("diffusion = 1.0", 'diffusion = {a = "1+x", b = 2}\nconvection = ["y", "-x"]'),
        lambda c: c.to_dict()["problem"]["convection"] == ["y", "-x"],
    ),
    "diffusion by group": (
        SQUARE.replace("diffusion = 1.0", "diffusion = {a = 1, b = 2.5}"),
        lambda c: c.problem.diffusion == {"a": 1.0, "b": 2.5},
    ),
    "reaction formula": (
        SQUARE.replace("reaction = 0.0", 'reaction = "x**2"'),
        lambda c: c.problem.reaction([[3.0]]) == 9,
    ),
    "varying Dirichlet": (SQUARE.replace("boundary = 0.0", 'left = "y"'), lambda c: "left" in c.problem.dirichlet),
    "group in quotes": (SQUARE.replace("boundary = 0.0", '"my side" = 1'), lambda c: "my side" in c.problem.dirichlet),
    "vtu": (
        SQUARE.replace('expression = "x*(1-x)*y*(1-y)"', 'file = "field.vtu"\nfield = "u"'),
        lambda c: c.prediction.field == "u",
    ),
    "onnx": (
        SQUARE.replace('expression = "x*(1-x)*y*(1-y)"', 'onnx = "net.onnx"'),
        lambda c: c.prediction.onnx.name == "net.onnx",
    ),
    "torch": (
        SQUARE.replace(
            'expression = "x*(1-x)*y*(1-y)"', 'torch = "weights.safetensors"\nfactory = "package.module:build"'
        ),
        lambda c: (c.prediction.torch.name, c.prediction.factory) == ("weights.safetensors", "package.module:build"),
    ),
    "zero": (SQUARE.replace('expression = "x*(1-x)*y*(1-y)"', "zero = true"), lambda c: c.prediction.source == "zero"),
    "bracket": (SQUARE.replace('generate = "square"', 'generate = "bracket"'), lambda c: c.mesh.generate == "bracket"),
    "deck": (
        ELASTIC.replace(ELASTIC[: ELASTIC.index("[prediction]")], '[problem]\ndeck = "part.bdf"\nsubcase = 2\n'),
        lambda c: c.mesh is None and c.problem.deck.name == "part.bdf" and c.problem.subcase == 2,
    ),
    "one coordinate": (SQUARE.replace("at = [0.5, 0.5]", "at = 0.5"), lambda c: c.queries[0].at == (0.5,)),
    "localized": (
        SQUARE.replace('"exact"', '"localized"\nradius = 0.2'),
        lambda c: c.certificate.options == {"radius": 0.2},
    ),
    "byte order mark": (b"\xef\xbb\xbf" + SQUARE.encode(), lambda c: c.title == "Square"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_form_of_the_contract_is_read(case, name):
    text, holds = OTHERS[name]
    assert holds(case(text))


def test_overrides_replace_keys_of_the_file(case):
    c = case(
        SQUARE,
        [
            "certificate.method=norm",
            "query.0.tolerance=1e-3",
            "query.0.at = [0.25, 0.75]",
            "problem.source=sin(pi*x)",
            'problem.dirichlet."my side"=2',
            "mesh.cells=16",
            "certificate.rounding=false",
            'title="a=b"',
        ],
    )
    assert (c.certificate.method, c.certificate.rounding, c.mesh.cells) == ("norm", False, 16)
    assert (c.queries[0].tolerance, c.queries[0].at) == (1e-3, (0.25, 0.75))
    assert c.problem.source([[0.5]]) == 1.0
    assert c.problem.dirichlet["my side"].constant == 2.0
    assert c.title == "a=b"
    assert (
        case(SQUARE[: SQUARE.index("[certificate]")], ["certificate.target=discrete"]).certificate.target == "discrete"
    )


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("certificate.method", "must read key=value"),
        ("=3", "must read key=value"),
        ("a..b=3", "not a dotted key"),
        ("certificate.metod=norm", "certificate.metod: unknown key; did you mean 'method'"),
        ("query.1.tolerance=1e-3", "query has entries 0 to 0; got '1'"),
        ("query.name.x=3", "query has entries"),
        ("title.x=3", "title is not a table"),
        ("certificate.tolerance=fast", "certificate.tolerance: must be a number; got text 'fast'"),
        ("mesh.cells=1\nx=2", "mesh.cells: must be a whole number"),
        ("certificate.method=cg", "'cg' is not known"),
        (3, "must be key=value texts"),
    ],
)
def test_bad_overrides_are_refused_by_their_key(case, override, words):
    with pytest.raises(InputError, match=words):
        case(SQUARE, [override])


def test_one_text_is_not_a_list_of_overrides(case):
    with pytest.raises(InputError, match="must be a list"):
        case(SQUARE, "title=x")


def square(old, new):
    assert old in SQUARE
    return SQUARE.replace(old, new)


def elastic(old, new):
    assert old in ELASTIC
    return ELASTIC.replace(old, new)


PREDICTION = 'expression = "x*(1-x)*y*(1-y)"'
QUERY = SQUARE[SQUARE.index("[[query]]") : SQUARE.index("[certificate]")]
REFUSED = {
    # the file
    "broken TOML": (square("cells = 8", "cells = "), r"not valid TOML: .*line 6"),
    "key twice": (square("cells = 8", "cells = 8\ncells = 9"), "not valid TOML"),
    "not UTF-8": (b"title = '\xff'", r"not UTF-8 text \(byte 9\)"),
    "empty": ("", "the file is empty"),
    "nothing in it": ("# nothing\n", "mesh: is missing"),
    "deep nesting": ("a = " + "[" * 5000, "not valid TOML|nested too deeply"),
    # keys
    "unknown section": (SQUARE + "[certficate]\n", "certficate: unknown key; did you mean 'certificate'"),
    "misspelt required section": (square("[prediction]", "[predicton]"), "prediction: is missing; did you mean"),
    "unknown key": (square("units", "unit"), r"unit: unknown key; did you mean 'units'\? \(known: title"),
    "unknown problem key": (square("source =", "sorce ="), "problem.sorce: unknown key; did you mean 'source'"),
    "unknown mesh key": (square("cells =", "cell ="), "mesh.cell: unknown key; did you mean 'cells'"),
    "unknown query key": (square("at = [", "att = ["), "query 'centre': at: is missing; did you mean 'at' by 'att'"),
    "unknown prediction key": (
        square("expression =", "expresion ="),
        "expresion: unknown key; did you mean 'expression'",
    ),
    "unknown certificate key": (SQUARE + "quadratur = 3", "certificate.quadratur: unknown key; did you mean"),
    "no problem": (SQUARE[: SQUARE.index("[problem]")], "problem: is missing"),
    "no queries": (SQUARE.replace(QUERY, ""), "query: is missing"),
    "query as table": (square("[[query]]", "[query]"), r"double brackets"),
    "queries as numbers": ("query = [1]\n" + SQUARE.replace(QUERY, ""), "query 1: must be a table"),
    "section as number": ("problem = 1\n" + SQUARE[: SQUARE.index("[problem]")], "problem: must be a table; got"),
    # types
    "title as number": (square('"Square"', "3"), "title: must be text; got a whole number '3'"),
    "two-line title": (square('"Square"', '"a\\nb"'), "title: must be one line"),
    "cells as text": (square("cells = 8", 'cells = "8"'), "mesh.cells: must be a whole number; got text"),
    "fractional cells": (square("cells = 8", "cells = 8.5"), "mesh.cells: must be a whole number"),
    "no cells": (square("cells = 8", "cells = 0"), "mesh.cells: must lie between 1"),
    "flag as number": (square("rounding = true", "rounding = 1"), "certificate.rounding: must be true or false"),
    "flag as text": (square("rounding = true", 'rounding = "true"'), "certificate.rounding: must be true or false"),
    "date": (square("reaction = 0.0", "reaction = 2024-01-01"), "problem.reaction: must be a number or a formula"),
    # mesh
    "no mesh": (SQUARE[: SQUARE.index("[mesh]")] + SQUARE[SQUARE.index("[problem]") :], "mesh: is missing"),
    "two meshes": (square("cells = 8", 'file = "part.msh"'), "mesh: give exactly one of 'file' and 'generate'"),
    "no source of mesh": (square('generate = "square"', ""), "mesh: give exactly one"),
    "unknown domain": (square('"square"', '"sqare"'), "mesh.generate: 'sqare' is not known; did you mean 'square'"),
    "missing mesh file": (elastic("part.msh", "other.msh"), "mesh.file '.*other.msh': no such file"),
    "empty mesh file": (elastic("part.msh", "empty.msh"), "mesh.file .* the file is empty"),
    "directory as mesh": (elastic("part.msh", "folder.msh"), "mesh.file .* is a directory"),
    "mesh suffix": (elastic("part.msh", "part.stl"), r"mesh.file: 'part.stl' must end in \.msh"),
    "cells of a file": (elastic('"part.msh"', '"part.msh"\ncells = 3'), "mesh.cells: only for a generated mesh"),
    # problem
    "unknown kind": (square('"reaction-diffusion"', '"heat"'), "problem.kind: 'heat' is not known"),
    "no kind": (square('kind = "reaction-diffusion"', ""), "problem.kind: is missing"),
    "negative diffusion": (square("diffusion = 1.0", "diffusion = -1.0"), "problem.diffusion: must be > 0; got -1.0"),
    "zero diffusion in a group": (square("diffusion = 1.0", "diffusion = {a = 0}"), "problem.diffusion.a: must be > 0"),
    "empty diffusion": (square("diffusion = 1.0", "diffusion = {}"), "problem.diffusion: the table is empty"),
    "NaN diffusion": (square("diffusion = 1.0", "diffusion = nan"), "problem.diffusion: must be finite"),
    "infinite diffusion": (square("diffusion = 1.0", "diffusion = inf"), "problem.diffusion: must be finite"),
    "huge diffusion": (square("diffusion = 1.0", "diffusion = 1" + "0" * 400), "problem.diffusion: must be finite"),
    "diffusion of nothing": (square("diffusion = 1.0", "diffusion = true"), "problem.diffusion: must be a number or"),
    "diffusion below zero": (square("diffusion = 1.0", 'diffusion = "-1"'), "problem.diffusion: must be > 0"),
    "a column": (square("diffusion = 1.0", "diffusion = [1, 2]"), r"problem.diffusion.0: must be a list of 1 to 3"),
    "one number of convection": (square("diffusion = 1.0", "convection = 1.0"), "problem.convection: must be a list"),
    "no groups": (square("diffusion = 1.0", "diffusion = {}"), "problem.diffusion: the table is empty"),
    "no picture": (square("diffusion = 1.0", 'diffusion = {file = "k.npz"}'), "problem.diffusion.file"),
    "an unknown grid": (
        square("diffusion = 1.0", 'diffusion = {file = "k.npz", grid = "pixels"}'),
        "problem.diffusion.(file|grid)",
    ),
    "NaN source": (square('source = "1"', "source = nan"), "problem.source: must be finite"),
    "code in source": (square('"1"', "\"__import__('os')\""), "problem.source .* not part of a formula"),
    "caret in source": (square('"1"', '"x^2"'), r"problem.source 'x\^2': .*use \*\*"),
    "unknown name in Dirichlet": (square("boundary = 0.0", 'boundary = "t"'), "problem.dirichlet.boundary 't'"),
    "list for one component": (square("boundary = 0.0", "boundary = [0, 0]"), "has one component"),
    "Dirichlet as number": (square("[problem.dirichlet]\nboundary = 0.0", "dirichlet = 0"), "must be a table"),
    "young in diffusion": (square("diffusion = 1.0", "young = 1.0"), "problem.young: does not belong to kind"),
    "source in elasticity": (elastic("poisson = 0.3", "poisson = 0.3\nsource = 1"), "problem.source: does not belong"),
    "cubic without semilinear": (square('source = "1"', "cubic = 2"), "problem.cubic: only for kind = 'semilinear'"),
    "cubic and g": (
        square('"reaction-diffusion"', '"semilinear"\ncubic = 1\ng = "sinh(u)"'),
        "problem.g: give either it or cubic",
    ),
    "g in x": (square('"reaction-diffusion"', '"semilinear"\ng = "x*u"'), "problem.g 'x[*]u'"),
    "g without semilinear": (square('source = "1"', 'g = "u"'), "problem.g: only for kind = 'semilinear'"),
    "semilinear without cubic": (square('"reaction-diffusion"', '"semilinear"'), "problem.cubic: is missing"),
    "third degree": (square('source = "1"', "degree = 3"), "problem.degree: must lie between 1 and 2"),
    "incompressible": (
        elastic("poisson = 0.3", "poisson = 0.5"),
        "problem.poisson: must lie between -1 and 0.5; got 0.5",
    ),
    "poisson by group": (elastic("poisson = 0.3", "poisson = {a = 0.3, b = -1}"), "problem.poisson.b: must lie"),
    "no young": (elastic("young", "yuong"), "problem.young: is missing; did you mean 'young' by 'yuong'"),
    "plane": (elastic('"strain"', '"strian"'), "problem.plane: 'strian' is not known; did you mean 'strain'"),
    "body as number": (elastic('["0", "0", "-1"]', "-1"), "problem.body: must be a list"),
    "body of four": (elastic('["0", "0", "-1"]', "[0, 0, 0, 1]"), "problem.body: must have one entry"),
    "bad component": (elastic('"sin(x)"', '"sn(x)"'), "problem.neumann.right.1 .*did you mean sin"),
    "free traction": (
        elastic('"sin(x)"', '"free"'),
        "problem.neumann.right.1: only a given displacement",
    ),
    "all free": (elastic('[0, "free", "0.1*y"]', '["free", "free"]'), "every component is free"),
    "deck and mesh": (square("[problem]", '[problem]\ndeck = "part.bdf"'), "mesh: problem.deck gives the mesh"),
    "deck and source": ('[problem]\ndeck = "part.bdf"\nsource = 1\n', "problem.source: the deck gives it"),
    "missing deck": ('[problem]\ndeck = "other.bdf"\n', "problem.deck .* no such file"),
    "deck of another kind": ('[problem]\ndeck = "part.bdf"\nkind = "semilinear"\n', "a deck is an elasticity problem"),
    "subcase without deck": (square('source = "1"', "subcase = 1"), "problem.subcase: only with a deck"),
    # prediction
    "no prediction": (square(PREDICTION, ""), "prediction: give exactly one of file, .*; got none"),
    "two predictions": (square(PREDICTION, PREDICTION + "\nzero = true"), "got expression and zero"),
    "missing field file": (elastic("field.npz", "other.npz"), "prediction.file .* no such file"),
    "pickle": (elastic("field.npz", "field.pkl"), "prediction.file: 'field.pkl' must end in .npz"),
    "torch pickle": (square(PREDICTION, 'torch = "weights.pt"\nfactory = "a:b"'), "is a pickle.*safetensors"),
    "torch without factory": (square(PREDICTION, 'torch = "weights.safetensors"'), "prediction.factory: is missing"),
    "code as factory": (
        square(PREDICTION, 'torch = "weights.safetensors"\nfactory = "os:system(1)"'),
        "must read 'package.module:function'",
    ),
    "factory without torch": (square(PREDICTION, PREDICTION + '\nfactory = "a:b"'), "only with prediction.torch"),
    "field without file": (square(PREDICTION, PREDICTION + '\nfield = "u"'), "only with prediction.file"),
    "not zero": (square(PREDICTION, "zero = false"), "prediction.zero: must be true"),
    "bad formula": (square(PREDICTION, 'expression = "x+"'), "prediction.expression 'x\\+': .*text ends"),
    # queries
    "unknown query kind": (
        square('"point"', '"pont"'),
        "'centre': kind: 'pont' is not known; did you mean",
    ),
    "same names": (SQUARE + QUERY, "query 'centre': queries 1 and 2 have this name"),
    "no place": (square("at = [0.5, 0.5]", ""), "query 'centre': at: is missing"),
    "NaN place": (square("at = [0.5, 0.5]", "at = [0.5, nan]"), "query 'centre': at.1: must be finite"),
    "text as place": (square("at = [0.5, 0.5]", 'at = ["a", 0]'), "query 'centre': at.0: must be a number"),
    "four coordinates": (square("at = [0.5, 0.5]", "at = [0, 0, 0, 0]"), "1 to 3 coordinates; got 4"),
    "radius of a point": (
        square("at = [0.5, 0.5]", "at = [0.5]\nradius = 1"),
        "'centre': radius: does not belong",
    ),
    "negative radius": (elastic("radius = 0.1", "radius = -0.1"), "query 'ball': radius: must be > 0; got -0.1"),
    "no radius": (elastic("radius = 0.1", ""), "query 'ball': radius: is missing"),
    "no group": (elastic('group = "right"', ""), "query 'q2': group: is missing"),
    "place of a patch": (elastic('group = "right"', 'group = "right"\nat = [0]'), "query 'q2': at: does not belong"),
    "group of a point": (
        square("at = [0.5, 0.5]", 'at = [0.5]\ngroup = "a"'),
        "'centre': group: does not belong",
    ),
    "negative tolerance": (elastic("tolerance = 1e-3", "tolerance = -1"), "query 'tip': tolerance: must be > 0"),
    "component of a scalar": (square("at = [0.5, 0.5]", 'at = [0.5]\ncomponent = "x"'), "has one component"),
    "unknown component": (elastic('component = "z"', 'component = "w"'), "query 'tip': component: 'w' is not known"),
    # certificate
    "unknown method": (square('"exact"', '"exat"'), "certificate.method: 'exat' is not known; did you mean 'exact'"),
    "unknown target": (square('"continuous"', '"continous"'), "certificate.target: 'continous' is not known; did you"),
    "nonlinear method": (square('"exact"', '"root"'), "'root' does not fit kind = 'reaction-diffusion'"),
    "linear method": (
        square('"reaction-diffusion"', '"semilinear"\ncubic = 1'),
        "'exact' does not fit kind = 'semilinear'; use one of root",
    ),
    "zero tolerance": (SQUARE + "tolerance = 0", "certificate.tolerance: must be > 0"),
    "NaN tolerance": (SQUARE + "tolerance = nan", "certificate.tolerance: must be finite"),
    "quadrature": (SQUARE + "quadrature = 99", "certificate.quadrature: must lie between 1 and 20"),
    "probes of another method": (SQUARE + "probes = 3", "certificate.probes: only for method = 'randomized'"),
    "certain": (elastic("delta = 0.01", "delta = 1"), "certificate.delta: must lie between 0 and 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_cases_are_refused_by_their_key_in_one_line(case, name):
    text, words = REFUSED[name]
    with pytest.raises(InputError, match=words) as caught:
        case(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("path", "words"), [("missing.toml", "no such file"), (".", "is a directory")])
def test_a_missing_case_file_is_refused(tmp_path, path, words):
    with pytest.raises(InputError, match=words):
        read_case(tmp_path / path)


def test_formulas_are_ready_to_use(case):
    values = case().problem.source(np.zeros((4, 2)))
    np.testing.assert_array_equal(values, np.ones(4))


def test_unknown_keys_are_told_the_known_ones_once(tmp_path):
    from pinnpoint.cases.tables import suggest

    assert suggest("limit", ["name", "at", "radius", "at"]) == " (known: name, at, radius)"
