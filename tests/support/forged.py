"""Bundles that were altered and sealed again."""

from __future__ import annotations

import hashlib
import json
import shutil

import numpy as np


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

    def seal(self):
        path = self.folder / "manifest.json"
        said = json.loads(path.read_text())
        files = {}
        for file in sorted(self.folder.rglob("*.*")):
            name, data = file.relative_to(self.folder).as_posix(), file.read_bytes()
            if name == "manifest.json":
                continue
            files[name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
            if name.endswith(".npy"):
                a = np.load(file)
                files[name] |= {"dtype": a.dtype.str, "shape": list(a.shape)}
        path.write_text(json.dumps(said | {"files": files}, indent=1) + "\n")
        return self.folder


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
