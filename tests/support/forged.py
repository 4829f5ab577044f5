"""Bundles that were altered and sealed again."""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import suppress

import numpy as np


def sealed(folder, identify=True):
    """The bundle with the manifest, and with `identify` the certificate's id, of what is there now."""
    manifest, path = folder / "manifest.json", folder / "certificate.json"
    said = json.loads(manifest.read_text(encoding="utf-8"))
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    with suppress(ValueError, AttributeError, TypeError):  # what is no JSON has no id
        data = json.loads(text)
        old = data.pop("id", None)
        if old is not None and identify:
            line = json.dumps(data, sort_keys=True, separators=(",", ":"))
            said["certificate"] = hashlib.sha256(line.encode()).hexdigest()
            path.write_text(text.replace(old, said["certificate"]), encoding="utf-8")
    files = {}
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if not file.is_file() or name == "manifest.json":
            continue
        data = file.read_bytes()
        files[name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        if name.endswith(".npy"):
            a = np.load(file)
            files[name] |= {"dtype": a.dtype.str, "shape": list(a.shape)}
    manifest.write_text(json.dumps(said | {"files": files}, indent=1) + "\n", encoding="utf-8")
    return folder


class Forger:
    """A copy of a bundle, altered at will and sealed again."""

    def __init__(self, folder, to):
        shutil.copytree(folder, to)
        self.folder = to

    def array(self, name, change):
        a = np.load(self.folder / f"{name}.npy")
        found = change(a)
        np.save(self.folder / f"{name}.npy", np.ascontiguousarray(a if found is None else found))
        return self

    def json(self, name, change):
        path = self.folder / f"{name}.json"
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
        return self

    def both(self, change):
        """What is asked, in the certificate and in the case."""
        return self.json("certificate", lambda c: change(c["queries"])).json("case", lambda c: change(c["queries"]))

    def data(self, change):
        """Data, in the proof and in the case."""
        return self.json("proof", lambda p: change(p["solid"])).json("case", lambda c: change(c["problem"]))

    def seal(self, identify=True):
        return sealed(self.folder, identify)


def times(at, factor):
    def change(a):
        a[at] = a[at] * factor

    return change


def plus(at, more):
    def change(a):
        a[at] += more

    return change


def largest(factor):
    def change(a):
        a[np.unravel_index(np.argmax(np.abs(a)), a.shape)] *= factor

    return change


def row(i, **new):
    return lambda queries: queries[i].update(new)


def narrower(i, share):
    def change(c):
        q = c["queries"][i]
        cut = q["terms"]["transfer"] * share
        q["terms"]["transfer"] -= cut
        q["radius"] = sum(q["terms"][k] for k in c["radius_terms"])
        q["lower"] = float(np.nextafter(q["center"] - q["radius"], -np.inf))
        q["upper"] = float(np.nextafter(q["center"] + q["radius"], np.inf))
        q["value_radius"] = abs(q["value"] - q["center"]) + q["radius"]

    return change


def moved(i, share):
    def change(c):
        q = c["queries"][i]
        q["center"] += share * q["radius"]
        q["lower"] = float(np.nextafter(q["center"] - q["radius"], -np.inf))
        q["upper"] = float(np.nextafter(q["center"] + q["radius"], np.inf))
        q["value_radius"] = abs(q["value"] - q["center"]) + q["radius"]

    return change
