"""Planted faults: one small change each, and which of them the tests of a tier catch (`python -m benchmarks.faults`)."""
