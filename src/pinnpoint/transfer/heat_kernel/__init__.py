"""Points and averages at a time as bounded functionals: the cut-off backward heat kernel, enclosed."""
