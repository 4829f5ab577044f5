"""Every key of every file of a bundle is proved, compared, or printed as declared; and no other key is taken."""

from __future__ import annotations

import copy
import json
import pickle
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint.mesh.mesh import Mesh
from pinnpoint_verify import checker, claims, derived, functionals, own, points
from pinnpoint_verify.fields import DECLARED, LIST, TABLES, WITNESS, tree
from pinnpoint_verify.reader import Refused, need
from tests.support.decks import Beam

POINT = 'kind = "point"\nat = [0.4, 0.55]\n'
BALL = 'kind = "average"\nat = [0.4, 0.5]\nradius = 0.2\n'
PATCH = 'kind = "patch"\ngroup = "right"\n'
BLOCK = 'kind = "cells"\nat = [0.4, 0.5]\nside = 0.3\n'
SLOPE = 'kind = "gradient"\nat = [0.4, 0.55]\ncomponent = "y"\n'
POINTED = 'kind = "flux"\nat = [0.4, 0.55]\ncomponent = "x"\n'
LINEAR = 'kind = "reaction-diffusion"\nsource = "1+x"\nreaction = 1.0\n'
CUBIC = 'kind = "semilinear"\nsource = "1+x"\ncubic = 20.0\n'
BEAM = 'kind = "elasticity"\nyoung = 3.0\npoisson = 0.3\nbody = ["0", "-1"]\n'
BOUNDARY = "[problem.dirichlet]\nboundary = 0.0\n"
LEFT = "[problem.dirichlet]\nleft = {}\n[problem.neumann]\nright = {}\n"
EXPRESSION = 'expression = "x*(1-x)"\n'
DISCRETE = 'target = "discrete"\n'


def text(problem, queries, method="", edge=BOUNDARY, mesh="square", cells=3, prediction=EXPRESSION, head=""):
    asked = "".join(f'[[query]]\nname = "q{i}"\n{q}' for i, q in enumerate(queries))
    return (
        f'{head}[mesh]\ngenerate = "{mesh}"\ncells = {cells}\n[problem]\n{problem}{edge}[prediction]\n{prediction}'
        f"{asked}[certificate]\n{method}"
    )


