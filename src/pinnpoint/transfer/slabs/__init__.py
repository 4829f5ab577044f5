"""Problems in time by slabs: fluxes of every mode in time, and the product bound that they give."""
