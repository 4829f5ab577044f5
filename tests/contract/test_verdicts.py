"""Verdicts: `accept` is how wrong a prediction may be, `tolerance` how narrow its proof must be."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from fractions import Fraction

import meshio
import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.certificates.verdicts import accepted, distances
from pinnpoint.cli.main import main
from pinnpoint.fem.extraction import NodeValues
from tests.support.forged import sealed

CASE = """title = "Plate"
units = "mm"
[mesh]
generate = "square"
cells = 8
[problem]
kind = "reaction-diffusion"
source = "1"
[problem.dirichlet]
boundary = 0.0
[prediction]
expression = "x*(1-x)*y*(1-y)"
[[query]]
name = "centre"
at = [0.5, 0.5]
[[query]]
name = "side"
at = [0.25, 0.5]
[certificate]
target = "discrete"
"""


def written(tmp_path, *extra: str, text: str = CASE):
    path = tmp_path / "case.toml"
    path.write_text(text, encoding="utf-8")
    settings = [word for one in extra for word in ("--set", one)]
    return ["certify", str(path), "--out", str(tmp_path / "out"), *settings]


def rows(tmp_path):
    return json.loads((tmp_path / "out" / "certificate.json").read_text("utf-8"))["queries"]


@pytest.fixture(scope="module")
def problem():
    mesh = pp.io.generate("square", 8)
    return pp.fem.ReactionDiffusion(mesh, source="1", dirichlet={"boundary": 0.0})


@pytest.fixture(scope="module")
def certificate(problem):
    queries = problem.points([[0.5, 0.5], [0.25, 0.5]], names=["centre", "side"])
    return pp.certify(problem, problem.space.U0, queries, target="discrete")


def test_verdicts_are_those_of_exact_arithmetic():
    rng = np.random.default_rng(3)
    numbers = np.array([0.0, 1.0, 0.1, 0.3, 2.0**-53, 1.0 + 2.0**-52, 1e-300, 5e-324, 1e16, 1.7e308, -1.7e308])
    near = rng.choice(numbers, (4, 4000)) + rng.choice([0.0, 2.0**-54, -1e-17, 1e-16], (4, 4000))
    p, lower, upper, limit = (np.concatenate([a, rng.normal(size=1000).round(1)]) for a in near)
    with np.errstate(over="ignore"):
        limit = np.concatenate([np.abs(limit[:2500]), np.abs(p - lower)[2500:]])  # on the very edge, too
    lower, upper, limit = np.minimum(lower, upper), np.maximum(lower, upper), np.minimum(limit + 5e-324, 1.7e308)
    seen = accepted(p, lower, upper, limit, proved=True)
    least, most = distances(p, lower, upper)
    for k in range(len(p)):
        x, a, b, c = (Fraction(float(v)) for v in (p[k], lower[k], upper[k], limit[k]))
        inside, disjoint = x - a <= c and b - x <= c, a - x > c or x - b > c
        assert seen[k] == ("within" if inside else "beyond" if disjoint else "undecided")
        assert Fraction(float(least[k])) <= max(0, a - x, x - b)
        assert most[k] == np.inf or Fraction(float(most[k])) >= max(x - a, b - x)
    assert set(seen) == {"within", "beyond", "undecided"}


def test_nothing_is_decided_by_estimates_and_unbounded_intervals(certificate):
    asked = certificate.judged(1e9)
    assert [v["accept"] for v in asked.verdicts] == ["within", "within"]
    assert [v["accept"] for v in certificate.judged(1e-9).verdicts] == ["beyond", "beyond"]
    guess = replace(certificate, guarantee=pp.Guarantee.ESTIMATE)
    for limit in (1e-9, 1e9):
        assert [v["accept"] for v in guess.judged(limit).verdicts] == ["undecided", "undecided"]
        wide = replace(certificate, radius=np.array([np.inf, 1e308])).judged(limit)
        assert wide.verdicts[0] == {"accept": "undecided"}
    far = replace(certificate, center=np.array([1.7e308, 0.0]), radius=np.array([1.7e308, 0.0]))
    assert far.judged(1.0).verdicts[0] == {"accept": "undecided"}  # its upper end is beyond all floats


def test_certify_takes_accept_for_all_or_for_each(problem):
    queries = problem.points([[0.5, 0.5], [0.25, 0.5]])
    found = pp.certify(problem, problem.space.U0, queries, target="discrete", accept=[0.0001, None])
    assert found.verdicts == ({"accept": "beyond"}, {})
    assert pp.certify(problem, problem.space.U0, queries, target="discrete").verdicts == ({}, {})
    both = pp.certify(problem, problem.space.U0, queries, target="discrete", accept=1.0)
    assert both.verdicts == ({"accept": "within"},) * 2
    lifted = pp.certify(problem, "0.9*x*(1-x)*y*(1-y)", queries, lift=True, accept=1.0)
    assert lifted.verdicts == ({"accept": "within"},) * 2
    refined = pp.certify_to(problem, problem.space.U0, queries, 0.05, accept=(np.inf, 1e-5))
    assert refined.certificate.verdicts == ({}, {"accept": "beyond"})
    frame = found.to_frame()
    assert list(frame["verdict"]) == ["beyond", ""]
    for bad, words in (
        (0.0, "must be > 0"),
        (-1.0, "> 0"),
        ([1.0], "one per query"),
        (np.nan, "finite"),
        ("x", "real"),
    ):
        with pytest.raises(pp.InputError, match=f"accept: .*{words}"):
            pp.certify(problem, problem.space.U0, queries, accept=bad)
        with pytest.raises(pp.InputError, match=f"accept: .*{words}"):
            pp.certify_to(problem, problem.space.U0, queries, 1e-3, accept=bad)


def test_the_raw_output_is_judged_where_there_is_one(certificate):
    raw = certificate.center + np.array([0.0, 0.5])
    found = replace(certificate, raw=raw).judged(0.1)
    assert found.verdicts == ({"accept": "within"}, {"accept": "beyond"})
    row = found.to_dict()["queries"]
    assert [(r["accept"], r["verdicts"]) for r in row] == [(0.1, v) for v in found.verdicts]


def test_averages_by_a_rule_of_points_say_so(problem):
    """A spike between the rule's points moves the average, and not the number that is judged."""

    def spiked(X):
        return 0.07 * np.sin(np.pi * X).prod(axis=1) + 1e3 * (np.hypot(*(X - [0.501234, 0.498765]).T) < 1e-4)

    queries = problem.averages([[0.5, 0.5]], 0.2) + problem.points([[0.5, 0.25]])
    found = pp.certify(problem, spiked, queries, target="discrete", accept=1.0)
    assert found.verdicts[0]["accept"] == "within"
    assert any("by a rule of points" in note and f"'{found.names[0]}'" in note for note in found.notes)
    plain = pp.certify(problem, spiked, problem.points([[0.5, 0.25]]), target="discrete")
    assert not any("rule of points" in note for note in plain.notes)


