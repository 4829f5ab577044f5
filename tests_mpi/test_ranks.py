"""1, 2 and 4 processes: the same intervals, all of them holding the target of one machine."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import flint
import numpy as np
import pytest
from conftest import mpirun

from pinnpoint.cases.read import read_case
from pinnpoint.cases.study import build
from pinnpoint.distributed.certify import _ask, _parts
from pinnpoint.distributed.rows import assemble_rows

RANKS = (1, 2, 4)
TAIL = """
[certificate]
target = "discrete"
"""
SQUARE = (
    """
[mesh]
generate = "square"
cells = 12
[problem]
kind = "reaction-diffusion"
source = "1 + x*y"
[problem.dirichlet]
left = 0.0
bottom = "x"
[problem.neumann]
right = "y"
[prediction]
expression = "x*(1-x) + y"
[[query]]
name = "inside"
at = [0.51, 0.47]
[[query]]
name = "disc"
kind = "average"
at = [0.4, 0.6]
radius = 0.2
"""
    + TAIL
)
SCALAR_BRACKET = (
    """
[mesh]
generate = "bracket"
[problem]
kind = "reaction-diffusion"
source = "1 + 0.01*z"
diffusion = 2.0
reaction = "0.001*(1 + 0.01*x)"
[problem.dirichlet]
bolts = "0.1*x"
[prediction]
zero = true
[[query]]
name = "pin"
kind = "patch"
group = "pin"
"""
    + TAIL
)
BRACKET = (
    """
[mesh]
generate = "bracket"
[problem]
kind = "elasticity"
young = 113800
poisson = 0.342
[problem.dirichlet]
bolts = 0.0
[problem.force.pin]
force = [-28276.2, 0.0, 31403.9]
moment = [0.0, 0.0, 564924.2]
at = [0.0, 0.0, 58.0]
[prediction]
expression = ["0", "0", "1e-3*z"]
[[query]]
name = "pin x"
kind = "patch"
group = "pin"
component = "x"
[[query]]
name = "pin z"
kind = "patch"
group = "pin"
component = "z"
"""
    + TAIL
)
PLATE = (
    """
[mesh]
generate = "frame"
cells = 6
[problem]
kind = "elasticity"
young = 200.0
poisson = 0.3
plane = "stress"
body = ["0", "-1"]
[problem.dirichlet]
left = 0.0
bottom = ["free", 0.0]
[problem.neumann]
right = [1.0, "y"]
[prediction]
zero = true
[[query]]
name = "corner"
at = [0.9, 0.9]
component = "y"
"""
    + TAIL
)
QUADRATIC = (
    """
[mesh]
generate = "cube"
cells = 3
[problem]
kind = "elasticity"
degree = 2
young = 200.0
poisson = 0.3
body = ["0", "0", "-1 - x*y"]
[problem.dirichlet]
left = 0.0
back = ["free", 0.0, "free"]
[problem.neumann]
right = [1.0, 0.0, "y"]
[prediction]
zero = true
[[query]]
name = "inside"
at = [0.7, 0.45, 0.55]
component = "z"
[[query]]
name = "end"
kind = "patch"
group = "right"
component = "x"
"""
    + TAIL
)
CASES = {
    "square": SQUARE,
    "quadratic square": SQUARE.replace('source = "1 + x*y"', 'source = "1 + x*y"\ndegree = 2'),
    "scalar bracket": SCALAR_BRACKET,
    "bracket": BRACKET,
    "plate": PLATE,
    "quadratic plate": PLATE.replace("young", "degree = 2\nyoung"),
    "quadratic cube": QUADRATIC,
}


def truth(text, tmp_path):
    """Values of the stored system of one machine to 40 digits, as rational numbers.

    A float64 factorization with residuals in rational arithmetic: each step gains about ten digits.
    """
    from scipy.sparse.linalg import splu

    path = tmp_path / "truth.toml"
    path.write_text(text, encoding="utf-8")
    case = read_case(path)
    study = build(case)
    problem, L = study.problem, study.queries.L.tocsr()
    free = np.asarray(problem.space.free)
    (A, b), U0 = _stored(case, problem), problem.space.U0
    solve = splu(A[free][:, free].tocsc()).solve
    parts = [U0]
    rows = A[free]
    for _ in range(5):
        r = _residual(rows, parts, b[free])
        step = np.zeros(len(U0))
        step[free] = solve(r)
        parts.append(-step)
    values = [-v for v in _residual(L, parts, np.zeros(L.shape[0]), exact=True)]
    last = max(abs(parts[-1]))
    return [-v for v in values], 1e3 * last * abs(L).sum(axis=1).max()


def _stored(case, problem):
    """The system that processes share: sums of quadratic elements are made in one order."""
    if problem.degree == 1:
        return problem.A.tocsr(), problem.b
    asked = _ask(case, 1)
    alone = assemble_rows(_parts(asked, 1)[0][0], case.problem, None, asked.frame.forces)
    return alone.A.tocsr(), alone.b


def _residual(A, parts, b, *, exact=False):
    """A Σ parts − b in flint's ball arithmetic with 400 bits."""
    flint.ctx.prec = 400
    found = []
    for i in range(A.shape[0]):
        at = slice(A.indptr[i], A.indptr[i + 1])
        total = flint.arb(-float(b[i]))
        for a, j in zip(A.data[at], A.indices[at], strict=True):
            total += flint.arb(float(a)) * sum((flint.arb(float(p[j])) for p in parts), flint.arb(0))
        found.append(total if exact else float(total.mid()))
    return found if exact else np.array(found)


