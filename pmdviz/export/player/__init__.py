"""A run in one HTML file."""
