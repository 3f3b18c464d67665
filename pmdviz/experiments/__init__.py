"""Many sessions together: races, sweeps, measurements of the theory."""
