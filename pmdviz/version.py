"""The version, at the lowest level: recipes record it, the build reads it."""

__version__ = "0.2.0"
