"""Build wheel and source distribution, try both in bare environments: python scripts/wheel.py [PYTHON …] [--out FILE].

For each interpreter, by default those of python3.11 to python3.14 that are found, a new environment gets the wheel and
what it asks for and nothing else, and another one the source distribution; `pinnpoint demo` and `pinnpoint verify` of
what it wrote must end well, and the extras, the sources and this checkout must be out of sight.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
NAMES = [f"python3.{k}" for k in range(11, 15)]


def found() -> list[str]:
    """Interpreters that run: on the path, or pyenv's."""
    places = [
        *(shutil.which(name) for name in NAMES),
        *sorted(Path.home().glob(".pyenv/versions/3.1[1-4]*/bin/python3")),
    ]
    seen: dict[str, str] = {}
    for place in places:
        if place is None:
            continue
        asked = [str(place), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            seen.setdefault(done.stdout.strip(), str(place))
    return [seen[name] for name in sorted(seen) if name >= "3.11"]


def run(command: list[str], **more: object) -> float:
    """Seconds of a command that must end well."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    start = time.perf_counter()
    done = subprocess.run(command, env=clean, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return round(time.perf_counter() - start, 1)


def built(folder: Path) -> dict[str, Path]:
    """The wheel and the source distribution, by `build` in an environment of its own."""
    run([sys.executable, "-m", "venv", str(folder / "build")])
    own = str(folder / "build" / ("Scripts" if os.name == "nt" else "bin") / "python")
    run([own, "-m", "pip", "install", "-q", "build"])
    run([own, "-m", "build", "--outdir", str(folder / "dist"), str(ROOT)])
    (wheel,), (source,) = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
    return {"wheel": wheel, "sdist": source}


def tried(python: str, distribution: Path) -> dict[str, object]:
    """One interpreter and one distribution: install, demo, verify."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([python, "-m", "venv", str(folder / "env")])
        binaries = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
        own, command = str(binaries / "python"), str(binaries / "pinnpoint")
        row: dict[str, object] = {"install [s]": run([own, "-m", "pip", "install", "-q", str(distribution)])}
        done = subprocess.run(
            [command, "demo", "--out", "demo"], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 4):  # 4: the demo's prediction is proved wrong
            raise SystemExit(f"{python}: demo ended with {done.returncode}\n{done.stderr}")
        row["demo"] = done.returncode
        row["verify [s]"] = run([command, "verify", "demo/bundle"], cwd=folder)
        listed = subprocess.run([own, "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True)
        row["packages"] = {one["name"]: one["version"] for one in json.loads(listed.stdout) if one["name"] != "pip"}
        asked = [own, "-c", "import sys; print(sys.version.split()[0])"]
        row["python"] = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        return row


def main() -> None:
    """Build once, try all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="*")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = {}
        for kind, distribution in built(Path(name)).items():
            for python in given.pythons or found():
                row = tried(python, distribution)
                rows[f"{kind}, {row['python']}"] = row
                print(distribution.name, row, flush=True)
    if given.out is not None:
        given.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
