"""Networks from files, by their ending."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pinnpoint.base.errors import InputError
from pinnpoint.models.networks.layers import from_tensors
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.models.networks.onnx import read_onnx
from pinnpoint.models.networks.safetensors import read_safetensors

PICKLES = dict.fromkeys(
    (".pt", ".pth", ".ckpt"),
    ", a pickle, which can run code when it is opened: write the state_dict with "
    "safetensors.torch.save_file(state, 'weights.safetensors'), or give the module to from_torch",
)


def load_network(
    path: str | os.PathLike[str],
    activation: str | None = None,
    factor: str | None = None,
    layers: Sequence[str] | None = None,
) -> MLP:
    """Read a network; nothing in the file is executed.

    Parameters
    ----------
    path
        ``.npz`` as `MLP.save` writes it; ``.safetensors`` with layers ``name.weight``, ``name.bias``; ``.onnx`` with a
        chain of linear layers and one activation.
    activation
        Needed for ``.safetensors``, which does not hold it; the others do.
    factor
        As in `MLP`; ``.npz`` holds it.
    layers
        Names of the layers of a ``.safetensors`` file, first layer first, where their numbers do not say it.
    """
    ending = Path(path).suffix.lower()
    if ending == ".safetensors":
        if activation is None:
            raise InputError(f"activation: say which, e.g. activation='tanh'; {Path(path).name} does not hold it")
        return from_tensors(read_safetensors(path), activation, factor or "none", layers)
    if ending not in (".npz", ".onnx"):
        raise InputError(f"path: must end in .npz, .safetensors or .onnx; got {str(path)!r}{PICKLES.get(ending, '')}")
    if layers is not None:
        raise InputError(f"layers: {Path(path).name} holds their order; leave it out")
    net = MLP.load(path) if ending == ".npz" else read_onnx(path, factor or "none")
    if activation not in (None, net.activation) or (factor or net.factor) != net.factor:
        raise InputError(f"activation, factor: {Path(path).name} has {net.activation} and {net.factor}; leave them out")
    return net
