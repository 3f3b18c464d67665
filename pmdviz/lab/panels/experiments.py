"""Every experiment of the table with its knobs, live pictures and a link: a new one is here by itself."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import panel as pn

from pmdviz.errors import InputError
from pmdviz.experiments.base import Experiment
from pmdviz.experiments.catalogue import EXPERIMENTS
from pmdviz.experiments.forecast import TooMuch
from pmdviz.experiments.running import ExperimentResult
from pmdviz.knobs import Knobs
from pmdviz.lab import css
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.controls.experiment_sharing import Choice, ExperimentSharing, of_preset, read, usual
from pmdviz.lab.controls.knobs import KnobForm
from pmdviz.lab.links import NOTHING, Asked
from pmdviz.lab.loop.acknowledge import Acknowledge
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.work.experiment import ExperimentWork
from pmdviz.lab.panels.experiment_results import ExperimentResults
from pmdviz.lab.panels.work_line import WorkLine
from pmdviz.presets.experiments import EXPERIMENT_PRESETS, find_experiment_preset

DEFAULTS = "defaults"
BAD_LINK = "This link could not be read: {}. Showing the default settings instead."


class ExperimentsPanel:
    """What is chosen, and what the last run found. `begin(work)` starts one, `cancel()` ends it; a link `asked`."""

    def __init__(
        self,
        begin: Callable[[ExperimentWork], None],
        cancel: Callable[[], None],
        ack: Acknowledge,
        asked: Asked = NOTHING,
    ) -> None:
        self._begin, self._busy = begin, False
        titles = {each.title: name for name, each in sorted(EXPERIMENTS.items())}
        starts = {DEFAULTS: "", **{each.title: name for name, each in EXPERIMENT_PRESETS.items()}}
        look: dict[str, Any] = {"stylesheets": [css.SELECT], "sizing_mode": "stretch_width", "margin": (4, 0)}
        self.chosen = pn.widgets.Select(label="Experiment", options=titles, **look)
        self.preset = pn.widgets.Select(label="Start from", options=starts, value="", **look)
        self.about = pn.pane.HTML("", stylesheets=[css.TEXT], margin=(4, 0), sizing_mode="stretch_width")
        self.form = KnobForm(self._turn)
        self.button = small_button("Run the experiment", color="primary", variant="solid")
        self.insist = small_button("Run it anyway", visible=False)
        self.choice, trouble = self._opened(asked)
        self.sharing, self.results = ExperimentSharing(ack, self.choice), ExperimentResults()
        buttons = self.button, self.insist, self.sharing.button, self.results.download
        self.line = WorkLine("", cancel, *buttons)
        self._watch()
        self._lay_out()
        self._show()
        if trouble:
            self.line.say(BAD_LINK.format(trouble))

    def _opened(self, asked: Asked) -> tuple[Choice, str]:
        """What a link says, and why it could not be read."""
        first = usual(self.chosen.value)
        try:
            return read(asked) or first, ""
        except InputError as error:
            return first, str(error)

    def choose(self, choice: Choice) -> None:
        """Show this one, not run yet."""
        self._choose(choice)

    def run(self) -> None:
        """Run what is chosen, as its button does."""
        self._run()

    def _watch(self) -> None:
        self.chosen.param.watch(handed(lambda event: self._choose(usual(event.new))), "value")
        self.preset.param.watch(handed(lambda event: self._start_from(event.new)), "value")
        self.button.on_click(handed(lambda event: self._run()))
        self.insist.on_click(handed(lambda event: self._run(insist=True)))

    def _lay_out(self) -> None:
        wide: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        said = self.line.view, self.sharing.said
        parts = self.chosen, self.preset, self.about, self.form
        controls = pn.Column(*parts, css_classes=["pmdviz-experiment-setup"], **wide)
        right = pn.Column(*said, self.results.view, css_classes=["pmdviz-experiment-run"], **wide)
        self.view = pn.Column(
            controls, right, stylesheets=[css.static("experiments.css")], css_classes=["pmdviz-experiments"], **wide
        )

    @property
    def _experiment(self) -> Experiment:
        return EXPERIMENTS[self.choice.experiment]

    @property
    def knobs(self) -> Knobs:
        """Those that the next run has."""
        return self.choice.knobs

    # What a person chooses

    def _start_from(self, preset: str) -> None:
        self._choose(of_preset(preset) if preset else usual(self.choice.experiment))

    def _choose(self, choice: Choice) -> None:
        if self._busy:
            return
        self.choice = choice
        self.insist.visible = False
        self._show()
        self.sharing.follow(choice)

    def _turn(self, name: str, value: Any) -> None:
        try:
            knobs = self.knobs.replaced(**{name: value})
        except InputError as error:
            self.form.controls[name].refuse(error.on_page)
            return
        self._choose(self.choice._replace(knobs=knobs))

    def _show(self) -> None:
        """The controls say what is chosen."""
        made, preset = self._experiment, self.choice.preset
        self._busy = True
        try:
            self.chosen.value, self.preset.value = self.choice.experiment, preset
        finally:
            self._busy = False
        asks = (
            f'<p class="pmdviz-question">{html.escape(find_experiment_preset(preset).question)}</p>' if preset else ""
        )
        self.about.object = f"{asks}{html.escape(made.about)} Source: {html.escape(made.source)}."
        self.form.rebuild(made.Knobs, made.Knobs.defaults().as_dict())
        self.form.show(self.knobs, made.Knobs.defaults().as_dict(), {})

    # A run

    def _run(self, insist: bool = False) -> None:
        self.insist.visible = False
        self._begin(ExperimentWork(self.choice.experiment, self.knobs.as_dict(), insist))

    def begun(self, work: ExperimentWork) -> None:
        """It has begun: what is there belongs to the past."""
        self.results.begin(work)

    def look(self) -> None:
        """Draw what there is."""
        self.results.look()

    def ended(self, result: ExperimentResult) -> str:
        """What is said in the end."""
        self.look()
        failed = f" {len(result.failed)} could not be computed: {result.failed[0]}" if result.failed else ""
        return f"{len(result.rows):,} rows measured.{failed}"

    def stopped(self, error: BaseException) -> None:
        """It stopped, or was refused: a person may insist where that helps."""
        self.look()
        self.insist.visible = isinstance(error, TooMuch) and error.may_insist
        if isinstance(error, InputError) and error.field in self.form.controls:
            self.form.controls[error.field].refuse(error.on_page)

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""
        self.results.set_theme(dark)
