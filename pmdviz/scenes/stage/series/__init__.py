"""Scenes of a model of a series: its hidden path over time, and its parameters in their own units."""
