"""Compiled inner loops: plain float64 arrays in, plain arrays out; they know nothing of methods, targets or views."""
