"""Formulas of the pages, typeset: an indented block of plain text becomes MathML, which browsers draw by themselves.

Pages have formulas as people type them, `‖u − u_h‖_a ≤ η^½`, which reads well in an editor and on any host. Here such a
block is cut into atoms, with what is raised and lowered attached to them: no script, no font and no network is needed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from html import escape
from typing import Any

RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼ᵀⁿⁱᵏ", "0123456789+−=Tnik", strict=True))
LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ₕᵢⱼₖₙ", "0123456789+−hijkn", strict=True))
PRIMES = "′″‴⁗"
OPEN, CLOSE = "([{", ")]}"
FENCES = "()[]{}|‖⟨⟩"
WORDS = frozenset({"on", "in", "or", "if", "of", "by", "to", "is", "at", "tr", "as"})
TOKEN = re.compile(
    r"(?P<gap>\s+)|(?P<number>\d+(?:[.,]\d+)*)|(?P<word>[A-Za-z][a-z]{2,}|[a-z]{2})|(?P<script>[_^])|(?P<sign>.[\u0300-\u036f]?)"
)
WIDE = 66
"""Signs that fit into a column of the page."""
FORMULA = re.compile(r"[=≤≥≈∈∫Σ‖⪰→]")
NO_FORMULA = re.compile(
    r"[`│─→]|\bpinnpoint\b|\.py\b|https?:|\bpp\.|\\n|^\s*\$ |[a-z]{3,} [a-z]{3,} [a-z]{3,} [a-z]{3,} [a-z]{2,}",
    flags=re.M,
)


def is_formula(text: str) -> bool:
    """Whether a block is one, and neither code nor output."""
    strange = any(ord(c) > 127 for c in text)
    return strange and bool(FORMULA.search(text)) and not NO_FORMULA.search(text) and len(text.splitlines()) <= 8


def mathml(text: str) -> str:
    """The block as MathML, a row for each line."""
    rows = [Row(part).made() for line in text.splitlines() if line.strip() for part in broken(line.strip())]
    table = "".join(f'<mtr><mtd columnalign="left">{row}</mtd></mtr>' for row in rows)
    inner = rows[0] if len(rows) == 1 else f"<mtable>{table}</mtable>"
    return f'<math display="block" xmlns="http://www.w3.org/1998/Math/MathML"><mrow>{inner}</mrow></math>'


def broken(line: str) -> list[str]:
    """A line that is wide, in parts that are not, where it has gaps."""
    found: list[str] = []
    for part in re.split(r"(?<=[,.;:])\s{2,}", line):
        if found and len(found[-1]) + len(part) < WIDE:
            found[-1] += "      " + part
        else:
            found.append(part)
    return found


class Row:
    """A line, read from the left."""

    def __init__(self, line: str) -> None:
        self.tokens = list(_tokens(unicodedata.normalize("NFC", line)))
        self.place = 0

    def made(self) -> str:
        """All atoms."""
        found = []
        while self.place < len(self.tokens):
            found.append(self.scripted())
        return "".join(found)

    def peek(self) -> tuple[str, str]:
        """The next token."""
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "")

    def scripted(self) -> str:
        """An atom with all that is raised and lowered."""
        big = self.peek()[1] in ("Σ",)
        base, low, high = self.atom(), "", ""
        if base.startswith("<mspace"):
            return base
        while True:
            kind, text = self.peek()
            if kind == "script":
                self.place += 1
                inner = self.argument(long=text == "_")
                low, high = (low + inner, high) if text == "_" else (low, high + inner)
            elif text in LOWERED:
                self.place += 1
                low += f"<mn>{LOWERED[text]}</mn>" if LOWERED[text].isdigit() else f"<mi>{LOWERED[text]}</mi>"
            elif text in RAISED or (text and text in PRIMES) or (text == "*" and base.startswith("<mi")):
                self.place += 1
                high += (
                    f"<mo>{RAISED.get(text, text)}</mo>"
                    if not RAISED.get(text, text).isdigit()
                    else f"<mn>{RAISED[text]}</mn>"
                )
            else:
                break
        low, high = (f"<mrow>{part}</mrow>" if part else "" for part in (low, high))
        if low and high:
            return f"<msubsup>{base}{low}{high}</msubsup>" if not big else f"<munderover>{base}{low}{high}</munderover>"
        if low:
            return f"<munder>{base}{low}</munder>" if big else f"<msub>{base}{low}</msub>"
        return f"<msup>{base}{high}</msup>" if high else base

    def argument(self, long: bool) -> str:
        """What follows _ or ^: a group in braces, or letters and digits; after ^ one sign."""
        kind, text = self.peek()
        if text == "{":
            return self.group()
        if kind == "number" or (kind == "word" and len(text) > 2):
            self.place += 1
            return f"<mi>{escape(text)}</mi>"
        inner = self.atom()
        while (
            long
            and self.peek()[0] in ("sign", "number")
            and self.peek()[1].isalnum()
            and self.peek()[1] not in {*RAISED, *LOWERED}
        ):
            inner += self.atom()
        return inner

    def group(self) -> str:
        """Up to the brace that closes."""
        self.place += 1
        inner = []
        while self.peek()[1] not in ("}", ""):
            inner.append(self.scripted())
        self.place += 1
        return "".join(inner)

    def atom(self) -> str:
        """One token."""
        kind, text = self.peek()
        self.place += 1
        if kind == "gap":
            return f'<mspace width="{"2" if len(text) > 1 else "0.22"}em"></mspace>'
        if kind == "number" or text in "½¼¾⅓⅔⅛∞":
            return f"<mn>{text}</mn>"
        if kind == "word":
            return f"<mi>{text}</mi>" if len(text) > 2 else _pair(text)
        if text == "√":
            return f"<msqrt>{self.under()}</msqrt>"
        if text == "Σ":
            return '<mo largeop="true" movablelimits="false">∑</mo>'
        if text in FENCES:
            return f'<mo stretchy="false" {_side(text)}>{text}</mo>'
        if text == "/":
            return '<mo lspace="0.08em" rspace="0.08em">/</mo>'
        return f"<mi>{escape(text)}</mi>" if text[0].isalpha() else f"<mo>{escape(text)}</mo>"

    def under(self) -> str:
        """What a root is of: one atom, or brackets."""
        if self.peek()[1] != "(":
            return self.scripted()
        self.place += 1
        inner, depth = [], 1
        while self.place < len(self.tokens):
            depth += {"(": 1, ")": -1}.get(self.peek()[1], 0)
            if not depth:
                break
            inner.append(self.scripted())
        self.place += 1
        return "".join(inner)


def _tokens(line: str) -> Iterator[tuple[str, str]]:
    """Kinds and texts."""
    for match in TOKEN.finditer(line):
        yield str(match.lastgroup), match[0]


def _pair(text: str) -> str:
    """Two letters: a short word, or two factors."""
    return f"<mtext>{text}</mtext>" if text in WORDS else "".join(f"<mi>{c}</mi>" for c in text)


def _side(fence: str) -> str:
    """On which side a fence stands; bars stand on either, without gaps."""
    form = "prefix" if fence in (*OPEN, "⟨") else "postfix" if fence in (*CLOSE, "⟩") else "infix"
    return f'form="{form}"' if form != "infix" else 'form="infix" lspace="0.06em" rspace="0.06em"'


INLINE = re.compile(
    r"(?<=[^\W\d_])_(\{[^{}]+\}|[A-Za-z0-9Α-Ωα-ωϑϱϕ]{1,5}|[⊥±])(?![A-Za-z_])|(?<=[‖)\]|∂∫Σ∇∮\u0302\u0307])_(\{[^{}]+\}|[A-Za-z0-9Α-Ωα-ωϑϱϕ]{1,5}|[*⊥±∞â])(?![A-Za-z_])|\^(\{[^{}]+\}|[½±]|\d+|[^\W\d_](?!\w))"
)
BEFORE = re.compile(r"[A-Za-z_.][A-Za-z0-9_.]*$")
WORDY = frozenset({"max", "min", "sup", "inf", "rms", "mean"})


def parts_of(text: str) -> list[tuple[str, str]]:
    """Running text in pieces: "text", "low" and "high"; names of code, with longer words before _, are left alone."""
    found, place = [], 0
    for match in INLINE.finditer(text):
        raised = match[0][0] == "^"
        before = BEFORE.search(text[: match.start()])
        word = "" if before is None else before[0]
        if not raised and len(word) > 2 and word not in WORDY:
            continue
        found += [("text", text[place : match.start()]), ("high" if raised else "low", match[0][1:].strip("{}"))]
        place = match.end()
    return [*found, ("text", text[place:])] if found else []


def inline(doctree: Any) -> None:
    """Lower and raise what _ and ^ say in running text."""
    from docutils import nodes

    kinds = {
        "text": nodes.Text,
        "low": lambda t: nodes.subscript("", "", *made(t)),
        "high": lambda t: nodes.superscript("", "", *made(t)),
    }

    def made(text: str) -> list[Any]:
        """Text with what is lowered and raised in it, also below and above what is."""
        return [kinds[kind](piece) for kind, piece in parts_of(text) or [("text", text)] if piece]

    for text in list(doctree.findall(nodes.Text)):
        parent = text.parent
        if not isinstance(parent, nodes.literal | nodes.literal_block | nodes.raw | nodes.FixedTextElement):
            if parts_of(str(text)):
                parent.replace(text, made(str(text)))


CODE = re.compile(
    r"(^```.*?^```[^\n]*$|^    .*?$|(`+)(?!`).*?(?<!`)\2(?!`)|<!--.*?-->|<https?:[^<>\s]+>)", flags=re.M | re.S
)


def lowering(text: str) -> str:
    """A page whose _ lower and never stress: `‖s‖_{S} ‖r‖_{S}` holds two that Markdown takes for emphasis."""
    found, place = [], 0
    for match in CODE.finditer(text):
        found += [re.sub(r"(?<!\\)_", r"\\_", text[place : match.start()]), match[0]]
        place = match.end()
    return "".join([*found, re.sub(r"(?<!\\)_", r"\\_", text[place:])])


def lowered(app: Any, page: str, source: list[str]) -> None:
    """Before Markdown reads a page."""
    source[0] = lowering(source[0])


def typeset(app: Any, doctree: Any) -> None:
    """Replace the blocks of a page."""
    from docutils import nodes

    if app.builder.format != "html":
        return
    for block in list(doctree.findall(nodes.literal_block)):
        if block.get("language", "none") in ("none", "default") and is_formula(block.astext()):
            html = f'<div class="formula">{mathml(block.astext())}</div>'
            block.replace_self(nodes.raw("", html, format="html"))
    if app.env.docname != "api":
        inline(doctree)


def setup(app: Any) -> dict[str, Any]:
    """For Sphinx."""
    app.connect("source-read", lowered)
    app.connect("doctree-read", typeset)
    return {"parallel_read_safe": True, "env_version": 5}