@pytest.mark.parametrize("target", ["discrete", "continuous"])
def test_raw_outputs_are_judged_beside_queries_that_have_none(problem, target):
    """A flux is no mean of a model's outputs; the points beside it are judged by these all the same."""
    queries = problem.points([[0.3, 0.55]], names=["point"]) + problem.flux("boundary", "flux") + problem.patch("left")

    def network(X):  # right at all vertices, wrong between them and on the boundary's facets
        return 0.0737 * np.sin(np.pi * X[:, 0]) * np.sin(np.pi * X[:, 1]) + np.sin(8.0 * np.pi * X[:, 1]) ** 2

    found = pp.certify(problem, network, queries, target=target, accept=0.2)
    assert [v["accept"] for v in found.verdicts] == ["beyond", "within", "beyond"]
    assert np.isnan(found.raw).tolist() == [False, True, False]
    np.testing.assert_array_equal(found.prediction, [found.raw[0], found.value[1], found.raw[2]])
    point, flux, _ = found.to_dict()["queries"]
    assert (flux["raw"], flux["raw_radius"], "mismatch" in flux["terms"]) == (None, None, False)
    assert point["terms"]["mismatch"] > 0.5
    assert "nan" not in str(found)


def test_files_have_the_raw_outputs_beside_queries_that_have_none(tmp_path):
    flux = '[[query]]\nname = "flux"\nkind = "flux"\ngroup = "boundary"\n[certificate]'
    text = CASE.replace("[certificate]", flux).replace("y*(1-y)", "y*(1-y) + sin(8*pi*x)**2")
    text = text.replace("at = [0.25, 0.5]", "at = [0.3, 0.5]\naccept = 0.2")
    assert main([*written(tmp_path, text=text), "--quiet"]) == 4
    with (tmp_path / "out" / "certificate.csv").open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert [r["verdict"] for r in found] == ["", "beyond", ""]
    empty = [all(v == "" for k, v in r.items() if k.startswith(("raw", "term mismatch"))) for r in found]
    assert empty == [False, False, True]
    assert not any(v == "nan" for r in found for v in r.values())
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0


