"""`pinnpoint demo operator`: a neural operator with two heads, certified without one solve."""

from __future__ import annotations

import argparse

import numpy as np

from pinnpoint.certificates.population import Population
from pinnpoint.cli.progress import Stages
from pinnpoint.fem.families.random_fields import darcy_fields, on_triangles
from pinnpoint.fem.families.source_flux import SourceFlux
from pinnpoint.fem.reaction_diffusion import ReactionDiffusion
from pinnpoint.mesh.domains import generate
from pinnpoint.models.networks import two_heads
from pinnpoint.outputs.populations import write_population

CELLS, COUNT = 64, 48
ACCEPT = 0.15
KINDS = (("3 and 12, as in its training", 3.0, 12.0), ("1 and 30, far beyond it", 1.0, 30.0))
STEPS = 3


def run(arguments: argparse.Namespace) -> int:
    """Fields like those of its training, and fields beyond it."""
    with Stages(4, quiet=arguments.quiet) as stage:
        stage("drawing coefficients")
        K = np.concatenate([darcy_fields(CELLS, COUNT, 11 + i, low=a, high=b) for i, (_, a, b) in enumerate(KINDS)])
        stage("calling the network")
        network = two_heads.load()
        pairs = [network(K[i : i + 16]) for i in range(0, len(K), 16)]
        states, streams = (np.concatenate(x).reshape(len(K), -1) for x in zip(*pairs, strict=True))
        stage("certifying")
        problem = ReactionDiffusion(generate("square", CELLS), source=1.0)
        family, mean = problem.operators(diffusion="cells"), problem.mean()
        certifier, better = (family.prepare(mean, steps=steps) for steps in (0, STEPS))
        given = on_triangles(K), states, streams + SourceFlux.of(problem).shift(certifier)
        alone, population = certifier.certify_many(*given), better.certify_many(*given)
        stage("writing")
        told = {"network": "shipped with pinnpoint, trained by studies/train_two_heads.py without any solved instance"}
        title = "A neural operator that certifies itself"
        files = write_population(population, better, arguments.out, accept=ACCEPT, title=title, told=told)
    print(story(alone, population))
    print(f"Open {files[2]} in a browser. Every instance is in {files[0]}.")
    return 0


def story(alone: Population, population: Population) -> str:
    """A table that a person can read."""
    first, then = (np.array(p.accepted(ACCEPT).verdicts) for p in (alone, population))
    columns = ("kappa", "instances", "median bound", "largest", f"within {ACCEPT:.0%}", "beyond it")
    lines = [
        f"A neural operator for -div(kappa grad u) = 1, u = 0 on the boundary, on {CELLS} x {CELLS} pixels, trained",
        "without any solved instance. It predicts u and a stream function; the two bound the energy error of u.",
        "",
        "{:30}  {:>9}  {:>12}  {:>8}  {:>10}  {:>10}".format(*columns),
    ]
    for i, (words, _, _) in enumerate(KINDS):
        rows = slice(i * COUNT, (i + 1) * COUNT)
        error = np.ceil(1e3 * alone.error[rows]) / 1e3
        within, beyond = int(np.sum(first[rows] == "within")), int(np.sum(then[rows] == "beyond"))
        numbers = f"{np.median(error):12.1%}  {error.max():8.1%}  {within:10}  {beyond:10}"
        lines.append(f"{words:30}  {COUNT:9}  {numbers}")
    return "\n".join(
        [
            *lines,
            "",
            f"Bounds and what is within: nothing was solved. Beyond: {STEPS} steps from the answers bound the",
            "error from below too. All of it is proved, rounding included, for the solution of the PDE itself.",
        ]
    )
