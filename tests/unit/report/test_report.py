"""The report's numbers, what it advises, and that it holds nothing it should not."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.report import View, render
from pinnpoint.report.headline import judge, off
from pinnpoint.report.numbers import above, below, interval, near, percent
from pinnpoint.report.packing import Packer
from pinnpoint.report.still import WIDTH
from pinnpoint.report.surface import merge, surface
from pinnpoint.report.terms import advise, shares
from tests.support.reports import CASES, NASTY, certified, family, hostile

VOID = {"meta", "link", "img", "br", "input"}


class Page(HTMLParser):
    """Every element with its attributes, and whether all were closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open, self.found, self.text = [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)


def value(shown: str) -> Decimal:
    return Decimal(shown.replace("\N{MINUS SIGN}", "-"))


def test_printed_intervals_hold_the_stored_ones():
    rng = np.random.default_rng(1)
    for _ in range(2000):
        center = float(rng.normal() * 10.0 ** rng.integers(-30, 30))
        radius = float(abs(center) * 10.0 ** rng.uniform(-18, 3))
        lower, upper = math.nextafter(center - radius, -math.inf), math.nextafter(center + radius, math.inf)
        low, high = interval(lower, upper)
        assert value(low) <= Decimal(lower) < Decimal(upper) <= value(high)
        width = Decimal(upper) - Decimal(lower)
        ulp = Decimal(math.ulp(max(abs(lower), abs(upper))))
        assert value(high) - value(low) <= width * Decimal("1.21") + 12 * ulp
        assert value(below(radius)) <= Decimal(radius) <= value(above(radius))
        assert abs(value(near(center)) - Decimal(center)) <= abs(Decimal(center)) * Decimal("5.1e-6")
    assert interval(None, None) == ("unbounded", "unbounded")
    assert above(None) == "unbounded"
    assert near(0.0) == "0"
    assert interval(0.0, 0.0) == ("0", "0")
    assert near(1500000.0) == "1.5e6"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    return {name: certified(name, folder) for name in CASES}


@pytest.mark.parametrize("name", list(CASES))
def test_the_table_shows_the_certificate(made, name):
    path, data = made[name]
    html = path.read_text("utf-8")
    page = Page(html)
    assert not page.open
    for i, row in enumerate(data["queries"]):
        part = html[html.index(f'<tr id="q-{i}"') :]
        numbers = [float(x) for x in re.findall(r'<data[^>]* value="([^"]+)"', part[: part.index("</tr>")])]
        said = row["value"] if row["raw"] is None else row["raw"]
        assert numbers[:4] == [said, row["lower"], row["upper"], row["radius"]]
        assert numbers[-1] == (row["value_radius"] if row["raw"] is None else row["raw_radius"])
    for claim in data["assumptions"]:
        assert claim["claim"] in "".join(page.text)
    for found in data["inputs"].values():
        assert found.get("sha256", "") in html
    words = re.sub(r"base64,[\w+/=]+", "", html.split("<script>")[0])  # three letters occur in any picture
    assert "NaN" not in words
    assert "Infinity" not in words
    ids = [a["id"] for _, a in page.found if "id" in a]
    assert len(ids) == len(set(ids))
    assert not [a for _, a in page.found if "style" in a or any(k.startswith("on") for k in a)]
    links = [a.get("href", a.get("src", "")) for _, a in page.found]
    assert all(x.startswith(("data:", "#")) or not x for x in links)


def test_sections_follow_the_case(made):
    held = {name: path.read_text("utf-8") for name, (path, _) in made.items()}
    assert [n for n in held if 'id="convergence"' in held[n]] == ["refined"]
    assert [n for n in held if 'id="sweep"' in held[n]] == ["local"]
    assert [n for n in held if 'id="view-bytes"' not in held[n]] == ["rod"]
    assert len(held["rod"]) < 60_000
    assert "Influence of each query" in held["rod"]
    assert "wider than" in held["plate"]
    assert "✓ within" in held["plate"]
    assert "A finer mesh near ‘centre’" in held["plate"]
    assert "refinement stopped early" in held["plate"]
    assert "A larger ball around" in held["local"]
    assert re.search(r"radius 0\.\d+ would give ±", held["local"])


