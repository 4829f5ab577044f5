"""Linear elasticity: proved intervals of the continuous solution."""
