"""Methods for nonlinear systems: verified roots and stationary points."""
