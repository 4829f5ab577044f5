"""The paper's experiments: computed anew, checked claim by claim, drawn, and set beside the paper's own numbers."""

from pinnpoint.reproduce.registry import STUDIES, find
from pinnpoint.reproduce.runner import Outcome, run
from pinnpoint.reproduce.study import Check, Row, Study

__all__ = ["STUDIES", "Check", "Outcome", "Row", "Study", "find", "run"]
