"""Many runs of one recipe in parallel: what is varied, how the error is measured, and a table that grows row by row."""

from pmdviz.experiments.sweep.job import Sweep, run_sweep
from pmdviz.experiments.sweep.measures import ERRORS
from pmdviz.experiments.sweep.plan import Fit, Job, fitted, planned

__all__ = ["ERRORS", "Fit", "Job", "Sweep", "fitted", "planned", "run_sweep"]
