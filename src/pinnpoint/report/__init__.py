"""The report: numbers first, then one HTML file that needs nothing else."""

from __future__ import annotations

from pinnpoint.report.family import write_family
from pinnpoint.report.page import render, write_report
from pinnpoint.report.view import Scene, View

__all__ = ["Scene", "View", "render", "write_family", "write_report"]
