"""log Z as a metric: the estimate, the truth beside it, and the difference; a method without an estimate has none."""

import numpy as np
import pytest

import pmdviz
from pmdviz.methods import METHODS
from pmdviz.metrics import METRICS
from pmdviz.targets import make_target

SMALL = {"num_data": 5, "dim": 1}


@pytest.mark.parametrize("method", ["importance", "smc_mcmc"])
def test_the_error_is_the_estimate_less_the_truth(method):
    run = pmdviz.run(target="gaussian", target_options=SMALL, method=method, seed=1, num_particles=4000, floor=False)
    final, truth = run.final, run.target.reference().log_z
    assert final.metrics["log_z"] == final.method.log_z(final.state, final.knobs, run.target)
    assert final.metrics["log_z_error"] == final.metrics["log_z"] - truth
    assert final.metrics["log_z_exact"] == truth and abs(final.metrics["log_z_error"]) < 0.1
    assert run.frames[0].metrics["log_z"] is None and run.frames[0].metrics["log_z_error"] is None
    assert np.isnan(run.history["log_z"][0]) and run.history["log_z"][-1] == final.metrics["log_z"]


def test_without_an_estimate_or_a_truth_there_is_no_metric():
    gaussian, logistic = make_target("gaussian"), make_target("logistic")
    assert not METRICS["log_z"].applies(gaussian, METHODS["pmd"])
    assert METRICS["log_z"].applies(logistic, METHODS["importance"])
    assert not METRICS["log_z_error"].applies(logistic, METHODS["importance"])


def test_no_method_tells_a_number_that_has_the_name_of_a_metric():
    assert not {scalar.name for method in METHODS.values() for scalar in method.scalars} & set(METRICS)
