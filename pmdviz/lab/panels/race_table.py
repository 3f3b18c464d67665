"""The table of a race: one row a method, sorted by whatever column a person chooses."""

from __future__ import annotations

from collections.abc import Sequence

import param
from panel.custom import JSComponent

from pmdviz.lab.css import static
from pmdviz.lab.panels.race_words import WHY_BELOW
from pmdviz.metrics import Metric
from pmdviz.views.race_traces import SLOTS

EXACT = "The dashed grey line: the score of draws of the exact posterior, drawn as the first method's particles are."
BEFORE = {  # key -> (title, what it says)
    "method": ("method", "The method, with the line that it has in the traces."),
    "visited": ("observations used", "Rows passed to the likelihood or its gradient; repeats count."),
    "evaluations": (
        "likelihood evaluations",
        "Likelihoods and gradients computed, each for one value of θ and one observation.",
    ),
}
AFTER = {
    "modes": (
        "mass in each mode",
        "The share of the approximation's mass in the basin of each mode of the exact posterior: 0.46 + 0.54 has found "
        "both, 0.00 + 1.00 only one.",
    ),
    "row": (
        "cost of an observation (evaluations)",
        "Likelihoods and gradients for each observation used: one for every particle or component.",
    ),
    "seconds": ("time (s)", "Computing time of the steps, in seconds."),
    "seeds": ("{} over seeds", "Mean ± standard deviation over several runs; press Bands."),
    "state": ("state", "Whether the method is running, or why it has finished."),
}


def columns(shown: Sequence[Metric]) -> list[list[str]]:
    """Key, title and words of each column, with these metrics in the middle."""
    middle = {slot: _measured(metric) for slot, metric in zip(SLOTS, shown, strict=False)}
    first = shown[0].title if shown else ""
    return [[key, title.format(first), words] for key, (title, words) in {**BEFORE, **middle, **AFTER}.items()]


def _measured(metric: Metric) -> tuple[str, str]:
    """Title and words of a metric's column."""
    about = metric.about[:1].upper() + metric.about[1:]
    return metric.label, f"{about}." if about else ""


class RaceTable(JSComponent):
    """Sorting is the browser's own affair.

    `rows` hold a value to sort by, a text, and perhaps a longer text for the pointer. `notes` are pairs of a term and
    its words that stand below the columns' own.
    """

    columns = param.List(default=[])
    rows = param.List(default=[])
    swatches = param.List(default=[])
    notes = param.List(default=[["independent draws", f"{EXACT} {WHY_BELOW}"]])

    _esm = static("make.js") + static("race_table.js")
    _stylesheets = [static("race_table.css")]
