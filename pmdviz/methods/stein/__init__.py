"""Particles moved by Stein's operator."""