def test_a_narrow_proof_is_no_good_prediction(tmp_path, capsys):
    """A tolerance speaks of the proof alone; what is proved wrong fails by `accept`."""
    arguments = written(tmp_path, "query.0.tolerance=1e-3", "query.0.accept=1e-3")
    assert main(arguments) == 4
    centre, side = rows(tmp_path)
    assert centre["radius"] < 1e-3 < abs(centre["raw"] - centre["center"])
    assert (centre["tolerance"], centre["accept"], centre["verdicts"]) == (1e-3, 1e-3, {"accept": "beyond"})
    assert side["verdicts"] == {}
    assert "accept" not in side
    capsys.readouterr()
    assert main([*written(tmp_path, "query.0.tolerance=1e-3"), "--quiet"]) == 0


def test_exit_codes_say_the_worst_verdict(tmp_path):
    wide = ("certificate.method=norm", "query.0.tolerance=1e-9")
    cases = {
        (): 0,
        ("certificate.accept=1",): 0,
        ("certificate.accept=1e-9",): 4,
        ("certificate.accept=1", "query.1.accept=1e-9"): 4,
        ("certificate.accept=1e-9", "query.0.accept=1", "query.1.accept=1"): 0,
        wide: 1,
        (*wide, "query.1.accept=1e-9", "certificate.method=exact"): 4,
        (*wide, "certificate.accept=100"): 1,
        ("certificate.method=norm", "certificate.accept=1e-9"): 1,  # the prediction lies in its interval: undecided
        ("query.0.accept=0",): 2,
        ("certificate.accept=-1",): 2,
        ("query.0.acept=1",): 2,
    }
    for settings, code in cases.items():
        assert main([*written(tmp_path, *settings), "--quiet"]) == code, settings


def test_undecided_verdicts_exit_with_1(tmp_path):
    assert main([*written(tmp_path, "certificate.method=norm", "certificate.accept=1e-9"), "--quiet"]) == 1
    assert [r["verdicts"] for r in rows(tmp_path)] == [{"accept": "undecided"}] * 2


def test_the_table_and_the_bundle_have_the_verdicts(tmp_path):
    assert main([*written(tmp_path, "certificate.accept=0.004", "query.1.accept=1"), "--quiet"]) == 4
    with (tmp_path / "out" / "certificate.csv").open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert [(r["accept [mm]"], r["verdict"]) for r in found] == [("0.004", "beyond"), ("1.0", "within")]
    said = json.loads((tmp_path / "out" / "bundle" / "certificate.json").read_text("utf-8"))
    case = json.loads((tmp_path / "out" / "bundle" / "case.json").read_text("utf-8"))
    assert said["queries"] == rows(tmp_path)
    assert (case["certificate"]["accept"], case["queries"][1]["accept"]) == (0.004, 1)
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0


def test_a_bundle_from_python_has_the_verdicts(problem, certificate, tmp_path):
    queries = problem.points([[0.5, 0.5], [0.25, 0.5]], names=["centre", "side"])
    pp.write_bundle(tmp_path / "b", certificate.judged([1e-3, None]), problem, problem.space.U0, queries)
    case = json.loads((tmp_path / "b" / "case.json").read_text("utf-8"))
    assert [q.get("accept") for q in case["queries"]] == [1e-3, None]
    assert main(["verify", str(tmp_path / "b")]) == 0


def test_print_shows_the_prediction_and_how_far_it_is_off(certificate):
    """Also of nodal values, in numbers that still hold when they are read back."""
    _, of, head, *rows, legend = str(certificate).splitlines()
    assert of == f"intervals of {certificate.interval_of}"
    assert "prediction" in head
    assert "off by at least" in head
    assert "at most" in head
    assert legend.startswith("mesh: ")
    assert len(rows) == len(certificate)
    for i, line in enumerate(rows):
        name, value, lower, upper, radius, least, most, mesh = line.split()
        assert mesh.startswith("~")
        assert name == certificate.names[i]
        assert Fraction(value) == Fraction(certificate.value[i])
        assert Fraction(lower) <= Fraction(certificate.lower[i])
        assert Fraction(upper) >= Fraction(certificate.upper[i])
        assert Fraction(radius) >= Fraction(certificate.radius[i])
        gap = Fraction(certificate.lower[i]) - Fraction(certificate.value[i])
        assert 0 < Fraction(least) <= gap
        assert Fraction(most) >= Fraction(certificate.upper[i]) - Fraction(certificate.value[i]) >= gap


