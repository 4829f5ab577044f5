"""Intervals: points in one dimension by residuals."""
