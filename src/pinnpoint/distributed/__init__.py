"""One large system over many processes: partitioned meshes, PETSc solves, enclosures whose sums cover every order."""
