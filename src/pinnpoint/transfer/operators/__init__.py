"""Instances with a diffusion coefficient of their own: proved errors from a few steps towards a reference."""
