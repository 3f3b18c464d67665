"""The table of a race: one row an entrant, sorted by whatever column a person chooses."""

from __future__ import annotations

from collections.abc import Sequence

import param
from panel.custom import JSComponent

from pmdviz.lab.css import static
from pmdviz.metrics import Metric
from pmdviz.views.race_traces import SLOTS

BEFORE = {  # key -> (title, what it says)
    "method": ("method", "the entrant, with its line in the traces"),
    "visited": ("data visited", "rows passed to the likelihood or its gradient"),
}
AFTER = {
    "modes": ("modes", "mass of the approximation in the basin of each mode of the exact posterior"),
    "evaluations": ("evaluations", "likelihoods and gradients: pairs of θ and datum"),
    "row": ("a row costs", "likelihoods and gradients of one θ for each row visited"),
    "seconds": ("seconds", "computing time of the steps"),
    "seeds": ("{} over seeds", "mean ± standard deviation; press Bands"),
    "state": ("state", "whether it races, or why it ended"),
}


def columns(shown: Sequence[Metric]) -> list[list[str]]:
    """Key, title and words of each column, with these metrics in the middle."""
    middle = {
        slot: (metric.title, ", ".join(filter(None, [metric.about, metric.unit])))
        for slot, metric in zip(SLOTS, shown, strict=False)
    }
    first = shown[0].title if shown else ""
    return [[key, title.format(first), words] for key, (title, words) in {**BEFORE, **middle, **AFTER}.items()]


class RaceTable(JSComponent):
    """Sorting is the browser's own affair: `rows` hold pairs of a value to sort by and a text."""

    columns = param.List(default=[])
    rows = param.List(default=[])
    swatches = param.List(default=[])

    _esm = static("race_table.js")
    _stylesheets = [static("race_table.css")]
