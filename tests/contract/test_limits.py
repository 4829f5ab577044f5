"""Limits of true values: they hold by proof, are violated by proof, or are undecided."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.certificates.verdicts import kept
from pinnpoint.cli.main import main
from pinnpoint.systems.derived import Derived
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
zero = true
[[query]]
name = "centre"
at = [0.5, 0.5]
[[query]]
name = "side"
at = [0.25, 0.5]
[certificate]
target = "discrete"
"""
BRACKET = """title = "Bracket"
[mesh]
generate = "square"
cells = 3
[problem]
kind = "elasticity"
young = 1000.0
poisson = 0.3
body = ["0", "-1"]
[problem.dirichlet]
left = [0.0, 0.0]
[prediction]
zero = true
[[query]]
name = "strong"
kind = "von-mises"
at = [0.3, 0.4]
limit = { below = 250.0 }
[[query]]
name = "sag"
kind = "magnitude"
at = [0.9, 0.6]
[[query]]
name = "ends"
kind = "principal"
at = [0.3, 0.4]
[certificate]
target = "discrete"
"""


def run(folder, *extra: str, text: str = CASE) -> int:
    path = folder / "case.toml"
    path.write_text(text, encoding="utf-8")
    settings = [word for one in extra for word in ("--set", one)]
    return main(["certify", str(path), "--out", str(folder / "out"), *settings])


def stored(folder, key="queries"):
    return json.loads((folder / "out" / "certificate.json").read_text("utf-8"))[key]


@pytest.fixture(scope="module")
def problem():
    return pp.fem.ReactionDiffusion(pp.io.generate("square", 8), source="1", dirichlet={"boundary": 0.0})


@pytest.fixture(scope="module")
def queries(problem):
    return problem.points([[0.5, 0.5], [0.25, 0.5]], names=["centre", "side"])


@pytest.fixture(scope="module")
def certificate(problem, queries):
    return pp.certify(problem, problem.space.U0, queries, target="discrete")


def test_decided_verdicts_are_never_wrong():
    """For every value of the interval, in exact arithmetic, with ends on and next to the limits."""
    rng, seen = np.random.default_rng(8), set()
    numbers = np.array([0.0, -0.0, 1.0, 0.1, 2.0**-53, 1e-300, 5e-324, 1e16, 1.7e308, -1.7e308, -1.0])
    for _ in range(1500):
        above, below = np.sort(rng.choice(numbers, 2) if rng.random() < 0.5 else rng.normal(size=2))
        pool = np.array(
            [above, below, *np.nextafter([above, below] * 2, [-np.inf] * 2 + [np.inf] * 2), *rng.normal(size=3)]
        )
        lower, upper = np.sort(rng.choice(pool, 2))
        above, below = (-np.inf if rng.random() < 0.3 else above), (np.inf if rng.random() < 0.3 else below)
        word = str(kept(np.array([lower]), np.array([upper]), np.array([[above, below]]), proved=True)[0])
        ends = Fraction(float(lower)), Fraction(float(upper))

        def keeps(t, above=above, below=below):
            return (above == -np.inf or t >= Fraction(float(above))) and (
                below == np.inf or t <= Fraction(float(below))
            )

        inside = [keeps(ends[0] + Fraction(k, 16) * (ends[1] - ends[0])) for k in range(17)]
        inside += [keeps(Fraction(float(x))) for x in (above, below) if lower <= x <= upper]
        assert word == ("holds" if all(inside) else "undecided" if any(inside) else "violated")
        seen.add(word)
    assert seen == {"holds", "violated", "undecided"}


def test_each_answer_through_python(problem, queries, certificate):
    value = certificate.center[0]
    limits = {"holds": {"below": value + 0.1}, "violated": {"above": value + 0.1}, "undecided": {"below": value}}
    for word, limit in limits.items():
        found = pp.certify(problem, problem.space.U0, queries, target="discrete", limit=[limit, None])
        assert found.verdicts == ({"limit": word}, {})
        assert [one and one.said() for one in found.limits] == [limit, None]
        assert found.to_dict()["queries"][0]["limit"] == limit
        assert "limit" not in found.to_dict()["queries"][1]
        assert list(found.to_frame()["limit"]) == [word, ""]
    both = certificate.judged(accept=1.0, limit=(0.0, 1.0))
    assert both.verdicts == ({"accept": "within", "limit": "holds"},) * 2
    assert both.judged().verdicts == ({}, {})
    assert certificate.judged(limit=(None, 1e-9)).verdicts == ({"limit": "violated"},) * 2
    assert certificate.judged(limit=np.array([[0.0, np.inf], [-np.inf, np.inf]])).verdicts == ({"limit": "holds"}, {})
    lifted = pp.certify(problem, "0.9*x*(1-x)*y*(1-y)", queries, lift=True, limit={"above": 0.0})
    assert lifted.verdicts == ({"limit": "holds"},) * 2
    refined = pp.certify_to(problem, problem.space.U0, queries, 0.05, limit={"above": 1.0})
    assert refined.certificate.verdicts == ({"limit": "violated"},) * 2


