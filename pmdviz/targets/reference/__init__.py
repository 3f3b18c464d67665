"""The exact posterior, where it is available."""
