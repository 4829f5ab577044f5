"""Predictions as they are handed in: what is a model becomes a callable, what is none is answered with what helps."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import parse
from pinnpoint.models.networks.torch import is_module, is_tensor
from pinnpoint.models.runtimes.torch import torch_predictor

Prediction = ArrayLike | Callable[[Vector], ArrayLike] | object
"""Nodal values, a function of points or a model that is one, a formula as text, or values at points of their own."""
FILES = {
    ".pt": "a pickle, which can run code when it is opened. Build the module, load the file into it with "
    "torch.load(path, weights_only=True), and give the module",
    ".safetensors": "a file of weights; read it with pinnpoint.models.load_network(path, activation='tanh')",
    ".onnx": "a model; read it with pinnpoint.models.load_network(path) or onnx_predictor(path)",
    ".npz": "a file; read it with pinnpoint.models.load_network(path), or numpy.load(path) for nodal values",
    ".npy": "a file; give numpy.load(path)",
}
"""What to do with files by their endings."""
FILES |= {".pth": FILES[".pt"], ".ckpt": FILES[".pt"]}
STATE = (
    "a state_dict, weights without a forward; load it into its module and give that, or say "
    "pinnpoint.models.from_torch(state, activation='tanh') for a plain chain of layers"
)


def as_prediction(given: Any) -> Any:
    """Torch modules as callables on points, text as a formula; all else as it is."""
    if is_module(given):
        return torch_predictor(given)
    if isinstance(given, Mapping):
        raise InputError(f"prediction: this is {_table(given)}")
    if isinstance(given, str | os.PathLike):
        require_no_file(given)
        return parse(given, name="prediction")
    if not callable(given) and callable(getattr(given, "predict", None)):
        raise InputError(
            f"prediction: {type(given).__name__} is no function of points, but has predict; wrap it as "
            "pinnpoint.models.sklearn_predictor(estimator) or pinnpoint.models.deepxde_predictor(model)"
        )
    return given


def _table(given: Mapping[Any, Any]) -> str:
    """What a table may be, and what to give instead."""
    if not given:
        return "an empty table"
    if all(str(key).endswith(("weight", "bias")) or is_tensor(value) for key, value in given.items()):
        return STATE
    return f"a table; give what it holds, prediction[{next(iter(given))!r}], or a function of points"


def require_no_file(given: Any) -> None:
    """Refuse the name of a file where a prediction is wanted, and say how such a file is read."""
    ending = Path(given).suffix.lower()
    if ending in FILES or isinstance(given, os.PathLike):
        raise InputError(f"prediction: '{Path(given).name}' is {FILES.get(ending, 'a path; read the file first')}")
