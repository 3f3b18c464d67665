"""The card "Is this a sample from the target?": a goodness-of-fit test of what the run has at this moment."""

from __future__ import annotations

import html
from typing import Any

import numpy as np
import panel as pn

from pmdviz.engine.frame import Frame
from pmdviz.experiments.goodness_of_fit.statistics import FIT_TESTS
from pmdviz.lab import css
from pmdviz.lab.controls.playback import small_button
from pmdviz.lab.controls.setup import set_value
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.loop.work import ALPHA, FitOutcome, FitWork
from pmdviz.targets import Target

TITLE = "Is this a sample from the target?"
NO_TEST = "No test applies to this target."
CANCELLED = "Cancelled: nothing was tested."


class FitPanel:
    """A folded card; what is in it is made when it is first opened, and follows the run by `show`."""

    def __init__(self) -> None:
        self.work = FitWork(self._tell)
        self._last: Snapshot | None = None
        header = pn.pane.HTML(TITLE, stylesheets=[css.TEXT], margin=(4, 0))
        look: dict[str, Any] = {"margin": (8, 0), "stylesheets": [css.FOLDED], "sizing_mode": "stretch_width"}
        self.view = pn.Card(header=header, collapsed=True, css_classes=["pmdviz-fit"], **look)
        self.view.param.watch(handed(self._on_open), "collapsed")

    def _on_open(self, event: Any) -> None:
        if not event.new and not len(self.view):
            self._build()
            if self._last is not None:
                self._offer(self._last.frame.target)

    def _build(self) -> None:
        wide: dict[str, Any] = {"stylesheets": [css.SELECT], "sizing_mode": "stretch_width", "margin": (4, 8)}
        self.test = pn.widgets.Select(label="Test", options={}, **wide)
        self.button, self.stop_it = small_button("Test this sample"), small_button("Cancel", visible=False)
        self.said = pn.pane.HTML(
            "", margin=(4, 8, 8, 8), stylesheets=[css.TEXT + css.static("fit.css")], sizing_mode="stretch_width"
        )
        self.button.on_click(handed(lambda event: self._begin()))
        self.stop_it.on_click(handed(lambda event: self.work.cancel()))
        self.view.extend([self.test, pn.FlexBox(self.button, self.stop_it, gap="6px", margin=(4, 8)), self.said])

    def show(self, snapshot: Snapshot) -> None:
        """Follow the run: another one has other tests and no result; of an earlier moment the result says so."""
        before, self._last = self._last, snapshot
        if not len(self.view):
            return
        if before is None or _run_of(before) != _run_of(snapshot):
            self.work.forget()
            self._offer(snapshot.frame.target)
            self._tell()
        elif self.work.outcome is not None:
            self._say(words_of(self.work.outcome, self._moved_on))

    def stop(self) -> None:
        """Let go of what is under way: nobody looks any more."""
        self.work.forget()

    @property
    def _moved_on(self) -> bool:
        """Whether what is shown is no longer what was tested."""
        return self._last is None or self.work.frame is None or not _alike(self.work.frame, self._last.frame)

    def _offer(self, target: Target) -> None:
        """The tests that apply to a target. Its reference is there: the run has been measured by it."""
        found = {test.title: name for name, test in FIT_TESTS.items() if test.applies(target)}
        if self.test.options != found:
            self.test.options = found
            set_value(self.test, next(iter(found.values()), None))
        self.test.visible = bool(found)
        self.button.disabled = not found
        self._say("" if found else _line(NO_TEST))

    def _begin(self) -> None:
        if self._last is not None and self.test.value:
            self.work.ask(self._last.frame, self.test.value)
            self._tell()

    def _tell(self) -> None:
        """How far it is, or what came out."""
        running = self.work.running
        self.button.disabled, self.stop_it.visible = running or not self.test.options, running
        if running:
            self._say(_line(f"Testing the sample of iteration {self.work.frame.iteration:,} ..."))
        elif self.work.outcome is not None:
            self._say(words_of(self.work.outcome, self._moved_on))
        elif self.work.frame is not None:
            self._say(_line(CANCELLED))

    def _say(self, words: str) -> None:
        if self.said.object != words:
            self.said.object = words


def words_of(outcome: FitOutcome, moved_on: bool) -> str:
    """HTML of what came out, and of which moment it is where the run has moved on."""
    if outcome.result is None:
        return _line(outcome.refusal, old=moved_on)
    result, at = outcome.result, f"Iteration {outcome.frame.iteration:,}"
    verdict = f"rejected at {100 * ALPHA:g}\u00a0%" if result.rejected else "no evidence against it"
    first = f"{at}: statistic {result.statistic:.3g}, p = {result.p_value:.2g}: {verdict}."
    then = f"{at[0].lower() + at[1:]} is no longer what is shown" if moved_on else ""
    note = "; ".join(filter(None, [result.note, then]))
    return _line(first, moved_on) + (
        f'<div class="pmdviz-fit-note">{html.escape(_sentence(note))}</div>' if note else ""
    )


def _line(words: str, old: bool = False) -> str:
    """A line that a screen reader says when it changes."""
    name = "pmdviz-fit-said pmdviz-fit-old" if old else "pmdviz-fit-said"
    return f'<div role="status" class="{name}">{html.escape(words)}</div>'


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _alike(one: Frame, other: Frame) -> bool:
    """Whether two frames hold the same sample; a run that was begun again comes to the same iterations."""
    if one.iteration != other.iteration:
        return False
    pairs = (one.particles, other.particles), (one.weights, other.weights)
    return all(np.array_equal(mine, theirs) for mine, theirs in pairs)


def _run_of(snapshot: Snapshot) -> tuple[Any, ...]:
    """What stays the same within a run."""
    frame: Frame = snapshot.frame
    return frame.target.key, frame.method.name, snapshot.recipe.seed
