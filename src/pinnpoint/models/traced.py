"""The chain of layers that a torch module's forward calls, or a refusal that names what is none."""

from __future__ import annotations

import copy
import operator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn import functional
from torch.nn.modules import module as internals
from torch.nn.utils import parametrize

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.models.networks.layers import tensor_values
from pinnpoint.models.runtimes.torch import torch_predictor

nn = torch.nn
BENDS = {nn.Tanh: "tanh", nn.Sigmoid: "sigmoid", nn.SiLU: "silu", nn.Softplus: "softplus", nn.GELU: "gelu"}
IDENTITIES = (nn.Identity, nn.Dropout)
LEAVES = (nn.Linear, *BENDS, *IDENTITIES)
FUNCTIONS: dict[Any, str] = {
    torch.tanh: "tanh",
    functional.tanh: "tanh",
    torch.sin: "sin",
    torch.sigmoid: "sigmoid",
    functional.sigmoid: "sigmoid",
    functional.silu: "silu",
    functional.softplus: "softplus",
    functional.gelu: "gelu",
    **{name: name for name in ("tanh", "sin", "sigmoid")},
}
"""Of functions and, by their names, of methods of a tensor."""
REMEDY = (
    "certify it as it answers with torch_predictor(module), or lift its inner chain with "
    "Lift(from_torch(chain), factor=…, offset=…, inputs=…)"
)


@dataclass
class Chain:
    """Weights and biases in the order of calls, the activation between them, and the module itself as a predictor."""

    own: Any
    double: Any
    dtype: str
    weights: list[Vector] = field(default_factory=list)
    biases: list[Vector] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    bends: list[str] = field(default_factory=list)
    ended: bool = False
    """Whether the one output was squeezed, after which nothing follows."""

    @property
    def activation(self) -> str | None:
        """The one activation, None where there is none."""
        return self.bends[0] if self.bends else None

    def layer(self, name: str, weight: Any, bias: Any) -> None:
        """Take a linear layer."""
        if len(self.weights) != len(self.bends):
            raise refused(f"{name} follows a layer without an activation between them")
        self.weights.append(tensor_values(f"{name}.weight", weight))
        self.biases.append(tensor_values(f"{name}.bias", bias) if bias is not None else 0.0 * self.weights[-1][:, 0])
        self.names.append(name)

    def bend(self, name: str) -> None:
        """Take an activation."""
        if len(self.weights) != len(self.bends) + 1:
            raise refused(f"{name} does not follow a linear layer")
        self.bends.append(name)


def refused(why: str) -> InputError:
    """What to say of a module that is no chain."""
    return InputError(f"module: {why}; Linear, activation, …, Linear is read exactly: {REMEDY}")


def traced(module: Any) -> Chain:
    """What the forward of a module does, in evaluation mode."""
    for name, part in module.named_modules():
        _require_plain(name or "the module", part)
    if internals._global_forward_hooks or internals._global_forward_pre_hooks:
        raise refused("global forward hooks are registered, which change what it computes; remove them")
    own = next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float64)
    try:
        double = copy.deepcopy(module).cpu().double().eval()
        graph = _Tracer().trace(double)
    except InputError:
        raise
    except Exception as error:  # whatever a forward does with a tensor that has no values
        raise refused(f"its forward cannot be traced ({str(error).splitlines()[0][:120]})") from error
    chain = Chain(torch_predictor(module), torch_predictor(double), str(own).removeprefix("torch."))
    _walk(graph, double, chain)
    if not chain.weights or len(chain.bends) != len(chain.weights) - 1:
        raise refused("it does not end in a linear layer")
    if len(set(chain.bends)) > 1:
        raise InputError(f"module: one activation throughout is read; got {', '.join(sorted(set(chain.bends)))}")
    return chain


