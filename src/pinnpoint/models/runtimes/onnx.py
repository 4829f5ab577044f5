"""ONNX models of any structure, by onnxruntime."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.models.runtimes.predictor import CHUNK, Predictor

TYPES: dict[str, Any] = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}


def onnx_predictor(
    path: str | os.PathLike[str], *, input: str | None = None, output: str | None = None, chunk: int = CHUNK
) -> Predictor:
    """A model with a float input (N, d) and a float output (N,) or (N, c), on the CPU.

    `input` and `output` are names in the file; they may be left out where there is one of each. A fixed number of rows
    is met by padding. `load_network` reads plain networks exactly instead, which the neural lift needs.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise DependencyMissingError("onnx_predictor needs onnxruntime: pip install 'pinnpoint[onnx]'") from error
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{path}: cannot be read; no such file")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors share no base class
        raise InputError(f"{file.name}: onnxruntime does not read it: {str(error).splitlines()[0]}") from error
    if len(session.get_inputs()) != 1:
        names = ", ".join(i.name for i in session.get_inputs())
        raise InputError(f"{file.name}: must have one input, the points; got {names}")
    source = _chosen(file, "input", input, session.get_inputs())
    target = _chosen(file, "output", output, session.get_outputs())
    dtype = TYPES.get(source.type)
    if dtype is None:
        raise InputError(f"{file.name}: input '{source.name}' must be of {', '.join(TYPES)}; got {source.type}")
    rows = source.shape[0] if len(source.shape) and isinstance(source.shape[0], int) else None

    def evaluate(X: Vector) -> Vector:
        try:
            (found,) = session.run([target.name], {source.name: X.astype(dtype)})
        except Exception as error:
            raise InputError(f"{file.name}: does not accept points {X.shape}: {str(error).splitlines()[0]}") from error
        return floats("prediction", found)

    told = f"onnxruntime {onnxruntime.__version__}, {np.dtype(dtype).name}"
    return Predictor(evaluate, told, rows or chunk, pad=rows is not None, eps=float(np.finfo(np.dtype(dtype)).eps))


def _chosen(file: Path, kind: str, name: str | None, found: Any) -> Any:
    names = [each.name for each in found]
    if name is None and len(names) == 1:
        return found[0]
    if name not in names:
        wanted = "say which" if name is None else f"there is no '{name}'"
        raise InputError(f"{file.name}: {kind}: {wanted}; it has {', '.join(names)}")
    return found[names.index(name)]