MIXED = LEFT.format('"y**3"', '"1+y"')
LINE = [f'kind = "point"\nat = [{x}]\n' for x in (0.4, 1.0)]
CASES = {
    "exact": text(LINEAR, [POINT, BALL, PATCH], DISCRETE, MIXED, head='title = "T"\nunits = "mm"\n'),
    "override": text(LINEAR, [POINT], DISCRETE, "[problem.dirichlet]\nboundary = 0.0\nleft = 0.0\n"),
    "continuous override": text(LINEAR, [POINT], "", "[problem.dirichlet]\nboundary = 0.0\nleft = 0.0\n"),
    "norm": text(LINEAR, [POINT], DISCRETE + 'method = "norm"\n'),
    "inexact": text(LINEAR, [POINT], DISCRETE + 'method = "inexact"\n'),
    "localized": text(LINEAR, [POINT], DISCRETE + 'method = "localized"\nradius = 0.3\n'),
    "randomized": text(LINEAR, [POINT], DISCRETE + 'method = "randomized"\nprobes = 5\n'),
    "not rounded": text(LINEAR, [POINT], DISCRETE + "rounding = false\n"),
    "quadratic": text(LINEAR + "degree = 2\n", [POINT, PATCH], DISCRETE, LEFT.format(1.0, 2.0), cells=2),
    "flux": text(LINEAR, ['kind = "flux"\ngroup = "left"\n'], DISCRETE, LEFT.format(0.0, 1.0)),
    "root": text(CUBIC, [POINT, BALL], DISCRETE + 'method = "root"\n'),
    "stationary": text(CUBIC, [POINT], DISCRETE + 'method = "stationary"\n'),
    "elasticity": text(
        BEAM,
        [POINT + 'component = "y"\n', PATCH + 'component = "x"\n'],
        DISCRETE,
        '[problem.dirichlet]\nleft = [0.0, 0.0]\n[problem.neumann]\nright = ["0.5", "0"]\n',
        prediction="zero = true\n",
    ),
    "derived": text(
        BEAM,
        [
            'kind = "von-mises"\nat = [0.4, 0.55]\naccept = 0.1\nlimit = { below = 9.0 }\n',
            'kind = "principal"\nat = [0.4, 0.55]\n',
            'kind = "magnitude"\nat = [0.4, 0.55]\ntolerance = 0.1\n',
            'kind = "strain"\nat = [0.4, 0.55]\ncomponent = "yx"\n',
            'kind = "mean"\ncomponent = "y"\n',
            PATCH + "component = [1.0, 2.0]\n",
        ],
        DISCRETE,
        '[problem.dirichlet]\nleft = [0.0, 0.0]\n[problem.neumann]\nright = ["0.5", "0"]\n',
        prediction="zero = true\n",
    ),
    "reaction": text(
        BEAM + "degree = 2\n",
        ['kind = "reaction"\ngroup = "left"\ncomponent = "x"\n', 'kind = "compliance"\n'],
        DISCRETE,
        '[problem.dirichlet]\nleft = [0.0, 0.0]\n[problem.neumann]\nright = ["0.5", "0"]\n',
        prediction="zero = true\n",
        cells=2,
    ),
    "line": text(LINEAR, LINE, "", "[problem.dirichlet]\nright = 1.5\n", "interval"),
    "plane": text(LINEAR, [POINT, BALL, PATCH], "", MIXED),
    "solid": text(LINEAR, ['kind = "point"\nat = [0.4, 0.55, 0.5]\n'], mesh="cube", cells=2),
    "below zero": text(
        LINEAR.replace("1.0", "-12.0"), [POINT], "", "[problem.dirichlet]\nleft = 0.0\nright = 0.0\n", cells=6
    ),
    "error below zero": text(
        LINEAR.replace("1.0", "-12.0"),
        ['kind = "l2-error"\n'],
        "",
        "[problem.dirichlet]\nleft = 0.0\nright = 0.0\n",
        cells=6,
    ),
    "continuous norm": text(LINEAR, [POINT], 'method = "norm"\n'),
    "continuous root": text(CUBIC, [POINT, PATCH], 'method = "root"\n', LEFT.format(0.0, 0.5), cells=2),
    "compared": text(CUBIC.replace("20.0", "1e5"), [POINT], 'method = "root"\n', cells=2),
    "continuous flux": text(LINEAR, ['kind = "flux"\ngroup = "left"\n'], "", "[problem.dirichlet]\nleft = 0.0\n"),
    "lift": text(LINEAR, [POINT], "lift = true\n", prediction='expression = "x*(1-x)*y*(1-y)"\n'),
    "averages": text(LINEAR, [BLOCK, SLOPE, POINTED], "", MIXED),
    "discrete averages": text(LINEAR, [BLOCK, SLOPE, POINTED], DISCRETE, MIXED),
    "averages on a line": text(
        LINEAR,
        ['kind = "mean"\n', 'kind = "cells"\nat = [0.4]\nside = 0.3\n'],
        "",
        "[problem.dirichlet]\nright = 1.5\n",
        "interval",
    ),
    "everywhere": text(LINEAR, ['kind = "everywhere"\n', POINT], prediction='expression = "x*(1-x)*y*(1-y)"\n'),
    "decided": text(LINEAR, [POINT + "accept = 0.5\n"], 'until = "decided"\n', cells=2),
    "tolerance": text(LINEAR, [POINT, BALL + "tolerance = 0.1\n"], "tolerance = 0.03\n", cells=2),
    "accept": text(LINEAR, [POINT + "accept = 0.5\n", BALL, POINT + "accept = 1e-9\n"], "accept = 0.02\n"),
    "limit": text(
        LINEAR, [POINT + "limit = { below = 0.5 }\n", BALL, POINT], "limit = { above = 0.5 }\naccept = 1.0\n"
    ),
}


def opaque(folder):
    """Data that is no formula: an estimate."""
    mesh = pp.io.generate("square", 3)
    problem = pp.fem.ReactionDiffusion(mesh, source=lambda X: 1.0 + X[:, 0], dirichlet={"boundary": 0.0})
    queries, U = problem.points([[0.4, 0.55]]), np.zeros(len(problem.nodes.points))
    pp.write_bundle(folder, pp.certify(problem, U, queries), problem, U, queries)


