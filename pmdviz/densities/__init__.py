"""Grids, kernel densities, mixtures of Gaussians, and rules of bandwidth."""
