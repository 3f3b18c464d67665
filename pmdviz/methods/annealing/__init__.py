"""Annealed importance sampling: from prior to posterior on a ladder of temperatures, with weights that stay exact."""
