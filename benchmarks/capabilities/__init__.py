"""Everything that a user can do, tried from the outside: `python -m benchmarks.capabilities`."""
