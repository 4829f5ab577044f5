"""Scalar problems on curved domains, carried back to the straight mesh."""