def weighted(folder):
    n = 12
    A = sp.diags_array([-1.0, 2.5, -1.2], offsets=[-1, 0, 1], shape=(n, n), format="csr")
    system = pp.LinearSystem(A, np.ones(n), weight=sp.diags_array(np.linspace(1.0, 2.0, n)))
    queries = pp.Queries(np.eye(n)[:2], names=["p", "q"], notes=["as measured"])
    pp.write_bundle(folder, pp.certify(system, np.zeros(n), queries), system, np.zeros(n), queries)


def beam(folder):
    mesh = pp.io.generate("square", 2)
    problem = pp.fem.Elasticity(mesh, 3.0, 0.3, fixed={"left": 0.0}, traction={"right": [1.0, 0.0]})
    queries = problem.points([[0.4, 0.55]], component="y") + problem.averages([[0.5, 0.5]], 0.2, component="x")
    U = problem.space.U0
    pp.write_bundle(folder, pp.certify(problem, U, queries, target="discrete"), problem, U, queries)


def lifted(folder, prediction, d=2):
    mesh = pp.io.generate("square", 3) if d == 2 else pp.io.generate("interval", 4)
    problem = pp.fem.ReactionDiffusion(mesh, source="1+x", dirichlet={"boundary": 0.0}).lifted(prediction)
    queries = problem.base.points([[0.4, 0.55][:d]]) + problem.base.averages([[0.4, 0.5][:d]], 0.2)
    queries = problem.ask(queries.goals, queries.names)
    pp.write_bundle(folder, pp.certify(problem, prediction, queries), problem, prediction, queries)


def network(folder):
    rng = np.random.default_rng(5)
    weights, biases = [rng.standard_normal(s) * 0.5 for s in ((6, 1), (1, 6))], [rng.standard_normal(6), np.ones(1)]
    lifted(folder, pp.models.Lift(pp.models.MLP(weights, biases, "tanh"), "x*(1-x)"), 1)


def opaque_lift(folder):
    """A prediction of which nothing is known: an estimate."""
    lifted(folder, pp.models.Lift.opaque(lambda X: np.sin(X[:, 0]), lambda X: -np.sin(X[:, 0])))


def deck(folder):
    """A deck's forces at nodes, the mesh and its groups; the field is a file."""
    beam = Beam()
    folder.mkdir()
    (folder / "part.bdf").write_text(beam.deck())
    np.savez(folder / "field.npz", values=beam.truth()[2].reshape(-1, 3))
    asked = '[[query]]\nname = "tip"\nat = [1.0, 1.0, 0.4]\ncomponent = "x"\n'
    asked += '[[query]]\nname = "held"\nkind = "patch"\ngroup = "SPC 2"\ncomponent = "z"\n'
    head = '[problem]\ndeck = "part.bdf"\n[prediction]\nfile = "field.npz"\n'
    (folder / "case.toml").write_text(f"{head}{asked}[certificate]\n{DISCRETE}")
    assert main(["certify", str(folder / "case.toml"), "--quiet", "--out", str(folder / "out")]) == 0
    return folder / "out" / "bundle"


def body(folder):
    """A solid's own solution."""
    mesh, loads = pp.io.generate("square", 2), {"traction": {"right": [1.0, "y"]}, "force": {"top": [0.5, 0.0]}}
    problem = pp.fem.Elasticity(mesh, 3.0, 0.3, [0.5, -1.0], {"left": 0.0}, **loads)
    queries = problem.stress([[0.4, 0.55]], "xy", ["s"]) + problem.patch("top", [0.6, 0.8], "along")
    queries = queries + problem.points([[0.0, 0.5]], "x", ["held"]) + problem.cells([5, 2], "y", "two cells")
    U = problem.space.U0
    pp.write_bundle(folder, pp.certify(problem, U, queries), problem, U, queries)


def warm(folder):
    """A heated solid's own solution, and a stress along another."""
    mesh = pp.io.generate("cube", 1)
    mesh = Mesh(mesh.points, mesh.cells, {"all": np.ones(len(mesh.cells), dtype=bool)}, mesh.facet_groups)
    given = {"traction": {"right": [1.0, 0.0, 0.5]}, "expansion": 0.1, "temperature": "x"}
    problem = pp.fem.Elasticity(mesh, 3.0, 0.3, None, {"left": 0.0}, **given)
    queries, U = problem.von_mises("all", "s", near=[1.0, 0.0, 0.2, 0.5, 0.0, 0.0]), problem.space.U0.copy()
    U[problem.space.free] = 0.01 * np.arange(len(problem.space.free))
    pp.write_bundle(folder, pp.certify(problem, U, queries), problem, U, queries)


