"""The table of a race: one row an entrant, sorted by whatever column a person chooses."""

from __future__ import annotations

import param
from panel.custom import JSComponent

from pmdviz.lab.css import static

COLUMNS = {  # key -> (title, what it says)
    "method": ("method", "the entrant, with its line in the traces"),
    "visited": ("data visited", "rows passed to the likelihood or its gradient"),
    "tv": ("TV", "total variation, 0 to 1"),
    "kl_forward": ("forward KL", "KL(exact, approximation) in nats"),
    "modes": ("modes", "mass of the approximation in the basin of each mode of the exact posterior"),
    "gradients": ("gradients", "gradient evaluations: pairs of θ and datum"),
    "densities": ("densities", "density evaluations: pairs of θ and datum"),
    "seconds": ("seconds", "computing time of the steps"),
    "seeds": ("TV over seeds", "mean ± standard deviation; press Bands"),
    "state": ("state", "whether it races, or why it ended"),
}


class RaceTable(JSComponent):
    """Sorting is the browser's own affair: `rows` hold pairs of a value to sort by and a text."""

    columns = param.List(default=[[key, *words] for key, words in COLUMNS.items()])
    rows = param.List(default=[])
    swatches = param.List(default=[])

    _esm = static("race_table.js")
    _stylesheets = [static("race_table.css")]
