"""Equilibrated fluxes, patch by patch."""
