"""Simplicial meshes: facets, topology, quality, location, quadrature, standard domains, refinement."""