def test_print_of_raw_outputs_verdicts_and_unbounded_intervals(certificate):
    found = replace(certificate, raw=np.array([-0.5, 0.125]), radius=np.array([0.01, np.inf])).judged([0.1, 2.0])
    found = replace(found, mesh_estimate=None)
    _, _, head, first, second = str(found).splitlines()
    assert (
        head.split() == "query raw prediction value lower upper radius off by at least at most accept verdict".split()
    )
    assert first.split()[1] == "-0.5"
    assert first.endswith("0.1  proved beyond")
    assert second.split()[1:] == ["0.125", "0", *["unbounded"] * 3, "0", "unbounded", "2", "undecided"]
    assert "nan" not in str(found)
    inside = replace(certificate, value=certificate.center)
    assert inside.off[0].tolist() == [0.0, 0.0]
    assert str(inside).splitlines()[3].split()[-3] == "0"


def test_what_is_estimated_is_not_called_proved(certificate):
    guess = replace(certificate, guarantee=pp.Guarantee.ESTIMATE).judged(1.0)
    assert "estimated off by at least" in str(guess)
    assert "estimated off by at least" in guess._repr_html_()
    assert "proved" not in str(guess)


def test_one_unbounded_interval_does_not_make_estimates_of_the_others(certificate):
    mixed = replace(certificate, radius=np.array([np.inf, 1e-3])).judged(1.0)
    assert mixed.verdicts == ({"accept": "undecided"}, {"accept": "within"})
    assert "estimated" not in mixed._repr_html_()
    assert "estimated" not in str(mixed)


def test_nothing_is_judged_where_nothing_was_predicted(problem):
    queries = problem.points([[0.5, 0.5], [0.25, 0.5]])
    alone = pp.LoadFamily(problem.system, problem.b[None, :]).prepare(queries).certify(mu=[1.0])
    assert "off by" not in str(alone)
    with pytest.raises(pp.InputError, match="accept: nothing was predicted"):
        alone.judged(1.0)


def test_the_summary_says_the_verdicts(tmp_path, capsys):
    assert main(written(tmp_path, "query.0.accept=1e-3", "query.1.accept=0.9")) == 4
    out = capsys.readouterr().out
    assert "centre: the prediction is proved beyond accept = 0.001, off by at least 0.01" in out
    assert "proved within" in out
    assert "within tolerance" not in out
    assert main(written(tmp_path, "certificate.method=norm", "query.0.accept=1e-3")) == 1
    assert "centre: undecided whether the prediction is within accept = 0.001" in capsys.readouterr().out


def test_the_report_says_the_verdicts_in_words(tmp_path):
    settings = ["certificate.accept=1e-3", "query.1.accept=0.9", "query.0.tolerance=1e-3", "query.1.tolerance=1e-3"]
    assert main([*written(tmp_path, *settings), "--quiet"]) == 4
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "Is the prediction good enough?" in page
    assert "proved, all within tolerance; of 2 predictions 1 proved beyond what is accepted, 1 proved" in page
    assert "off by at least 0.010" in page
    assert '<section class="verdict bad"' in page
    assert '✗ proved beyond</b> <data value="0.001">' in page
    assert main([*written(tmp_path, "certificate.method=norm", "certificate.accept=1e-3"), "--quiet"]) == 1
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert '<section class="verdict open"' in page
    assert "of 2 predictions 2 undecided" in page
    assert "within tolerance" not in page
    assert main([*written(tmp_path, "certificate.accept=1"), "--quiet"]) == 0
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "the prediction is proved good enough everywhere it was asked" in page
    assert '<section class="verdict good"' in page
    assert main([*written(tmp_path), "--quiet"]) == 0
    assert "good enough" not in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_a_headline_says_how_many_were_asked(tmp_path):
    """One of two was asked, and the other prediction is far off: that is told, too."""
    assert main([*written(tmp_path, "query.1.accept=0.9"), "--quiet"]) == 0
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "the prediction is proved good enough at 1 of 2 queries, where it was asked; at ‘<bdi>centre</bdi>’" in page
    assert '<section class="verdict off"' in page


def test_notebooks_show_the_verdicts(certificate):
    plain, judged = certificate._repr_html_(), certificate.judged([1e-3, None])._repr_html_()
    assert "off by at least" in plain
    assert "verdict" not in plain
    assert "<td>proved beyond</td>" in judged
    assert "proved within" in certificate.judged(1.0)._repr_html_()
    assert "unbounded" in replace(certificate, radius=np.array([np.inf, 1.0]))._repr_html_()


def small_family(n=6):
    A = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    made = pp.LoadFamily(pp.LinearSystem(A, np.zeros(n)), np.eye(n)[:2])
    queries = pp.Queries(np.eye(n)[[0, 3]], ["a", "b"])
    return made.prepare(queries), np.linalg.inv(A)[:, :2]


