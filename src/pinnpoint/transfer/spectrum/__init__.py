"""Reactions below zero: where they lie among the eigenvalues."""
