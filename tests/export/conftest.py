from importlib.util import find_spec

import pytest

import pmdviz
from pmdviz.export import WRITERS

LAST = 12  # iterations
# Suffixes of the files that can be written with what is installed: MP4 and Parquet need extras of their own.
KINDS = [suffix for suffix, writer in WRITERS.items() if all(find_spec(module) for module, _ in writer.needs)]


@pytest.fixture(scope="session")
def run():
    """A short run with rejuvenations and a knob turned on the way."""
    recipe = pmdviz.Recipe("mixture", num_particles=150, budget=100 * LAST, changes=[(5, {"bandwidth": 1.2})])
    made = pmdviz.run(recipe)
    assert made.final.iteration == LAST and made.final.rejuvenations > 0
    return made
