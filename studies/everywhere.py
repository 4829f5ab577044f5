"""Bounds of the largest error: the figures of the documentation, and that they hold, cell by cell, in random problems.

    python studies/everywhere.py [--quick] [--only NAME]

300 random problems, each on at least 10,000 points; the shipped networks; corrected values; random features; what a
check costs in a training loop with DeepXDE. Prints each part and keeps it in results/everywhere.json, with processor
seconds; parts that are there are not run again. 1 if a bound missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parent.parent))

import pinnpoint as pp
from pinnpoint.mesh.topology import Topology
from pinnpoint.models.networks import benchmark
from pinnpoint.training import Certified, deepxde_callback
from pinnpoint.transfer.everywhere.crouzeix_raviart import assemble
from pinnpoint.transfer.everywhere.mesh_constant import MMD, MOST, _factors, mesh_constant
from tests.support.worst import FAMILIES

OUT = Path(__file__).parent / "results" / "everywhere.json"
PLANE, SOLID = 46, 12
"""Cases of each family; in three dimensions."""
Part = dict[str, Any]


def campaign(name: str, count: int) -> Part:
    """Random problems of a family: how much of its bound the largest error takes, and how many bounds missed."""
    shares, missed, points, routes = [], 0, [], dict[str, int]()
    for i in range(count):
        known = FAMILIES[name](np.random.default_rng([7, i, sum(map(ord, name))]))
        certificate = pp.certify(known.problem, known.prediction, known.problem.everywhere())
        errors = known.errors()
        assert certificate.band is not None
        missed += int(np.any(errors.max(axis=1) > certificate.band * (1 + 1e-12) + 1e-12))
        shares.append(float(errors.max()) / float(certificate.upper[0]))
        points.append(errors.size)
        route = certificate.details["routes"]["everywhere"]
        routes[route] = routes.get(route, 0) + 1
    return {
        "cases": count,
        "points of a case, at least": min(points),
        "error over bound, median": round(float(np.median(shares)), 3),
        "largest": round(max(shares), 3),
        "routes": routes,
        "missed": missed,
    }


def networks(solve: bool, degree: int, n: int) -> Part:
    """The shipped networks over the whole square, kept as they are."""
    given = benchmark.load()
    mesh = pp.io.generate("square", n)
    p = pp.fem.ReactionDiffusion(mesh, source=given.source_text, dirichlet={"boundary": 0.0}, degree=degree)
    X, found, missed = np.random.default_rng(0).random((10_000, 2)), Part(), 0
    for name, network in zip(("rough", "fair", "good"), given.networks, strict=True):
        start = time.process_time()
        c = pp.certify(p, network, p.everywhere(solve=solve), lift=True)
        seconds = time.process_time() - start
        worst = float(np.abs(given.exact(X) - network(X)).max())
        missed += int(worst > c.upper[0])
        found[name] = {
            "bound": float(c.upper[0]),
            "seen": worst,
            "guarantee": str(c.guarantee),
            "route": c.details["routes"]["everywhere"],
            "seconds": round(seconds, 2),
            "milliseconds a cell": round(1e3 * seconds / len(mesh.cells), 3),
        }
    return found | {"cells": len(mesh.cells), "missed": missed}


def corrected(n: int) -> Part:
    """The paper's benchmark at 200 random points from one solve."""
    given = benchmark.load()
    mesh = pp.io.generate("square", n)
    p = pp.fem.ReactionDiffusion(mesh, source=given.source_text, dirichlet={"boundary": 0.0}, degree=2)
    X = np.random.default_rng(0).random((200, 2))
    start = time.process_time()
    c = p.corrected(X)
    seconds, off = time.process_time() - start, float(np.abs(c.values - given.exact(X)).max())
    return {"radius": c.radius, "off": off, "seconds": round(seconds, 1), "missed": int(off > c.radius)}