def test_estimates_and_unbounded_intervals_decide_nothing(certificate):
    for limit in ({"below": 1e9}, {"above": 1e9}):
        guess = replace(certificate, guarantee=pp.Guarantee.ESTIMATE).judged(limit=limit)
        assert guess.verdicts == ({"limit": "undecided"},) * 2
        wide = replace(certificate, radius=np.array([np.inf, 1.0])).judged(limit=limit)
        assert wide.verdicts[0] == {"limit": "undecided"}


def test_bad_limits_are_refused_with_their_key(problem, queries, certificate):
    for bad, words in (
        ({"above": np.nan}, "limit.above: must be a finite number"),
        ({"above": np.inf}, "limit.above: must be a finite number"),
        ({"below": "1"}, "limit.below: must be a finite number"),
        ({"below": True}, "limit.below: must be a finite number"),
        ({"above": 1.0, "below": 0.5}, "limit: above = 1.0 is larger than below = 0.5"),
        ({"abov": 1.0}, "limit.abov: unknown key; did you mean 'above'?"),
        ({}, "limit: is empty"),
        (0.2, "limit: must be"),
        ("x", "limit: must be"),
        ([None, None, None], "one per query; got 3 of them"),
        ([{"below": 1.0}, {"belov": 1.0}], r"limit\[1\].belov: unknown key; did you mean 'below'"),
    ):
        with pytest.raises(pp.InputError, match=words.replace("?", "[?]")):
            pp.certify(problem, problem.space.U0, queries, limit=bad)
        with pytest.raises(pp.InputError, match=words.replace("?", "[?]")):
            certificate.judged(limit=bad)
    with pytest.raises(pp.InputError, match="limit"):
        pp.certify_to(problem, problem.space.U0, queries, 1e-3, limit=3.0)


def test_exit_codes_of_case_files(tmp_path, capsys):
    cases = {
        ("query.0.limit.below=0.2",): 0,
        ("certificate.limit.below=0.2", "certificate.limit.above=0"): 0,
        ("query.0.limit.above=0.2",): 4,
        ("certificate.limit.above=0.2", "query.0.limit.above=0.0"): 4,
        ("certificate.limit.above=0.2", "query.0.limit.above=0.0", "query.1.limit.above=0.0"): 0,
        ("certificate.method=norm", "query.0.limit.below=0.0727"): 1,
        ("certificate.method=norm", "query.0.limit.below=0.0727", "query.1.limit.below=-10"): 4,
        ("query.0.limit.below=0.2", "query.0.accept=1e-9"): 4,
        ("query.0.limit.abov=0.2",): 2,
        ("query.0.limit.above=0.3", "query.0.limit.below=0.2"): 2,
        ("query.0.limit.above=nan",): 2,
        ("query.0.limit={}",): 2,
        ("query.0.limit=0.2",): 2,
    }
    for settings, code in cases.items():
        assert run(tmp_path, *settings) == code, settings
    said = capsys.readouterr()
    assert "centre: the limit, above 0.2, is proved violated" in said.out
    assert "centre: undecided whether the limit, below 0.0727, holds; the interval reaches to both sides" in said.out
    assert "below 0.2: proved to hold" in said.out
    assert "query 'centre': limit.abov: unknown key; did you mean 'above'?" in said.err
    assert "query 'centre': limit: above = 0.3 is larger than below = 0.2" in said.err


