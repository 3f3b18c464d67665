"""How often a race measures, and how many components a case of `aggregation` is reckoned with."""

import pmdviz
from pmdviz.experiments.aggregation.experiment import Aggregation


def test_a_race_measures_about_as_often_as_it_is_asked_to():
    made = pmdviz.race(["pmd:num_particles=60"], "gaussian", budget=4_000, points=4)
    (history,) = made.histories.values()
    assert history["iteration"][-1] > 12 and len(history["iteration"]) <= 10


def test_cases_that_choose_among_numbers_of_components_cost_more():
    experiment = Aggregation()
    case = experiment.cases(experiment.Knobs.checked({"model": "gmm"}))[0]
    known, chosen = (experiment.size(case | {"count": count, "components": 1}) for count in ("known", "bic"))
    assert known.seconds < chosen.seconds and known.megabytes < chosen.megabytes
