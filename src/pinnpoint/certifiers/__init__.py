"""One file per certificate. Each method is prepared once for a system and queries, then certifies many states."""
