"""What other seeds say of a run, in words."""

from __future__ import annotations

import html
from typing import NamedTuple

from pmdviz.engine.recipe import Recipe
from pmdviz.experiments.race.clock import spent_in
from pmdviz.experiments.seeds import SHARE, Judged, SeedRuns
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.metrics import METRICS
from pmdviz.scenes.trace_columns import GROUPS
from pmdviz.scenes.words import count, number

RANKED = {-1: "Better than most", 0: "Typical", 1: "Worse than most"}  # by `Judged.place`, where lower is better
PLACES = {-1: "Unusually low", 0: "Typical", 1: "Unusually high"}
MIDDLE = f"{SHARE:.0%}".replace("%", "\u00a0%")


class Verdict(NamedTuple):
    """A value of the run among those of the other seeds, with the trace's name in words."""

    found: Judged
    title: str
    ranks: bool  # whether lower is better

    @property
    def brief(self) -> str:
        """For the picture: "Typical: 7 of 16 other seeds are lower"."""
        found = self.found
        word = (RANKED if self.ranks else PLACES)[found.place]
        return f"{word}: {found.lower} of {found.others} other seeds {'is' if found.lower == 1 else 'are'} lower"

    @property
    def sentence(self) -> str:
        """The whole of it.

        A typical value lies in the middle 80 % of the other seeds.
        """
        found = self.found
        at = f"{self.title} is {number(found.value)} at iteration {count(found.iteration)}"
        return f"{self.brief}. {at}; the middle {MIDDLE} of them: {number(found.low)} to {number(found.high)}."


def verdict(runs: SeedRuns, snapshot: Snapshot, group: str) -> Verdict | None:
    """Where the run stands among the others by the first of these traces that it has; None for nothing to compare."""
    own, over = snapshot.measured.kept_columns(), snapshot.done and _as_far(runs, snapshot)
    for name, trace in GROUPS[group].metrics.items():
        found = runs.judge(own, name, over, snapshot.recipe.seed)
        if found is not None:
            return Verdict(found, trace.title, name in METRICS and METRICS[name].ranks)
    return None


def _as_far(runs: SeedRuns, snapshot: Snapshot) -> bool:
    """Whether the others were given as much as the run, which may have been continued since."""
    furthest = max(float(spent_in(run.history, snapshot.recipe.budget_unit)[-1]) for run in runs.whole)
    return bool(snapshot.ended) or furthest >= (snapshot.recipe.budget or 0)


def stopped_words(runs: SeedRuns) -> str:
    """Which seeds stopped on the way, and why the first one did; "" for none."""
    if not runs.stopped:
        return ""
    seeds = ", ".join(str(run.seed) for run in runs.stopped)
    name = "Seed" if len(runs.stopped) == 1 else "Seeds"
    return f"{name} {seeds} stopped and {'is' if len(runs.stopped) == 1 else 'are'} left out: {runs.stopped[0].stopped}"


def alike(one: Recipe, other: Recipe) -> bool:
    """Whether two recipes differ in nothing but seed and budget."""
    names = ("target", "target_options", "custom", "method", "knobs", "changes", "budget_unit")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def progress(seeds: int, share: float) -> tuple[str, str]:
    """HTML of how far the other seeds are, and words for the picture."""
    words = f"Running {seeds} other seeds"
    bar = f'<progress aria-label="other seeds" max="1" value="{share:.3f}"></progress>'
    return f'{bar} <span role="status">{words}</span>', f"{words}: {share:.0%}".replace("%", "\u00a0%")


def line(words: str) -> str:
    """HTML that a screen reader says when it changes; "" for no words."""
    return f'<span role="status">{html.escape(words)}</span>' if words else ""
