"""Bulk data as cards: small, large and free field with continuations, each kind of card one table of fields.

A line of small field holds 8 fields of 8 columns after its name, one of large field 4 of 16; free field separates them
with commas. Continuation lines begin with a blank, `+` or `*` and follow their card.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.io.decks.nastran.fields import Fields, blank, integers, reals

WIDTH = 80
LONGEST = 64
"""Longest field in free field."""
DIGITS = [bytes([c]) for c in b"0123456789."]


@dataclass(frozen=True, eq=False)
class Cards:
    """All cards of one name: their fields one after the other, card i's from start[i] to start[i + 1]."""

    name: str
    fields: Fields
    start: Index
    line: Index
    where: Callable[[int], str]

    def __len__(self) -> int:
        return len(self.line)

    def at(self, card: int) -> str:
        """A card in words."""
        return f"{self.name} on {self.where(int(self.line[card]))}"

    def part(self, what: str) -> Callable[[int], str]:
        """Names a part of the first card in a message."""
        return lambda _: f"{self.at(0)}: {what}"

    def refuse(self, card: int, why: str) -> InputError:
        """An error that names the card and its line."""
        return InputError(f"{self.at(card)}: {why}")

    def take(self, cards: ArrayLike) -> Cards:
        """Some of the cards, by number or mask."""
        which = np.flatnonzero(cards) if np.asarray(cards).dtype == bool else np.asarray(cards, dtype=np.intp)
        size = np.diff(self.start)[which]
        start = np.concatenate([[0], np.cumsum(size)]).astype(np.intp)
        rows = np.repeat(self.start[which] - start[:-1], size) + np.arange(start[-1])
        return Cards(self.name, self.fields[rows], start, self.line[which], self.where)

    def text(self, k: int) -> Fields:
        """Field k of every card, counted from 0 after the name; empty where the card is shorter."""
        place = self.start[:-1] + k
        inside = place < self.start[1:]
        fields = np.zeros(len(self), dtype=self.fields.dtype)
        fields[inside] = self.fields[place[inside]]
        return fields

    def given(self, k: int) -> Any:
        """Which cards have something in field k."""
        return ~blank(self.text(k))

    def whole(self, k: int, default: int | None = None) -> Index:
        """Field k as whole numbers."""
        return integers(self.text(k), lambda i: f"{self.at(i)}: field {k + 2}", default)

    def real(self, k: int, default: float | None = None) -> Vector:
        """Field k as numbers."""
        return reals(self.text(k), lambda i: f"{self.at(i)}: field {k + 2}", default)

    def beyond(self, k: int) -> Any:
        """Which cards have something in a field from k on."""
        full = np.concatenate([[0], np.cumsum(~blank(self.fields))])
        return full[self.start[1:]] > full[np.minimum(self.start[:-1] + k, self.start[1:])]

    def words(self, card: int) -> list[bytes]:
        """One card's fields, stripped, without trailing blanks."""
        found = [t.strip() for t in self.fields[self.start[card] : self.start[card + 1]].tolist()]
        while found and not found[-1]:
            found.pop()
        return found


def read_cards(lines: Sequence[bytes], first: int, where: Callable[[int], str]) -> dict[str, Cards]:
    """Cards by name; `first` is the number of the first line, `where` puts line numbers into words."""
    table = np.array(lines, dtype=f"S{WIDTH}") if len(lines) else np.zeros(0, dtype=f"S{WIDTH}")
    B = table.view(np.uint8).reshape(-1, WIDTH)
    kept = np.flatnonzero((B > 32).any(axis=1))
    if not kept.size:
        return {}
    table, B = table[kept], B[kept]
    commaed = (B == 44).any(axis=1)
    free = _split([lines[k] for k in kept[commaed].tolist()], lambda i: where(first + int(kept[commaed][i])))
    F = table.view("S8").reshape(-1, 10)
    heads = np.ascontiguousarray(F[:, 0])
    heads[commaed] = free.heads
    row_of = np.cumsum(commaed) - 1
    codes, inverse = np.unique(heads.view(np.uint64), return_inverse=True)
    names = [bytes(h).strip(b"\0 ") for h in codes.view("S8")]
    follows = np.array([not n or n[:1] in b"+*" for n in names])[inverse]
    large = np.array([b"*" in (n[:1], n[-1:]) for n in names])[inverse]
    if follows[0]:
        raise InputError(f"{where(first + int(kept[0]))}: a continuation without a card before it")
    card = np.cumsum(~follows) - 1
    _require_order(F, heads, follows, commaed, lambda k: where(first + int(kept[k])))
    plain = [n.rstrip(b"*").strip().decode("ascii", errors="replace") for n in names]
    known = sorted(set(plain))
    kind = np.array([known.index(n) for n in plain])[inverse]
    kind = kind[~follows][card]
    order = np.argsort(kind, kind="stable")
    cuts = np.searchsorted(kind[order], np.arange(len(known) + 1))
    found = {}
    for i, name in enumerate(known):
        rows = order[cuts[i] : cuts[i + 1]]
        if rows.size:
            fields, size = _fields(rows, F, B, large, np.where(commaed, row_of, -1), free)
            start = np.cumsum(np.concatenate([[0], size]))[np.append(np.flatnonzero(~follows[rows]), len(rows))]
            found[name] = Cards(name, fields, start, first + kept[rows[~follows[rows]]], where)
    return found


