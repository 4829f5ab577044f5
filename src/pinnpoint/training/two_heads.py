"""Neural operators that certify themselves: two heads, a state and a stream function, trained on the proved bound."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pinnpoint.base.arrays import Vector, floats, number, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.population import Population
from pinnpoint.fem.families.operator_family import OperatorFamily
from pinnpoint.fem.families.population_certifier import PopulationCertifier
from pinnpoint.fem.families.random_fields import on_triangles
from pinnpoint.fem.reaction_diffusion import ReactionDiffusion
from pinnpoint.mesh.domains import generate
from pinnpoint.models.networks.safetensors import read_metadata, read_state, write_safetensors
from pinnpoint.models.networks.two_heads import FILE
from pinnpoint.systems.queries import Queries
from pinnpoint.training.gaps import EnergyGap
from pinnpoint.training.polarized import Polarized
from pinnpoint.training.trainer import seeded

Draw = Callable[[np.random.Generator, int], Any]
WARM = 50
"""Steps over which the rate rises to its value."""


@dataclass(eq=False)
class TwoHeads:
    """A neural operator κ ↦ (u, ψ) whose loss is the certified energy error, and the certificate of its answers.

        heads = TwoHeads(problem)
        heads.train(lambda rng, count: my_coefficients(rng, count), steps=1000)
        population = heads.certify(kappas, problem.mean())

    The loss is the mean of η²/‖σ‖², `EnergyGap`: a bound of the error that holds for any output. Training sees
    coefficients and nothing else, no solution of any instance. *Guarantee:* that of the population; the network is
    never trusted. *Assumes:* triangles, one number as source, the value 0 on the boundary, linear elements.

    Parameters
    ----------
    problem
        Gives mesh and source; its own diffusion is not used.
    network
        A torch module from κ to states and stream functions: on squares of the generated mesh from (S, n, n) to two
        (S, n + 1, n + 1), on other meshes from (S, cells) to two (S, nodes). States are set to zero on the boundary.
        By default `Polarized`, on squares alone.
    seed
        Of the weights and of the coefficients that training draws.

    Attributes
    ----------
    losses
        Of every step, the mean relative η².
    """

    problem: ReactionDiffusion
    network: Any = None
    seed: int = 0
    losses: list[float] = field(default_factory=list, init=False)
    gap: EnergyGap = field(init=False, repr=False)

    __repr__ = brief

    def __post_init__(self) -> None:
        self.gap = EnergyGap.of(self.problem)
        self.seed = whole("seed", self.seed)
        self.side = _squares(self.problem)
        if self.network is None:
            if self.side is None:
                raise InputError("network: must be given for meshes other than io.generate('square', n)")
            self.network = seeded(self.seed, Polarized)
        if not isinstance(self.network, torch.nn.Module):
            raise InputError(f"network: must be a torch module; got {type(self.network).__name__}")
        self._optimizer: Any = None
        self._kept: tuple[Any, PopulationCertifier, Vector] | None = None

    def train(
        self,
        draw: Draw,
        steps: int = 1000,
        *,
        batch: int = 4,
        rate: float = 4e-3,
        checkpoint: str | os.PathLike[str] | None = None,
        every: int = 100,
        report: Callable[[int, float], None] | None = None,
    ) -> TwoHeads:
        """Adam on fresh coefficients, up to so many steps in all; goes on where a checkpoint of the same run ends.

        Parameters
        ----------
        draw
            From a random generator and a count to coefficients, (count, n, n) on squares or (count, cells). Each step
            has a generator of its own, so that a run that was killed goes on as if it had not been.
        rate
            Learning rate at its height; it falls to zero along a cosine.
        checkpoint
            A file that is written every so many steps, and read if it exists.
        report
            Is told the step and √ of the loss, every so many steps.
        """
        steps, batch, every = whole("steps", steps, low=1), whole("batch", batch, low=1), whole("every", every, low=1)
        rate = number("rate", rate, above=0.0)
        self.network.train()
        self._optimizer = torch.optim.Adam(self.network.parameters(), lr=rate)
        self.losses.clear()
        if checkpoint is not None and Path(checkpoint).exists():
            self._resume(checkpoint)
        for step in range(len(self.losses), steps):
            height = min(1.0, (step + 1) / WARM) * 0.5 * (1.0 + math.cos(math.pi * step / steps))
            for group in self._optimizer.param_groups:
                group["lr"] = rate * height
            self.losses.append(self._step(draw(np.random.default_rng((self.seed, step)), batch)))
            if report is not None and (step + 1) % every == 0:
                report(step + 1, math.sqrt(self.losses[-1]))
            if checkpoint is not None and ((step + 1) % every == 0 or step + 1 == steps):
                self._write(checkpoint, training=True)
        self.network.eval()
        return self

    def _step(self, given: Any) -> float:
        K = self._tensor(self._good(given))
        self._optimizer.zero_grad()
        gap, size = self.gap(K, *self._heads(K))
        loss = (gap / size.detach()).mean()
        value = float(loss.detach())
        if not math.isfinite(value):
            raise InputError(f"draw: the loss is not finite after {len(self.losses)} steps; lower the rate")
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self._optimizer.step()
        return value

    def _kappa(self, given: Any) -> Vector:
        """κ on the cells as it was given, (S, C)."""
        K = np.asarray(floats("kappas", given))
        C = len(self.gap.cells)
        if self.side is not None and K.shape[1:] == (self.side, self.side):
            K = on_triangles(K)
        if K.ndim != 2 or K.shape[1] != C or not len(K):
            shapes = f"(S, {C})" if self.side is None else f"(S, {self.side}, {self.side}) or (S, {C})"
            raise InputError(f"kappas: must have shape {shapes}; got {K.shape}")
        return K

    def _reasons(self, K: Vector) -> dict[int, str]:
        """Why the network cannot be asked about some rows."""
        bad = ~np.all(np.isfinite(K) & (K > 0.0), axis=1)
        found = dict.fromkeys(np.flatnonzero(bad).tolist(), "kappa: must be positive and finite")
        if self.side is not None:
            cut = np.any(K[:, ::2] != K[:, 1::2], axis=1) & ~bad
            why = "kappa: must be one number on the two triangles of each square for this network"
            found |= dict.fromkeys(np.flatnonzero(cut).tolist(), why)
        return found

    def _good(self, given: Any) -> Vector:
        """κ on the cells, all of it such as the network can be asked about."""
        K = self._kappa(given)
        for i, why in self._reasons(K).items():
            raise InputError(f"kappas: row {i}: {why.removeprefix('kappa: ')}")
        return K

    def _tensor(self, K: Vector) -> Any:
        return torch.as_tensor(K, dtype=next(self.network.parameters()).dtype)

    def _heads(self, K: Any) -> tuple[Any, Any]:
        pixels = K if self.side is None else K[:, ::2].reshape(len(K), self.side, self.side)
        u, psi = (out.reshape(len(K), -1) for out in self.network(pixels))
        return u * torch.as_tensor(self.gap.free * self.gap.source, dtype=u.dtype), psi * self.gap.source

    def predict(self, kappas: Any, chunk: int = 32) -> tuple[Vector, Vector]:
        """States and stream functions at the nodes, (S, N) each; the flux is −f (x − c)/2 + curl ψ."""
        return self._predicted(self._good(kappas), chunk)

    def _predicted(self, kappas: Vector, chunk: int = 32) -> tuple[Vector, Vector]:
        K = self._tensor(kappas)
        with torch.no_grad():
            parts = [self._heads(K[i : i + chunk]) for i in range(0, len(K), whole("chunk", chunk, low=1))]
        u, psi = (torch.cat(part).double().numpy() for part in zip(*parts, strict=True))
        return u, psi

    def certify(self, kappas: Any, queries: Queries | None = None, *, steps: int = 0, **options: Any) -> Population:
        """The population of the network's answers; without `steps` nothing is solved for any instance.

        `queries` and `options` are those of ``problem.operators().prepare``; the domain's mean by default. What does
        not depend on κ is prepared at the first call and kept for others that ask the same. Rows that the network
        cannot be asked about have infinite bounds and their reason in `status`.
        """
        certifier, shift = self.prepared(queries, steps=steps, **options)
        K = self._kappa(kappas)
        reasons = self._reasons(K)
        asked = np.where(np.isin(np.arange(len(K)), list(reasons))[:, None], 1.0, K) if reasons else K
        states, streams = self._predicted(asked)
        return certifier.certify_many(asked, states, streams + shift).refused(reasons)

    def prepared(self, queries: Queries | None = None, **options: Any) -> tuple[PopulationCertifier, Vector]:
        """The certifier, and what is added to the network's ψ so that it counts from the certifier's own flux."""
        asked = (queries, options)
        if self._kept is None or self._kept[0] != asked:
            family = OperatorFamily.of(self.problem, "cells", None)
            made = family.prepare(self.problem.mean() if queries is None else queries, **options)
            self._kept = (asked, made, self.gap.shift(made))
        return self._kept[1], self._kept[2]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the weights as safetensors."""
        return self._write(path, training=False)

    def _write(self, path: str | os.PathLike[str], *, training: bool) -> Path:
        state = {name: t.detach().numpy() for name, t in self.network.state_dict().items()}
        told = {"losses": json.dumps(self.losses) if training else repr(self.losses[-1:]), "seed": str(self.seed)}
        if isinstance(self.network, Polarized):
            told |= {"width": str(self.network.width), "depth": str(self.network.depth)}
        if training:
            for name, parameter in self.network.named_parameters():
                for key, value in self._optimizer.state[parameter].items():
                    state[f"adam/{key}/{name}"] = value.detach().numpy()
        return write_safetensors(path, state, told)

    def _resume(self, path: str | os.PathLike[str]) -> None:
        state, told = read_state(path), read_metadata(path)
        if told.get("seed") != str(self.seed) or "losses" not in told:
            raise InputError(f"checkpoint: '{path}' is of a run with another seed; choose another file")
        self._set({k: v for k, v in state.items() if not k.startswith("adam/")}, path)
        self.losses[:] = json.loads(told["losses"])
        for name, parameter in self.network.named_parameters():
            for key in ("step", "exp_avg", "exp_avg_sq"):
                value = torch.as_tensor(state[f"adam/{key}/{name}"])
                like = torch.float32 if key == "step" else parameter.dtype
                self._optimizer.state[parameter][key] = value.to(like).reshape(() if key == "step" else parameter.shape)

    def _set(self, state: dict[str, Any], path: Any) -> None:
        own = self.network.state_dict()
        if {k: tuple(v.shape) for k, v in own.items()} != {k: tuple(v.shape) for k, v in state.items()}:
            raise InputError(f"'{path}': holds weights of another network; give the one that it was written for")
        self.network.load_state_dict({k: torch.as_tensor(v).to(own[k].dtype) for k, v in state.items()})

    @classmethod
    def load(
        cls, problem: ReactionDiffusion, path: str | os.PathLike[str] | None = None, network: Any = None
    ) -> TwoHeads:
        """From a file of `save`; without one the network that comes with the package."""
        if path is None:
            with as_file(files("pinnpoint") / "data" / FILE) as own:
                return cls.load(problem, own, network)
        told = read_metadata(path)
        if network is None:
            if not {"width", "depth"} <= told.keys():
                raise InputError(f"network: must be given, '{path}' holds the weights of one of yours")
            network = Polarized(int(told["width"]), int(told["depth"]))
        heads = cls(problem, network, int(told.get("seed", "0")))
        heads._set({k: v for k, v in read_state(path).items() if not k.startswith("adam/")}, path)
        network.eval()
        return heads


def _squares(problem: ReactionDiffusion) -> int | None:
    """Squares a side, if the mesh is the generated one of the unit square."""
    n = math.isqrt(len(problem.mesh.cells) // 2)
    if n < 1 or 2 * n * n != len(problem.mesh.cells):
        return None
    like = generate("square", n)
    same = np.array_equal(like.cells, problem.mesh.cells) and np.array_equal(like.points, problem.mesh.points)
    return n if same else None
