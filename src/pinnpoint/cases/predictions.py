"""The section of a case file that says where the prediction comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.cases.specs import PredictionSpec
from pinnpoint.cases.tables import SPACE, Table, components
from pinnpoint.formulas.expressions import Expression, parse
from pinnpoint.io.fields import SUFFIXES as FIELD_SUFFIXES
from pinnpoint.models.networks.mlp import ACTIVATIONS
from pinnpoint.models.runtimes.files import CODE_SUFFIXES

SOURCES = ("file", "expression", "onnx", "torch", "model", "zero")


def read_prediction(table: Table, variables: tuple[str, ...] = SPACE) -> PredictionSpec:
    """Exactly one source, with the keys that belong to it."""
    given = [s for s in SOURCES if table.has(s)]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        for source in SOURCES:
            table.take(source, None)
        for key in ("field", "factory"):
            table.take(key, None)
        table.done()
        raise InputError(f"prediction: give exactly one of {', '.join(SOURCES)}; got {found}")
    source = given[0]
    table.known.extend(s for s in SOURCES if s != source)
    if source != "file":
        table.refuse(["field"], "only with prediction.file; remove it")
    if source != "torch":
        table.refuse(["factory", "activation"], "only with prediction.torch; remove it")
    if source not in ("onnx", "torch"):
        table.refuse(["factor"], "only with a network; remove it")
    if source != "onnx":
        table.refuse(["input", "output"], "only with prediction.onnx; remove it")
    values: dict[str, Any] = {}
    if source == "file":
        values = {"file": table.path("file", FIELD_SUFFIXES), "field": table.text("field", None)}
    elif source == "expression":
        values["expression"] = components(table.key("expression"), table.take("expression"), variables=variables)
    elif source == "onnx":
        values = {"onnx": table.path("onnx", (".onnx",)), "factor": _factor(table, variables)}
        values |= {"input": table.text("input", None), "output": table.text("output", None)}
    elif source == "model":
        values["model"] = table.path("model", CODE_SUFFIXES)
    elif source == "torch":
        _require_no_pickle(table)
        values = {"torch": table.path("torch", (".safetensors",)), "factor": _factor(table, variables)}
        if table.has("activation"):
            table.refuse(["factory"], "give prediction.activation or prediction.factory, not both")
            values["activation"] = table.choice("activation", tuple(ACTIVATIONS), None)
        else:
            values["factory"] = _factory(table)
    elif not table.flag("zero", True):
        raise InputError("prediction.zero: must be true; name another source instead")
    table.known.extend(("field", "factory", "activation", "factor", "input", "output"))
    table.done()
    return PredictionSpec(source, **values)


def _require_no_pickle(table: Table) -> None:
    given = str(table.text("torch"))
    if Path(given).suffix.lower() in (".pt", ".pth", ".ckpt"):
        raise InputError(
            f"{table.key('torch')}: '{given}' is a pickle, which can run code when it is opened; write its state_dict "
            "with safetensors.torch.save_file(state, 'weights.safetensors') and name that file"
        )


def _factor(table: Table, variables: tuple[str, ...]) -> Expression | None:
    """What a network's output is multiplied with."""
    if not table.has("factor"):
        return None
    return parse(str(table.text("factor")), variables, name=table.key("factor"))


def _factory(table: Table) -> str:
    text = str(table.text("factory"))
    module, colon, name = text.partition(":")
    if not colon or not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise InputError(f"{table.key('factory')}: must read 'package.module:function'; got '{text[:60]}'")
    return text