@dataclass(frozen=True, eq=False)
class _Free:
    """Lines of free field: names, and the cells of line i from start[i] on, count[i] of them."""

    heads: Fields
    cells: Fields
    start: Index
    count: Index


def _split(lines: Sequence[bytes], where: Callable[[int], str]) -> _Free:
    """Lines of free field, without the names of continuations at their ends."""
    nothing = np.zeros(0, dtype=np.intp)
    if not lines:
        return _Free(np.zeros(0, dtype="S8"), np.zeros(0, dtype="S8"), nothing, nothing)
    cells = np.array(b",".join(lines).split(b","))
    size = np.array([line.count(b",") for line in lines], dtype=np.intp) + 1
    start = np.cumsum(size) - size
    heads = np.char.strip(cells[start])
    if cells.dtype.itemsize > LONGEST or int(np.char.str_len(heads).max()) > 8:
        long = np.char.str_len(cells) > LONGEST
        long[start[np.char.str_len(heads) > 8]] = True
        raise InputError(
            f"{where(int(np.searchsorted(start, np.argmax(long), side='right')) - 1)}: a field is too long"
        )
    last = np.char.strip(cells[start + size - 1])
    marks = np.isin(last.astype("S1"), [b"+", b"*"]) & ~np.isin(np.char.strip(last, b"+*").astype("S1"), DIGITS)
    cells[(start + size - 1)[marks & (size > 1)]] = b""
    large = np.char.startswith(heads, b"*") | np.char.endswith(heads, b"*")
    most = np.where(large, 4, 8)
    line = np.repeat(np.arange(len(lines)), size)
    column = np.arange(len(cells)) - start[line]
    named = (column == most[line] + 1) & np.isin(np.char.lstrip(cells).astype("S1"), [b"+", b"*"])
    beyond = (column > most[line]) & ~named & ~blank(cells)
    if beyond.any():
        k = int(line[np.argmax(beyond)])
        raise InputError(f"{where(k)}: more than {int(most[k])} fields on a line of free field")
    return _Free(heads.astype("S8"), cells, start + 1, np.minimum(size - 1, most))


def _fields(
    rows: Index, F: NDArray[np.bytes_], B: NDArray[np.uint8], large: Mask, row_of: Index, free: _Free
) -> tuple[Fields, Index]:
    """The fields of some lines one after the other, and how many each line has."""
    size = np.where(large[rows], 4, 8)
    line = row_of[rows]
    commas = line >= 0
    if not large[rows].any() and not commas.any():
        return F[rows, 1:9].reshape(-1), size
    place = np.cumsum(size) - size
    flat = np.zeros(int(size.sum()), dtype=f"S{max(16, free.cells.dtype.itemsize if commas.any() else 0)}")
    small, wide = ~commas & ~large[rows], ~commas & large[rows]
    flat[place[small][:, None] + np.arange(8)] = F[rows[small], 1:9]
    columns = np.ascontiguousarray(B[rows[wide], 8:72]).view("S16").reshape(-1, 4)
    flat[place[wide][:, None] + np.arange(4)] = columns
    count = free.count[line[commas]]
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    flat[np.repeat(place[commas], count) + within] = free.cells[np.repeat(free.start[line[commas]], count) + within]
    return flat, size


def _require_order(
    F: NDArray[np.bytes_], heads: Index, follows: Mask, commaed: Mask, where: Callable[[int], str]
) -> None:
    """Continuations that name their card's line must come right after it."""
    rows = np.flatnonzero(follows)
    own = np.char.strip(np.char.strip(heads[rows].astype("S8")), b"+* ")
    before = np.char.strip(np.char.strip(F[rows - 1, 9].astype("S8")), b"+* ")
    wrong = (own != b"") & (before != b"") & (own != before) & ~commaed[rows] & ~commaed[rows - 1]
    if wrong.any():
        k = int(np.argmax(wrong))
        raise InputError(
            f"{where(int(rows[k]))}: the continuation '{own[k].decode(errors='replace')}' does not follow its card; "
            "write the deck in order"
        )
