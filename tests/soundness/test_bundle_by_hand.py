"""Forgeries by someone who knows what was added last: words that nobody reads, narrow data in time, decimals, faces."""

from __future__ import annotations

from functools import cache

import pytest

import pinnpoint as pp
from tests.support.forged import Forger
from tests.support.forging import checked
from tests.support.kinds import kinds

WORDS = {"exact_value": 7.0, "component": "y", "ball": 1.0, "side": 0.3, "tolerance": 1.0, "narrowing": 0.0}


def heat():
    given = {"dirichlet": {"left": "1 + sin(3*t)"}, "neumann": {"right": "1+t*x"}, "reaction": 1.0}
    problem = pp.fem.Parabolic(pp.io.generate("interval", 2), end=0.1, steps=1, initial="1 + x", **given)
    return problem, problem.points([[0.4]], ["p"])


def blocks():
    given = {"dirichlet": {"left": 0.0}, "robin": {"right": ("2+y", "1+x")}, "source": "1+x"}
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), **given)
    return problem, problem.cells([[0.4, 0.52]], side=0.3) + problem.patch("right")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    root = tmp_path_factory.mktemp("hand")

    @cache
    def make(name):
        folder = root / name
        if name == "box":
            return kinds()["a box in time, point, box, "].bundle(folder)
        problem, asked = {"heat": heat, "blocks": blocks}[name]()
        found = pp.certify(problem, problem.space.U0, asked, target="continuous")
        made = pp.write_bundle(folder, found, problem, problem.space.U0, asked)
        good, said, _ = checked(made)
        assert good, said
        return made

    return make


def word(key):
    return lambda f: f.json("certificate", lambda d: d["queries"][0].update({key: WORDS[key]}))


def problem(key, group, text):
    """Data of a group in the case and, where it has them, in the proof."""

    def change(f):
        f.json("case", lambda d: d["problem"].update({key: text} if group is None else {key: {group: text}}))
        if group is not None:
            f.json("proof", lambda d: d.update({key: [text]}))

    return change


def proof(key, **new):
    return lambda f: f.json("proof", lambda d: d[key][0].update(new))


def goal(**new):
    return proof("goals", **new)


def asked(**new):
    """What is asked, in the certificate and in the case."""
    return lambda f: f.both(lambda rows: rows[0].update(new))


def case(**new):
    return lambda f: f.json("case", lambda d: d.update(new))


PULSE, FLASH = "1e4*exp(-(t-0.05123)**2/1e-10)", "1e-3*exp(-(t-0.05123)**2/1e-12)"
DUST = "1e-400*1e300*1e100*5"
HEAT = {
    **{f"a row with {key}": word(key) for key in WORDS},
    "a word in a goal": goal(note=1),
    "a word in a sweep": proof("runs", note=1),
    "a key of the case": case(extra=1),
    "a pulse in the flux": problem("neumann", "right", f"1+t*x+{PULSE}"),
    "a decimal below all floats in the flux": problem("neumann", "right", f"1+t*x+{DUST}"),
    "digits that cancel in the flux": problem("neumann", "right", "1+t*x+(1e16+x-1e16)*50"),
    "a flux that floats make another": problem("neumann", "right", "1+1e16+1-1e16"),
    "a flash in the values": problem("dirichlet", "left", f"1+sin(3*t)+{FLASH}"),
    "digits that cancel in the values": problem("dirichlet", "left", "1+sin(3*t)+1e16+1-1e16"),
    "a kink in the values": problem("dirichlet", "left", "1+sin(3*t)+abs(t-1e9)-abs(t-1e9)"),
    "a spike at the start": problem("initial", None, "1+x+1e5*exp(-(x-0.41)**2/1e-12)"),
    "digits that cancel at the start": problem("initial", None, "1+x+1e16+1-1e16"),
    "a reaction by an expression that is 2": problem("reaction", None, "1+1e16+1-1e16"),
    "powers below those of the theorem": goal(powers=[2, 1, 1, 1]),
    "powers that are no whole numbers": goal(powers=[2.0, 3.0, 1.0, 1.0]),
    "a kernel that is older than time": goal(span=0.2),
    "a kernel that reaches over the end": goal(radius=0.41),
    "a time that is true": asked(time=True),
}
BLOCKS = {
    "another side": lambda f: f.both(lambda rows: rows[0].update(side=0.31)).json(
        "proof", lambda d: d["goals"][0].update(side=0.31)
    ),
    "another side in the proof": goal(side=0.31),
    "another place in the proof": goal(at=[0.4, 0.52000001]),
    "a density that is doubled": lambda f: f.array("dual/w0_beta", lambda a: 2.0 * a),
    "a share that hides": goal(scale=0.0, constant=1e-3),
    "a block that is a point": lambda f: f.both(lambda rows: (rows[0].update(kind="point"), rows[0].pop("side"))),
    "a bump in α": lambda f: [
        f.json("case", lambda d: d["problem"]["robin"].update(right=["2+y+1e4*exp(-((y-0.31)**2)/1e-8)", "1+x"])),
    ],
    "digits that cancel in α": lambda f: f.json(
        "case", lambda d: d["problem"]["robin"].update(right=["2+y+1e16+1-1e16", "1+x"])
    ),
    "lower bounds of α above α": lambda f: f.array("robin/low", lambda a: a + 2.0),
    "g on no facet": lambda f: f.array("source/g_beta", lambda a: 0.0 * a),
    "g with a bump": lambda f: [
        f.json("case", lambda d: d["problem"]["robin"].update(right=["2+y", "1+x+1e4*exp(-((y-0.31)**2)/1e-8)"])),
        f.json("proof", lambda d: d.update(neumann=["1+x+1e4*exp(-((y-0.31)**2)/1e-8)"])),
    ],
}
EVERY = {
    "heat": HEAT,
    "blocks": BLOCKS,
    "box": {f"a row with {key}": word(key) for key in WORDS} | {"a block": asked(kind="cells")},
}


@pytest.mark.parametrize(("name", "what"), [(name, what) for name, some in EVERY.items() for what in some])
def test_forgeries_by_hand_are_refused(bundle, tmp_path, name, what):
    forger = Forger(bundle(name), tmp_path / "f")
    EVERY[name][what](forger)
    good, said, _ = checked(forger.seal())
    assert not good, said
    assert "NOT VERIFIED" in said
