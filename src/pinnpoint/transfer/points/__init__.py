"""Points and balls: kernels, mollifiers, and the integrals of data against them."""