def kept(folder):
    """A predicted displacement that was lifted."""
    problem = pp.fem.Elasticity(pp.io.generate("square", 1), 3.0, 0.3, [0.5, "x"], {"left": 0.0})
    queries, near = problem.mean("x", "m"), ["0.1*x*y", "0.2*x"]
    pp.write_bundle(folder, pp.certify(problem, near, queries, lift=True), problem, near, queries)


def steps(folder):
    """Steps in time: the discrete target."""
    mesh = pp.io.generate("square", 2)
    heat = pp.fem.Parabolic(mesh, source="1+x", initial="x", dirichlet={"left": 0.0}, end=0.5, steps=3, damped=1)
    queries, states = heat.points([[0.4, 0.55]], time=0.5), np.zeros((4, len(mesh.points)))
    found = pp.certify(heat, states, queries, target="discrete")
    pp.write_bundle(folder, found, heat, states, queries)


def regions(folder):
    """A source of its own in each group of cells."""
    mesh = pp.io.generate("square", 2)
    half = mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5
    mesh = Mesh(mesh.points, mesh.cells, {"a": half, "b": ~half}, mesh.facet_groups)
    problem = pp.fem.ReactionDiffusion(mesh, source={"a": 1.0, "b": "6*x"}, dirichlet={"boundary": 0.0})
    queries, U = problem.averages([[0.4, 0.5]], 0.2), problem.space.U0
    pp.write_bundle(folder, pp.certify(problem, U, queries), problem, U, queries)


def tall(folder):
    """Least squares: more rows than unknowns."""
    A = np.vstack([2.3 * np.eye(4) - np.eye(4, k=1) - 0.9 * np.eye(4, k=-1), 0.3 * np.ones((2, 4))])
    system, queries = pp.LinearSystem(A, np.arange(6.0)), pp.Queries(np.eye(4)[:2])
    pp.write_bundle(folder, pp.certify(system, system.space.U0, queries), system, system.space.U0, queries)


def reacting(folder):
    """An equation with g(u)."""
    problem = pp.fem.Semilinear(pp.io.generate("interval", 4), g="sinh(u)", source="3+x")
    queries, U = problem.points([[0.4]]), problem.space.U0
    pp.write_bundle(folder, pp.certify(problem, U, queries), problem, U, queries)


