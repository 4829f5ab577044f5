"""Reports in a real browser: Chromium without a window."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.browser import NO_WEBGL, WEBGL, Browser, executable
from tests.support.reports import CASES, NASTY, certified, family, hostile

WHY = "no Chromium: run scripts/browser.sh, or set PINNPOINT_CHROMIUM"
pytestmark = [pytest.mark.browser, pytest.mark.skipif(executable() is None, reason=WHY)]
SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844, "phone": True, "dark": True}}
NUMBERS = """[...document.querySelectorAll('table.intervals tr[id]')].map(tr =>
    [...tr.querySelectorAll('data')].map(d => [d.getAttribute('value'), d.textContent]))"""

PINS = """[...document.querySelectorAll('.pin3')].map(p => p.getBoundingClientRect()).map(b =>
    [b.x + b.width / 2, b.y + b.height / 2])"""
UNNAMED = """[...document.querySelectorAll('button, input, select, canvas[tabindex], a')].filter(e =>
    !(e.textContent.trim() || e.ariaLabel || e.closest('label')?.textContent.trim())).length"""


@pytest.fixture(scope="module")
def browser():
    opened = Browser(*WEBGL)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    made = {name: certified(name, folder) for name in CASES}
    made["family"] = (family(folder / "family.html")[0], None)
    made["hostile"] = (hostile(folder / "hostile.html"), None)
    return made


def quiet(browser, path):
    """Nothing went wrong and nobody was asked for anything."""
    assert browser.complaints() == []
    assert browser.requests() == [path.absolute().as_uri()]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CASES, "family", "hostile"])
def test_renders_at_two_sizes(browser, reports, name):
    path, _ = reports[name]
    for size in SIZES.values():
        browser.open(path, **size)
        quiet(browser, path)
        assert browser.run("document.documentElement.scrollWidth <= innerWidth"), size
        top = browser.run("document.getElementById('verdict').getBoundingClientRect().bottom / innerHeight")
        assert top < 0.5 or name == "hostile", "the verdict is seen first"
        if name == "rod":
            assert browser.run("document.querySelectorAll('svg.plot').length") == 3
            continue
        assert browser.run("document.documentElement.dataset.viewer") == "webgl"
        seen = browser.pixels(".stage")
        ground = seen[2, 2]
        painted = np.any(np.abs(seen - ground) > 12, axis=2).mean()
        assert 0.12 < painted < 0.98
        colours = len(np.unique(seen.reshape(-1, 3) // 8, axis=0))
        assert colours > (8 if name in ("solid", "refined") else 40)  # a zero prediction has one colour


def test_pins_select_rows_and_rows_select_pins(browser, reports):
    path, data = reports["plate"]
    browser.open(path)
    assert browser.run("document.querySelectorAll('.pin3').length") == len(data["queries"])
    browser.click(".pin3[data-row=q-2]")
    chosen = "[...document.querySelectorAll('table.intervals tr.selected')].map(r => r.id)"
    assert browser.run(chosen) == ["q-2"]
    assert browser.run("document.querySelector('#q-2 .pick').getAttribute('aria-pressed')") == "true"
    assert browser.run("document.querySelector('.card h3').textContent") == "average"
    browser.click("#q-0 .pick")
    assert browser.run(chosen) == ["q-0"]
    pressed = "[...document.querySelectorAll('.pin3[aria-pressed=true]')].map(p => p.dataset.row)"
    assert browser.run(pressed) == ["q-0"]
    browser.press("Escape")
    assert browser.run(chosen) == browser.run(pressed) == []
    quiet(browser, path)


def test_pins_sit_where_their_queries_are(browser, reports):
    path, data = reports["plate"]
    browser.open(path)
    at = np.array(browser.run(PINS))
    X = np.array([row["at"] for row in data["queries"]])
    A = np.column_stack([X, np.ones(len(X))])
    fit = np.linalg.lstsq(A, at, rcond=None)[0]
    assert np.abs(A @ fit - at).max() < 1.0
    assert fit[0, 0] == pytest.approx(-fit[1, 1], rel=0.01)  # x to the right, y upwards, one scale
    assert abs(fit[0, 1]) < 1.0 > abs(fit[1, 0])


@pytest.mark.parametrize("name", ["plate", "solid", "refined"])
def test_numbers_are_those_of_the_certificate(browser, reports, name):
    path, data = reports[name]
    browser.open(path)
    shown = browser.run(NUMBERS)
    for row, cells in zip(data["queries"], shown, strict=True):
        said = row["value"] if row["raw"] is None else row["raw"]
        assert [float(v) for v, _ in cells[:4]] == [said, row["lower"], row["upper"], row["radius"]]
        low, high = (float(text.replace("\N{MINUS SIGN}", "-")) for _, text in cells[1:3])
        assert low <= row["lower"] <= row["upper"] <= high
    browser.click("#digits")
    for cells in browser.run(NUMBERS):
        assert all(float(text.replace("\N{MINUS SIGN}", "-")) == float(value) for value, text in cells)
    browser.click("#digits")
    assert browser.run(NUMBERS) == shown


def test_fields_components_and_shapes(browser, reports):
    path, _ = reports["solid"]
    browser.open(path)
    labels = browser.run("[...document.querySelectorAll('.choice span')].map(s => s.textContent)")
    assert labels == ["Prediction", "Corrected", "Difference", "von Mises", "Influence"]
    before = browser.pixels(".stage")
    browser.run("document.querySelectorAll('.choice input')[1].click()")
    browser.run(
        "(s => { s.selectedIndex = 3; s.dispatchEvent(new Event('change')); })(document.querySelector('select'))"
    )
    browser.settle()
    corrected = browser.pixels(".stage")
    assert np.mean(np.any(before != corrected, axis=2)) > 0.1
    for k in range(3):
        browser.run(f"document.querySelectorAll('.tick input')[{k}].click()")
    browser.settle()
    assert np.mean(np.any(browser.pixels(".stage") != corrected, axis=2)) > 0.05
    browser.run("document.querySelectorAll('.choice input')[4].click()")
    assert "Influence of tip" in browser.run("document.querySelector('.card').textContent")
    quiet(browser, path)


def test_from_the_keyboard(browser, reports):
    path, _ = reports["solid"]
    browser.open(path)
    where = "document.querySelector('.pin3').style.transform"
    browser.run("document.querySelector('.stage canvas').focus()")
    home = browser.run(where)
    browser.press("ArrowLeft")
    turned = browser.run(where)
    assert turned != home
    browser.press("+")
    assert browser.run(where) != turned
    browser.press("0")
    assert browser.run(where) == home
    browser.press("Tab")
    assert browser.run("document.activeElement.className") == "pin3"
    browser.press("Enter")
    assert browser.run("document.querySelector('tr.selected').id") == "q-0"
    assert browser.run(UNNAMED) == 0
    assert browser.run(
        "[...document.querySelectorAll('svg:not([aria-hidden])')].every(s => s.getAttribute('aria-label'))"
    )


def test_family_follows_its_load(browser, reports):
    path, _ = reports["family"]
    browser.open(path)
    browser.click("#q-5 .pick")
    assert browser.run("document.querySelector('.menu select').value") == "pull"
    assert browser.run("[...document.querySelectorAll('.pin3:not([hidden])')].map(p => p.dataset.row)") == [
        "q-4",
        "q-5",
    ]
    quiet(browser, path)


def test_hostile_names_do_nothing(browser, reports):
    path, _ = reports["hostile"]
    browser.open(path)
    assert browser.run("document.images.length") == 0
    shown = browser.run("document.querySelector('h1').textContent")
    assert shown == NASTY.replace("\x07", "\N{REPLACEMENT CHARACTER}")
    assert "unbounded" in browser.run("document.querySelector('#q-0').textContent")
    blocked = browser.run(
        "new Promise(done => { addEventListener('securitypolicyviolation', e => done(e.effectiveDirective)); "
        "const s = document.createElement('script'); s.textContent = 'window.broken = 1'; document.body.append(s); "
        "setTimeout(() => done('nothing'), 2000); })"
    )
    assert blocked.startswith("script-src")
    assert browser.run("window.broken") is None


def test_on_paper_the_still_picture_is_shown(browser, reports):
    path, _ = reports["plate"]
    browser.open(path)
    browser("Emulation.setEmulatedMedia", media="print")
    shown = "getComputedStyle(document.querySelector({})).display"
    assert browser.run(shown.format("'.frame'")) == "none"
    assert browser.run(shown.format("'figure.still'")) == "block"
    assert len(browser("Page.printToPDF", printBackground=True)["data"]) > 20_000
    browser("Emulation.setEmulatedMedia", media="")


def test_without_webgl_a_still_picture(reports):
    path, _ = reports["solid"]
    browser = Browser(*NO_WEBGL)
    try:
        browser.open(path)
        quiet(browser, path)
        assert browser.run("document.documentElement.dataset.viewer") == "still"
        browser.run("document.querySelectorAll('.choice input')[1].click()")
        browser.settle()
        seen = browser.pixels("figure.still svg")
        assert len(np.unique(seen.reshape(-1, 3) // 8, axis=0)) > 40
        browser.click("a.pin[data-row=q-1]")
        assert browser.run("document.querySelector('tr.selected').id") == "q-1"
        assert browser.run("location.hash") == "#q-1"
    finally:
        browser.close()


def test_what_goes_wrong_is_seen(browser, tmp_path):
    """The checks above can fail: a page that complains, asks for something and runs what it should not."""
    page = tmp_path / "bad.html"
    page.write_text(
        "<!doctype html><html data-viewer='none'><body><script>console.error('first'); null.x</script>"
        "<img src='http://127.0.0.1:9/x.png'></body></html>"
    )
    browser.open(page)
    browser.wait("document.images[0].complete")
    said = " ".join(browser.complaints())
    assert "first" in said
    assert "TypeError" in said
    assert "http://127.0.0.1:9/x.png" in browser.requests()


def test_the_page_scrolls_past_the_part(browser, reports):
    path, _ = reports["solid"]
    browser.open(path)
    browser.run("document.querySelector('.stage').scrollIntoView({block: 'center', behavior: 'instant'})")
    x, y = browser.run("(b => [b.x + b.width / 3, b.y + 30])(document.querySelector('.stage').getBoundingClientRect())")
    before, pin = browser.run("scrollY"), "document.querySelector('.pin3').style.transform"
    home = browser.run(pin)
    browser("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=120)
    browser.wait(f"scrollY > {before}")
    assert browser.run(pin) == home
    browser.run("document.querySelector('.stage canvas').focus({preventScroll: true})")
    browser("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y - 10, deltaX=0, deltaY=120)
    browser.wait(f"{pin} !== {home!r}")


def test_without_scripts_the_still_picture_is_shown(browser, reports):
    path, _ = reports["solid"]
    browser("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser("Page.navigate", url=path.absolute().as_uri())
        browser.wait("document.readyState === 'complete' && !!document.querySelector('figure.still')")
        assert browser.run("getComputedStyle(document.querySelector('figure.still')).display") == "block"
        assert browser.run("document.querySelectorAll('a.pin').length") == 2
        assert browser.run("document.getElementById('digits').hidden")
    finally:
        browser("Emulation.setScriptExecutionDisabled", value=False)
