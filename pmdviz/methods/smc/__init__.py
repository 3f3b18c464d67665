"""Importance sampling and sequential Monte Carlo."""
