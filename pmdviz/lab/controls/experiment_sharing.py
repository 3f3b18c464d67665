"""The link to an experiment of the Theory page: read, shared, and in the browser's address bar."""

from __future__ import annotations

from typing import Any, NamedTuple

import panel as pn

from pmdviz.engine.recipe_parts import fold, unfold
from pmdviz.errors import InputError
from pmdviz.experiments.running import find_experiment
from pmdviz.knobs import Knobs
from pmdviz.lab import links
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.controls.clipboard import Clipboard
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.acknowledge import Acknowledge
from pmdviz.lab.loop.locked import handed
from pmdviz.presets.experiments import find_experiment_preset


class Choice(NamedTuple):
    """An experiment and its knobs, and the preset that they started from."""

    experiment: str
    knobs: Knobs
    preset: str = ""


def usual(experiment: str) -> Choice:
    """The defaults. Raises InputError for the name of none."""
    return Choice(experiment, find_experiment(experiment).Knobs.defaults())


def of_preset(name: str) -> Choice:
    """What a preset says. Raises InputError for the name of none."""
    preset = find_experiment_preset(name)
    made = find_experiment(preset.experiment)
    return Choice(preset.experiment, made.Knobs.checked(preset.knobs), name)


def read(asked: links.Asked) -> Choice | None:
    """What a link asks for; None: nothing. A preset stands in place of an experiment. Raises InputError."""
    if asked.settings:
        found = of_preset(asked.settings)
    elif asked.experiment:
        given = unfold(asked.knobs) if asked.knobs else {}
        knobs = find_experiment(asked.experiment).Knobs.checked(given)
        found = Choice(asked.experiment, knobs)
    else:
        return None
    limits.check_experiment(found.knobs)
    return found


def changed(knobs: Knobs) -> dict[str, Any]:
    """The knobs that do not have their defaults, those that follow from others included."""
    values, specs = knobs.as_dict(), knobs.specs()
    return {name: value for name, value in values.items() if value != specs[name].default_given(values)}


def asked_of(choice: Choice) -> links.Asked:
    """A choice as a link says it: by its preset's name as long as nothing was turned."""
    if choice.preset and choice == of_preset(choice.preset):
        return links.Asked(settings=choice.preset)
    given = changed(choice.knobs)
    return links.Asked(choice.experiment, fold(given) if given else "")


class ExperimentSharing:
    """Share, and the address."""

    def __init__(self, ack: Acknowledge, choice: Choice) -> None:
        self._ack, self._choice = ack, choice
        self.clipboard = Clipboard(ack)
        self.button = small_button("Share")
        self.button.on_click(handed(lambda event: self._copy()))
        self.said: pn.pane.HTML = self.clipboard.said

    def follow(self, choice: Choice, address: bool = True) -> None:
        """Share this one from now on, and bring the address up to date."""
        self._choice = choice
        self.clipboard.say("")
        if address:
            try:
                self._ack.link = links.experiment_query(asked_of(choice))
            except InputError:
                self._ack.link = "?page=theory"

    def _copy(self) -> None:
        try:
            text = links.experiment_query(asked_of(self._choice))
        except InputError as error:
            self.clipboard.say(f"{str(error)[0].upper()}{str(error)[1:]}.")
            return
        self._ack.link = text
        self.clipboard.put_on_clipboard(text)
