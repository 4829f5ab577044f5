"""The service's own description, exact for the certifier that it holds."""

from __future__ import annotations

from typing import Any

from pinnpoint.base.version import __version__
from pinnpoint.service.body import ENDS, LARGEST
from pinnpoint.service.engine import Engine

ERROR = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
FAILURES = {
    "400": "not JSON",
    "408": "the body took too long",
    "413": "too large",
    "415": "not application/json",
    "422": "JSON that does not fit; the message says where",
    "429": "overloaded; try again",
    "500": "internal error",
    "503": "shutting down",
}
COLUMNS = ("value", "value_radius", "raw", "raw_radius", "center", "radius", "lower", "upper")


def describe(engine: Engine, most: int) -> dict[str, Any]:
    """OpenAPI 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {"title": f"pinnpoint: {engine.title or 'certified intervals'}", "version": __version__},
        "paths": {
            "/v1/certify": {
                "post": {
                    "operationId": "certify",
                    "summary": "Intervals that hold the true values behind predictions",
                    "requestBody": {"required": True, "content": _json(_body(engine, most))},
                    "responses": {
                        "200": {"description": "one answer per item", "content": _json(_answer())},
                        **{code: {"description": why, "content": _json(ERROR)} for code, why in FAILURES.items()},
                    },
                }
            },
            "/v1/queries": _get("queries", "What is asked, and of what", _json({"type": "object"})),
            "/healthz": _get("health", "Whether the service is ready", _json({"type": "object"})),
            "/metrics": _get("metrics", "Counters for Prometheus", {"text/plain": {"schema": {"type": "string"}}}),
            "/openapi.json": _get("describe", "This description", _json({"type": "object"})),
        },
    }


def _body(engine: Engine, most: int) -> dict[str, Any]:
    """A request: its items, each with as many numbers as the certifier takes."""
    number = {"type": "number", "minimum": -LARGEST, "maximum": LARGEST}

    def numbers(count: int, about: str) -> dict[str, Any]:
        return {"type": "array", "items": number, "minItems": count, "maxItems": count, "description": about}

    item: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "label": {"type": ["string", "null"], "maxLength": 200},
            "raw": numbers(len(engine.names), "the model's outputs, one per query"),
            "values": numbers(engine.values, "the model's nodal values"),
        },
        "anyOf": [{"required": ["raw"]}, {"required": ["values"]}],
    }
    if engine.loads:
        item["properties"]["mu"] = numbers(engine.loads, "coefficients of the loads")
        item["required"] = ["mu"]
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["items"],
        "properties": {"items": {"type": "array", "items": item, "minItems": 1, "maxItems": most}},
    }


def _answer() -> dict[str, Any]:
    """What `body.answered` makes of each item."""
    answers = {"accept": ["within", "beyond", "undecided"], "limit": ["holds", "violated", "undecided"]}
    words = {asked: {"enum": each} for asked, each in answers.items()}
    verdicts = {"type": "object", "additionalProperties": False, "properties": words}
    numbers = {column: {"type": ["number", "null"]} for column in COLUMNS}
    row = {
        "type": "object",
        "required": ["name", *COLUMNS, "verdicts"],
        "properties": {"name": {"type": "string"}, **numbers, "verdicts": verdicts},
    }
    ends = {column: {"type": ["number", "null"]} for column in ENDS}
    part = {"name": {"type": "string"}, **ends, "verdicts": verdicts}
    derived = {"type": "array", "items": {"type": "object", "required": [*part], "properties": part}}
    item = {
        "label": {"type": ["string", "null"]},
        "certificate": {"type": "string", "description": "the certificate's id, a SHA-256"},
        "action": {"type": ["string", "null"], "enum": ["accept", "flag", None]},
        "target": {"type": "string"},
        "guarantee": {"enum": ["deterministic", "probabilistic", "estimate"]},
        "confidence": {"type": "number"},
        "rounding": {"type": "string"},
        "queries": {"type": "array", "items": row},
    }
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "items": {
                "type": "array",
                "items": {"type": "object", "required": [*item], "properties": {**item, "derived": derived}},
            }
        },
    }


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _get(name: str, told: str, content: dict[str, Any]) -> dict[str, Any]:
    return {
        "get": {"operationId": name, "summary": told, "responses": {"200": {"description": told, "content": content}}}
    }