def constants(sizes: tuple[int, ...]) -> Part:
    """What the mesh constant costs off rectangles, in factorizations of linear elements, the least of a few tries."""
    found, refused = Part(), []
    for n in sizes:
        for contrast, moved, free in ((1.0, 0.0, False), (1.0, 0.2, False), (100.0, 0.2, True)):
            mesh = pp.io.generate("lshape", n)
            plain, rng = Topology.of(mesh), np.random.default_rng(n)
            X, inner = plain.points.copy(), np.setdiff1d(np.arange(len(plain.points)), plain.facets[plain.boundary])
            X[inner] += moved / n * rng.uniform(-1, 1, X[inner].shape)
            T, centres = Topology(X, mesh.cells), X[mesh.cells].mean(axis=1)
            kappa, held = np.where(centres[:, 0] > 0.0, contrast, 1.0), T.boundary.copy()
            if free:
                held &= ~np.all(X[T.facets][:, :, 1] == X[:, 1].min(), axis=1)
            K = sp.csc_array(assemble(T, kappa, held).linear_stiffness)
            ratios = []
            for _ in range(3):  # side by side: the machine is shared
                linear = min(_seconds(lambda K=K: _factors(K, MMD)) for _ in range(3))
                proved = []
                cost = min(
                    _seconds(lambda T=T, k=kappa, h=held, p=proved: p.append(_proved(T, k, h))) for _ in range(3)
                )
                ratios.append(cost / linear)
            name = f"{len(T.cells)} triangles, moved by {moved:g} h, κ 1:{contrast:g}, {'mixed' if free else 'fixed'}"
            found[name] = round(min(ratios), 1)
            refused += [] if proved[0] else [name]
    return found | {"refused": refused, "missed": sum(cost > MOST for cost in found.values())}


def _proved(T: Topology, kappa: Any, held: Any) -> bool:
    try:
        mesh_constant(T, kappa, held, thorough=False)
    except pp.CertificationError:
        return False
    return True


def _seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def features(n: int) -> Part:
    """Δu = sin πx sin πy: a least-squares fit of 200 tanh features, its own residual and boundary values enclosed."""
    start = time.process_time()
    rng = np.random.default_rng(0)
    W, b = rng.uniform(-3.0, 3.0, (200, 2)), rng.uniform(-3.0, 3.0, 200)
    t, e = (np.arange(40) + 0.5) / 40, np.linspace(0.0, 1.0, 100)
    X = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
    sides = np.concatenate([np.stack([e, 0 * e + k], axis=1)[:, ::s] for k in (0, 1) for s in (1, -1)])
    T, edge = np.tanh(X @ W.T + b), np.tanh(sides @ W.T + b)
    rows = np.concatenate([-2.0 * T * (1.0 - T**2) * (W**2).sum(axis=1), 100.0 * edge])
    rows = np.column_stack([rows, np.repeat([0.0, 100.0], [len(X), len(sides)])])
    right = np.concatenate([np.sin(np.pi * X[:, 0]) * np.sin(np.pi * X[:, 1]), np.zeros(len(sides))])
    fit = np.linalg.lstsq(rows, right, rcond=1e-13)[0]
    network = pp.models.MLP([W, fit[None, :-1]], [b, fit[-1:]])
    p = pp.fem.ReactionDiffusion(
        pp.io.generate("square", n), source="-sin(pi*x)*sin(pi*y)", dirichlet={"boundary": 0.0}
    )
    c = pp.certify(p, network, p.everywhere(solve=False), lift=True)
    seconds, P = time.process_time() - start, rng.random((10_000, 2))
    seen = float(np.abs(network(P) + np.sin(np.pi * P).prod(axis=1) / (2.0 * np.pi**2)).max())
    return {"bound": float(c.upper[0]), "seen": seen, "seconds": round(seconds, 1), "missed": int(seen > c.upper[0])}


