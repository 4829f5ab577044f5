"""DeepXDE models that are watched by what is proved of them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.models.lifts import Lift
from pinnpoint.models.networks.torch import is_module
from pinnpoint.training.certified import Certified

SAMPLES = 64
CLOSE = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2}
"""How close the network and the function that is certified must be at samples, against the largest value."""


def deepxde_callback(watch: Certified) -> Any:
    """A ``deepxde.callbacks.Callback`` that lets a run stop where `watch` says so.

        model.train(iterations=20_000, callbacks=[deepxde_callback(Certified(problem, below=1e-2))])

    The network is a ``dde.nn.FNN`` of the PyTorch backend. What its ``apply_output_transform`` does must be told to
    `watch` as factor and offset, what ``apply_feature_transform`` does as inputs; both are compared at samples, and a
    network that does something else is refused.
    """
    try:
        import deepxde
    except ImportError as error:
        raise DependencyMissingError("deepxde_callback needs DeepXDE: pip install deepxde") from error

    class Stop(deepxde.callbacks.Callback):
        """Certifies the model's network on the way."""

        def __init__(self) -> None:
            super().__init__()
            self.watch, self.step = watch, 0

        def on_epoch_end(self) -> None:
            """After every step."""
            self.step += 1
            if watch.due(self.step):
                found = watch.check(self.step, _loss(self.model), read(self.model.net, watch))
                self.model.stop_training = self.model.stop_training or watch.good(found)

    return Stop()


def read(net: Any, watch: Certified) -> Lift:
    """The function that a DeepXDE network is, with what is done to it as `watch` says; compared at samples."""
    if not is_module(net) or not hasattr(net, "_output_transform"):
        raise InputError(
            f"model: its network must be one of DeepXDE's PyTorch backend, such as dde.nn.FNN; got {type(net).__name__}"
        )
    bare = copy.copy(net)
    bare._input_transform = bare._output_transform = None
    lift = watch.lift(bare)
    low, high = (f(watch.problem.mesh.points, axis=0) for f in (np.min, np.max))
    X = np.random.default_rng(0).uniform(low, high, (SAMPLES, len(low)))
    dtype = next(net.parameters()).dtype
    said = net(next(net.parameters()).new_tensor(X)).detach().cpu().numpy().astype(np.float64).reshape(-1)
    own = np.asarray(lift.value(X))
    size = float(np.abs(said).max())
    close = CLOSE.get(str(dtype).removeprefix("torch."), 1e-2)
    if said.shape != own.shape or not np.abs(said - own).max() <= close * size + 1e-300:
        raise InputError(
            "factor, offset, inputs: what is certified is not the model's network; say what its output and feature "
            "transforms do, for example factor='x*(1-x)' for a net with dde's apply_output_transform"
        )
    return lift


def _loss(model: Any) -> float:
    """The sum of the training losses as they are now."""
    state = model.train_state
    return float(np.sum(model._outputs_losses(True, state.X_train, state.y_train, state.train_aux_vars)[1]))
