"""Many runs of one recipe in parallel: what is varied, how the error is measured, and a table that grows row by row."""

from pmdviz.sweeping.fits import Fit, fitted
from pmdviz.sweeping.measures import ERRORS
from pmdviz.sweeping.plan import Job, planned
from pmdviz.sweeping.result import Sweep
from pmdviz.sweeping.work import run_sweep

__all__ = ["ERRORS", "Fit", "Job", "Sweep", "fitted", "planned", "run_sweep"]
