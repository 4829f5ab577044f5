"""Does a change of the code change any certificate? Record a set of cases before it, compare after it.

    python scripts/golden.py record FOLDER     # with the code as it is
    python scripts/golden.py compare FOLDER    # later: certificates bit for bit, and old bundles still verify
    python scripts/golden.py compare FOLDER --radii 0.01    # intervals overlap, no radius is larger by more than 1 %

For restructuring that must not move a number: both runs on one machine with the same libraries. Fields that are added
or dropped on purpose are named with ``--but``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import pinnpoint as pp
from pinnpoint.cli.main import main

EXACT = "sin(pi*x)*sin(pi*y)"
POINTS = {1: ([0.3], [0.55]), 2: ([0.35, 0.6], [0.5, 0.45]), 3: ([0.4, 0.35, 0.6], [0.55, 0.5, 0.45])}
SCALAR = 'kind = "reaction-diffusion"\nsource = "1+exp(x)"\n'
SOLID = 'kind = "elasticity"\nyoung = 2.0\npoisson = 0.3\n'
FIXED = "[problem.dirichlet]\nboundary = 0.0\n"
PULLED = "[problem.dirichlet]\nleft = 0.0\n[problem.neumann]\nright = 0.01\n"
METHODS = {
    "exact": "",
    "norm": "",
    "inexact": "",
    "localized": "radius = 0.3\n",
    "randomized": "probes = 8\ndelta = 0.05\nseed = 3\n",
}
MESHES = {"interval": (1, 12), "square": (2, 8), "cube": (3, 4), "lshape": (2, 6), "frame": (2, 6)}


def case(
    mesh: str,
    problem: str,
    certificate: str,
    *,
    prediction: str = 'expression = "x*(1-x)"',
    queries: str = "",
    cells: int = 0,
) -> str:
    """A case file; two points are asked unless queries are given."""
    dim, own = MESHES[mesh]
    component = 'component = "x"\n' if "elasticity" in problem else ""
    points = "".join(f'[[query]]\nname = "p{i}"\nat = {list(p)}\n{component}' for i, p in enumerate(POINTS[dim]))
    return (
        f'title = "golden"\n[mesh]\ngenerate = "{mesh}"\ncells = {cells or own}\n[problem]\n{problem}'
        f"[prediction]\n{prediction}\n{queries or points}[certificate]\n{certificate}"
    )


def files() -> Iterator[tuple[str, str]]:
    """Case files by name: methods, kinds, targets and dimensions."""
    for mesh in ("interval", "square", "cube"):
        for method, options in METHODS.items():
            yield (
                f"discrete-{mesh}-{method}",
                case(mesh, SCALAR + FIXED, f'target = "discrete"\nmethod = "{method}"\n{options}'),
            )
    for method, options in METHODS.items():
        text = f'target = "discrete"\nmethod = "{method}"\n{options}'
        vector = 'expression = ["x", "0"]'
        yield f"solid-square-{method}", case("square", SOLID + PULLED, text, prediction=vector)
    plain = 'target = "discrete"\n'
    yield "solid-cube", case("cube", SOLID + PULLED, plain, prediction="zero = true")
    yield (
        "solid-stress",
        case("square", SOLID + 'plane = "stress"\nbody = ["0", "-1"]\n' + PULLED, plain, prediction="zero = true"),
    )
    yield "rounding-off", case("square", SCALAR + FIXED, plain + "rounding = false\n")
    yield "reaction", case("square", SCALAR + 'reaction = "1+x"\n' + FIXED, plain)
    for degree in (1, 2):
        for mesh in ("interval", "square", "cube", "lshape"):
            yield f"continuous-{mesh}-{degree}", case(mesh, SCALAR + f"degree = {degree}\n" + FIXED, "")
        yield f"discrete-square-{degree}", case("square", SCALAR + f"degree = {degree}\n" + FIXED, plain)
        yield f"mixed-square-{degree}", case("square", SCALAR + f"degree = {degree}\nreaction = 2.0\n" + PULLED, "")
        yield f"mixed-cube-{degree}", case("cube", SCALAR + f"degree = {degree}\n" + PULLED, "")
    goals = (
        '[[query]]\nname = "mean"\nkind = "average"\nat = [0.5, 0.5]\nradius = 0.2\n'
        '[[query]]\nname = "side"\nkind = "patch"\ngroup = "right"\n'
        '[[query]]\nname = "flow"\nkind = "flux"\ngroup = "left"\n'
    )
    yield "goals-continuous", case("square", SCALAR + PULLED, "", queries=goals)
    yield "goals-discrete", case("square", SCALAR + PULLED, plain, queries=goals.split('[[query]]\nname = "flow"')[0])
    yield "data", case("square", SCALAR + '[problem.dirichlet]\nboundary = "x*y"\n', "")
    near = f'expression = "1.01*{EXACT}"'
    source = f'kind = "reaction-diffusion"\nsource = "2*pi**2*{EXACT}"\n'
    yield "lift-1", case("square", source + FIXED, "lift = true\n", prediction=near)
    yield "lift-2", case("square", source + "degree = 2\n" + FIXED, "lift = true\n", prediction=near)
    yield "tolerance", case("square", source + "degree = 2\n" + FIXED, "tolerance = 1e-4\n", prediction=near)
    yield (
        "tolerance-frame",
        case(
            "frame",
            SCALAR + "degree = 2\n" + FIXED,
            "tolerance = 3e-3\n",
            prediction="zero = true",
            queries='[[query]]\nname = "p"\nat = [0.7, 0.1]\n',
        ),
    )
    cubic = 'kind = "semilinear"\ncubic = 20.0\nsource = "1+exp(x)"\n'
    for mesh in ("interval", "square"):
        yield f"cubic-{mesh}", case(mesh, cubic + FIXED, "")
        for method in ("root", "stationary"):
            yield f"cubic-{mesh}-{method}", case(mesh, cubic + FIXED, plain + f'method = "{method}"\npolish = 4\n')


def matrices() -> Iterator[tuple[str, dict[str, Any]]]:
    """Certificates of plain systems from Python: weights, least squares, families."""
    rng = np.random.default_rng(5)
    n = 40
    A = sp.diags_array([np.full(n, 4.0), np.full(n - 1, -1.0), np.full(n - 1, -1.5)], offsets=[0, 1, -1]).tocsr()
    b, U = rng.normal(size=n), rng.normal(size=n)
    queries = pp.Queries(rng.normal(size=(3, n)), names=["a", "b", "c"])
    for name, weight in {"identity": None, "diagonal": sp.diags_array(rng.uniform(1, 2, n)).tocsr()}.items():
        for method in (pp.Exact(), pp.Norm(), pp.Exact(refine=True)):
            certificate = pp.certify(pp.LinearSystem(A, b, weight=weight), U, queries, method)
            yield f"matrix-{name}-{certificate.method}-{method!r}", certificate.to_dict()
    tall = sp.csr_array(rng.normal(size=(60, n)))
    yield "least-squares", pp.certify(pp.LinearSystem(tall, rng.normal(size=60)), U, queries).to_dict()


def run(folder: Path) -> dict[str, Any]:
    """All cases with the code as it is: outputs into the folder, certificates by name."""
    found = dict(matrices())
    for name, text in files():
        path = folder / f"{name}.toml"
        path.write_text(text, encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = main(["certify", str(path), "--json", "--quiet", "--out", str(folder / name)])
        if code not in (0, 1, 4):
            raise SystemExit(f"{name}: exit code {code}")
        found[name] = {"code": code, **json.loads(out.getvalue())}
    return found


def without(data: Any, keys: set[str]) -> Any:
    """The data less some keys, at any depth."""
    if isinstance(data, dict):
        return {k: without(v, keys) for k, v in data.items() if k not in keys}
    return [without(v, keys) for v in data] if isinstance(data, list) else data


def record(folder: Path) -> int:
    """Store certificates and bundles."""
    folder.mkdir(parents=True)
    found = run(folder)
    (folder / "golden.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    print(f"recorded {len(found)} certificates in {folder}")
    return 0


def as_narrow(old: dict[str, Any], new: dict[str, Any], share: float) -> bool:
    """Whether all intervals overlap, and none has a radius that is larger by more than a share or a few roundings."""
    if [q["name"] for q in old["queries"]] != [q["name"] for q in new["queries"]]:
        return False
    both = zip(old["queries"], new["queries"], strict=True)
    return all(
        b["radius"] <= (1.0 + share) * a["radius"] + 1e-15 * abs(a["center"])
        and max(a["lower"], b["lower"]) <= min(a["upper"], b["upper"])
        for a, b in both
    )


def compare(folder: Path, but: set[str], radii: float | None = None) -> int:
    """Run the cases again, and verify the stored bundles."""
    old = json.loads((folder / "golden.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as place:
        new = json.loads(json.dumps(run(Path(place))))
    if radii is not None:
        wrong = [name for name in old if not as_narrow(old[name], new[name], radii)]
    else:
        wrong = [name for name in old if without(old[name], but) != without(new.get(name), but)]
    bundles = sorted(folder.glob("*/bundle"))
    with contextlib.redirect_stdout(io.StringIO()):
        refused = [str(b) for b in bundles if main(["verify", str(b)]) != 0]
    for name in wrong:
        print(f"differs: {name}")
    for name in refused:
        print(f"does not verify: {name}")
    print(f"{len(old)} certificates, {len(wrong)} differ; {len(bundles)} bundles, {len(refused)} refused")
    return int(bool(wrong or refused))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--but", nargs="*", default=[], help="keys that may differ")
    parser.add_argument("--radii", type=float, help="compare intervals alone: the share by which radii may grow")
    given = parser.parse_args()
    found = record(given.folder) if given.action == "record" else compare(given.folder, set(given.but), given.radii)
    sys.exit(found)
