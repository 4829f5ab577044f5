"""Coercivity of assembled elements, verified at linear cost."""
