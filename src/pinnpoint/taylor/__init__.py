"""Rigorous integrals of data: Taylor models over simplices.

A model of a function is a polynomial and a bound of its distance from the function, truncation and rounding included.
Formulas are evaluated on models, and models are integrated exactly.
"""
