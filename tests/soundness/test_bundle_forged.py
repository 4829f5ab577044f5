"""Bundles that were altered consistently, in several files at once, to prove what is false; and honest odd ones."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint as pp
import pinnpoint_verify as verifier
from pinnpoint.cli.main import main
from pinnpoint.outputs.bundle import discrete
from pinnpoint_verify import checker, claims, cubics, functionals, lines
from pinnpoint_verify.reader import Refused
from tests.support.forged import sealed

POINT = 'kind = "point"\nat = [0.4, 0.55]\n'
MIDDLE = 'kind = "point"\nat = [0.4]\n'
PATCH = 'kind = "patch"\ngroup = "{}"\n'
SLOPE = 'kind = "gradient"\nat = [0.4, 0.55]\ncomponent = "y"\n'
CUBIC = 'kind = "semilinear"\nsource = "1+x"\ncubic = {}\n'
LINEAR = 'kind = "reaction-diffusion"\nsource = "1+x"\n'
DISCRETE = 'target = "discrete"\n'


def text(problem, queries, mesh="square", cells=4, edge="boundary = 0.0", more="", prediction="x*(1-x)", method=""):
    asked = "".join(f'[[query]]\nname = "q{i}"\n{q}' for i, q in enumerate(queries))
    return (
        f'[mesh]\ngenerate = "{mesh}"\ncells = {cells}\n[problem]\n{problem}[problem.dirichlet]\n{edge}\n'
        f'[problem.neumann]\n{more}\n[prediction]\nexpression = "{prediction}"\n{asked}[certificate]\n{method}'
    )


ENDS = "left = 0.0\nright = 1.0"
CASES = {
    "plane": text(LINEAR + "reaction = 1.0\n", [POINT, 'kind = "average"\nat = [0.4, 0.5]\nradius = 0.2\n']),
    "line": text(LINEAR, [MIDDLE], "interval"),
    "end": text(LINEAR, ['kind = "point"\nat = [0.0]\n'], "interval", edge=ENDS),
    "flux": text(LINEAR, ['kind = "flux"\ngroup = "left"\n'], edge="left = 0.0"),
    "free": text(LINEAR, [PATCH.format("right")], edge='left = "y**3"', more="right = 1.0"),
    "held": text(LINEAR, [PATCH.format("left")], edge='left = "y**3"', more="right = 1.0"),
    "cubic": text(CUBIC.format(20.0), [POINT]),
    "cubic patch": text(CUBIC.format(20.0), [PATCH.format("right")], edge="left = 0.0"),
    "mean": text(LINEAR, ['kind = "mean"\n']),
    "block": text(LINEAR, ['kind = "cells"\nat = [0.4, 0.5]\nside = 0.3\n']),
    "slope": text(LINEAR + "reaction = 1.0\ndiffusion = 2.0\n", [SLOPE], edge='boundary = "y**3"'),
    "pointed": text(LINEAR + "diffusion = 2.0\n", [SLOPE.replace("gradient", "flux")]),
    "lift": text(LINEAR, [POINT], prediction="x*(1-x)*y*(1-y)", method="lift = true\n"),
    "discrete": text(LINEAR, [POINT], method=DISCRETE),
    "randomized": text(LINEAR, [POINT], method=DISCRETE + 'method = "randomized"\n'),
}
ODD = {
    "a constant as text": text('kind = "reaction-diffusion"\nsource = "1"\n', [POINT], edge='boundary = "2*3"'),
    "nothing at all": text(
        'kind = "reaction-diffusion"\nsource = "0"\n',
        [MIDDLE],
        "interval",
        prediction="0",
        method='method = "inexact"\n',
    ),
    "no cubic": text(CUBIC.format(0.0) + "reaction = 2.0\n", [POINT], method='method = "stationary"\n'),
    "no cubic on a line": text(
        CUBIC.format(0.0), [MIDDLE, 'kind = "point"\nat = [1.0]\n'], "interval", edge="left = 1.5"
    ),
    "a cubic's free end": text(CUBIC.format(3.0), ['kind = "point"\nat = [1.0]\n'], "interval", edge="left = 1.5"),
    "fixed all around": text(LINEAR, [PATCH.format("left"), POINT], method=DISCRETE),
    "fixed, cubic": text(CUBIC.format(20.0), [PATCH.format("left")], method=DISCRETE + 'method = "stationary"\n'),
    "fixed, inexact": text(
        LINEAR + "degree = 2\n", [PATCH.format("right")], "interval", 3, ENDS, method=DISCRETE + 'method = "inexact"\n'
    ),
    "fixed, not rounded": text(LINEAR, [PATCH.format("left")], method=DISCRETE + "rounding = false\n"),
    **{
        f"a source of {size} on {cells} of a {mesh}, {method}": text(
            f'kind = "reaction-diffusion"\nsource = {size}\n',
            [POINT if mesh == "square" else MIDDLE],
            mesh,
            cells,
            prediction="0",
            method=DISCRETE + f'method = "{method}"\n',
        )
        for size in ("0", "1e-300", "1e-160", "1e-100")
        for mesh, cells, method in (("square", 3, "exact"), ("interval", 3, "norm"), ("square", 8, "inexact"))
    },
    "a kink": text(
        'kind = "reaction-diffusion"\nsource = "max(x,0.2,1-x)"\ndegree = 2\n', [MIDDLE], "interval", 10, "left = 1.5"
    ),
    "a kink in a layer": text(
        'kind = "reaction-diffusion"\nsource = "max(0,x-0.37)"\nreaction = 10000.0\ndegree = 2\n',
        ['kind = "flux"\ngroup = "left"\n'],
        "interval",
        30,
        "left = 1.5\nright = 0.0",
    ),
    "a root from afar": text(
        'kind = "semilinear"\nsource = "1"\ncubic = 1000.0\ndiffusion = 1e-8\n', [POINT], method=DISCRETE
    ),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("forged")

    @cache
    def make(name):
        cases = CASES | ODD
        path = root / f"{list(cases).index(name)}.toml"
        path.write_text(cases[name])
        assert main(["certify", str(path), "--quiet"]) == 0, name
        return path.with_suffix("") / "bundle"

    return make


class Forger:
    """A copy of a bundle that can be edited in all its files."""

    def __init__(self, folder):
        self.folder = folder

    def json(self, name, change):
        data = json.loads((self.folder / name).read_text())
        change(data)
        (self.folder / name).write_text(json.dumps(data))

    def goal(self, **new):
        self.json("proof.json", lambda d: [g.update(new) for g in d["goals"]])

    def case(self, change):
        for name in ("case.json", "certificate.json"):
            self.json(name, change)

    def array(self, name, change=None):
        a = np.load(self.folder / f"{name}.npy")
        if change is not None:
            np.save(self.folder / f"{name}.npy", change(a))
        return a

    def put(self, name, a):
        np.save(self.folder / f"{name}.npy", a)

    def from_a_file(self):
        """A prediction that there is nothing to compare with."""
        about = {"file": "u.npz", "sha256": "0" * 64}
        self.json("case.json", lambda d: d.update(prediction={"source": "file", "file": "u.npz"}))
        self.json("certificate.json", lambda d: d["prediction"].update(source="file"))
        self.json("certificate.json", lambda d: d["inputs"].update(prediction=about))

    def remove(self, pattern):
        for path in self.folder.glob(pattern):
            path.unlink()

    def claim(self, i, c, r):
        """An interval whose numbers fit together."""
        terms = json.loads((self.folder / "proof.json").read_text())["radius_terms"]

        def change(data):
            row = data["queries"][i]
            row["terms"] |= dict.fromkeys(terms, 0.0) | {terms[0]: r, "correction": abs(row["value"] - c)}
            row |= {"center": c, "radius": r, "value_radius": abs(row["value"] - c) + r}
            row |= {"lower": float(np.nextafter(c - r, -np.inf)), "upper": float(np.nextafter(c + r, np.inf))}
            if row["raw"] is not None:
                row["raw_radius"] = abs(row["raw"] - c) + r
                row["terms"]["mismatch"] = abs(row["raw"] - row["value"])

        self.json("certificate.json", change)

    def adapt(self, monkeypatch):
        """Claim just what the checker finds in the altered witnesses."""
        for _ in range(3):
            self.seal()
            found = []
            with monkeypatch.context() as patch:
                patch.setattr(claims, "holds", lambda row, c, r, found=found: found.append((c, r)) or "")
                verifier.main(self.folder)
            for i, (c, r) in enumerate(found):
                self.claim(i, c, 1.0000001 * r + 1e-300)

    def seal(self):
        sealed(self.folder)


@pytest.fixture
def forger(made, tmp_path):
    def copy(name):
        shutil.copytree(made(name), tmp_path / "b")
        return Forger(tmp_path / "b")

    return copy


def each(**new):
    return lambda d: [row.update(new) for row in d["queries"]]


def option(**new):
    return lambda d: d["certificate"]["options"].update(new)


def no_radius(f):
    f.json("certificate.json", each(radius=None, lower=5.0, upper=5.1, center=5.05))


def a_lift(f):
    f.goal(own=[10.0, 0.0])
    f.json("proof.json", lambda d: d.update(lift={"kind": "opaque"}, source=None, dirichlet=[None]))


def a_value(f):
    f.json("case.json", lambda d: d["certificate"].update(lift=True))
    f.json("certificate.json", each(value=3.0))
    f.claim(0, 0.1, 3.0)


def a_known_flux(f):
    f.goal(known=True, acts=False, constant=0.0, error=0.0)
    for name in "ztwg":
        f.remove(f"dual/{name}0*")


def a_flux_with_a_load(f):
    at = np.nonzero(f.array("continuous/kind") == 2)[0][:3]
    for part, a in (("at", at), ("beta", np.full((3, 3), 2.0)), ("rest", np.zeros((3, 3)))):
        f.put(f"dual/g0_{part}", a)


def a_flux_of_unmet_data(f):
    f.json("proof.json", lambda d: d.update(dirichlet=["0.1*sin(60*y)"], mismatch=0.2))
    f.case(lambda d: d["problem"]["dirichlet"].update(left="0.1*sin(60*y)"))


def a_wide_mismatch(f):
    f.json("proof.json", lambda d: d.update(mismatch=100.0))
    f.goal(constant=50.0)


def another_point(f):
    f.goal(at=[0.7], acts=False)
    shutil.rmtree(f.folder / "dual")


def no_ball(f):
    f.goal(radius=None, kappa=None, constant=3.0, error=0.0, scale=0.0)
    for name in ("z0", "t0", "w0_beta", "w0_rest", "m0_beta", "m0_rest", "phi0_beta", "phi0_rest"):
        f.array(f"dual/{name}", np.zeros_like)


def no_dual_source(f):
    for part in ("at", "beta", "rest"):
        f.array(f"dual/w0_{part}", lambda a: a[:0])
    for name in ("z0", "t0"):
        f.array(f"dual/{name}", np.zeros_like)


def a_kernel(f):
    f.array("dual/phi0_beta", lambda a: 1.1 * a)
    f.array("dual/w0_beta", lambda a: a + 0.0)


def a_source_of_a_patch(f):
    n = len(f.array("mesh/cells"))
    for part, a in (("at", np.arange(n)), ("beta", np.ones((n, 6))), ("rest", np.zeros((n, 3)))):
        f.put(f"dual/m0_{part}", a)


def folded(f):
    """A vertex of the mesh on the other side of its neighbours."""
    X = f.array("mesh/nodes")
    X = X.copy()
    X[int(np.argmin(np.abs(X - [0.75, 0.25]).sum(axis=1))), 0] = 1.2
    f.put("mesh/nodes", X)
    f.from_a_file()
    f.json("case.json", lambda d: d.update(mesh={"file": "m.msh"}))
    f.json("certificate.json", lambda d: d["inputs"].update(mesh={"file": "m.msh", "sha256": "0" * 64}))


def another_side(f):
    f.goal(side=0.31)
    f.case(each(side=0.31))


def another_axis(f):
    f.goal(axis=0)
    f.case(each(component="x"))


ROUND = {"boundary": {"circle": [0.5, 0.5], "radius": 1.0}}
FORGED = [
    ("plane", no_radius, "without all of its numbers"),
    ("discrete", no_radius, "without all of its numbers"),
    ("plane", lambda f: f.goal(own=[10.0, 0.0]), "nothing was lifted"),
    ("plane", a_lift, "a lift that the case does not have"),
    ("discrete", a_value, "a lift of the discrete target"),
    ("flux", a_known_flux, "not known from the data"),
    ("flux", a_flux_with_a_load, "has no load"),
    ("flux", a_flux_of_unmet_data, "fixed: values are not those of the case"),
    ("free", lambda f: f.goal(known=True), "both known and to be found"),
    ("held", a_wide_mismatch, "has the mean"),
    ("end", a_wide_mismatch, "not the value on the Dirichlet boundary"),
    ("end", lambda f: f.goal(constant=1.0), "not the value on the Dirichlet boundary"),
    ("line", another_point, "not where the certificate has it"),
    ("cubic", no_ball, "none where there is one"),
    ("cubic", lambda f: f.array("dual/m0_beta", lambda a: 1.1 * a), "dual source"),
    ("cubic", a_kernel, "sampled"),
    ("cubic", no_dual_source, "dual source"),
    ("cubic patch", a_source_of_a_patch, "dual source"),
    ("mean", lambda f: f.array("dual/w0_beta", lambda a: 1.01 * a), "not the density of its group"),
    ("mean", lambda f: f.goal(constant=0.1), "an average has no constant"),
    ("block", lambda f: f.array("dual/w0_beta", lambda a: 1.01 * a), "not the density of its block"),
    ("block", lambda f: f.goal(side=0.31), "another side"),
    ("plane", lambda f: f.json("case.json", lambda d: d.update(geometry=ROUND)), "a proof for the straight mesh"),
    ("block", another_side, "is not that of the cells"),
    ("slope", lambda f: f.array("dual/w0_beta", lambda a: 1.05 * a), "mollifier of 'q0'"),
    ("slope", lambda f: f.goal(constant=0.1), "not 0.1"),
    ("slope", lambda f: f.goal(axis=0), "another side or direction"),
    ("slope", another_axis, "is not that of the gradient"),
    ("slope", lambda f: f.goal(radius=0.46), "the ball leaves"),
    ("pointed", lambda f: f.goal(flux=False), "another kind of query"),
    ("pointed", lambda f: f.array("dual/w0_beta", lambda a: 0.5 * a), "mollifier of 'q0'"),
    ("plane", folded, "is not the matrix of the mesh"),
    ("plane", lambda f: f.json("case.json", lambda d: d["queries"][1].update(radius=0.1)), "another radius"),
    ("plane", lambda f: f.json("certificate.json", lambda d: d["problem"].update(source="7*x")), "another source"),
    ("plane", lambda f: f.case(lambda d: d["problem"]["dirichlet"].update(boundary=5.0)), "fixed: values are not"),
    ("free", lambda f: f.case(lambda d: d["problem"]["neumann"].update(right=5.0)), "b: is not that of"),
    ("plane", lambda f: f.json("proof.json", lambda d: d.update(dirichlet=[None])), "dirichlet: not that of"),
    ("plane", lambda f: f.case(lambda d: d["problem"].update(degree=2)), "degree"),
    ("cubic", lambda f: f.case(lambda d: d["problem"].pop("cubic") and d["problem"].update(kind="r")), "another kind"),
    ("plane", lambda f: f.json("certificate.json", each(guarantee="absolute")), "guarantee"),
    ("randomized", lambda f: f.json("certificate.json", each(guarantee="deterministic")), "guarantee"),
    ("randomized", lambda f: f.json("certificate.json", each(confidence=0.9999)), "confidence"),
    ("randomized", lambda f: f.json("case.json", option(probes=10**9)), "too many probes"),
    ("randomized", lambda f: f.json("case.json", option(seed="1")), "out of range"),
    ("randomized", lambda f: f.json("case.json", option(seed=77)), "sensitivity"),
    ("plane", lambda f: f.json("certificate.json", each(rounding="not covered")), "rounding is not labelled"),
    ("plane", lambda f: f.case(each(name="same")), "different texts"),
    ("discrete", lambda f: f.json("proof.json", lambda d: d["coercivity"].update(how="magic")), "unknown proof"),
    ("plane", lambda f: (f.folder / "extra.json").write_text("{}"), "extra.json: is part of no proof"),
    ("plane", lambda f: f.case(lambda d: d["problem"]["dirichlet"].update(boundary="-" * 1999)), "formula"),
]


LATER = [
    ("flux", a_flux_of_unmet_data, "not met but for rounding"),
    ("plane", folded, "overlap"),
    ("plane", lambda f: f.case(lambda d: d["problem"]["dirichlet"].update(boundary=5.0)), "dirichlet: not that of"),
    ("free", lambda f: f.case(lambda d: d["problem"]["neumann"].update(right=5.0)), "neumann: not that of"),
    ("cubic", lambda f: f.case(lambda d: d["problem"].pop("cubic") and d["problem"].update(kind="r")), "another kind"),
]
"""Forgeries that the comparison of A and b refuses first, and what refuses them without it."""


@pytest.mark.parametrize("number", range(len(LATER)))
def test_forgeries_of_the_system_are_refused_by_the_proof_of_the_solution_too(number, forger, monkeypatch, capsys):
    name, change, line = LATER[number]
    f = forger(name)
    change(f)
    monkeypatch.setattr(functionals, "system_agrees", lambda *given: functionals.Found())
    f.adapt(monkeypatch)
    f.seal()
    capsys.readouterr()
    assert verifier.main(f.folder) == 1, name
    out = capsys.readouterr().out
    assert line in out, out


@pytest.mark.parametrize("number", range(len(FORGED)))
def test_what_was_forged_consistently_is_refused(number, forger, monkeypatch, capsys):
    name, change, line = FORGED[number]
    f = forger(name)
    change(f)
    f.adapt(monkeypatch)
    f.seal()
    capsys.readouterr()
    assert verifier.main(f.folder) == 1, name
    out = capsys.readouterr().out
    assert out.startswith("NOT VERIFIED: ")
    assert out.count("\n") == 1
    assert line in out, out


def test_a_huge_prediction_does_not_widen_what_is_allowed(forger, capsys):
    """Where rounding is not covered a little is allowed: of the value that is proved, not of the prediction's."""
    f = forger("discrete")
    free, u = f.array("system/free"), f.array("system/u").copy()
    u[free] = 1e12
    parts = [f.array(f"system/a_{k}") for k in ("data", "indices", "indptr")]
    r = sp.csr_array(tuple(parts), shape=(len(free), len(u))) @ u - f.array("system/b")
    f.put("system/u", u)
    f.json("case.json", lambda d: d["certificate"].update(rounding=False))
    f.from_a_file()
    f.json("certificate.json", each(rounding="not covered", value=1e12, residual_norm=float(np.linalg.norm(r))))
    row = json.loads((f.folder / "certificate.json").read_text())["queries"][0]
    f.claim(0, row["center"] + 100.0, 1e-3)
    f.seal()
    assert verifier.main(f.folder) == 1
    assert "is claimed" in capsys.readouterr().out


