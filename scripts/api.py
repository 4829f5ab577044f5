"""List the public names and how they are called: python scripts/api.py [--write].

tests/contract/api.json holds the list of the last release; a test compares. Names and arguments may be added and must
not go, change their order or become required (docs/releases.md).
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
from pathlib import Path

import pinnpoint as pp

STORED = Path(__file__).parent.parent / "tests" / "contract" / "api.json"
PACKAGES = ("boxes", "campaigns", "fem", "io", "models", "training")
Arguments = list[list[object]]


def called(what: object) -> Arguments | None:
    """The arguments of something that is called: name, how it is given, whether it must be; None of anything else."""
    try:
        found = inspect.signature(what)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return [[p.name, str(p.kind.description), p.default is inspect.Parameter.empty] for p in found.parameters.values()]


def public() -> dict[str, Arguments | None]:
    """Every public name, with the methods of classes."""
    homes = {"pp": pp, **{f"pp.{name}": importlib.import_module(f"pinnpoint.{name}") for name in PACKAGES}}
    found: dict[str, Arguments | None] = {}
    for prefix, home in homes.items():
        for name in home.__all__:
            what = getattr(home, name)
            if inspect.ismodule(what):
                continue
            found[f"{prefix}.{name}"] = called(what)
            if inspect.isclass(what):
                for method, body in inspect.getmembers(what, inspect.isroutine):
                    if not method.startswith("_") and "pinnpoint" in str(getattr(body, "__module__", "")):
                        found[f"{prefix}.{name}.{method}"] = called(body)
    return dict(sorted(found.items()))


def broken(before: dict[str, Arguments | None], now: dict[str, Arguments | None]) -> list[str]:
    """What callers of the older list would trip over."""
    found = []
    for name, old in before.items():
        if name not in now:
            found.append(f"{name} is gone")
            continue
        new = now[name]
        if old is None or new is None:
            continue
        if any(kind == "variadic keyword" for _, kind, _ in new):
            continue
        names, known = [str(p[0]) for p in new], {str(p[0]): p for p in new}
        placed = [str(p[0]) for p in old if "keyword-only" not in str(p[1]) and "variadic" not in str(p[1])]
        if [n for n in names if n in placed] != placed:
            found.append(f"{name}: arguments by position were {placed}, are {names}")
        for argument, _, required in old:
            if str(argument) not in known:
                found.append(f"{name}: argument {argument} is gone")
            elif not required and known[str(argument)][2] and "variadic" not in str(known[str(argument)][1]):
                found.append(f"{name}: argument {argument} has become required")
        old_names = {str(p[0]) for p in old}
        for argument, kind, required in new:
            if str(argument) not in old_names and required and "variadic" not in str(kind):
                found.append(f"{name}: new argument {argument} is required")
    return found


def main() -> None:
    """Compare, or write the list of a release."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        rows = [f"{json.dumps(name)}: {json.dumps(arguments)}" for name, arguments in public().items()]
        STORED.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print("\n".join(broken(json.loads(STORED.read_text(encoding="utf-8")), public())) or "nothing is broken")


if __name__ == "__main__":
    main()
