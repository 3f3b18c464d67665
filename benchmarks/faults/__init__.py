"""Planted faults, one small change each, and which of them the tests catch (`python -m benchmarks.faults`)."""
