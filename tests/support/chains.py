"""Help for the tests of chains: a run, its draws, and where they are."""

import numpy as np


def all_draws(session):
    """Every draw (n, d), without the start."""
    state = session.frame.state
    return np.concatenate([state.older, state.newer])[1:]
