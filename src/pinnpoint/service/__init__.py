"""A small HTTP service for one prepared certifier (extra ``serve``)."""

from pinnpoint.service.app import Limits, make_app
from pinnpoint.service.engine import Engine, engine_of_case, engine_of_family
from pinnpoint.service.server import run_app

__all__ = ["Engine", "Limits", "engine_of_case", "engine_of_family", "make_app", "run_app"]
