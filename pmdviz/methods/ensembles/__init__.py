"""Ensembles: point estimates that know nothing of one another, together an approximation by their spread."""
