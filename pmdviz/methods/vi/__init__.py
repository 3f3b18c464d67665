"""Variational inference: Gaussians and mixtures of them."""
