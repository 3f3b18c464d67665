"""What owns many sessions: races, sweeps, measurements of the theory."""
