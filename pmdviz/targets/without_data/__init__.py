"""Targets without data: densities that can be evaluated, and a Gaussian q0 that a run starts from."""