def test_tables_reports_notebooks_and_bundles_have_limits(tmp_path, capsys):
    text = CASE.replace("at = [0.5, 0.5]", "at = [0.5, 0.5]\nlimit = { above = 0.0, below = 0.2 }\naccept = 1.0")
    assert run(tmp_path, "query.1.limit.below=0.01", text=text) == 4
    centre, side = stored(tmp_path)
    assert (centre["limit"], centre["verdicts"]) == (
        {"above": 0.0, "below": 0.2},
        {"accept": "within", "limit": "holds"},
    )
    assert (side["limit"], side["verdicts"]) == ({"below": 0.01}, {"limit": "violated"})
    with (tmp_path / "out" / "certificate.csv").open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert [(r["verdict"], r["above [mm]"], r["below [mm]"], r["limit"]) for r in found] == [
        ("within", "0.0", "0.2", "holds"),
        ("", "", "0.01", "violated"),
    ]
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "of 2 limits 1 proved violated, 1 proved to hold" in page
    assert '<section class="verdict bad"' in page
    assert page.index("Are the limits kept?") < page.index("Is the prediction good enough?")
    assert "✗ proved violated</b> below 0.01" in page
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0
    assert run(tmp_path, "certificate.limit.below=0.2") == 0
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "all 2 limits are proved to hold" in page
    assert '<section class="verdict good"' in page
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0
    assert run(tmp_path, "certificate.method=norm", "query.0.limit.below=0.0727") == 1
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "of 1 limit 1 undecided" in page
    assert '<section class="verdict open"' in page


def test_notebooks_show_limits(certificate):
    html = certificate.judged(limit=[{"below": 0.2}, None])._repr_html_()
    assert "<td>below 0.2</td><td>proved to hold</td>" in html
    assert "limit" not in certificate._repr_html_()


def test_bundles_from_python_have_limits(problem, queries, certificate, tmp_path):
    asked = certificate.judged(limit=[{"below": 0.2}, None])
    pp.write_bundle(tmp_path / "b", asked, problem, problem.space.U0, queries)
    case = json.loads((tmp_path / "b" / "case.json").read_text("utf-8"))
    assert [q.get("limit") for q in case["queries"]] == [{"below": 0.2}, None]
    assert main(["verify", str(tmp_path / "b")]) == 0


def small_family(n=6):
    A = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    made = pp.LoadFamily(pp.LinearSystem(A, np.zeros(n)), np.eye(n)[:2])
    return made.prepare(pp.Queries(np.eye(n)[[0, 3]], ["a", "b"])), np.linalg.inv(A)[:, :2]


def test_families_and_batches_have_limits():
    certifier, inverse = small_family()
    mu = np.array([[1.0, 2.0], [3.0, -1.0]])
    true = (mu @ inverse.T)[:, [0, 3]]
    below = float(np.mean(true[:, 0]))
    batch = certifier.certify_many(None, mu, limit=[{"below": below}, None])  # nothing need be predicted
    assert batch.verdicts == tuple(({"limit": "holds" if t < below else "violated"}, {}) for t in true[:, 0])
    assert tuple(one.verdicts for one in batch) == batch.verdicts
    assert certifier.certify(mu=mu[0], limit=(None, 1e9)).verdicts == ({"limit": "holds"},) * 2
    prepared = certifier.certifier
    many = prepared.certify_many(mu @ inverse.T, limit={"below": -1e9})
    assert many.verdicts == (({"limit": "violated"},) * 2,) * 2
    assert many.judged(limit={"below": 1e9}).verdicts == (({"limit": "holds"},) * 2,) * 2


def test_campaigns_have_columns_for_limits(certificate):
    from pinnpoint.campaigns.tasks import rows_of

    first, second = rows_of(certificate.judged(limit=[{"below": 0.2}, None]))
    assert (first["above"], first["below"], first["limit"]) == (None, 0.2, "holds")
    assert (second["above"], second["below"], second["limit"]) == (None, None, None)
    assert "verdict" not in first


def forged(folder, change, file="certificate.json"):
    data = json.loads((folder / file).read_text("utf-8"))
    change(data)
    content = json.dumps(data, indent=1, ensure_ascii=False).encode() + b"\n"
    (folder / file).write_bytes(content)
    sealed(folder)


