"""Arithmetic that encloses: error-free transformations, verified norms and verified stability.

Nothing here knows of finite elements, queries or certificates. Everything is valid for IEEE binary64 with
rounding to nearest, any summation order, blocking, fused multiply-add or thread count, unless a kernel says
that it fixes the order itself.
"""