def test_families_and_batches_have_verdicts():
    certifier, inverse = small_family()
    mu = np.array([[1.0, 2.0], [3.0, -1.0]])
    states = mu @ inverse.T
    states[1, 3] += 0.5
    batch = certifier.certify_many(states, mu, accept=[None, 0.1])
    assert batch.verdicts == (({}, {"accept": "within"}), ({}, {"accept": "beyond"}))
    assert tuple(one.verdicts for one in batch) == batch.verdicts
    assert batch[1:].verdicts == batch.verdicts[1:]
    raw = states[:, [0, 3]]
    assert certifier.certify_raw(raw, mu, accept=0.1).verdicts[1] == ({"accept": "within"}, {"accept": "beyond"})
    assert certifier.certify(states[0], mu=mu[0], accept=1.0).verdicts == ({"accept": "within"},) * 2
    assert certifier.reduced(np.eye(6)).certify_many(states, mu, accept=0.1).verdicts[1][1] == {"accept": "beyond"}
    assert certifier.certify_many(states, mu).verdicts == (({}, {}), ({}, {}))
    with pytest.raises(pp.InputError, match="accept: nothing was predicted"):
        certifier.certify_many(None, mu, accept=1.0)
    prepared = certifier.certifier
    many = prepared.certify_many(states, accept=1e-3)
    assert many.verdicts == tuple(prepared.certify(U, accept=1e-3).verdicts for U in states)
    assert many.judged(None).verdicts == (({}, {}),) * 2
    with pytest.raises(pp.InputError, match="accept: must be one number or 2"):
        prepared.certify(states[0], accept=[1.0, 2.0, 3.0])


def test_nonlinear_certificates_have_verdicts():
    problem = pp.fem.Semilinear(pp.io.generate("interval", 8), cubic=1.0, source="1", dirichlet={"boundary": 0.0})
    queries, U = problem.points([[0.5]]), problem.space.U0
    for target in ("discrete", "continuous"):
        assert pp.certify(problem, U, queries, target=target, accept=1.0).verdicts == ({"accept": "within"},)
        assert pp.certify(problem, U, queries, target=target, accept=1e-4).verdicts == ({"accept": "beyond"},)
    certifier = pp.Root().prepare(problem.system, queries)
    assert certifier.certify(U, accept=1e-4).verdicts == ({"accept": "beyond"},)
    assert certifier.certify_many([U, U], accept=1.0).verdicts == (({"accept": "within"},),) * 2


def test_monitors_decide_by_verdicts(tmp_path):
    certifier, inverse = small_family()
    mu = np.array([1.0, 2.0])
    right = (inverse @ mu)[[0, 3]]
    with pp.Monitor(certifier, accept=[0.1, None], log=tmp_path / "log.jsonl") as monitor:
        good = monitor.check(raw=right + 0.05, mu=mu)
        far = monitor.check(raw=right + 0.5, mu=mu)
        where = monitor.check(raw=right + np.array([0.0, 0.5]), mu=mu)  # nobody asked about the second
        refused = monitor.check(raw=[np.nan, 0.0], mu=mu)
        empty = monitor.check(mu=mu)
    assert (good.action, good.verdicts) == ("accept", ({"accept": "within"}, {}))
    assert (far.action, far.verdicts) == ("flag", ({"accept": "beyond"}, {}))
    assert "a: proved beyond accept = 1.000e-01, off by at least" in far.reason
    assert where.action == "accept"
    assert [(one.action, one.verdicts) for one in (refused, empty)] == [("flag", ())] * 2
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [[q["verdict"] for q in line["queries"]] for line in lines][:3] == [
        ["within", None],
        ["beyond", None],
        ["within", None],
    ]
    wide = replace(certifier.certify(raw=right, mu=mu), radius=np.ones(2))
    open_ = pp.Monitor(certifier, 0.5).judge(wide)
    assert (open_.action, open_.verdicts[0]) == ("flag", {"accept": "undecided"})
    assert "undecided" in open_.reason
    saved = pp.Monitor(certifier, 0.1, solver=lambda b: np.linalg.solve(certifier.ground.core.system.A.toarray(), b))
    done = saved.check(raw=right + 0.5, mu=mu)
    assert (done.action, done.verdicts) == ("fallback", ({"accept": "beyond"},) * 2)
    assert done.certificate.verdicts == ({"accept": "within"},) * 2


