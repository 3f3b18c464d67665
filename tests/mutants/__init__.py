"""Planted one-line faults, each of which must turn its tests red: lists MUTANTS in the files beside this one.

A fault is a dict: "file" (path from the checkout's root), "find" (a text that occurs there exactly once), "replace",
"tests" (a path or node id that pytest takes, or a list of them), and if wanted a "name".
`python -m tests.mutants.run [--only NAME]` tries them all.
"""