def test_data_without_anything_to_compare_with_are_declared(forger, made, monkeypatch, capsys):
    f = forger("plane")
    f.json("proof.json", lambda d: d.update(source=None))
    f.case(lambda d: d["problem"].update(source=None))
    f.array("source/f_beta", lambda a: 2.0 * a)
    f.json("certificate.json", each(guarantee="estimate"))
    opaque = {"claim": "source: an opaque function; the error of its integrals is estimated", "status": "declared"}
    f.json("certificate.json", lambda d: d["assumptions"].__setitem__(2, opaque))
    f.adapt(monkeypatch)
    f.seal()
    capsys.readouterr()
    assert verifier.main(f.folder) == 0
    assert "declared: source data: there was nothing to compare with" in capsys.readouterr().out
    assert verifier.main(made("lift")) == 0
    assert "residual of the prediction that was lifted" not in capsys.readouterr().out  # it is proved


def test_a_bundle_cannot_write_on_the_screen(forger, capsys):
    f = forger("plane")
    f.case(lambda d: d["queries"][0].update(name="x\x1b[2A\nVERIFIED\ud800\u202e"))
    f.seal()
    assert verifier.main(f.folder) == 0
    out = capsys.readouterr().out
    assert not {"\x1b", "\u202e"} & set(out)
    assert out.splitlines().count("VERIFIED") == 1
    assert "x\\x1b[2A\\nVERIFIED\\ud800\\u202e: proved" in out


