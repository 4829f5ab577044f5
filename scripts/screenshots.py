"""Take the pictures of docs/report.md: python scripts/screenshots.py (needs Chromium, see scripts/browser.sh)."""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from pinnpoint.cli.main import main as command  # noqa: E402
from pinnpoint.io import simjeb  # noqa: E402
from tests.support.browser import WEBGL, Browser  # noqa: E402
from tests.support.reports import certified, poisson  # noqa: E402
from tests.support.written import Bracket  # noqa: E402

DESK, PHONE = {"width": 1180, "height": 800}, {"width": 390, "height": 844, "phone": True}
LSHAPE = poisson(
    "lshape",
    4,
    {
        "corner": "at = [-0.1, 0.1]",
        "far": "at = [-0.6, -0.5]",
        "hot spot": 'kind = "average"\nat = [-0.5, 0.5]\nradius = 0.2',
    },
    title="L-shaped plate, refined to a tolerance",
    units="K",
    prediction='expression = "0.6*(1-x*x)*(1-y*y)*(x*x+y*y)**0.333*(0.35-0.2*x+0.2*y)"',
    certificate="tolerance = 1.5e-3",
)
FICHERA = poisson(
    "fichera",
    10,
    {"inside": "at = [-0.3, -0.3, -0.3]", "beside": "at = [0.5, -0.5, -0.2]"},
    title="Fichera corner",
    units="K",
    prediction='expression = "0.2*(1-x*x)*(1-y*y)*(1-z*z)"',
)
BRACKET = """title = "Bracket, pulled up"
units = "mm"
[mesh]
generate = "bracket"
[problem]
kind = "elasticity"
young = 113800
poisson = 0.342
[problem.dirichlet]
bolts = 0.0
[problem.force.pin]
force = [0.0, 0.0, 35585.77]
at = [0.0, 0.0, 58.0]
[prediction]
expression = ["0", "0", "0.1*(z/60)**2"]
[[query]]
name = "pin, z"
kind = "patch"
group = "pin"
component = "z"
tolerance = 1e-6
[certificate]
target = "discrete"
"""


def main() -> None:
    """Make the reports, open them, press what a person would, and keep what is seen."""
    docs = ROOT / "docs" / "report"
    docs.mkdir(exist_ok=True)
    browser = Browser(*WEBGL)
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            command(["demo", "--quiet", "--out", str(folder / "demo")])
            demo = folder / "demo" / "report.html"
            cases = {"lshape": LSHAPE, "solid": FICHERA, "bracket": BRACKET}
            lshape, solid, bracket = (certified(name, folder, text)[0] for name, text in cases.items())
            family = runpy.run_path(str(ROOT / "examples" / "load_family.py"))["path"]
            loads = four_loads(folder)
            command(["demo", "operator", "--quiet", "--out", str(folder / "operator")])
            operator = folder / "operator" / "report.html"
            take(browser, docs / "population.png", operator, DESK)
            take(browser, docs / "population-worst.png", operator, DESK, at="#worst")
            take(browser, docs / "demo.png", demo, DESK)
            take(browser, docs / "demo-relief.png", demo, DESK | {"dark": True}, ".pin3[data-row=q-0]", relief=True)
            take(browser, docs / "demo-phone.png", demo, PHONE)
            take(browser, docs / "refined.png", lshape, DESK, at="#convergence")
            take(browser, docs / "refined-phone.png", lshape, PHONE | {"dark": True}, at="#part")
            take(browser, docs / "solid.png", solid, DESK, "#q-0 .pick", at="#part")
            take(browser, docs / "bracket.png", bracket, DESK, at="#part", relief=True)
            take(browser, docs / "bracket-phone.png", bracket, PHONE, at="#part")
            take(browser, docs / "family.png", family, DESK, "#q-9 .pick", at="#part", relief=True)
            take(browser, docs / "family-table.png", family, DESK)
            take(browser, docs / "simjeb.png", loads, DESK, "#q-6 .pick", at="#part", relief=True)
            take(browser, docs / "simjeb-phone.png", loads, PHONE | {"dark": True}, "#q-6 .pick", at="#part")
    finally:
        browser.close()


def four_loads(folder: Path) -> Path:
    """A bracket in SimJEB's form under its four loads, predicted 3 % too stiff."""
    Bracket(scale=3).write(folder)
    part = simjeb.load(folder, 7)
    problem = part.problem()
    queries = problem.points([[36, 24, 16]], "z", ["hub, z"]) + problem.points([[32, 16, 32]], "y", ["lug, y"])
    predictions = {case: 0.97 * u for case, u in part.released.items()}
    return part.to_html(folder / "loads.html", part.certify(predictions, queries), predictions, tolerance=1e-6)


def take(
    browser: Browser, out: Path, page: Path, size: dict, click: str = "", *, at: str = "", relief: bool = False
) -> None:
    """One picture."""
    browser.open(page, **size)
    if relief:
        browser.run("document.querySelector('.tick input').click()")
        at = at or "#part"
    if click:
        browser.click(click)
    where = f"document.querySelector('{at or 'header'}').scrollIntoView({{behavior: 'instant'}}); scrollBy(0, -24)"
    browser.run(where)
    browser.settle()
    out.write_bytes(browser.picture())
    print(f"{out.relative_to(ROOT)}: {out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