def test_is_the_bracket_strong_enough(tmp_path, capsys):
    """Limits of norms and principal values; the parts that these are made of have none of their own."""
    assert run(tmp_path, "certificate.limit.above=-250", "certificate.limit.below=250", text=BRACKET) == 0
    rows = {row["name"]: row for row in stored(tmp_path, "derived")}
    assert list(rows) == ["strong", "sag", "ends 1", "ends 2"]
    assert all(row["verdicts"] == {"limit": "holds"} for row in rows.values())
    assert rows["strong"]["limit"] == {"below": 250.0}
    assert rows["ends 2"]["limit"] == {"above": -250.0, "below": 250.0}
    assert all(row["verdicts"] == {} and "limit" not in row for row in stored(tmp_path))
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "all 4 limits are proved to hold" in page
    bundle = tmp_path / "out" / "bundle"
    capsys.readouterr()
    assert main(["verify", str(bundle)]) == 0
    before = {file: (bundle / file).read_bytes() for file in ("certificate.json", "case.json", "manifest.json")}
    for file, change, words in (
        (
            "certificate.json",
            lambda d: d["derived"][0].update(verdicts={"limit": "violated"}),
            "is not what its interval",
        ),
        ("certificate.json", lambda d: d["derived"][0]["limit"].update(below=300.0), "another limit than in the case"),
        ("case.json", lambda d: d["derived"][0]["limit"].update(below=300.0), "another limit than in the case"),
    ):
        forged(bundle, change, file)
        assert main(["verify", str(bundle)]) == 1
        assert words in capsys.readouterr().out
        for name, content in before.items():
            (bundle / name).write_bytes(content)
    value = rows["strong"]["center"]
    assert run(tmp_path, f"query.0.limit.below={value / 2}", text=BRACKET) == 4
    assert f"strong: the limit, below {value / 2}, is proved violated" in capsys.readouterr().out
    assert run(tmp_path, f"query.0.limit.below={value}", text=BRACKET) == 1
    assert stored(tmp_path, "derived")[0]["verdicts"] == {"limit": "undecided"}


def test_derived_quantities_are_limited_through_python(tmp_path):
    solid = pp.fem.Elasticity(
        pp.io.generate("square", 3), young=1000.0, poisson=0.3, body=("0", "-1"), fixed={"left": (0.0, 0.0)}
    )
    queries = solid.von_mises([[0.3, 0.4]], names=["strong"]) + solid.points([[0.9, 0.6]], component="y", names=["tip"])
    found = pp.certify(solid, solid.space.U0, queries, target="discrete", limit={"below": 250.0})
    assert found.verdicts == ({}, {}, {}, {"limit": "holds"})
    assert found.derived[0].verdicts == {"limit": "holds"}
    assert "strong: " in str(found)
    assert "below 250: proved to hold" in str(found)
    table = found._repr_html_()
    assert "<bdi>strong</bdi>, von-mises of <bdi>strong xx</bdi>" in table  # in notebooks too
    assert table.count("proved to hold") == 2
    each = found.judged(limit=[None, None, None, {"above": 1.0}, {"above": 250.0}])
    assert each.verdicts[3] == {"limit": "violated"}
    assert each.derived[0].verdicts == {"limit": "violated"}
    middle = found.derived[0].center
    assert found.judged(limit=[None] * 4 + [(None, middle)]).derived[0].verdicts == {"limit": "undecided"}
    pp.write_bundle(tmp_path / "b", each, solid, solid.space.U0, queries)
    assert main(["verify", str(tmp_path / "b")]) == 0


def test_each_answer_through_monitors(tmp_path):
    certifier, inverse = small_family()
    mu = np.array([1.0, 2.0])
    true = (inverse @ mu)[[0, 3]]
    log = tmp_path / "log.jsonl"
    middle = certifier.certify(raw=true, mu=mu).center[1]
    low, high = {"below": float(true[0] + 1.0)}, {"above": float(true[0] + 1.0)}
    with pp.Monitor(certifier, limit=[low, None], log=log) as monitor:
        done = monitor.check(raw=true + 100.0, mu=mu)  # how wrong the prediction is was not asked
        assert (done.action, done.verdicts) == ("accept", ({"limit": "holds"}, {}))
    line = json.loads(log.read_text())["queries"]
    assert [(q["above"], q["below"], q["limit"], q["verdict"]) for q in line] == [
        (None, low["below"], "holds", None),
        (None, None, None, None),
    ]
    with pytest.raises(pp.InputError, match="holds decisions by another limit"):
        pp.Monitor(certifier, limit=[high, None], log=log)
    calls = []
    strict = pp.Monitor(certifier, 1e-3, limit=[high, None], solver=calls.append)
    done = strict.check(raw=true, mu=mu)
    assert (done.action, done.verdicts[0]) == ("flag", {"accept": "within", "limit": "violated"})
    assert done.reason.startswith("a: the limit, above ")
    assert done.reason.endswith("is proved violated")
    assert not calls  # no solver moves the true value
    both = pp.Monitor(certifier, 1e-3, limit=[None, (None, middle)])
    done = both.check(raw=true + 1.0, mu=mu)
    assert (done.action, done.verdicts[1]) == ("flag", {"accept": "beyond", "limit": "undecided"})
    assert "a: proved beyond accept" in done.reason
    assert "; b: the limit, below " in done.reason
    assert done.reason.endswith("is undecided")
    with pytest.raises(pp.InputError, match=r"accept: is missing; .* or give limit"):
        pp.Monitor(certifier, limit=[None, None])
    with pytest.raises(pp.InputError, match=r"limit.abov: unknown key; did you mean 'above'"):
        pp.Monitor(certifier, limit={"abov": 1.0})


