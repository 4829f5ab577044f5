"""The field's tasks, one row each: studies/scoreboard.py [--quick] [--only TEXT] [--out FILE].

DeepXDE's forward demos (lululxvi/deepxde at 99b6620) and PINNacle's tasks (i207M/PINNacle at 6f8d69c), stated as
they are there, networks trained here by DeepXDE with budgets that one core can pay, and certified. A script of
`studies/tasks` is a task or a family of them; each runs in a process of its own. What is refused says why.
PINNacle's elliptic tasks are certified by `studies/pinnacle.py`.

Seconds are of the processor, one thread, training and proof apart.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
OUT = HERE / "results" / "scoreboard.json"
SCRIPTS = {
    "deepxde_heat": ("DeepXDE heat", "DeepXDE heat.resample"),
    "deepxde_diffusion": (
        "DeepXDE diffusion.1d",
        "DeepXDE diffusion.1d.exactBC",
        "DeepXDE diffusion.1d.resample",
    ),
    "deepxde_diffusion_reaction": ("DeepXDE diffusion.reaction",),
    "deepxde_allen_cahn": ("DeepXDE Allen_Cahn",),
    "deepxde_poisson_1d": (
        "DeepXDE Poisson_Dirichlet_1d",
        "DeepXDE Poisson_Neumann_1d",
        "DeepXDE Poisson_periodic_1d",
        "DeepXDE Poisson_PointSetOperator_1d",
    ),
    "deepxde_poisson_robin": ("DeepXDE Poisson_Robin_1d",),
    "deepxde_poisson_waves": ("DeepXDE Poisson_Dirichlet_1d_exactBC", "DeepXDE Poisson_multiscale_1d"),
    "deepxde_plane": ("DeepXDE Poisson_Lshape", "DeepXDE Helmholtz_Dirichlet_2d"),
    "deepxde_helmholtz_hole": ("DeepXDE Helmholtz_Neumann_2d_hole",),
    "deepxde_disk": ("DeepXDE Laplace_disk",),
    "waves": ("DeepXDE wave_1d", "PINNacle Wave1d"),
    "burgers": ("DeepXDE Burgers", "DeepXDE Burgers_RAR", "PINNacle Burgers1D"),
    "deepxde_plate": ("DeepXDE elasticity_plate",),
    "pinnacle_heat_ms": ("PINNacle Heat2d-MS",),
    "pinnacle_heat_cg": ("PINNacle Heat2d-CG",),
    "pinnacle_heat_inv": ("PINNacle HeatInv",),
    "pinnacle_poisson_nd": ("PINNacle PoissonND",),
    "pinnacle_heat_nd": ("PINNacle HeatND",),
    "pinnacle_wave_ms": ("PINNacle Wave2d-MS",),
    "pinnacle_poisson_blocks": ("PINNacle Poisson2d-MS",),
}
"""The tasks of each script."""

REFUSED = {
    "DeepXDE Klein_Gordon": ("u_tt = u_xx − u² + f, t ≤ 10", "a wave equation with a nonlinear term"),
    "DeepXDE Helmholtz_Sound_hard_ABC_2d": ("scattering, two components", "no coercive problem: absorbing boundary"),
    "DeepXDE black_scholes_call, american_put": ("κ = σ²S²/2, zero at S = 0", "the diffusion vanishes"),
    "DeepXDE Euler_beam": ("u⁗ = −1", "fourth order"),
    "DeepXDE Beltrami_flow, Kovasznay_flow": ("Navier–Stokes", "flows"),
    "DeepXDE fractional (four), Volterra_IDE, ide": ("integrals over the past or the whole line", "no local equation"),
    "DeepXDE Lotka_Volterra, ode_2nd, ode_system": ("ordinary differential equations", "no space"),
    "DeepXDE Schrodinger": ("i h_t = −½h_xx − h²h̄", "complex and nonlinear"),
    "PINNacle Burgers2D": ("two components, ν = 0.001", "a system"),
    "DeepXDE Helmholtz_Dirichlet_2d_HPO": ("a search of hyperparameters", "the equation is Helmholtz_Dirichlet_2d's"),
    "PINNacle Heat2d-VC": (
        "u_t = aΔu + f, a in 256² pixels",
        "a jumps from pixel to pixel, in time; its file is large and was not at hand",
    ),
    "PINNacle Heat2d-LT": ("u_t = 0.001Δu + 5 sin(u²)(…), t ≤ 100", "errors may grow by e^{γT} far above 10⁶"),
    "PINNacle NS2d-C, NS2d-CG, NS2d-LT": ("Navier–Stokes", "flows"),
    "PINNacle Wave2d-CG": ("Δu = u_tt/c(x), c in 256² pixels", "a speed that varies"),
    "PINNacle KS, GS": ("Kuramoto–Sivashinsky, Gray–Scott", "no boundary condition in the code"),
}
"""What is out of reach, and why."""


LARGEST = {
    "DeepXDE Allen_Cahn": 1.0,
    "DeepXDE Burgers": 1.0,
    "DeepXDE Burgers_RAR": 1.0,
    "DeepXDE heat.resample": 1.0,
    "DeepXDE wave_1d": 1.7,
    "PINNacle Burgers1D": 1.0,
    "PINNacle Heat2d-MS": 1.0,
    "PINNacle HeatInv": 1.0,
    "PINNacle Wave1d": 1.4,
}
"""Largest values of solutions, a little less; those of all other tasks are above 0.1."""


def is_narrow(name: str, found: dict[str, Any]) -> bool:
    """Whether what is proved of a network says more than that the solution is bounded."""
    return float(found.get("radius", found["proved at most"])) < LARGEST.get(name, 0.1)


ALSO = ("loss", "radius", "proved at most", "proved at least", "true error", "held")
"""What is kept of further seeds."""


def rows(script: str, names: Sequence[str], options: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The tasks of a script, in a process of its own."""
    told = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "DDE_BACKEND": "pytorch"}
    command = [sys.executable, str(HERE / "tasks" / f"{script}.py"), *names, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **told})
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {name: {"script": f"{script}.py", **row} for one in found for name, row in one.items()}


def main() -> None:
    """Run tasks, and keep the rows of the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="networks that are hardly trained, as the tests run it")
    parser.add_argument("--only", default="", help="tasks whose names hold this")
    parser.add_argument("--seed", type=int, default=0, help="others than 0 are kept beside the row of seed 0")
    parser.add_argument("--weights", type=Path, help="a folder for the networks")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    found = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
    for script, names in SCRIPTS.items():
        wanted = [name for name in names if given.only in name]
        if not wanted:
            continue
        options = ["--seed", str(given.seed), *(["--quick"] if given.quick else [])]
        new = rows(script, wanted, [*options, *(["--weights", str(given.weights)] if given.weights else [])])
        for name, row in new.items():
            seeds = found.get(name, {}).get("seeds", {})
            if given.seed:
                found[name]["seeds"] = seeds | {str(given.seed): {k: row[k] for k in ALSO if k in row}}
            else:
                found[name] = row | ({"seeds": seeds} if seeds else {})
        print({name: found[name] for name in wanted}, flush=True)
        given.out.parent.mkdir(parents=True, exist_ok=True)
        kept = {name: found[name] for names in SCRIPTS.values() for name in names if name in found}
        given.out.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
