"""Small cases with reports, for the tests that open them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint.mesh.domains import generate

NASTY = "</script><img src=x onerror=alert(1)> \"'&amp; \u202e\u2028\x07"


def poisson(
    domain, cells, queries, *, title="Case", units="", source="1", prediction="zero = true", certificate=""
) -> str:
    """A case file: −Δu = source, u = 0 on the boundary; queries are names and what else they say."""
    asked = "".join(f'[[query]]\nname = "{name}"\n{rest}\n' for name, rest in queries.items())
    return f"""title = "{title}"
units = "{units}"
[mesh]
generate = "{domain}"
cells = {cells}
[problem]
kind = "reaction-diffusion"
source = "{source}"
[problem.dirichlet]
boundary = 0.0
[prediction]
{prediction}
{asked}[certificate]
{certificate}
"""


PLATE = poisson(
    "square",
    12,
    {
        "bump": "at = [0.65, 0.35]\ntolerance = 0.1",
        "centre": "at = [0.5, 0.5]\ntolerance = 1e-9",
        "average": 'kind = "average"\nat = [0.3, 0.6]\nradius = 0.2',
    },
    title="Plate",
    units="K",
    source="2*pi**2*sin(pi*x)*sin(pi*y)",
    prediction='expression = "sin(pi*x)*sin(pi*y)+0.4*exp(-((x-0.65)**2+(y-0.35)**2)/0.005)*x*y*(1-x)*(1-y)"',
    certificate="max_dofs = 1",
)
SOLID = """title = "Block under traction"
units = "mm"
[mesh]
generate = "cube"
cells = 4
[problem]
kind = "elasticity"
young = 10.0
poisson = 0.3
body = [0, 0, -0.1]
[problem.dirichlet]
left = 0
[problem.neumann]
right = [0, 0, -0.2]
[prediction]
zero = true
[[query]]
name = "tip"
kind = "patch"
group = "right"
component = "z"
[[query]]
name = "inside"
at = [0.5, 0.4, 0.6]
component = "z"
[certificate]
target = "discrete"
"""
REFINED = poisson("lshape", 2, {"corner": "at = [-0.1, 0.1]"}, title="Refined", certificate="tolerance = 1e-2")
ROD = poisson("interval", 16, {"middle": "at = [0.5]"}, title="Rod", prediction='expression = "0.4*x*(1-x)"')
LOCAL = PLATE.replace("max_dofs = 1\n", 'target = "discrete"\nmethod = "localized"\nradius = 0.3\n')
CASES = {"plate": PLATE, "solid": SOLID, "refined": REFINED, "rod": ROD, "local": LOCAL}


def certified(name: str, folder: Path, text: str = "") -> tuple[Path, dict]:
    """The report of a case, and its certificate.json."""
    (folder / f"{name}.toml").write_text(text or CASES[name], encoding="utf-8")
    assert main(["certify", str(folder / f"{name}.toml"), "--out", str(folder / name), "--quiet"]) in (0, 1)
    return folder / name / "report.html", json.loads((folder / name / "certificate.json").read_text("utf-8"))


def family(path: Path) -> tuple[Path, pp.CertificateBatch]:
    """A block under three loads."""
    mesh = generate("cube", 3)
    loads = {"down": [0, 0, -0.2], "sideways": [0, 0.2, 0], "pull": [0.5, 0, 0]}
    problems = [pp.fem.Elasticity(mesh, 10.0, 0.3, None, {"left": 0.0}, {"right": t}) for t in loads.values()]
    queries = problems[0].points([[1.0, 0.5, 0.5]], "z", ["tip z"]) + problems[0].patch("right", "x", name="tip x")
    U = np.zeros((3, problems[0].system.N))
    batch = pp.Exact().prepare(problems[0].system, queries).certify_many(U, loads=[p.b.ravel() for p in problems])
    X = mesh.points
    fields = [{"prediction": np.stack([X[:, 0] * k, X[:, 1], X[:, 2]], axis=1)} for k in range(3)]
    batch.to_html(path, list(loads), mesh=mesh, fields=fields, title="Three loads", units="mm", tolerance=1e-3)
    return path, batch


def hostile(path: Path) -> Path:
    """Names and titles that try to leave their place, and an interval that is unbounded."""
    mesh = generate("square", 4)
    problem = pp.fem.ReactionDiffusion(mesh, source="1", dirichlet={"boundary": 0.0})
    names = [NASTY, "]]>--><!--", "x" * 300]
    queries = problem.points([[0.5, 0.5], [0.3, 0.3], [0.7, 0.6]], names=names)
    certificate = pp.certify(problem, problem.space.U0, queries, target="discrete")
    radius = np.array([np.inf, 1e-3, 1e-3])
    terms = {**certificate.terms, "algebra": np.array([np.inf, 1e-3, 1e-3])}
    wide = pp.Certificate(**{**certificate.__dict__, "radius": radius, "terms": terms})
    fields = {"prediction": np.sin(mesh.points[:, 0]), f"green {NASTY}": mesh.points[:, 1], NASTY: mesh.points[:, 0]}
    wide.to_html(path, mesh=mesh, fields=fields, title=NASTY, units=NASTY, inputs={NASTY: {"file": NASTY}})
    return path
