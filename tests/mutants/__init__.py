"""Planted faults, one small change each, that must turn their tests red: lists FAULTS in the files beside this one.

One for each kernel, method and metric and for the promises whose loss would hurt most. `planting` says how a fault is
anchored; `python -m tests.mutants.run [NAME ...] [--every K]` tries them.
"""
