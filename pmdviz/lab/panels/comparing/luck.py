"""The run's recipe with other seeds: a band behind the traces, and a sentence."""

from __future__ import annotations

from typing import Any

import panel as pn

from pmdviz.errors import InputError
from pmdviz.lab import css
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.loop.work.luck import LuckWork
from pmdviz.lab.panels.comparing.luck_words import alike, line, progress, stopped_words, verdict
from pmdviz.views import TracesView

ASK, CANCEL = "Try other seeds", "Cancel"
SEEDS = {"8": 8, "16": 16, "32": 32}
LET_GO = "The settings have changed, so the band is gone. Ask again."
NOTHING = "These traces have no value to compare."
ALL_STOPPED = "None of the other seeds came to its end."


class LuckPanel:
    """A button, a number of seeds and a line; band and a few words are drawn by `traces`."""

    def __init__(self, traces: TracesView) -> None:
        self.work, self._traces = LuckWork(self._tell), traces
        self._last: Snapshot | None = None
        self._notice = ""  # why there is no band
        self.button = small_button(ASK)
        look: dict[str, Any] = {"margin": 0, "stylesheets": [css.SELECT]}
        self.seeds = pn.widgets.Select(label="Other seeds", options=SEEDS, value=16, width=100, **look)
        self.said = pn.pane.HTML("", margin=(2, 0), stylesheets=[css.TEXT], sizing_mode="stretch_width")
        self.button.on_click(handed(lambda event: self._press()))
        wide: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        self.row = pn.FlexBox(self.button, self.seeds, gap="8px", align_items="end", **wide)
        self.view = pn.Column(self.row, self.said, css_classes=["pmdviz-luck"], **wide)

    def show(self, snapshot: Snapshot, playing: bool) -> None:
        """Follow the run: other settings let go of the band, and a pause brings the sentence up to date."""
        self._last = snapshot
        if self.work.recipe is not None and not alike(self.work.recipe, snapshot.recipe):
            self.work.forget()
            self._notice = LET_GO
            self._draw()
        if not playing:
            self.say()

    def stop(self) -> None:
        """Let go of what is under way: nobody looks any more."""
        self.work.forget()

    def cancel(self) -> None:
        """Stop the runs under way."""
        self.work.cancel()

    def _press(self) -> None:
        if self.work.running:
            self.work.cancel()
        elif self._last is not None:
            self._ask()

    def _ask(self) -> None:
        self._notice = ""
        try:
            self.work.ask(self._last.recipe, self._last.frame, self.seeds.value)
        except InputError as error:
            self._notice = error.on_page
        self._draw()
        self.say()

    def _tell(self) -> None:
        if not self.work.running:
            self._draw()
        self.say()

    def _draw(self) -> None:
        self._traces.show_seeds(self.work.runs)

    def say(self) -> None:
        """How far it is, or what came out by the traces that are shown."""
        running = self.work.running
        label = CANCEL if running else ASK
        if self.button.label != label:
            self.button.label = label
        if running:
            said, brief = progress(self.work.number, self.work.share)
        else:
            words, brief = self._words()
            said = line(words)
        if self.said.object != said:
            self.said.object = said
        self._traces.say_seeds(brief)

    def _words(self) -> tuple[str, str]:
        """A sentence, and the same in a few words for the picture."""
        runs, last = self.work.runs, self._last
        if runs is None or last is None:
            return self.work.words or self._notice, ""
        if not runs.whole:
            return f"{ALL_STOPPED} {stopped_words(runs)}", ""
        found = verdict(runs, last, self._traces.group)
        words, brief = (NOTHING, "") if found is None else (found.sentence, found.brief)
        return f"{words} {stopped_words(runs)}".strip(), brief
