"""Predictions kept as they are: what they leave over, as problems of their own."""
