"""Solvers, options and memory that fail: the refusal names the cause and what to do, and comes before the harm."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint as pp
from pinnpoint.base.errors import shortage
from pinnpoint.base.free_memory import free_memory
from pinnpoint.cli.dispatch import joined
from pinnpoint.cli.main import main
from pinnpoint.distributed.team import options_of
from pinnpoint.solvers.choice import MODULES
from pinnpoint.solvers.cholmod import Cholmod
from pinnpoint.solvers.pardiso import Pardiso
from pinnpoint.solvers.protocol import NotDefiniteError
from pinnpoint.solvers.wheel_cholmod import WheelCholmod

resource = pytest.importorskip("resource", reason="limits of a process are a matter of Unix")

GIB = 2**30


def line(n, middle=2.5):
    return sp.csr_array(sp.diags_array([-np.ones(n - 1), np.full(n, middle), -np.ones(n - 1)], offsets=[-1, 0, 1]))


def prepared(A, **options):
    n = A.shape[0]
    return pp.Exact(**options).prepare(pp.LinearSystem(A, np.ones(n)), pp.Queries(np.eye(n)[:3]))


def system_files(root, files):
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return root


MACHINE = {"proc/meminfo": f"MemTotal: {32 * GIB // 1024} kB\nMemAvailable: {16 * GIB // 1024} kB\n"}
GROUPS = {
    "none": ({}, 16),
    "garbage": ({"proc/self/cgroup": "x\n::\n0::/../a\n4:memory\n", "sys/fs/cgroup/memory.max": "much"}, 16),
    "v2, unlimited": ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 16),
    "v2, own": (
        {
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/b/memory.max": str(4 * GIB),
            "sys/fs/cgroup/a/b/memory.current": str(3 * GIB),
        },
        1,
    ),
    "v2, around it, files do not count": (
        {
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/b/memory.max": "max",
            "sys/fs/cgroup/a/memory.max": str(6 * GIB),
            "sys/fs/cgroup/a/memory.current": str(5 * GIB),
            "sys/fs/cgroup/a/memory.stat": f"anon 7\ninactive_file {2 * GIB}\n",
        },
        3,
    ),
    "v2, a container's own view": (
        {
            "proc/self/cgroup": "0::/not/visible\n",
            "sys/fs/cgroup/memory.max": str(2 * GIB),
            "sys/fs/cgroup/memory.current": "0",
        },
        2,
    ),
    "v1": (
        {
            "proc/self/cgroup": "5:cpu:/x\n4:memory:/a\n0::/\n",
            "sys/fs/cgroup/memory/a/memory.limit_in_bytes": str(8 * GIB),
            "sys/fs/cgroup/memory/a/memory.usage_in_bytes": str(3 * GIB),
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
        },
        5,
    ),
}


@pytest.mark.parametrize("kind", GROUPS)
def test_groups_limit_memory(tmp_path, kind):
    files, left = GROUPS[kind]
    assert free_memory(system_files(tmp_path, MACHINE | files)) == left * GIB


@pytest.mark.parametrize(("name", "field"), [("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData")])
def test_a_process_limits_memory(tmp_path, monkeypatch, name, field):
    root = system_files(tmp_path, MACHINE | {"proc/self/status": f"Name: x\n{field}:\t {GIB // 1024} kB\n"})
    limits = {getattr(resource, name): 3 * GIB}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limits.get(kind, resource.RLIM_INFINITY),) * 2)
    assert free_memory(root) == 2 * GIB
    limits[getattr(resource, name)] = GIB // 2
    assert free_memory(root) == 0.0


CUBE = """
title = "Cube"
[mesh]
generate = "cube"
cells = 24
[problem]
kind = "elasticity"
young = 1.0
poisson = 0.3
body = ["0", "0", "-1"]
[problem.dirichlet]
left = 0.0
[prediction]
zero = true
[[query]]
name = "a"
kind = "point"
at = [0.9, 0.5, 0.5]
component = "z"
[certificate]
target = "discrete"
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are enforced by Linux")
def test_under_a_limit_the_need_is_told_before_it_arises(tmp_path):
    """SuperLU needs several GB for this solid; with 1.5 GB it is refused with that number, before it is started."""
    case = tmp_path / "cube.toml"
    case.write_text(CUBE, encoding="utf-8")
    program = (
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({3 * GIB // 2},) * 2); "
        "from pinnpoint.cli.main import main; raise SystemExit(main(['certify', 'cube.toml', '--quiet', '--set', "
        "'certificate.solver=\"superlu\"']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("pinnpoint: solver: 'superlu' needs about ")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "cube").exists()


def test_a_shortage_is_told_in_one_line(monkeypatch, capsys):
    assert "()" not in shortage(MemoryError())
    assert "(an array)" in shortage(MemoryError("an array"))
    monkeypatch.setattr("pinnpoint.cli.doctor.run", lambda arguments: (_ for _ in ()).throw(MemoryError()))
    assert main(["doctor"]) == 3
    assert capsys.readouterr().err == shortage(MemoryError()) + "\n"


SYMMETRIC = {
    "indefinite": line(900, 1.3),
    "negative": sp.csr_array(-line(900)),
    "exchange": sp.csr_array(sp.eye_array(900, format="csr")[::-1]),
    "empty row": sp.csr_array(line(900) * (np.arange(900) != 7) * (np.arange(900) != 7)[:, None]),
}


@pytest.mark.optional
@pytest.mark.parametrize("kind", SYMMETRIC)
@pytest.mark.parametrize(("name", "package"), [("cholmod", Cholmod), ("pardiso", Pardiso), ("cvxopt", WheelCholmod)])
def test_cholesky_of_other_matrices(kind, name, package):
    if importlib.util.find_spec(MODULES[name]) is None:
        pytest.skip(f"pip install 'pinnpoint[{name}]'")
    with pytest.raises(NotDefiniteError, match=rf"solver: '{name}' needs .* positive definite.*use solver='auto'"):
        package(SYMMETRIC[kind])
    assert not package.definite(SYMMETRIC[kind])


@pytest.mark.optional
def test_pardiso_of_a_matrix_with_an_empty_row():
    pytest.importorskip("pypardiso", reason="pip install 'pinnpoint[pardiso]'")
    A = sp.csr_array(line(900) + sp.eye_array(900, k=1))
    with pytest.raises(pp.InputError, match="empty rows"):
        Pardiso(sp.csr_array(sp.diags_array(1.0 * (np.arange(900) != 7)) @ A))


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["certify", "c", "--petsc", "-log_view"], ["certify", "c", "--petsc=-log_view"]),
        (["--petsc", "-a 1 -b", "--quiet"], ["--petsc=-a 1 -b", "--quiet"]),
        (["--petsc", "", "-x"], ["--petsc", "", "-x"]),
        (["--petsc", "--quiet"], ["--petsc", "--quiet"]),
        (["--petsc=-a", "-b"], ["--petsc=-a", "-b"]),
    ],
)
def test_a_lone_option_of_petsc(argv, expected):
    assert joined(argv) == expected


