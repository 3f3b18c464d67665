import pytest

import pmdviz

LAST = 12  # iterations


@pytest.fixture(scope="session")
def run():
    """A short run with rejuvenations and a knob turned on the way."""
    recipe = pmdviz.Recipe("mixture", num_particles=150, budget=100 * LAST, changes=[(5, {"bandwidth": 1.2})])
    made = pmdviz.run(recipe)
    assert made.final.iteration == LAST and made.final.rejuvenations > 0
    return made
