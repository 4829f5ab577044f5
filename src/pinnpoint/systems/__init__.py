"""Discrete problems as algebra: admissible spaces, linear and nonlinear systems, queries."""
