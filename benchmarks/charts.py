"""The charts of `bench dimension` and `claims-logistic` as SVG, on a white ground."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def drawn(figure: Any, axes: Any, across: str, ticks: Sequence[float]) -> str:
    """The SVG of axes whose both scales are logarithmic, with the names of the lines beside them."""
    for one in np.atleast_1d(axes):
        one.set(xscale="log", yscale="log", xticks=ticks, xticklabels=[f"{x:g}" for x in ticks], xlabel=across)
        one.minorticks_off()
        one.grid(alpha=0.3)
    handles, names = np.atleast_1d(axes)[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", fontsize=9, frameon=False)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def _figure(panels: int, size: tuple[float, float]) -> tuple[Any, Any]:
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.hashsalt": "pmdviz", "svg.fonttype": "none", "font.size": 9})
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(panels, 1)


def dimension_chart(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """Error of the mean against d, a line for each method."""
    figure, axes = _figure(1, (8.4, 4.6))
    for k, (name, by_d) in enumerate(figures.items()):
        errors = [one["error_of_mean"][0] for one in by_d.values()]
        caveats = [at for at, one in enumerate(by_d.values()) if one["caveats"]]
        line = dict(color=f"C{k}", marker="o", markersize=4)
        axes.plot([int(d) for d in by_d], errors, markerfacecolor="white", label=name, **line)
        axes.plot([int([*by_d][at]) for at in caveats], [errors[at] for at in caveats], linestyle="", **line)
    axes.set(title="Filled: a run carried a caveat", ylabel="error of the mean, posterior sds: median")
    return drawn(figure, axes, "d", sorted({int(d) for by_d in figures.values() for d in by_d}))


def logistic_chart(
    arrays: Mapping[str, Any], problems: Mapping[str, str], titles: Mapping[str, str], passes: Sequence[float]
) -> str:
    """Log loss of held-out images against passes, a panel for each data set, bands over the runs."""
    shown = {name: words for name, words in problems.items() if name in arrays}
    figure, axes = _figure(len(shown), (8.4, 3.2 * len(shown)))
    for one, (name, words) in zip(np.atleast_1d(axes), shown.items(), strict=True):
        for k, (key, title) in enumerate(titles.items()):
            if key in arrays[name]:
                runs = arrays[name][key]["best"]["log_loss"].reshape(-1, len(passes))
                one.plot(passes, np.median(runs, axis=0), color=f"C{k}", label=title, linestyle="-:"[k > 9])
                one.fill_between(passes, runs.min(axis=0), runs.max(axis=0), color=f"C{k}", alpha=0.15)
        one.set(title=words, ylabel="log loss, nats: median and range")
    return drawn(figure, axes, "passes", passes)
