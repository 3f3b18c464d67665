"""Nets whose weights are real: the target, the rows that they learn from, and weights with unknown variances."""
