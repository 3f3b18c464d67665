"""Compare with ...: the run's settings beside others, on the same data with the same seed, as a race of two."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import panel as pn

from pmdviz.engine.recipe import USUAL_TARGET, Recipe
from pmdviz.errors import InputError
from pmdviz.experiments.race import RaceRecipe
from pmdviz.experiments.race.comparison import compared, telling
from pmdviz.experiments.race.entrants import setting_words
from pmdviz.knobs import Knobs
from pmdviz.lab import css
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.controls.knobs import KnobForm, in_order
from pmdviz.lab.controls.problem import fitting_methods, select
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.panels.card import Card
from pmdviz.methods import METHODS

TITLE = "Compare with …"
ABOUT = "The settings of this run beside others: same data, same seed, same budget, one Play."
KNOB, METHOD, PRESET = "knob", "method", "preset"  # kinds of what may differ
WORDS = {METHOD: "Another method", PRESET: "A preset of this target"}
What = tuple[str, str]  # the kind, and the name of a knob


class ComparePanel:
    """A button, and a card over the traces which is built when it is first opened.

    `begin(race)` is given the race of two, and `go` says what that is called. `presets` are those whose settings may be
    the other ones.
    """

    def __init__(self, begin: Callable[[RaceRecipe], None], presets: Mapping[str, Any], go: Callable[[], str]) -> None:
        self._begin, self._presets, self._go = begin, presets, go
        self._last: Snapshot | None = None
        self._busy = False  # while it shows what there is, nobody has chosen anything
        self._value: Any = None  # the other value of a knob
        self.button = small_button(TITLE)
        self.button.on_click(handed(lambda event: self._toggle()))
        self.card = Card("pmdviz-compare", css.BUSY)

    def show(self, snapshot: Snapshot) -> None:
        """Follow the run."""
        self._last = snapshot
        if self.card.shown and _settings(snapshot) != self._offered:
            self._offer(snapshot)

    def _toggle(self) -> None:
        if self.card.shown:
            self.card.hide()
        elif self._last is not None:
            if not len(self.card.view):
                self._build()
            self._offer(self._last)
            self.card.reveal()

    def _build(self) -> None:
        text: dict[str, Any] = {"stylesheets": [css.TEXT], "sizing_mode": "stretch_width", "margin": 0}
        self.what = select("What differs", {})
        self.form, self.method, self.preset = KnobForm(self._turn), select("Method", {}), select("Preset", {})
        self.said = pn.pane.HTML("", **text)
        go, close = small_button(self._go()), small_button("Close")
        go.on_click(handed(lambda event: self._compare()))
        close.on_click(handed(lambda event: self.card.hide()))
        self.what.param.watch(handed(lambda event: self._choose()), "value")
        buttons = pn.FlexBox(go, close, gap="6px", margin=(6, 0, 0, 0))
        self._ways: dict[str, tuple[Any, Callable[[], tuple[str, Knobs]]]] = {
            KNOB: (self.form, self._with_knob),
            METHOD: (self.method, self._with_method),
            PRESET: (self.preset, self._with_preset),
        }
        heading = f"<b>{TITLE}</b><br>{ABOUT}"
        parts = pn.pane.HTML(heading, **text), self.what, *(way for way, _ in self._ways.values()), self.said, buttons
        self.card.view.extend(parts)

    def _offer(self, snapshot: Snapshot) -> None:
        """What may differ from the settings of this run."""
        self._offered = _settings(snapshot)
        frame, self._busy = snapshot.frame, True
        specs, idle, plain = frame.knobs.specs(), frame.method.idle_knobs(frame.target), frame.knobs.as_dict()
        seen = [n for n in in_order(specs) if specs[n].basic and n not in idle and frame.knobs.matters(n, plain)]
        methods = {words: n for words, n in fitting_methods(frame.target).items() if n != snapshot.recipe.method}
        presets = {self._presets[n].title: n for n in _of_target(self._presets, snapshot.recipe, frame.knobs)}
        found: dict[str, What] = {specs[n].label: (KNOB, n) for n in seen}
        found |= {WORDS[kind]: (kind, "") for kind, there in ((METHOD, methods), (PRESET, presets)) if there}
        for menu, options in ((self.what, found), (self.method, methods), (self.preset, presets)):
            kept = menu.value if menu.value in options.values() else next(iter(options.values()), None)
            menu.param.update(options=options, value=kept)
        self._busy = False
        self._choose()

    def _choose(self) -> None:
        """Show the control of what differs."""
        if self._busy or self.what.value is None:
            return
        kind, name = self.what.value
        self._say("")
        for each, (way, _) in self._ways.items():
            way.visible = each == kind
        if kind == KNOB:
            self._show_knob(name)

    def _show_knob(self, name: str) -> None:
        knobs = self._last.frame.knobs
        spec, now = limits.capped(knobs.specs()[name], type(knobs)), knobs.as_dict()[name]
        self._value = next(self._working(telling(spec, now), name), now)
        self.form.build({name: spec}, {name: now})
        self.form.controls[name].show(self._value, now)
        self._say(f"This run: {setting_words(spec, now)}.")

    def _working(self, values: Iterator[Any], name: str) -> Iterator[Any]:
        """Those of the values that the run can have."""
        for value in values:
            try:
                self._race(self._last.recipe.method, self._last.frame.knobs.replaced(**{name: value}))
            except InputError:
                continue
            yield value

    def _turn(self, name: str, value: Any) -> None:
        self._value = value

    def _with_knob(self) -> tuple[str, Knobs]:
        return self._last.recipe.method, self._last.frame.knobs.replaced(**{self.what.value[1]: self._value})

    def _with_method(self) -> tuple[str, Knobs]:
        way = METHODS[self.method.value]
        return way.name, way.fitted(way.Knobs.defaults(), self._last.frame.target)

    def _with_preset(self) -> tuple[str, Knobs]:
        recipe = self._presets[self.preset.value].recipe
        return recipe.method, recipe.start_knobs()

    def _race(self, method: str, knobs: Knobs) -> RaceRecipe:
        return limits.check_race(compared(self._last.recipe, self._last.frame.knobs, method, knobs))

    def _compare(self) -> None:
        """Have the two race, or say why they cannot."""
        try:
            race = self._race(*self._ways[self.what.value[0]][1]())
        except InputError as error:
            self._say(error.on_page)
            return
        self.card.hide()
        self._begin(race)

    def _say(self, words: str) -> None:
        self.said.object = f'<span role="status">{html.escape(words)}</span>'


def _settings(snapshot: Snapshot) -> tuple[Any, ...]:
    return snapshot.frame.target.key, snapshot.recipe.method, snapshot.frame.knobs


def _of_target(presets: Mapping[str, Any], recipe: Recipe, now: Knobs) -> list[str]:
    """Names of the presets on the same target with the same options whose settings are others."""
    near = [name for name, one in presets.items() if one.parts.get("target", USUAL_TARGET) == recipe.target]
    return [name for name in near if _other(presets[name].recipe, recipe, now)]


def _other(one: Recipe, recipe: Recipe, now: Knobs) -> bool:
    same_target = (one.target, one.target_options, one.custom) == (recipe.target, recipe.target_options, recipe.custom)
    return same_target and (one.method, one.knobs) != (recipe.method, now.as_dict())
