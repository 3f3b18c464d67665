"""Compiled inner loops: plain float64 arrays in, plain arrays out; they do not depend on methods, targets or views."""