def time_of_a_check(n: int) -> Part:
    """A tanh network of three layers of 32 units, with no solve: milliseconds of the processor for each cell.

    Not counted is what the first check of a process loads and compiles; large cells are split.
    """
    rng = np.random.default_rng(0)
    sizes = [2, 32, 32, 32, 1]
    W = [rng.normal(size=(b, a)) / np.sqrt(a) for a, b in pairwise(sizes)]
    network = pp.models.MLP(W, [rng.normal(size=len(w)) * 0.3 for w in W], factor="unit-box")
    found = Part()
    for m in (2, n // 2, n):  # the first time much is loaded and compiled
        p = pp.fem.ReactionDiffusion(pp.io.generate("square", m), source=1.0, dirichlet={"boundary": 0.0})
        start = time.process_time()
        pp.certify(p, network, p.everywhere(solve=False), lift=True)
        found[f"milliseconds a cell, {2 * m * m} cells"] = round(1e3 * (time.process_time() - start) / (2 * m * m), 3)
    return dict(list(found.items())[1:]) | {"missed": 0}


def training(below: float) -> Part:
    """A DeepXDE run that its own proved error stops, and what the checks cost of it."""
    os.environ.setdefault("DDE_BACKEND", "pytorch")
    import deepxde as dde
    import torch

    dde.config.set_random_seed(3)

    def pde(x: Any, u: Any) -> Any:
        return -dde.grad.hessian(u, x, i=0, j=0) - np.pi**2 * torch.sin(np.pi * x)

    net = dde.nn.FNN([1, 16, 16, 1], "tanh", "Glorot uniform")
    net.apply_output_transform(lambda x, y: x * (1 - x) * y)
    model = dde.Model(dde.data.PDE(dde.geometry.Interval(0, 1), pde, [], num_domain=40), net)
    model.compile("adam", lr=5e-3, verbose=0)
    line = pp.fem.ReactionDiffusion(
        pp.io.generate("interval", 8), source="pi**2*sin(pi*x)", dirichlet={"left": 0.0, "right": 0.0}
    )
    watch = Certified(line, below=below, every=200, factor="x*(1-x)")
    model.train(iterations=20_000, display_every=20_000, callbacks=[deepxde_callback(watch)], verbose=0)
    x = np.linspace(0.0, 1.0, 10_001)[:, None]
    error = float(np.abs(model.predict(x) - np.sin(np.pi * x)).max())
    title = watch.plot().get_title()
    assert watch.reached is not None
    return {
        "stopped at step": watch.history[-1].step,
        "proved": watch.reached.upper,
        "seen": error,
        "checks over training": round(watch.share, 4),
        "title of the plot": title,
        "missed": int(error > watch.reached.upper),
    }


def parts(quick: bool) -> Iterator[tuple[str, Callable[[], Part]]]:
    """Every part with its name."""
    n = 6 if quick else 32
    yield "networks, no solve", lambda: networks(False, 1, 4 if quick else 32)
    yield "networks, P1", lambda: networks(True, 1, n)
    yield "networks, P2", lambda: networks(True, 2, n)
    yield "corrected values at 200 points, P2", lambda: corrected(n)
    yield "mesh constant, factorizations of linear elements", lambda: constants((4,) if quick else (24, 48, 64, 96))
    yield "random features, no solve", lambda: features(6 if quick else 8)
    yield "time of a check, 3 × 32", lambda: time_of_a_check(4 if quick else 32)
    yield "DeepXDE run", lambda: training(0.1 if quick else 0.01)
    for name in FAMILIES:
        count = 1 if quick else SOLID if "3D" in name else PLANE
        yield f"random: {name}", lambda name=name, count=count: campaign(name, count)  # type: ignore[misc]


def main() -> None:
    """Run, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one of each family, small meshes; nothing is kept")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    kept = json.loads(OUT.read_text(encoding="utf-8")) if OUT.exists() and not given.quick else {}
    for name, run in parts(given.quick):
        if name in kept or given.only not in name:
            continue
        start = time.process_time()
        kept[name] = run() | {"processor seconds": 0.0}
        kept[name]["processor seconds"] = round(time.process_time() - start, 1)
        print(name, kept[name], flush=True)
        if not given.quick:
            OUT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    missed = sum(part["missed"] for part in kept.values())
    print(f"{missed} missed")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
