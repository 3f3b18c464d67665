"""Spins of -1 and +1: sums over the states of columns of a lattice, and Gibbs chains of a Boltzmann machine."""
