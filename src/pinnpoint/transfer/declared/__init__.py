"""Transfers that rest on the caller's word: comparison states, interpolation estimates, bounds from elsewhere."""
