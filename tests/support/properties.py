"""Property tests whose examples are drawn alike in every run, and the numbers that they draw."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from pinnpoint.rounding.arithmetic import LIMIT

same = settings(derandomize=True, database=None, deadline=None, max_examples=100)
"""Decorates a property test: no random seed, nothing remembered from earlier runs, and no clock."""
numbers = st.floats(-LIMIT, LIMIT)
"""All floats that are not refused for their size, subnormal ones and −0 among them."""
sizes = st.floats(0.0, LIMIT)