def test_the_old_word_of_monitors_warns():
    certifier, _ = small_family()
    with pytest.warns(DeprecationWarning, match="tolerance is called accept"):
        monitor = pp.Monitor(certifier, tolerance=0.25)
    with pytest.warns(DeprecationWarning, match="tolerance is called accept"):
        assert monitor.tolerance.tolist() == [0.25, 0.25]
    assert monitor.accept.tolist() == [0.25, 0.25]
    with pytest.raises(pp.InputError, match="give accept alone"):
        pp.Monitor(certifier, 1.0, tolerance=1.0)
    with pytest.raises(pp.InputError, match="accept: must be a finite number above 0; got inf"):
        pp.Monitor(certifier, np.inf)
    for nothing in (None, [None, None]):
        with pytest.raises(pp.InputError, match="accept: is missing"):
            pp.Monitor(certifier, nothing)


def test_services_take_accept_and_the_old_word(tmp_path, capsys):
    from pinnpoint.cases.read import read_case
    from pinnpoint.cases.study import build
    from pinnpoint.cli.serve import accepted_by

    (tmp_path / "case.toml").write_text(CASE, encoding="utf-8")

    def accepts(*overrides):
        found = accepted_by(build(read_case(tmp_path / "case.toml", overrides)))
        return None if found is None else found.tolist()

    assert accepts() is None
    assert accepts("query.1.accept=0.5", "query.0.tolerance=0.1") == [np.inf, 0.5]
    assert capsys.readouterr().err == ""
    assert accepts("query.0.tolerance=0.1") == [0.1, np.inf]
    assert "write accept in the case" in capsys.readouterr().err