def test_monitors_decide_about_derived_quantities(tmp_path):
    solid = pp.fem.Elasticity(
        pp.io.generate("square", 3), young=1000.0, poisson=0.3, body=("0", "-1"), fixed={"left": (0.0, 0.0)}
    )
    prepared = pp.Exact().prepare(solid.system, solid.von_mises([[0.3, 0.4]], names=["strong"]))
    middle = prepared.certify(solid.space.U0).derived[0].center
    for limit, action, word in (
        ({"below": 250.0}, "accept", "holds"),
        ({"above": 250.0}, "flag", "violated"),
        ({"below": middle}, "flag", "undecided"),
    ):
        with pp.Monitor(prepared, limit=limit, log=tmp_path / f"{word}.jsonl") as monitor:
            done = monitor.check(solid.space.U0)
        assert (done.action, done.certificate.derived[0].verdicts) == (action, {"limit": word})
        assert ("strong: the limit" in done.reason) == (action == "flag")
        row = json.loads((tmp_path / f"{word}.jsonl").read_text())["derived"][0]
        assert (row["name"], row["limit"]) == ("strong", word)


def exactly(A, b):
    """The solution of a small system of whole numbers, by elimination of fractions."""
    rows = [[Fraction(int(x)) for x in (*row, right)] for row, right in zip(A, b, strict=True)]
    for k in range(len(rows)):  # positive definite: no pivot vanishes
        for i in range(len(rows)):
            if i != k:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[-1] / row[k] for k, row in enumerate(rows)]


def test_verdicts_on_random_systems_are_never_wrong():
    """500 systems with known solutions; limits and accepted errors lie on, next to and far from the truth."""
    rng, seen = np.random.default_rng(21), set()
    for _ in range(500):
        M = rng.integers(-3, 4, (3, 3))
        A, b = M @ M.T + np.eye(3, dtype=int), rng.integers(-9, 10, 3)
        truth = exactly(A, b)
        near = np.array([float(t) for t in truth])
        queries = pp.Queries(np.eye(3), ["x", "y", "z"]).deriving([Derived("size", "magnitude", ("x", "y"))])
        U = near + rng.choice([0.0, 1e-15, 1e-3, 1.0], 3) * rng.normal(size=3)
        moved = np.append(near, np.hypot(*near[:2])) + rng.choice([0.0, 5e-17, -1e-16, 1e-12, -0.1, 1.0], 4)
        limits = [(x, None) if rng.random() < 0.5 else (None, x) for x in moved]
        accept = np.abs(U - near) * rng.choice([0.5, 1.0, 2.0], 3) + 1e-300
        found = pp.certify(pp.LinearSystem(A.astype(float), b), U, queries, accept=accept, limit=limits)
        for i, verdict in enumerate(found.verdicts):
            off = abs(Fraction(float(U[i])) - truth[i])
            assert verdict["accept"] in ("undecided", "within" if off <= Fraction(accept[i]) else "beyond")
            least, most = limits[i]
            kept_ = truth[i] >= Fraction(least) if most is None else truth[i] <= Fraction(most)
            assert verdict["limit"] in ("undecided", "holds" if kept_ else "violated")
            seen |= {verdict["accept"], verdict["limit"]}
        least, most = limits[3]
        square, end = truth[0] ** 2 + truth[1] ** 2, Fraction(least if most is None else most)
        above = end <= 0 or square >= end**2
        below = end >= 0 and square <= end**2
        word = found.derived[0].verdicts["limit"]
        assert word in ("undecided", "holds" if (above if most is None else below) else "violated")
        seen.add(f"derived {word}")
    words = {"holds", "violated", "undecided"}
    assert seen == words | {"within", "beyond"} | {f"derived {word}" for word in words}
