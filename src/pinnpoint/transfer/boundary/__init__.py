"""What the boundary leaves: Neumann and Robin facets, Dirichlet data that elements do not meet, periodic pairs."""
