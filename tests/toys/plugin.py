"""Imports the toys: `pytest -p tests.toys.plugin` has the tables with them from the start."""

import tests.toys.experiment
import tests.toys.method
import tests.toys.metric
import tests.toys.scene
import tests.toys.target  # noqa: F401