def test_campaigns_have_the_verdicts(tmp_path):
    (tmp_path / "case.toml").write_text(CASE, encoding="utf-8")
    task = lambda limit: pp.campaigns.certify_case(tmp_path / "case.toml", [f"query.0.accept={limit}"])  # noqa: E731
    pp.campaigns.run(task, {"tight": 1e-3, "loose": 1.0}, tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        found = [(r["query"], r["accept"], r["verdict"]) for r in csv.DictReader(file)]
    assert found == [("centre", "0.001", "beyond"), ("side", "", ""), ("centre", "1.0", "within"), ("side", "", "")]


def walled(problem, height=1000.0):
    """Right inside, and far from the boundary data on the wall."""
    U = np.full(problem.space.N, 0.05)
    U[problem.space.fixed] = height
    return U


@pytest.mark.parametrize("target", ["discrete", "continuous"])
@pytest.mark.parametrize("at_points", [False, True])
def test_values_at_nodes_are_judged_as_they_were_given(problem, target, at_points):
    """Boundary conditions overwrite the wall's values; the verdict is on the prediction all the same."""
    queries = problem.points([[0.0, 0.5], [0.05, 0.5], [0.5, 0.5]]) + problem.patch("left") + problem.flux("boundary")
    U = walled(problem)
    given = NodeValues(problem.nodes.points, U) if at_points else U
    found = pp.certify(problem, given, queries, target=target, accept=0.3)
    assert [v["accept"] for v in found.verdicts] == ["beyond", "beyond", "within", "beyond", "beyond"]
    np.testing.assert_allclose(found.raw, queries.L @ U + queries.constants, rtol=1e-14)
    assert found.raw[2] == found.value[2]
    np.testing.assert_array_equal(found.terms["mismatch"], np.abs(found.raw - found.value))
    assert "boundary conditions changed the prediction by at most 1000" in str(found)
    met = pp.certify(problem, walled(problem, 0.0), queries, target=target, accept=0.3)
    assert met.raw is None
    assert "mismatch" not in met.terms
    assert not any("boundary conditions" in note for note in met.notes)


def test_raw_outputs_that_are_given_stand_before_the_values_at_nodes(problem):
    queries = problem.points([[0.0, 0.5]])
    found = pp.certify(problem, walled(problem), queries, raw=[0.001], target="discrete", accept=0.01)
    assert (found.raw.tolist(), found.verdicts) == ([0.001], ({"accept": "within"},))


def test_displacements_at_nodes_are_judged_as_they_were_given():
    solid = pp.fem.Elasticity(
        pp.io.generate("square", 4), young=1.0, poisson=0.3, fixed={"left": 0.0}, body=(0.0, -1e-3)
    )
    queries = solid.points([[0.0, 0.5], [0.9, 0.5]], component="y")
    U = solid.space.U0.copy()
    U[solid.space.fixed] = 7.0
    found = pp.certify(solid, U, queries, target="discrete", accept=0.1)
    assert [v["accept"] for v in found.verdicts] == ["beyond", "within"]


def test_semilinear_predictions_are_judged_as_they_were_given():
    problem = pp.fem.Semilinear(pp.io.generate("square", 4), cubic=1.0, source="1", dirichlet={"boundary": 0.0})
    for target in ("discrete", "continuous"):
        found = pp.certify(problem, walled(problem, 5.0), problem.points([[0.0, 0.5]]), target=target, accept=0.1)
        assert found.verdicts == ({"accept": "beyond"},)


def test_refinement_carries_the_prediction_as_it_was_given(problem):
    queries = problem.points([[0.0, 0.5], [0.06, 0.5]])
    found = pp.certify_to(problem, walled(problem), queries, 8e-3, accept=0.01)
    assert len(found.history) > 1
    np.testing.assert_allclose(found.certificate.raw, queries.L @ walled(problem), rtol=1e-12)
    assert [v["accept"] for v in found.certificate.verdicts] == ["beyond", "beyond"]


def test_a_function_is_judged_before_boundary_conditions_where_its_outputs_make_no_query(problem):
    """Of a flux its values at the nodes stand for it, as it was given: those of 1000 have none."""
    flux = problem.flux("boundary")
    found = pp.certify(problem, lambda X: np.full(len(X), 1000.0), flux, target="discrete", accept=10.0)
    assert abs(found.raw[0]) < 1.0
    assert abs(found.value[0]) > 1e4
    assert found.verdicts == ({"accept": "within"},)


def test_states_that_are_admissible_only_almost_are_judged_as_they_were_given(problem):
    """Off by 1e-10 of the largest entry they pass for admissible; what is accepted may be less than that."""
    queries = problem.points([[0.0, 0.5], [0.5, 0.5]])
    U = problem.space.U0.copy()
    U[problem.space.free[0]], U[problem.space.fixed] = 1e6, 1e-5
    certifier = pp.Exact().prepare(problem.system, queries)
    family = pp.LoadFamily(problem.system, problem.b[None, :]).prepare(queries)
    found = [certifier.certify(U, accept=1e-6), pp.certify(problem.system, U, queries, accept=1e-6)]
    found += [certifier.certify_many([U, problem.space.U0], accept=1e-6)[0]]
    found += [family.certify(U, mu=[1.0], accept=1e-6)]
    found += [family.certify_many([problem.space.U0, U], [[1.0], [1.0]], accept=1e-6)[1]]
    for one in found:
        assert one.verdicts[0] == {"accept": "beyond"}
        assert one.raw[0] == pytest.approx(1e-5)
        assert one.terms["mismatch"][1] == 0.0
    assert certifier.certify(problem.space.U0).raw is None
    assert family.certify(problem.space.U0, mu=[1.0]).raw is None


@pytest.mark.parametrize("target", ["discrete", "continuous"])
def test_files_of_values_at_nodes_are_judged_as_they_were_given(tmp_path, capsys, problem, target):
    """Table, exit code, report and bundle alike."""
    np.savez(tmp_path / "wall.npz", values=walled(problem))
    text = CASE.replace('expression = "x*(1-x)*y*(1-y)"', 'file = "wall.npz"').replace("[0.5, 0.5]", "[0.0, 0.5]")
    arguments = written(tmp_path, f'certificate.target="{target}"', "certificate.accept=0.5", text=text)
    assert main(arguments) == 4
    said = capsys.readouterr().out
    assert "centre: the prediction is proved beyond accept = 0.5, off by at least 999.9" in said
    assert said.count("boundary conditions changed the prediction by at most 1000 at a node") == 1
    assert [row["verdicts"]["accept"] for row in rows(tmp_path)] == ["beyond", "within"]
    assert "oundary conditions changed the prediction" in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0
    shown = meshio.read(tmp_path / "out" / "field.vtu").point_data["prediction"]
    assert shown.max() == 1000.0


@pytest.mark.parametrize(
    ("kind", "target", "cubic"),
    [
        ("reaction-diffusion", "discrete", ""),
        ("reaction-diffusion", "continuous", ""),
        ("semilinear", "discrete", "cubic = 1.0"),
    ],
)
def test_the_service_judges_values_at_nodes_as_they_were_given(tmp_path, problem, kind, target, cubic):
    from pinnpoint.cases.read import read_case
    from pinnpoint.cases.study import build
    from pinnpoint.service import engine_of_case

    text = CASE.replace('"reaction-diffusion"', f'"{kind}"\n{cubic}').replace('"discrete"', f'"{target}"')
    (tmp_path / "case.toml").write_text(text.replace("[0.5, 0.5]", "[0.0, 0.5]"), encoding="utf-8")
    engine = engine_of_case(build(read_case(tmp_path / "case.toml")))
    monitor = pp.Monitor(engine, accept=0.5)
    wrong, right = (engine.answer(walled(problem, height), None, None) for height in (1000.0, 0.0))
    decided = monitor.judge(wrong)
    assert decided.action == "flag"
    assert [v["accept"] for v in decided.verdicts] == ["beyond", "within"]
    assert wrong.raw[0] == 1000.0
    assert monitor.judge(right).action == "accept"
    assert right.raw is None


def test_verdicts_that_hang_on_a_draw_say_their_confidence_and_not_that_they_are_proved(tmp_path, capsys, problem):
    queries = problem.points([[0.5, 0.5], [0.25, 0.5]], names=["centre", "side"])
    method = pp.Randomized(probes=4, delta=0.9)
    found = pp.certify(problem, problem.space.U0, queries, method, target="discrete", accept=[1.0, 1e-3])
    assert [v["accept"] for v in found.verdicts] == ["within", "beyond"]
    for said in (str(found), found._repr_html_()):
        assert "within with confidence 0.1" in said
        assert "beyond with confidence 0.1" in said
        assert "proved" not in said
    decided = pp.Monitor(method.prepare(problem.system, queries), accept=1.0).check(problem.space.U0)
    assert (decided.action, decided.reason) == ("accept", "within with confidence 0.1")
    flagged = pp.Monitor(method.prepare(problem.system, queries), accept=1e-3).check(problem.space.U0)
    assert "beyond accept = 1.000e-03 with confidence 0.1, off by at least" in flagged.reason
    drawn = ['certificate.method="randomized"', "certificate.probes=4", "certificate.delta=0.9"]
    main(written(tmp_path, *drawn, "certificate.accept=1.0"))
    assert "within with confidence 0.1" in (out := capsys.readouterr().out)
    assert "proved within" not in out
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "the prediction is good enough everywhere it was asked with confidence 0.1" in page
    assert "proved within" not in page
    main(written(tmp_path, *drawn, "certificate.accept=1e-9"))
    assert "beyond accept = 1e-09 with confidence 0.1, off by at least" in (out := capsys.readouterr().out)
    assert "proved beyond" not in out
    assert "proved beyond" not in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_a_confidence_below_one_is_not_shown_as_one():
    from pinnpoint.report.surety import share, sure

    assert [share(c) for c in (0.95, 1.0 - 0.9, 0.999999999, 1.0 - 2.0**-50)] == [
        "0.95",
        "0.1",
        "0.999999999",
        "0.9999999999999991",
    ]
    assert sure("undecided", 0.5) == "undecided"


def rehashed(bundle, change):
    """A bundle whose certificate was changed, and its manifest with it."""
    certificate = json.loads((bundle / "certificate.json").read_text("utf-8"))
    change(certificate)
    data = json.dumps(certificate, indent=1, ensure_ascii=False).encode() + b"\n"
    (bundle / "certificate.json").write_bytes(data)
    sealed(bundle)


def test_a_verdict_on_what_the_conditions_made_of_a_prediction_is_not_verified(tmp_path, capsys, problem):
    """Without raw a verdict would be on the vector whose wrong values were overwritten."""
    np.savez(tmp_path / "wall.npz", values=walled(problem))
    text = CASE.replace('expression = "x*(1-x)*y*(1-y)"', 'file = "wall.npz"').replace("[0.5, 0.5]", "[0.0, 0.5]")
    assert main(written(tmp_path, "certificate.accept=0.5", text=text)) == 4
    bundle = tmp_path / "out" / "bundle"

    def dropped(certificate):
        row = certificate["queries"][0]
        row |= {"raw": None, "raw_radius": None, "verdicts": {"accept": "within"}}
        del row["terms"]["mismatch"]

    def moved(certificate):
        row = certificate["queries"][1]
        row["raw"] += 0.1
        row["raw_radius"] = abs(row["raw"] - row["center"]) + row["radius"]
        row["terms"]["mismatch"] = abs(row["raw"] - row["value"])
        certificate["prediction"]["projection_mismatch"] = 0.01

    kept = {name: (bundle / name).read_bytes() for name in ("certificate.json", "manifest.json")}
    for change, said in ((dropped, "not on the prediction as it was given"), (moved, "raw is further from value")):
        rehashed(bundle, change)
        assert main(["verify", str(bundle)]) == 1
        assert said in capsys.readouterr().out
        for name, data in kept.items():
            (bundle / name).write_bytes(data)
    assert main(["verify", str(bundle)]) == 0
