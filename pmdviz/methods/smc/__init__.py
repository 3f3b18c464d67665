"""Sequential Monte Carlo."""