@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        ("square", RANKS),
        ("quadratic square", (1, 3)),
        ("bracket", RANKS),
        ("scalar bracket", (2,)),
        ("plate", (3,)),
        ("quadratic plate", (1, 3)),
        ("quadratic cube", (1, 2)),
    ],
)
def test_the_same_intervals(name, ranks, certify, tmp_path):
    found = {n: certify(CASES[name], n) for n in ranks}
    target, slack = truth(CASES[name], tmp_path)
    assert slack < 1e-25
    for n, certificate in found.items():
        assert all(a["status"] == "verified" for a in certificate["assumptions"])
        for query, value in zip(certificate["queries"], target, strict=True):
            assert query["guarantee"] == "deterministic"
            assert query["rounding"] == "covered"
            low, high = (flint.arb(query[end]) for end in ("lower", "upper"))
            assert low - slack <= value <= high + slack, (n, query["name"])
            assert query["radius"] <= 1e-12 * max(1.0, abs(query["center"]))
    for query in zip(*(c["queries"] for c in found.values()), strict=True):
        for one in query:
            for two in query:
                assert abs(Fraction(one["center"]) - Fraction(two["center"])) <= one["radius"] + two["radius"]


@pytest.mark.parametrize("text", [BRACKET, QUADRATIC], ids=["linear", "quadratic"])
def test_rows_are_those_of_one_machine(text, tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(text, encoding="utf-8")
    done = mpirun(4, Path(__file__).parent / "rows.py", path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("fine") == 4


def test_a_poor_solver_only_widens(certify, tmp_path):
    """PETSc's options are heard; whatever the solver does, the interval holds the target."""
    good = certify(SQUARE, 2)["queries"]
    poor = certify(SQUARE, 2, "--petsc", "-ksp_max_it 3 -pc_type jacobi")["queries"]
    target, slack = truth(SQUARE, tmp_path)
    for one, two, value in zip(good, poor, target, strict=True):
        assert two["radius"] > 1e3 * one["radius"]
        assert flint.arb(two["lower"]) - slack <= value <= flint.arb(two["upper"]) + slack


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--set", "certificate.method=norm"), "certificate.method: over several processes it must be 'exact'"),
        (("--set", "problem.source='1/(x-x)'"), "not finite at"),
        (("--set", "problem.degree=2", "--set", "problem.reaction=1.0"), "problem.reaction: over several processes"),
        (("--petsc", "-pc_type nonsense"), "--petsc: "),
        (("--petsc", "nonsense"), "--petsc: 'nonsense' is neither an option"),
        (("--petsc", "-a 'b"), "--petsc: cannot be read"),
    ],
)
def test_refused_once_by_all(certify, arguments, words):
    done = certify(SQUARE, 2, *arguments, refused=True)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("pinnpoint: ") == 1
    assert words in done.stderr
    assert not done.stdout


def test_one_option_of_petsc(certify):
    assert certify(SQUARE, 2, "--petsc", "-log_view")["queries"]


def test_a_shortage_on_a_rank_is_told_in_one_line(tmp_path):
    case, program = tmp_path / "case.toml", tmp_path / "short.py"
    case.write_text(SQUARE, encoding="utf-8")
    program.write_text(
        "import sys\n"
        "from pinnpoint.cli import main\n"
        "from pinnpoint.distributed import certify\n"
        "def short(*a, **k):\n"
        "    raise MemoryError\n"
        "certify.certify = short\n"
        "raise SystemExit(main.main(['certify', *sys.argv[1:]]))\n",
        encoding="utf-8",
    )
    done = mpirun(2, program, case, "--quiet", "--out", tmp_path / "out")
    assert done.returncode == 3, done.stderr
    assert "pinnpoint: not enough memory; make the case smaller" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_override_and_what_may_be_accepted_are_told_as_on_one_machine(certify):
    """A group inside `boundary` overrides it, with a note; `accept` is judged by the same intervals."""
    text = SQUARE.replace('left = 0.0\nbottom = "x"', 'boundary = 0.0\nleft = "y*(1-y)"').replace(
        '[problem.neumann]\nright = "y"\n', ""
    )
    text = text.replace("at = [0.51, 0.47]\n", "at = [0.51, 0.47]\naccept = 10.0\n")
    one, two = (certify(text, ranks) for ranks in (1, 2))
    assert [a["claim"] for a in one["assumptions"] if "overrid" in a["claim"]]
    for certificate in (one, two):
        assert certificate["queries"][0]["verdicts"] == {"accept": "within"}
        assert certificate["queries"][1]["verdicts"] == {}
    assert [a for a in one["assumptions"] if "overrid" in a["claim"]] == [
        a for a in two["assumptions"] if "overrid" in a["claim"]
    ]


def test_values_at_nodes_are_judged_as_they_were_given(certify, tmp_path):
    """Of a prediction whose values on the boundary are 1000, by as many processes as there are."""
    case = tmp_path / "case.toml"
    case.write_text(SQUARE, encoding="utf-8")
    problem = build(read_case(case)).problem
    values = np.zeros(problem.space.N)
    values[problem.space.fixed] = 1000.0
    np.savez(tmp_path / "wall.npz", values=values)
    text = SQUARE.replace('expression = "x*(1-x) + y"', 'file = "wall.npz"')
    text = text.replace("at = [0.51, 0.47]\n", "at = [0.0, 0.47]\n")
    for ranks in (1, 2):
        found = certify(text, ranks)
        row = found["queries"][0]
        assert row["raw"] == pytest.approx(1000.0)
        assert row["value"] == 0.0
        assert row["terms"]["mismatch"] == pytest.approx(1000.0)
        assert any(note.startswith("boundary conditions changed the prediction") for note in found["notes"])
