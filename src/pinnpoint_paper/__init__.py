"""The paper's experiments: computed anew, checked claim by claim, drawn, and set beside the paper's own numbers."""

from pinnpoint_paper.registry import STUDIES, find
from pinnpoint_paper.runner import Outcome, run
from pinnpoint_paper.study import Check, Row, Study

__all__ = ["STUDIES", "Check", "Outcome", "Row", "Study", "find", "run"]
