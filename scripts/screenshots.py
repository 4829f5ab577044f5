"""Take the pictures of docs/report.md: python scripts/screenshots.py (needs Chromium, see scripts/browser.sh)."""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from browser import WEBGL, Browser  # noqa: E402
from pinnpoint.cli.main import main as command  # noqa: E402

DESK, PHONE = {"width": 1180, "height": 800}, {"width": 390, "height": 844, "phone": True}
LSHAPE = """title = "L-shaped plate, refined to a tolerance"
units = "K"
[mesh]
generate = "lshape"
cells = 4
[problem]
kind = "reaction-diffusion"
source = "1"
[problem.dirichlet]
boundary = 0.0
[prediction]
expression = "0.6*(1-x*x)*(1-y*y)*(x*x+y*y)**0.333*(0.35-0.2*x+0.2*y)"
[[query]]
name = "corner"
at = [-0.1, 0.1]
[[query]]
name = "far"
at = [-0.6, -0.5]
[[query]]
name = "hot spot"
kind = "average"
at = [-0.5, 0.5]
radius = 0.2
[certificate]
tolerance = 1.5e-3
"""
FICHERA = """title = "Fichera corner"
units = "K"
[mesh]
generate = "fichera"
cells = 10
[problem]
kind = "reaction-diffusion"
source = "1"
[problem.dirichlet]
boundary = 0.0
[prediction]
expression = "0.2*(1-x*x)*(1-y*y)*(1-z*z)"
[[query]]
name = "inside"
at = [-0.3, -0.3, -0.3]
[[query]]
name = "beside"
at = [0.5, -0.5, -0.2]
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
            (folder / "case.toml").write_text(LSHAPE, encoding="utf-8")
            command(["certify", str(folder / "case.toml"), "--quiet", "--out", str(folder / "lshape")])
            (folder / "solid.toml").write_text(FICHERA, encoding="utf-8")
            command(["certify", str(folder / "solid.toml"), "--quiet", "--out", str(folder / "solid")])
            demo, lshape = (folder / name / "report.html" for name in ("demo", "lshape"))
            family = runpy.run_path(str(ROOT / "examples" / "load_family.py"))["path"]
            take(browser, docs / "demo.png", demo, DESK)
            take(browser, docs / "demo-relief.png", demo, DESK | {"dark": True}, ".pin3[data-row=q-0]", relief=True)
            take(browser, docs / "demo-phone.png", demo, PHONE)
            take(browser, docs / "refined.png", lshape, DESK, at="#convergence")
            take(browser, docs / "refined-phone.png", lshape, PHONE | {"dark": True}, at="#part")
            take(browser, docs / "solid.png", folder / "solid" / "report.html", DESK, "#q-0 .pick", at="#part")
            take(browser, docs / "family.png", family, DESK, "#q-9 .pick", at="#part", relief=True)
            take(browser, docs / "family-table.png", family, DESK)
    finally:
        browser.close()


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
