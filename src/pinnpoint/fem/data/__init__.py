"""What users give: coefficients, sources, boundary conditions, periodic pairs, pictures."""
