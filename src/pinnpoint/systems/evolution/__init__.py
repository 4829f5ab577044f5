"""Time stepping as algebra: grids in time, forward and backward sweeps, and the block system that they solve."""