def test_options_of_petsc():
    assert options_of("-ksp_rtol 1e-8 -shift -1.5 -name 'a b' -log_view") == [
        *("-ksp_rtol", "1e-8", "-shift", "-1.5", "-name", "a b", "-log_view")
    ]
    assert options_of("") == []
    for text in ("nonsense", "-a 1 2", "-a 'b"):
        with pytest.raises(pp.InputError, match=r"--petsc: .*write e\.g\."):
            options_of(text)


class Broken:
    """Solves with the diagonal, or fails."""

    def __init__(self, error=None, width=None):
        self.error = error
        if width is not None:
            self.width = width

    def solve(self, b):
        if self.error is not None:
            raise self.error
        return 0.4 * b

    solve_transposed = solve


@pytest.mark.parametrize("error", [ValueError("a"), KeyError("a"), TypeError("a"), OSError("a"), AssertionError("a")])
def test_a_solver_that_fails_is_named(error):
    with pytest.raises(pp.CertificationError, match=rf"solver: Broken failed .* {type(error).__name__}: .*a"):
        prepared(line(50), solver=Broken(error))


def test_numerical_failures_only_widen_and_shortages_pass():
    for error in (ZeroDivisionError(), np.linalg.LinAlgError(), RuntimeError()):
        assert not np.any(prepared(line(50), solver=Broken(error)).green.q)
    with pytest.raises(MemoryError):
        prepared(line(50), solver=Broken(MemoryError()))
    with pytest.raises(pp.InputError, match=r"^own words$"):
        prepared(line(50), solver=Broken(pp.InputError("own words")))


