"""Kernels of Stein methods on few points."""
