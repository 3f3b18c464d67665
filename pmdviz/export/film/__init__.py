"""Frames of a run drawn with matplotlib."""
