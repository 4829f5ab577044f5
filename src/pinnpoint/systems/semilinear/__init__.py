"""Semilinear systems: linear part and a reaction, cell by cell."""
