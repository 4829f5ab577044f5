"""The sections before the bulk data: what is solved, and which supports and loads each subcase takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from pinnpoint.base.errors import InputError

BEGIN = re.compile(rb"^[ \t]*BEGIN[ \t]*(?:,[ \t]*)?BULK\b.*$", re.IGNORECASE | re.MULTILINE)
BULK_ONLY = re.compile(rb"^(?:GRID|CTETRA|CTRIA3|MAT1|PSOLID|PSHELL)\b", re.IGNORECASE | re.MULTILINE)
OUTPUT = frozenset(
    "DISPLACEMENT DISP VECTOR STRESS ELSTRESS STRAIN FORCE ELFORCE SPCFORCES SPCFORCE SPCF MPCFORCES MPCFORCE OLOAD "
    "GPFORCE GPSTRESS GPSTRAIN GPKE ESE EDE EKE ELSDCON GPSDCON STRFIELD NLSTRESS TITLE SUBTITLE LABEL LINE PAGE "
    "MAXLINES ECHO SET OUTPUT SURFACE VOLUME FORMAT SCREEN RESULTS MSGLMT HISOUT RESPRINT THICKNESS DENSITY CSTRESS "
    "XTITLE YTITLE XGRID YGRID CSCALE PTITLE PLOT FIND AXES VIEW ORIGIN XYPRINT XYPLOT AUTOTITLE CONTF "
    "OUTFILE TMPDIR CORE RAMDISK "
    "H3DTITLE PLTITLE ELSUM GROUNDCHECK WEIGHTCHECK PARTN MODELWEIGHT OPTI STATUS PRESSURE ERP DSA".split()
)
"""Case control that asks for output or names things."""
TITLES = frozenset("TITLE SUBTITLE LABEL XTITLE YTITLE PTITLE H3DTITLE PLTITLE ID".split())
"""Text to the end of the line, where a comma does not mean that it goes on."""
WARM = re.compile(r"TEMP(?:ERATURE)?\s*\(\s*LOAD\s*\)", re.IGNORECASE)
"""Temperatures as a load; initial ones are the materials' own, TREF."""
EXECUTIVE = frozenset("ID TIME CEND DIAG NASTRAN APP INIT ASSIGN ECHOON ECHOOFF GEOMCHECK PROJ".split())


@dataclass
class Selection:
    """What a subcase takes from the bulk data; None where it takes nothing."""

    number: int
    label: str = ""
    spc: int | None = None
    load: int | None = None
    warmth: int | None = None


@dataclass
class Control:
    """The subcases of a deck, the harmless words that were passed over, and PARAM lines."""

    cases: dict[int, Selection]
    ignored: list[str] = field(default_factory=list)
    parameters: list[tuple[str, int]] = field(default_factory=list)


def split(data: bytes) -> tuple[bytes, bytes, int]:
    """Control sections, bulk data, and the number of the bulk data's first line."""
    found = BEGIN.search(data)
    if found is not None:
        return data[: found.start()], data[found.end() :], data.count(b"\n", 0, found.end())
    if BULK_ONLY.search(data) is not None:
        return b"", data, 0
    raise InputError("not a Nastran deck: it has no BEGIN BULK and no GRID")


def read_control(data: bytes, where: Callable[[int], str]) -> Control:
    """The control sections; a word that is not known is refused, for it may change the physics."""
    common = Selection(1)
    control = Control({})
    current, continued = common, False
    said: set[tuple[int, str]] = set()
    for number, raw in enumerate(data.split(b"\n")):
        line = re.sub(r"\$.*", "", raw.decode("utf-8", errors="replace")).strip()
        if not line or continued:
            continued = continued and (not line or line.endswith(","))
            continue
        word, value = _parts(line)
        continued = line.endswith(",") and word not in TITLES
        place = where(number)
        if word == "SUBCASE":
            current = Selection(_whole("SUBCASE", value, place), "", common.spc, common.load, common.warmth)
            if current.number in control.cases:
                raise InputError(f"SUBCASE {current.number} on {place}: is given twice")
            control.cases[current.number] = current
        elif word == "SOL":
            if value.upper().split(",")[0].strip() not in ("101", "1", "24", "SESTATIC", "SESTATICS"):
                raise InputError(f"SOL on {place}: only linear statics, SOL 101, is read; got '{value[:30]}'")
        elif word in ("SPC", "LOAD") or WARM.match(line):
            if (id(current), word) in said:
                raise InputError(
                    f"{word} on {place}: is given twice; a subcase takes one set, SPCADD and LOAD join several"
                )
            said.add((id(current), word))
            field_ = word.lower() if word in ("SPC", "LOAD") else "warmth"
            setattr(current, field_, _whole(word, value, place))
        elif word == "ANALYSIS":
            if value.upper() not in ("STATICS", "STATIC"):
                raise InputError(f"ANALYSIS on {place}: only STATICS is read; got '{value[:30]}'")
        elif word == "PARAM":
            control.parameters.append((value.split(",")[0].strip().upper(), number))
        elif word in OUTPUT or word in EXECUTIVE:
            if word in ("LABEL", "SUBTITLE") and (word == "LABEL" or not current.label):
                current.label = value
            control.ignored.append(word)
        else:
            raise InputError(
                f"{word[:20]} on {place}: this case control is not read and may change the physics; remove it, or "
                "write the problem without it"
            )
    if not control.cases:
        control.cases[1] = common
    return control


def _parts(line: str) -> tuple[str, str]:
    """Word and value of `WORD(…) = value`, `WORD value` or `WORD,value`."""
    found = re.match(r"([A-Za-z][A-Za-z0-9]*)\s*(?:\([^)]*\))?\s*[=,]?\s*(.*)", line)
    return (line.split()[0].upper(), "") if found is None else (found[1].upper(), found[2].strip())


def _whole(word: str, value: str, place: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", value.strip()) or int(value) < 1:
        raise InputError(f"{word} on {place}: must be followed by a positive whole number; got '{value[:30]}'")
    return int(value)
