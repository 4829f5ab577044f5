"""Predictions watched one by one: decisions, statistical bands."""
