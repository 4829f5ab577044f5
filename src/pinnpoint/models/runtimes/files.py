"""Models from files: weights with a factory, ONNX, and, where the caller trusts them, files that run code."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.models.networks.safetensors import read_state
from pinnpoint.models.runtimes.predictor import Predictor
from pinnpoint.models.runtimes.sklearn import sklearn_predictor
from pinnpoint.models.runtimes.torch import torch_predictor

CODE_SUFFIXES = (".pt2", ".pt", ".pth", ".pkl", ".pickle", ".joblib")
"""Files that can run code of their author's when they are opened."""


def from_factory(path: str | os.PathLike[str], factory: str, extra: Sequence[Path] = ()) -> Predictor:
    """The module that ``package.module:build`` makes, with the weights of a safetensors file.

    The factory must be importable, installed or on PYTHONPATH, or lie in one of the folders `extra`, and be a function
    or class that is called without arguments. The module takes the number format of the file.
    """
    try:
        import torch
    except ImportError as error:
        raise DependencyMissingError("prediction.torch needs torch: pip install 'pinnpoint[torch]'") from error
    build = _imported(factory, extra)
    try:
        module = build()
    except (Exception, SystemExit) as error:
        raise _failed(factory, error) from error
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"factory: '{factory}' must make a torch module; it made {type(module).__name__}")
    state = read_state(path)
    kinds = {a.dtype for a in state.values() if a.dtype.kind == "f"}
    if len(kinds) == 1:
        module = module.to(getattr(torch, kinds.pop().name))
    own = module.state_dict()
    wrong = sorted(set(own) ^ set(state)) or [k for k, t in own.items() if tuple(t.shape) != state[k].shape]
    if wrong:
        have = "holds another shape of" if wrong[0] in own and wrong[0] in state else "and the module differ in"
        raise InputError(f"{Path(path).name}: {have} {', '.join(wrong[:5])}; is it the factory's file?")
    if any(t.is_meta for t in own.values()):
        raise InputError(
            f"factory: '{factory}' makes a module on the meta device, which holds no values; make it on cpu"
        )
    module.load_state_dict({name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in state.items()})
    return torch_predictor(module)


def _failed(factory: str, error: BaseException) -> InputError:
    said = next(iter(str(error).splitlines()), "")[:160]
    return InputError(
        f"factory: '{factory}' raised {type(error).__name__} ({said}); it must make the module when it is called "
        "without arguments"
    )


def from_trusted(path: str | os.PathLike[str]) -> Predictor:
    """A model in a file that may run code when opened: .pt2, pickled torch modules and scikit-learn estimators."""
    file = Path(path)
    ending = file.suffix.lower()
    if ending not in CODE_SUFFIXES:
        raise InputError(f"{file.name}: must end in one of {', '.join(CODE_SUFFIXES)}")
    try:
        if ending in (".pt2", ".pt", ".pth"):
            import torch

            if ending == ".pt2":
                return torch_predictor(torch.export.load(file).module())
            opened = torch.load(file, weights_only=False, map_location="cpu")
            if isinstance(opened, Mapping):
                raise InputError(
                    f"{file.name}: holds a state_dict, weights without a forward; write it with "
                    "safetensors.torch.save_file(state, 'weights.safetensors') and say torch = 'weights.safetensors' "
                    "with activation = 'tanh' or factory = 'package.module:build'"
                )
            return torch_predictor(opened)
        import joblib
    except InputError:
        raise
    except ImportError as error:
        raise DependencyMissingError(f"{file.name} needs {error.name}, which is not installed") from error
    except Exception as error:
        raise InputError(f"{file.name}: cannot be opened: {error}") from error
    try:
        return sklearn_predictor(joblib.load(file))
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{file.name}: cannot be opened: {error}") from error


def _imported(factory: str, extra: Sequence[Path]) -> Any:
    module, _, name = factory.partition(":")
    if module.partition(".")[0] in sys.stdlib_module_names:
        raise InputError(f"factory: '{factory}' is in Python's own library; name a function of yours")
    before = list(sys.path)
    sys.path[:] = [str(folder) for folder in extra] + _importable(before)
    try:
        opened = importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"factory: '{module}' cannot be imported ({error}); install it or set PYTHONPATH; modules beside "
            "the case are found with --trust-model only"
        ) from error
    except (Exception, SystemExit) as error:
        raise _failed(factory, error) from error
    finally:
        sys.path[:] = before
    if not hasattr(opened, name):
        close = get_close_matches(name, dir(opened), 1)
        hint = f"; did you mean '{module}:{close[0]}'?" if close else ""
        raise InputError(f"factory: '{factory}' must be a function or a class; '{module}' has no '{name}'{hint}")
    found = getattr(opened, name)
    if not (inspect.isfunction(found) or inspect.isclass(found)):
        raise InputError(f"factory: '{factory}' must be a function or a class; found {type(found).__name__}")
    return found


def _importable(path: Sequence[str]) -> list[str]:
    """Where installed modules are and PYTHONPATH points to: not the folder one stands in, which `python -m` adds."""
    asked_for = {os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p}
    here = os.getcwd()
    return [p for p in path if os.path.abspath(p) != here or here in asked_for]