MADE = {
    "tall": tall,
    "reacting": reacting,
    "steps": steps,
    "regions": regions,
    "body": body,
    "kept": kept,
    "warm": warm,
    "opaque": opaque,
    "weighted": weighted,
    "beam": beam,
    "network": network,
    "opaque lift": opaque_lift,
    "deck": deck,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A bundle by its name, made once, as the reader has it."""
    root = tmp_path_factory.mktemp("fields")

    @cache
    def make(name):
        folder = root / name.replace(" ", "_")
        if name in MADE:
            folder = MADE[name](folder) or folder
        else:
            (root / "case.toml").write_text(CASES[name])
            assert main(["certify", str(root / "case.toml"), "--quiet", "--out", str(folder)]) in (0, 1, 4)
            folder /= "bundle"
        return claims.Bundle(folder)

    return make


class Altered:
    """A bundle whose files say something else, with hashes that are right again: what the reader would hand out."""

    def __init__(self, honest, json):
        self.honest, self.json, self.used = honest, json, set()
        self.arrays = honest.arrays
        self.versions = json["certificate.json"].get("versions") if "versions" in json["certificate.json"] else None

    def identity(self):
        """The id, right again whatever else was altered, so that it is not what tells."""
        own = self.honest.json["certificate.json"].get("id")
        need(self.json["certificate.json"].get("id") == own, "certificate.json: another id")
        return own

    def __contains__(self, name):
        return name in self.arrays

    def __call__(self, *shape, **more):
        self.honest.used = self.used
        return self.honest(*shape, **more)

    def sparse(self, *more):
        self.honest.used = self.used
        return self.honest.sparse(*more)


class Once:
    """The proof of a target, not made again for the very same words: an alteration elsewhere does not change it.

    Nothing but these words and the arrays, which are the same for all alterations, goes into it. What it does to them,
    which files it reads and how it ends is done again from what is kept.
    """

    def __init__(self, prove):
        self.prove, self.kept = prove, {}

    def __call__(self, bundle, proof, case, rows, *more):
        key = bundle.honest, json.dumps([proof, case, rows])
        if key not in self.kept:
            before = set(bundle.used)
            try:
                found, failed = self.prove(bundle, proof, case, rows, *more), None
            except (Refused, *claims.TROUBLE) as error:
                found, failed = None, error
            self.kept[key] = pickle.dumps((proof, case, rows, found)), failed, bundle.used - before
        (*words, found), failed, used = pickle.loads(self.kept[key][0]), *self.kept[key][1:]
        bundle.used |= used
        if failed is not None:
            raise failed
        for now, then in zip((proof, case, *rows), (*words[:2], *words[2]), strict=True):
            now.clear()
            now.update(then)
        return found


class Pure:
    """A function of its arguments alone, computed once for the very same ones."""

    def __init__(self, f):
        self.f, self.kept = f, {}

    def __call__(self, *given, **more):
        try:
            key = pickle.dumps((given, more))
        except (pickle.PicklingError, AttributeError, TypeError):  # closures
            return self.f(*given, **more)
        if key not in self.kept:
            self.kept[key] = self.f(*given, **more)
        return copy.deepcopy(self.kept[key])


class Compared:
    """What is compared or proved of a bundle, not done again for the very same words, which alone go into it."""

    def __init__(self, compare, words):
        self.compare, self.words, self.kept = compare, words, {}

    def __call__(self, bundle, *given):
        key = bundle.honest, json.dumps(self.words(bundle, *given))
        if key not in self.kept:
            before, bundle.used = bundle.used, set()
            try:
                found, failed = self.compare(bundle, *given), None
            except (Refused, *claims.TROUBLE) as error:
                found, failed = None, error
            self.kept[key], bundle.used = (found, failed, bundle.used), before
        found, failed, used = self.kept[key]
        bundle.used |= used
        if failed is not None:
            raise failed
        return found


def beside(bundle):
    """All of certificate.json but its rows."""
    return {key: value for key, value in bundle.json["certificate.json"].items() if key != "queries"}


FUNCTIONALS = Compared(
    functionals.functionals_agree, lambda bundle, d, rows, case, proof: [rows, case, proof, beside(bundle)]
)
"""Every ℓ and A and b against the case."""
SYSTEM = Compared(
    functionals.system_agrees, lambda bundle, d, at, case: [case, bundle.json["proof.json"], beside(bundle)]
)
"""A and b alone."""
BOUNDS = Compared(
    lambda bundle, d, proof, known, bounds=checker.Discrete.bounds: bounds(d, bundle, proof, known),
    lambda bundle, d, proof, known: [proof, *d.L.shape],
)
"""The discrete target's intervals; what is `known` of coercivity follows from proof and arrays."""
PLACES = [(claims, name, Once(getattr(claims, name))) for name in ("continuous", "solid")]
PLACES += [(claims, "functionals_agree", FUNCTIONALS), (functionals, "system_agrees", SYSTEM)]
PLACES += [(checker.Discrete, "bounds", lambda d, bundle, proof, known=None: BOUNDS(bundle, d, proof, known))]
PURE = (
    (points, "data_term"),
    (points, "density_bounds"),
    (own, "enclosed"),
    (claims, "declared_lines"),
    (derived, "numbers_agree"),
)
PLACES += [(module, name, Pure(getattr(module, name))) for module, name in PURE]


def report(honest, files, monkeypatch):
    """Lines of the verdict on altered files; None where it is refused."""
    monkeypatch.setattr(claims, "Bundle", lambda path: Altered(honest, files))
    for place, name, f in PLACES:
        monkeypatch.setattr(place, name, f)
    try:
        with np.errstate(all="ignore"):
            return claims.verify("")
    except (Refused, *claims.TROUBLE):
        return None


def places(data, path=()):
    """Every place of a file: what holds it, and the steps that lead to it."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        yield (*path, key)
        yield from places(value, (*path, key))


def others(value):
    """What might stand there instead."""
    if isinstance(value, bool):
        return [not value, 1.0 * value]
    if isinstance(value, int):
        return [value + 1, -value - 1, str(value), 10**30]
    if isinstance(value, float):
        return [value * 1.001 + (1e-3 if value == 0.0 else 0.0), -value - 1e-30, None]
    if isinstance(value, str):
        return [value + "x", value[:-1], None]
    if value is None:
        return [1.0, "x"]
    if isinstance(value, list):
        return [value[:-1], [*value, *value[-1:]], value[::-1], {}]
    return [{**value, "invented": 1.0}, {**value, "invented": {}}, {}, []]


def put(data, path, value):
    for key in path[:-1]:
        data = data[key]
    data[path[-1]] = value


def treatment(file, path):
    """What the table has for a leaf."""
    at = tree(file)
    for key in path:
        at = at.step(LIST if isinstance(key, int) else key)
        if at is None:
            return ""
    return at.how


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CASES, *MADE])
def test_every_key_is_proved_compared_or_printed_as_declared(name, made, monkeypatch):
    honest = made(name)
    before = report(honest, copy.deepcopy(honest.json), monkeypatch)
    assert before is not None
    escaped, tried, whole = [], 0, pickle.dumps(honest.json)
    for file in TABLES:
        for path in places(honest.json[file]):
            value = honest.json[file]
            for key in path:
                value = value[key]
            changes = [("changed", v) for v in others(value) if v != value or type(v) is not type(value)]
            few = path[0] in ("queries", "goals") and len(path) > 2 and path[1] > 0  # a row is like the first one
            for how, new in [*changes[: 1 if few else None], ("removed", None)]:
                files = pickle.loads(whole)
                put(files[file], path, new)
                if how == "removed":
                    inner = files[file]
                    for key in path[:-1]:
                        inner = inner[key]
                    del inner[path[-1]]
                tried += 1
                after = report(honest, files, monkeypatch)
                if after is None:
                    continue
                fresh = [line for line in after if line not in before]
                said = "".join(line for line in fresh if line.startswith("declared: "))
                shown = json.dumps(new, ensure_ascii=False)[1:-1] in said if how == "changed" else after != before
                free = treatment(file, path) in (DECLARED, WITNESS) or isinstance(value, dict | list)
                free = free or path[0] == "assumptions"
                if not (free and (shown or treatment(file, path) == WITNESS)):
                    escaped.append((file, path, value, new, how, fresh[:1]))
    assert not escaped, f"{len(escaped)} of {tried}: {escaped[:8]}"
    assert tried > 200


def everywhere(**files):
    """Changes in several files at once."""

    def change(data):
        for name, how in files.items():
            how(data[f"{name}.json"])

    return change


def rows(**new):
    return lambda d: [row.update(new) for row in d["queries"]]


def both(change):
    return everywhere(certificate=change, case=change)


def claim(number, words=None, status=None):
    def change(d):
        one = d["assumptions"][number]
        one |= ({} if words is None else {"claim": words}) | ({} if status is None else {"status": status})

    return everywhere(certificate=change)


def sure(number, words):
    """An estimate that is called a proof."""

    def change(data):
        rows(guarantee="deterministic")(data["certificate.json"])
        claim(number, words, "verified")(data)

    return change


def ball(d):
    d["queries"][1].update({"ball": 0.1} if "assumptions" in d else {"radius": 0.1})


def mean(d):
    d["queries"][0].update({"kind": "average"} | ({"ball": 0.1} if "assumptions" in d else {"radius": 0.1}))


def value(d):
    d["queries"][1].update(kind="point")
    d["queries"][1].pop("ball" if "assumptions" in d else "radius")


def step(**new):
    return everywhere(certificate=lambda d: d["refinement"]["steps"][0].update(new))


def predicted(formula):
    """Another prediction in case and proof."""
    return everywhere(
        case=lambda d: d["prediction"].update(expression=formula), proof=lambda d: d["lift"].update(formula=formula)
    )


def move(row, key, by):
    """Another value of the prediction, in all numbers of its row."""
    row[key] += by
    row[f"{key}_radius"] = abs(row[key] - row["center"]) + row["radius"]
    row["terms"]["mismatch"] = abs(row["raw"] - row["value"])


ENCLOSED = "lift: the prediction's value and residual, enclosed by Taylor models"
ELSEWHERE = [0.41, 0.55]
RIGHT = {"claim": "source: integrated exactly", "status": "verified"}
FORGED = [
    ("exact", everywhere(certificate=lambda d: d["queries"][1].update(ball=0.1))),
    ("plane", everywhere(certificate=lambda d: d["queries"][1].update(ball=0.1))),
    ("exact", both(ball)),
    ("plane", both(ball)),
    ("exact", both(mean)),
    ("exact", both(value)),
    ("exact", both(lambda d: [d["queries"][0].pop("at"), d["queries"][0].update(kind="patch", group="right")])),
    ("exact", both(lambda d: d["queries"][2].update(group="left"))),
    ("plane", both(lambda d: d["queries"][2].update(group="left"))),
    ("override", everywhere(certificate=lambda d: d["assumptions"].pop(1))),
    ("continuous override", everywhere(certificate=lambda d: d["assumptions"].pop(0))),
    ("continuous override", claim(0, "group 'left' overrides 'boundary' on 4 facets")),
    ("deck", both(rows(component="y"))),
    ("exact", both(rows(component="x"))),
    ("elasticity", both(rows(component="x"))),
    ("elasticity", everywhere(certificate=rows(component="x"))),
    ("exact", both(lambda d: d["queries"].reverse())),
    ("exact", both(lambda d: d["problem"].update(degree=2))),
    ("exact", both(lambda d: d["queries"][0].update(at=ELSEWHERE))),
    ("exact", both(lambda d: d["queries"][0].update(at=[0.4, 0.55 + 1e-9]))),
    ("tolerance", everywhere(certificate=rows(tolerance=0.5))),
    ("exact", everywhere(certificate=rows(tolerance=0.5))),
    ("tolerance", step(radius=[1e-9, 1e-9])),
    ("tolerance", step(cells=10**6)),
    ("tolerance", everywhere(certificate=lambda d: d["refinement"]["steps"].pop())),
    ("tolerance", everywhere(certificate=lambda d: d["refinement"].update(stopped="enough"))),
    ("exact", everywhere(certificate=lambda d: d.update(title="another"))),
    ("exact", everywhere(certificate=lambda d: d.update(units="inch"))),
    ("exact", everywhere(certificate=lambda d: d.update(sealed=True))),
    ("exact", everywhere(case=lambda d: d.update(sealed=True))),
    ("exact", everywhere(proof=lambda d: d.update(sealed=True))),
    ("exact", everywhere(certificate=lambda d: d["assumptions"].append(RIGHT))),
    ("plane", everywhere(certificate=lambda d: d["assumptions"].append(RIGHT))),
    ("plane", everywhere(certificate=lambda d: d["assumptions"].pop())),
    ("exact", everywhere(certificate=lambda d: d["assumptions"].clear())),
    ("not rounded", everywhere(certificate=lambda d: d["assumptions"].pop())),
    ("not rounded", claim(-1, status="verified")),
    ("not rounded", everywhere(certificate=rows(rounding="covered"))),
    ("randomized", everywhere(certificate=lambda d: d["assumptions"].pop())),
    ("randomized", claim(-1, status="verified")),
    ("opaque", everywhere(certificate=rows(guarantee="deterministic"))),
    ("opaque", claim(2, status="verified")),
    ("opaque", sure(2, None)),
    ("opaque", sure(2, "source: integrated exactly")),
    ("opaque", sure(2, "source: enclosed on every cell to 1.000e-10")),
    ("opaque lift", sure(-1, ENCLOSED)),
    ("network", everywhere(proof=lambda d: d["lift"].update(activation="sin"))),
    ("network", everywhere(proof=lambda d: d["lift"].update(factor="x*(1-x)*(1+x)"))),
    ("lift", everywhere(proof=lambda d: d["lift"].update(formula="x*(1-x)"))),
    *(
        ("lift", everywhere(case=lambda d, f=f: d["prediction"].update(expression=f)))
        for f in ("exp(5*x)", "0.7*x", 0.0)
    ),
    ("lift", predicted("exp(5*x)")),
    ("lift", everywhere(certificate=lambda d: move(d["queries"][0], "raw", 0.01))),
    ("lift", everywhere(certificate=lambda d: move(d["queries"][0], "value", 0.01))),
    ("compared", everywhere(proof=lambda d: d.update(range=[0.0, 1.5]))),
    ("compared", everywhere(proof=lambda d: d.update(range=None))),
    ("plane", everywhere(proof=lambda d: d.update(range=[0.0, 3.0]))),
    ("accept", everywhere(certificate=lambda d: d["queries"][2]["verdicts"].update(accept="within"))),
    ("accept", everywhere(certificate=lambda d: d["queries"][0]["verdicts"].update(accept="undecided"))),
    ("accept", everywhere(certificate=lambda d: d["queries"][0].update(accept=5.0))),
    ("limit", everywhere(certificate=lambda d: d["queries"][0]["verdicts"].update(limit="violated"))),
    ("limit", everywhere(certificate=lambda d: d["queries"][1]["verdicts"].update(limit="holds"))),
    ("limit", everywhere(certificate=lambda d: d["queries"][1]["verdicts"].pop("limit"))),
    ("limit", everywhere(certificate=lambda d: d["queries"][0]["limit"].update(below=0.6))),
    ("limit", everywhere(certificate=lambda d: d["queries"][0]["limit"].update(above=0.0))),
    ("limit", everywhere(case=lambda d: d["queries"][0]["limit"].update(below=0.6))),
    ("limit", everywhere(certificate=lambda d: d["queries"][0].pop("limit"))),
    (
        "exact",
        everywhere(certificate=lambda d: d["queries"][0].update(limit={"below": 9.0}, verdicts={"limit": "holds"})),
    ),
    ("exact", everywhere(case=lambda d: d["prediction"].update(expression="x"))),
    ("weighted", everywhere(proof=lambda d: d.update(weighted=False))),
    ("exact", everywhere(proof=lambda d: d.update(weighted=True))),
    ("exact", everywhere(certificate=lambda d: d.update(interval_of="the PDE's solution on the mesh's polygon"))),
]


@pytest.mark.parametrize("number", range(len(FORGED)))
def test_what_is_forged_with_hashes_that_are_right_again_is_refused(number, made, monkeypatch):
    name, change = FORGED[number]
    honest = made(name)
    files = copy.deepcopy(honest.json)
    change(files)
    assert files != honest.json
    assert report(honest, files, monkeypatch) is None


@pytest.mark.parametrize("key", ["title", "units"])
def test_a_title_or_units_that_all_files_agree_on_are_printed_as_declared(key, made, monkeypatch):
    files = copy.deepcopy(made("exact").json)
    both(lambda d: d.update({key: "mine\x1b[2A"}))(files)
    said = report(made("exact"), files, monkeypatch)
    assert f'declared: case, {key}: "mine\\u001b[2A"' in said


def test_an_opaque_prediction_cannot_become_a_formula(made, monkeypatch):
    """Nothing of it is stored, so that a forger has to invent what samples then refute."""
    files = copy.deepcopy(made("opaque lift").json)
    sure(-1, ENCLOSED)(files)
    files["proof.json"]["lift"] = {"kind": "formula", "formula": "x", "factor": None, "offset": None}
    claim(2, "source: enclosed on every cell to 1.000e-10", "verified")(files)
    assert report(made("opaque lift"), files, monkeypatch) is None


def test_the_table_has_no_key_that_no_bundle_has(made):
    """Every path of the table is met by some bundle here, or belongs to what is listed."""
    met = {file: set() for file in TABLES}
    for name in (*CASES, *MADE):
        for file in TABLES:
            for path in places(made(name).json[file]):
                met[file].add("".join("[]" if isinstance(p, int) else f".{p}" for p in path).removeprefix("."))
    rare = (
        "inputs.",
        "mesh.",
        "problem.",
        "prediction.",
        "certificate.",
        "lift.",
        "bent.",
        "arcs.",
        "notes",
        "unsupported",
        "queries[].at",
        "derived[].group",
        "of",
    )
    for file, table in TABLES.items():
        plain = [path for path in table if "*" not in path and not path.startswith(rare)]
        assert not [path for path in plain if path not in met[file]], file
