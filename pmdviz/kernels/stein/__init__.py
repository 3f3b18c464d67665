"""Stein forces and discrepancies: of equal and of weighted particles, of leaders, of few points in many dimensions."""
