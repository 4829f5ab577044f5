"""From the discrete target to the PDE's own solution."""
