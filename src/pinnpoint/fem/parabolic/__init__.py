"""u_t − ∇·(κ∇u) + b·∇u + c u = f on a mesh and a time grid."""
