"""Importance sampling: from the prior, and from a proposal that adapts to the posterior."""