@pytest.mark.parametrize("said", [np.nan, None, np.inf, "x", [1, 2], 10**400])
def test_width_must_be_a_number(said):
    with pytest.raises(pp.InputError, match="solver: width of Broken must be a method"):
        prepared(line(50), solver=Broken(width=lambda count: said))


def test_width_must_be_a_method():
    with pytest.raises(pp.InputError, match="solver: width of Broken must be a method"):
        prepared(line(50), solver=Broken(width=3))
    for said in (-1, 0, 2, 2.0, np.int64(100)):
        prepared(line(50), solver=Broken(width=lambda count, said=said: said))


@pytest.mark.parametrize(
    ("options", "word"),
    [({"file": 5}, "file"), ({"file": b"g.npy"}, "file"), *(({"states": s}, "states") for s in (-3, np.nan, "1", 1.5))],
)
def test_options_of_the_wrong_kind(options, word):
    with pytest.raises(pp.InputError, match=f"^{word}: must be "):
        prepared(line(50), **options)


def contrast(n):
    k = np.where(np.arange(n + 1) % 2, 1e12, 1.0)
    return sp.csr_array(sp.diags_array([-k[1:-1], k[:-1] + k[1:], -k[1:-1]], offsets=[-1, 0, 1]))


def test_bad_scaling_is_told_and_the_advice_helps():
    """D A D with entries of D from 1e-6 to 1e6: refused as it is, certified when scaled as the message says."""
    n = 100
    scale = np.logspace(-6.0, 6.0, n)
    A = sp.csr_array(sp.diags_array(scale) @ line(n, 2.0) @ sp.diags_array(scale))
    for B in (A, contrast(n)):
        with pytest.raises(pp.InputError, match=r"singular, or so badly scaled.*scale its rows and columns"):
            prepared(B)
    D = 1.0 / np.sqrt(A.diagonal())
    b = np.ones(n)
    well = pp.LinearSystem(sp.csr_array(sp.diags_array(D) @ A @ sp.diags_array(D)), D * b)
    found = pp.certify(well, np.zeros(n), pp.Queries(np.eye(n)[:3] * D), pp.Exact())
    exact = np.linalg.solve(line(n, 2.0).toarray(), b / scale)[:3] / scale[:3]
    np.testing.assert_allclose(found.center, exact, rtol=1e-9)


@pytest.mark.optional
def test_multigrid_proves_and_stores_an_m_matrix_without_factors(tmp_path, monkeypatch):
    pytest.importorskip("pyamg", reason="pip install 'pinnpoint[amg]'")
    problem = pp.fem.ReactionDiffusion(pp.io.generate("cube", 12), source="1")
    queries = problem.points([[0.5, 0.5, 0.5]])
    expected = pp.certify(problem, problem.space.U0, queries, pp.Exact(), target="discrete")
    monkeypatch.setattr("scipy.sparse.linalg.splu", None)
    certifier = pp.Exact(solver="amg").prepare(problem.system, queries)
    found = certifier.certify(problem.space.U0)
    assert np.all((found.lower <= expected.upper) & (expected.lower <= found.upper))
    assert np.all(found.radius < 1e-9)
    state = problem.space.U0
    place = pp.write_bundle(tmp_path / "bundle", found, problem, state, queries, evidence=certifier.evidence(state))
    assert main(["verify", str(place)]) == 0


def test_a_witness_that_does_not_fit_is_left_out(tmp_path, monkeypatch):
    problem = pp.fem.Elasticity(pp.io.generate("cube", 6), young=1.0, poisson=0.3, fixed={"left": 0.0})
    queries = problem.points([[0.5, 0.5, 0.5]], component="z")
    found = pp.certify(problem, problem.space.U0, queries, pp.Exact(), target="discrete")
    monkeypatch.setattr("pinnpoint.outputs.bundle.discrete.free_memory", lambda: 1e5)
    with pytest.raises(pp.InputError, match=r"witness needs a factorization of about 0\.\d+ GB"):
        pp.write_bundle(tmp_path / "bundle", found, problem, problem.space.U0, queries)
    place = pp.write_bundle(tmp_path / "bundle", found, problem, problem.space.U0, queries, partial=True)
    assert "witness needs" in (place / "proof.json").read_text(encoding="utf-8")
