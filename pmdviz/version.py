"""The version, at the lowest level: recipes record it, the build reads it."""

__version__ = "0.1.0"