def test_the_headline_is_the_worst_verdict(made):
    _, plate = made["plate"]
    assert judge(plate).kind == "bad"
    assert "1 of 3 intervals is wider than asked" in judge(plate).headline
    loose = {**plate, "queries": [{**r, "tolerance": 10.0} for r in plate["queries"]]}
    assert "all within tolerance" in judge(loose).headline
    sure = {**plate, "queries": [{**r, "tolerance": 10.0, "raw": r["center"]} for r in plate["queries"]]}
    assert judge(sure).kind == "good"
    assert "inside every interval" in judge(sure).story
    guess = {**plate, "queries": [{**r, "tolerance": 10.0, "guarantee": "estimate"} for r in plate["queries"]]}
    assert judge(guess).kind == "open"
    assert "estimated" in judge(guess).headline
    endless = {**plate, "queries": [{**r, "radius": None, "lower": None, "upper": None} for r in plate["queries"]]}
    assert judge(endless).kind == "bad"
    assert "could not be bounded" in judge(endless).headline


def test_how_far_off_is_a_bound():
    rng = np.random.default_rng(2)
    for _ in range(500):
        center, said, radius = (float(x) for x in rng.normal(size=3))
        row = {"center": center, "radius": abs(radius), "value": said, "raw": None, "value_radius": 9.0}
        least, most = off(row)
        truth = [abs(Decimal(said) - Decimal(center) + s * Decimal(abs(radius))) for s in (-1, 1)]
        assert Decimal(least) <= min(truth) or least == 0.0
        assert most == 9.0


def test_numbers_of_any_size(made):
    """Differences that overflow, shares beyond measure: the page is whole, and no infinity is printed."""
    _, data = made["rod"]
    sizes = (5e-324, 1e-300, 1.0, 1e300, sys.float_info.max)
    for center in sizes:
        for value in (-sys.float_info.max, -5e-324, 0.0, sys.float_info.max):
            row = {**data["queries"][0], "center": center, "value": value, "raw": None, "radius": 1e-300}
            html = render({**data, "queries": [{**row, "lower": center, "upper": center}]})
            assert not re.search(r"\binf\b|\bnan\b|Infinity", "".join(Page(html).text))
            assert off(row)[0] <= sys.float_info.max
    assert percent(1e300) == percent(float("inf")) == "over 1e6\N{NO-BREAK SPACE}%"


def test_shares_add_up_and_advice_follows_the_largest(made):
    for _, data in made.values():
        for row in data["queries"]:
            parts = shares(row, data["radius_terms"])
            assert sum(p.share for p in parts) == pytest.approx(1.0)
            assert sum(p.size for p in parts) == pytest.approx(row["radius"], rel=1e-12)
    _, data = made["plate"]
    row = data["queries"][1]
    words = {
        "norm": "better prediction",
        "tail": "larger ball",
        "algebra": "tighter adjoint",
        "boundary": "along the boundary",
    }
    for term, word in words.items():
        mine = {**row, "terms": {"transfer": 1e-9, term: 1.0}, "radius": 1.0}
        assert word in advise(mine, {**data, "radius_terms": ["transfer", term]}).action
    bad = {**row, "terms": {"transfer": None, "rounding": 1.0}, "radius": None}
    assert advise(bad, data).why == "discretisation could not be bounded"
    tiny = {**row, "terms": {"rounding": 1e-17}, "radius": 1e-17}
    assert advise(tiny, data).action == "Nothing to do"