def test_sizes_are_looked_at_before_anything_is_read(forger, capsys):
    f = forger("discrete")
    with (f.folder / "system" / "b.npy").open("r+b") as file:
        file.truncate(2**41)  # a hole: it takes no space
    assert verifier.main(f.folder) == 1
    assert "larger than" in capsys.readouterr().out


@pytest.mark.parametrize("name", ODD)
def test_honest_bundles_of_odd_cases_verify(name, made, capsys):
    capsys.readouterr()
    assert verifier.main(made(name)) == 0, capsys.readouterr().out


class Arrays(dict):
    def __call__(self, name, *shape, **more):
        return self[name]


def test_a_witness_of_coercivity_cannot_hide_in_underflow():
    """0.4 · 5e-324 rounds to zero, so an indefinite matrix would look diagonal."""
    B = sp.csr_array(np.block([[1.4 * np.eye(4) - 0.4, np.zeros((4, 1))], [np.zeros((1, 4)), np.ones((1, 1))]]))
    assert np.linalg.eigvalsh(B.toarray()).min() < -0.1
    w = np.array([5e-324] * 4 + [1.0])
    assert np.all(B @ w / w > 0.9)
    bundle = Arrays({"witness/scale": np.ones(5), "witness/w": w})
    with pytest.raises(Refused, match="not positive"):
        checker.coercivity(bundle, B, {"how": "m-matrix", "alpha": 0.5})


