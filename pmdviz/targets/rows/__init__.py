"""Rows of data for targets, to learn from and held out: of packages, of files, or simulated."""
