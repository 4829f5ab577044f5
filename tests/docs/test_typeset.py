"""Formulas of the pages become MathML that says the same, and words of the glossary are there to be linked."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from _ext import first_use, typeset

DOCS = Path(__file__).parents[2] / "docs"
SHOWN = str.maketrans({"∑": "Σ"})


def said(text: str) -> str:
    """All signs of a formula in order, without gaps, braces of scripts and the marks of scripts."""
    plain = "".join(typeset.RAISED.get(c, typeset.LOWERED.get(c, c)) for c in text)
    return re.sub(r"[\s_^{}√()]", "", plain)


def blocks() -> list[tuple[str, str]]:
    """Indented blocks of all pages that are formulas."""
    found = []
    for page in sorted(DOCS.glob("*.md")):
        for block in re.findall(r"(?:^ {4}\S.*\n)+", page.read_text(encoding="utf-8"), flags=re.M):
            if typeset.is_formula(block):
                found.append((page.name, block))
    return found


def test_every_sign_of_a_formula_is_shown():
    assert len(blocks()) > 80
    for page, block in blocks():
        shown = "".join(ElementTree.fromstring(typeset.mathml(block)).itertext()).translate(SHOWN)
        assert sorted(said(shown)) == sorted(said(block)), page  # what is lowered comes before what is raised


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("u_h = 1", "<msub><mi>u</mi><mrow><mi>h</mi></mrow></msub>"),
        ("x² = Âᵀ", "<msup><mi>x</mi><mrow><mn>2</mn></mrow></msup>"),
        ("η ≤ s^½", "<msup><mi>s</mi><mrow><mn>½</mn></mrow></msup>"),
        ("Σ_K q_{a+1}", "<munder>"),
        ("√(a + b) ≥ 0", "<msqrt><mi>a</mi>"),
        ("U* = 0", "<msup><mi>U</mi>"),
    ],
)
def test_what_is_raised_and_lowered(text, inside):
    assert inside in typeset.mathml(text)


def test_names_of_code_are_left_alone():
    assert typeset.parts_of("prop. finite_collocation_no_point_control, certify_many") == []
    assert typeset.parts_of("u_h on Γ_D")[1] == ("low", "h")
    assert typeset.parts_of("∫_K ϱ + ∫_{Γ_N} g")[1::2] == [("low", "K"), ("low", "Γ_N")]
    assert typeset.parts_of("DeepXDE Helmholtz_Neumann_2d_hole, Poisson_Dirichlet_1d") == []
    assert typeset.parts_of("f_⊥ and u̇_k")[1::2] == [("low", "⊥"), ("low", "k")]
    assert not typeset.is_formula('problem = pp.fem.ReactionDiffusion(mesh, source="x")')


def test_the_glossary_has_words_and_pages_use_them():
    words = first_use.words()
    assert len(words) >= 20
    pages = " ".join(page.read_text(encoding="utf-8").lower() for page in DOCS.glob("**/*.md"))
    assert all(word.lower() in pages for word in words)


def test_no_underscore_of_a_page_is_taken_for_emphasis():
    """Pages stress by *, and lower by _, which Markdown would pair where signs stand on both sides of it."""
    markdown = pytest.importorskip("markdown_it", reason="pip install 'pinnpoint[docs]'").MarkdownIt
    bound = "‖s‖_{S} ‖r‖_{S} and (Sw)_i/w_i; `a_b` [c_d](e_f.md)"
    shown = markdown().render(typeset.lowering(bound))
    assert shown == '<p>‖s‖_{S} ‖r‖_{S} and (Sw)_i/w_i; <code>a_b</code> <a href="e_f.md">c_d</a></p>\n'
    assert "<em>" in markdown().render(bound)
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        tokens = [t for block in markdown().parse(typeset.lowering(text)) for t in block.children or ()]
        assert not [t for t in tokens if t.type == "em_open" and t.markup == "_"], page.name
        before = [
            t.content for block in markdown().parse(text) for t in block.children or () if t.type == "code_inline"
        ]
        assert before == [t.content for t in tokens if t.type == "code_inline"], page.name


def test_what_is_lowered_may_have_indices_of_its_own():
    nodes = pytest.importorskip("docutils.nodes")
    paragraph = nodes.paragraph("", "∫_{Γ_N} g v")
    typeset.inline(paragraph)
    assert str(paragraph) == "<paragraph>∫<subscript>Γ<subscript>N</subscript></subscript> g v</paragraph>"
