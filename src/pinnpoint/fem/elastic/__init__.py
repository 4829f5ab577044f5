"""Linear elasticity: bodies, loads, queries, lifts."""