def test_hostile_names_stay_text(tmp_path):
    html = hostile(tmp_path / "report.html").read_text("utf-8")
    page = Page(html)
    assert not page.open
    assert [t for t, _ in page.found].count("script") == 3
    assert "img" not in {t for t, _ in page.found}
    assert html.count("</script>") == 3
    assert NASTY.replace("\x07", "\N{REPLACEMENT CHARACTER}") in "".join(page.text)
    assert "unbounded" in "".join(page.text)
    data = json.loads(re.search(r'id="view-data">(.*?)</script>', html, flags=re.S)[1])
    assert data["units"] == NASTY
    policy = next(a["content"] for t, a in page.found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_family_is_one_report(tmp_path):
    path, batch = family(tmp_path / "family.html")
    html = path.read_text("utf-8")
    assert html.count('<tr class="load">') == 3
    assert html.count('<tr id="q-') == 6
    assert f'value="{float(batch[2].lower[1])!r}"' in html
    with pytest.raises(pp.InputError, match="fields: must be 3 mappings"):
        batch.to_html(path, mesh=generate("cube", 3), fields=[{}])
    with pytest.raises(pp.InputError, match="names: must have 3 entries"):
        batch.to_html(path, ["one"])


def test_whole_or_not_at_all(tmp_path, certificate):
    old = tmp_path / "report.html"
    old.write_text("old")
    with pytest.raises(pp.InputError, match="field 'u'"):
        certificate.to_html(old, mesh=generate("square", 2), fields={"u": [1.0, math.nan]})
    with pytest.raises(pp.InputError, match="one per node"):
        certificate.to_html(old, mesh=generate("square", 2), fields={"u": [1.0, 2.0]})
    with pytest.raises(pp.InputError, match="fields: is empty"):
        certificate.to_html(old, mesh=generate("square", 2))
    with pytest.raises(pp.InputError, match="mesh: must be a mesh"):
        certificate.to_html(old, mesh=3, fields={"u": [1.0]})
    with pytest.raises(pp.InputError, match="tolerance"):
        certificate.to_html(old, tolerance=-1.0)
    assert old.read_text() == "old"
    with pytest.raises(pp.InputError, match="could not be written"):
        certificate.to_html(tmp_path / "missing" / "report.html")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report.html"]


@pytest.fixture
def certificate():
    return pp.certify(
        pp.LinearSystem(np.diag([2.0, 3.0]), np.ones(2)), np.zeros(2), pp.Queries(np.eye(2), ["a<b", "c"])
    )


def test_without_a_mesh(certificate, tmp_path):
    html = certificate.to_html(tmp_path / "r.html", title="Plain", tolerance=[1e-3, 1e-30]).read_text("utf-8")
    assert len(html) < 40_000
    assert 'id="viewer"' not in html
    assert "wider than" in html
    table = certificate._repr_html_()
    assert "a&lt;b" in table
    assert not Page(table).open
    assert f'value="{float(certificate.lower[0])!r}"' in table
    assert "<style" not in table


def test_import_is_light():
    code = "import sys, pinnpoint; print([m for m in sys.modules if 'report' in m or 'matplotlib' in m])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.mark.optional
def test_a_plot_names_every_query(certificate):
    matplotlib = pytest.importorskip("matplotlib", reason="plots need the extra plot")
    matplotlib.use("Agg")
    ax = certificate.plot()
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a<b", "c"]
    assert certificate.plot(ax) is ax
    matplotlib.pyplot.close("all")


def test_plot_names_the_extra(certificate, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(pp.DependencyMissingError, match=r"pinnpoint\[plot\]"):
        certificate.plot()


def unpack(block: str, part: dict) -> np.ndarray:
    """What the viewer does, in Python."""
    import base64
    import zlib

    raw = zlib.decompress(base64.b64decode(block))
    n, width = part["count"], part["bytes"]
    planes = np.frombuffer(raw, dtype=np.uint8, count=n * width, offset=part["at"]).reshape(width, n)
    return (planes.astype(np.uint64) << (8 * np.arange(width, dtype=np.uint64))[:, None]).sum(axis=0)


def test_packing_goes_back():
    rng = np.random.default_rng(3)
    packer = Packer()
    x, k = rng.normal(size=1000) * 1e300, rng.integers(0, 2**30, size=(500, 3))
    fields = packer.scaled(x), packer.scaled(np.full(4, 7.0)), packer.whole(k)
    block = packer.base64()
    least = 2.0 * fields[0]["lo"] / 1e300
    step = (2.0 * fields[0]["hi"] / 1e300 - least) / fields[0]["levels"]
    got = least + unpack(block, fields[0]) * step
    assert np.max(np.abs(got - x / 1e300)) <= (x.max() / 1e300 - x.min() / 1e300) / 8000
    assert np.min(np.abs(np.arange(4096) * step + least)) < 1e-12  # zero stays zero
    assert not unpack(block, fields[1]).any()
    steps = unpack(block, fields[2]).astype(np.int64)
    assert np.array_equal(np.cumsum((steps >> 1) ^ -(steps & 1)), k.ravel())


def test_surfaces_have_every_outer_face_once():
    cube = surface(generate("cube", 4))
    assert cube.triangles.max() + 1 == cube.whole == 5**3 - 3**3
    assert len(cube.triangles) == 6 * 2 * 16
    assert len(cube.edges) == 12 * 4
    flat = surface(generate("square", 6))
    assert (len(flat.nodes), len(flat.triangles), len(flat.edges)) == (49, 72, 24)
    few = surface(generate("square", 40), 300)
    assert len(few.nodes) <= 300
    assert few.whole == 41**2
    assert few.triangles.max() < len(few.nodes)
    P = few.points[few.triangles]
    area = 0.5 * np.linalg.norm(np.cross(P[:, 1] - P[:, 0], P[:, 2] - P[:, 0]), axis=1).sum()
    assert area == pytest.approx(1.0, rel=0.15)
    kept, T = merge(flat.points, flat.triangles, 10**6)
    assert len(kept) == 49
    assert len(T) == 72


@pytest.mark.parametrize("kind", ["cube", "fichera"])
def test_cuts_lie_in_their_plane_and_fill_it(kind):
    mesh = generate(kind, 5)
    at = np.array([[0.1, 0.37, 0.2], [0.1, 0.6, 0.2], [0.3, 0.37, 0.1], [0.5, 1.0, 0.5]])
    seen = surface(mesh, at=at)
    assert [level for level, _ in seen.cuts] == [0.37, 0.6]
    linear = mesh.points @ np.array([1.0, -2.0, 0.5]) + 3.0
    assert np.allclose(seen.at(linear[:, None])[:, 0], seen.points @ np.array([1.0, -2.0, 0.5]) + 3.0, atol=1e-14)
    for level, T in seen.cuts:
        P = seen.points[T]
        assert np.abs(P[..., 1] - level).max() < 1e-14
        area = 0.5 * np.linalg.norm(np.cross(P[:, 1] - P[:, 0], P[:, 2] - P[:, 0]), axis=1).sum()
        assert area == pytest.approx(1.0 if kind == "cube" else 3.0)
    on_nodes = surface(mesh, at=np.array([[0.0, 0.4, 0.0]])).cuts[0][1]  # through nodes of the mesh
    P = surface(mesh, at=np.array([[0.0, 0.4, 0.0]])).points[on_nodes]
    area = 0.5 * np.linalg.norm(np.cross(P[:, 1] - P[:, 0], P[:, 2] - P[:, 0]), axis=1).sum()
    assert area == pytest.approx(1.0 if kind == "cube" else 3.0)
    assert len(surface(mesh).cuts) == 1
    assert not surface(generate("square", 3)).cuts


def test_stills_see_the_nearest():
    view = View.of(generate("cube", 3), {"prediction": generate("cube", 3).points})
    still = view.still
    at = still.place(np.array([[1.0, 0.0, 1.0], [0.5, 0.5, 0.5]]))
    for (x, y), depth in zip(at, (None, 0.0), strict=True):
        pixel = int(y) * WIDTH + int(x)
        k = int(np.searchsorted(still.pixels, pixel))
        seen = np.einsum("k,kd->d", still.weights[k], view.surface.points[still.triangles[still.triangle[k]]])
        towards = still.axes[2] / np.linalg.norm(still.axes[2])
        if depth is None:
            assert np.allclose(seen, [1.0, 0.0, 1.0], atol=0.02)
        else:
            assert seen @ towards > np.array([0.5, 0.5, 0.5]) @ towards + 0.4


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_any_size_of_part_and_field(size, certificate):
    for kind in ("square", "cube", "interval"):
        mesh = generate(kind, 3)
        part = Mesh.trusted(mesh.points * size, mesh.cells, {}, {})
        values = 1e308 * np.linspace(-1.0, 1.0, len(mesh.points))
        all_of_them = {"prediction": values, "error": values, "green a": values, "flat": 0.0 * values}
        view = View.of(part, all_of_them, part.points[:1])
        data = certificate.to_dict()
        for row in data["queries"]:
            row["at"] = [0.5 * size] * mesh.dim
        html = render(data, view)
        words = re.sub(r"base64,[\w+/=]+", "", html.split('id="view-bytes"')[0].split("<script>")[0])
        assert "nan" not in words.lower().replace("nano", "")
    assert len(surface(Mesh.trusted(mesh.points * size, mesh.cells, {}, {})).points) == 4


def test_scikit_fem_meshes_and_problems(certificate, tmp_path):
    skfem = pytest.importorskip("skfem")
    mesh = skfem.MeshTri().refined(2)
    values = mesh.p[0]
    first = certificate.to_html(tmp_path / "a.html", mesh=mesh, fields={"prediction": values}).read_text("utf-8")
    assert 'id="view-bytes"' in first
    problem = pp.fem.ReactionDiffusion(mesh, source="1", dirichlet={"boundary": 0.0})
    certificate.to_html(tmp_path / "b.html", mesh=problem, fields={"prediction": values})
    assert (tmp_path / "b.html").read_text("utf-8") == first


def test_inputs_of_any_kind(certificate):
    data = certificate.to_dict(inputs={"mesh": {"file": "a b.msh", "sha256": "0f"}, "note": "by hand", "seed": 3})
    html = render(data, bundle="bundle")
    assert "sha256sum &#x27;a b.msh&#x27;" in html
    assert "pinnpoint verify bundle" in html
    assert "pinnpoint certify" not in html
    assert "by hand" in html


def test_many_queries_make_a_small_page(tmp_path):
    n = 1500
    data = pp.certify(pp.LinearSystem(np.eye(n), np.ones(n)), np.zeros(n), pp.Queries(np.eye(n))).to_dict()
    html = render(data)
    assert html.count('<tr id="q-') == n
    assert html.count('<li data-row="q-') == 60
    assert len(html) < 2_500_000


def test_quadratic_nodes_and_a_large_surface(tmp_path):
    n = 159
    x, y = np.meshgrid(np.linspace(0, 4, n), np.linspace(0, 4, n), indexing="ij")
    k = np.arange(n * n).reshape(n, n)
    a, b, c, d = k[:-1, :-1].ravel(), k[1:, :-1].ravel(), k[1:, 1:].ravel(), k[:-1, 1:].ravel()
    T = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    two = np.concatenate([T, T + n * n])
    X = np.stack([x.ravel(), y.ravel()], axis=1)
    mesh = Mesh.trusted(np.concatenate([X, X + np.array([5.0, 0.0])]), two, {}, {})
    rng = np.random.default_rng(0)
    noise = {name: rng.normal(size=(2 * n * n + 7, 2)) for name in ("prediction", "corrected", "error")}
    green = {f"green q{i}": rng.normal(size=2 * n * n) for i in range(20)}
    data = pp.certify(pp.LinearSystem(np.eye(20), np.ones(20)), np.zeros(20), pp.Queries(np.eye(20))).to_dict()
    view = View.of(mesh, noise | green)
    assert view.surface.whole == 2 * n * n > 50_000
    assert view.left_out > 0
    assert len(render(data, view).encode()) < 3_000_000


def test_text_stands_out_from_its_ground():
    """Text on its ground, light and dark: 4.5 to 1 (WCAG AA)."""
    css = (Path(pp.__file__).parent / "report" / "assets" / "report.css").read_text("utf-8")

    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    themes = [
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root \{(.*?)\}", css, flags=re.S)[:2]
    ]
    pairs = [
        ("ink", "card"),
        ("ink", "ground"),
        ("soft", "card"),
        ("soft", "ground"),
        ("accent", "card"),
        ("ink", "tint"),
    ]
    pairs += [
        ("soft", "tint"),
        ("ink", "stage"),
        ("good", "card"),
        ("bad", "card"),
        ("good", "good-tint"),
        ("bad", "bad-tint"),
    ]
    pairs += [
        ("open", "open-tint"),
        ("card", "good"),
        ("card", "bad"),
        ("card", "open"),
        ("card", "accent"),
        ("ink", "bad-tint"),
    ]
    assert len(themes) == 2
    for theme in themes:
        for front, back in pairs:
            a, b = sorted((light(theme[front]), light(theme[back])))
            assert (b + 0.05) / (a + 0.05) >= 4.5, (front, back)


def test_assets_travel_with_their_licence():
    folder = Path(pp.__file__).parent / "report" / "assets"
    assert "three.js authors" in (folder / "three.LICENSE.txt").read_text("utf-8")
    assert "MIT" in (folder / "three.LICENSE.txt").read_text("utf-8")
    assert "three.LICENSE.txt" in (folder / "viewer.js").read_text("utf-8")[:200]
    for name in ("viewer.js", "page.js"):
        assert "</script" not in (folder / name).read_text("utf-8")
