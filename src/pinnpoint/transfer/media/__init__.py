"""Coefficients that vary: what is proved of A, b and c, and points among them."""
