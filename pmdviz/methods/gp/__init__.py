"""Gaussian processes: other ways to a posterior of functions, on the targets that have inducing inputs."""
