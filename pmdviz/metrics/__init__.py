"""How far an approximation is from the posterior, and how much its weights are to be trusted."""