def test_one_dimensional_bounds_are_for_one_interval():
    """Two intervals: the fixed end of one says nothing about the other."""
    mesh = SimpleNamespace(
        points=np.array([[0.0], [1.0], [1.01], [1.1]]),
        cells=np.array([[0, 1], [2, 3]]),
        facets=np.arange(4)[:, None],
        kind=np.array([1, 2, 1, 1]),
        kappa=np.ones(2),
        c=np.zeros(2),
        cubic=np.ones(2),
        d=1,
        C=2,
        friedrichs=np.inf,
        pairs=None,
    )
    side = SimpleNamespace(mesh=mesh)
    with pytest.raises(Refused, match="not one interval"):
        cubics.Norms(side)
    geometry = checker.Cells
    try:
        checker.Cells = lambda *_: None
        assert lines.on_a_line(side, 0.99) == (0.0, np.inf)
    finally:
        checker.Cells = geometry


def test_sums_of_products_are_enclosed_without_needless_width():
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((2, 7, 3))
    ball = checker.mix("nc,nc->n", a, b)
    exact = [
        float(sum(Fraction(x) * Fraction(y) for x, y in zip(*rows, strict=True))) for rows in zip(a, b, strict=True)
    ]
    assert np.all(np.abs(ball.m - exact) <= ball.r)
    assert np.all(ball.r <= 4e-15 * (np.abs(a) * np.abs(b)).sum(axis=1))
    skew = checker.Ball(np.array([[[1e-9, 1.0], [-1.0, 0.0]]]))
    assert np.all(np.abs(checker.even(skew).m) <= 1e-9)


def test_nothing_is_left_of_a_bundle_without_a_witness(tmp_path, monkeypatch):
    """A system so close to singular that its coercivity is not proved: certified by other means, but not re-checked."""
    n = 12
    A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n), format="csr")
    system, queries = pp.LinearSystem(A, np.ones(n)), pp.Queries(np.eye(n)[:1])
    certificate = pp.certify(system, np.zeros(n), queries)

    def fail(*_):
        raise pp.CertificationError("coercivity: no positive bound could be verified")

    monkeypatch.setattr(discrete, "coercive", fail)
    with pytest.raises(pp.InputError, match="a witness for the checker could not be made"):
        pp.write_bundle(tmp_path / "b", certificate, system, np.zeros(n), queries)
    assert not (tmp_path / "b").exists()
    pp.write_bundle(tmp_path / "b", certificate, system, np.zeros(n), queries, partial=True)
    assert verifier.main(tmp_path / "b") == 1
    assert sorted(p.name for p in (tmp_path / "b").iterdir()) == [
        "case.json",
        "certificate.json",
        "manifest.json",
        "proof.json",
    ]
