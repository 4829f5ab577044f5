"""Linear solvers. None is trusted: whatever it returns, the defect is recomputed with proved error bounds."""