class _Tracer(torch.fx.Tracer):  # type: ignore[misc]
    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Exactly the layers that are known: the forward of everything else is traced."""
        return type(m) in LEAVES


def _require_plain(name: str, m: Any) -> None:
    """Refuse what changes a module's output without standing in its class's forward."""
    if isinstance(m, torch.jit.ScriptModule):
        raise refused(f"{name} is a ScriptModule; give the module it was made from")
    if type(m).__module__.startswith("torch._dynamo") or m.__dict__.get("_compiled_call_impl") is not None:
        raise refused(f"{name} is compiled; give the module it was made from")
    if parametrize.is_parametrized(m):
        raise refused(f"{name} has parametrizations; torch.nn.utils.parametrize.remove_parametrizations makes it plain")
    for hook in (*m._forward_pre_hooks.values(), *m._forward_hooks.values()):
        kind = getattr(hook, "__name__", type(hook).__name__)
        raise refused(f"{name} has the forward hook {kind}, which can change what it computes; remove it")
    replaced = {"forward", "__call__", "_call_impl", "_wrapped_call_impl"} & m.__dict__.keys()
    calls = all(getattr(type(m), k) is getattr(nn.Module, k) for k in ("__call__", "_call_impl", "_wrapped_call_impl"))
    if replaced or not calls:
        raise refused(f"{name} is called by something else than its class's forward")
    if any(isinstance(p, nn.parameter.UninitializedTensorMixin) for p in m.parameters(recurse=False)):
        raise refused(f"{name} has no weights yet; call the module once")
    if type(m) is nn.Dropout and m.training and m.p > 0.0:
        raise refused(f"{name} is in training mode, where dropout is random; call module.eval()")


def _walk(graph: Any, root: Any, chain: Chain) -> None:
    """Follow the one value from the input to the output; every call must take it and give the next."""
    at: Any = None
    ended = False
    for node in graph.nodes:
        if node.op == "placeholder":
            if at is not None:
                raise refused("its forward takes more than one tensor")
            at = node
        elif node.op == "get_attr":
            continue
        elif node.op == "output":
            ended = node.args[0] is at
        else:
            name = str(node.target if isinstance(node.target, str) else getattr(node.target, "__name__", node.target))
            if not node.args or node.args[0] is not at or chain.ended:
                raise refused(f"{name} in its forward does not continue one chain")
            _call(node, name, root, chain)
            at = node
    if not ended:
        raise refused("its forward returns something else than the end of one chain")


def _call(node: Any, name: str, root: Any, chain: Chain) -> None:
    """One call of a layer, an activation, or a last squeeze of a single output."""
    rest, options = list(node.args[1:]), dict(node.kwargs)
    if node.op == "call_module":
        _layer(name, root.get_submodule(node.target), chain)
        if rest or options:
            raise refused(f"{name} in its forward is called with more than one value")
    elif node.target is functional.linear:
        given = dict(zip(("weight", "bias"), rest, strict=False)) | options
        bias = given.get("bias")
        chain.layer(name, _stored(given["weight"], root, name), None if bias is None else _stored(bias, root, name))
    elif node.target in FUNCTIONS:
        chain.bend(_function(FUNCTIONS[node.target], rest, options))
    elif _squeezes(node, rest, options) and chain.weights and len(chain.weights[-1]) == 1:
        chain.ended = True
    else:
        raise refused(f"{name} in its forward is not read")


def _layer(name: str, m: Any, chain: Chain) -> None:
    if type(m) is nn.Linear:
        chain.layer(name, m.weight, m.bias)
    elif type(m) in BENDS:
        options: dict[str, Any] = {}
        if type(m) is nn.Softplus:
            options = {"beta": m.beta, "threshold": m.threshold}
        elif type(m) is nn.GELU:
            options = {"approximate": m.approximate}
        chain.bend(_function(BENDS[type(m)], [], options))


def _function(name: str, rest: list[Any], options: dict[str, Any]) -> str:
    """The name of an activation with its options, or a refusal."""
    if name == "softplus":
        beta, threshold = (options.pop(k, rest[i] if i < len(rest) else v) for i, (k, v) in enumerate(SOFTPLUS))
        if float(beta) != 1.0 or float(threshold) < 20.0:
            raise refused(f"Softplus must have beta = 1 and threshold ≥ 20; got {beta} and {threshold}")
        rest = rest[2:]
    elif name == "gelu":
        how = options.pop("approximate", "none")
        if how not in ("none", "tanh"):
            raise refused(f"GELU must have approximate = 'none' or 'tanh'; got {how!r}")
        name = "gelu-tanh" if how == "tanh" else "gelu"
    elif name == "silu":
        options.pop("inplace", None)
    if rest or options:
        raise refused(f"{name} in its forward has options that are not read")
    return name


SOFTPLUS = (("beta", 1.0), ("threshold", 20.0))


def _stored(node: Any, root: Any, name: str) -> Any:
    if getattr(node, "op", None) != "get_attr":
        raise refused(f"{name} in its forward has weights that are computed")
    return operator.attrgetter(node.target)(root)


def _squeezes(node: Any, rest: list[Any], options: dict[str, Any]) -> bool:
    """Whether a call makes (N,) of (N, 1)."""
    return node.target in (torch.squeeze, "squeeze") and [*rest, *options.values()] in ([-1], [1])
