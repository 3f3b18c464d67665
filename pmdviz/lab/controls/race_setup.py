"""What is raced: target with its options, entrants with their knobs, budget and seed."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

import panel as pn

from pmdviz.errors import InputError
from pmdviz.lab import css
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.controls.knobs import KnobForm
from pmdviz.lab.controls.setup import BUDGETS, SEED, fitting_methods
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.race_runner import Setting
from pmdviz.methods import METHODS, find_method
from pmdviz.targets import TARGETS, Target
from pmdviz.views.race_traces import MOST

DEFAULT_ENTRANTS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("pmd", {}),
    ("pmd", {"warm_start": True}),
    ("smc", {}),
    ("gibbs", {}),
    ("sgld", {}),
    ("svi", {}),
)


def turned(method: str, knobs: Mapping[str, Any], target: Target, name: str, value: Any) -> dict[str, Any]:
    """The knobs of an entrant with one of them turned; only what differs from the defaults on `target` is kept."""
    way = find_method(method)
    usual = way.fitted(way.Knobs.checked({}), target)
    after = usual.replaced(**knobs).replaced(**{name: value})
    plain, specs = after.as_dict(), after.specs()
    defaults = {
        one: spec.default_given(plain) if spec.default_by else getattr(usual, one) for one, spec in specs.items()
    }
    return {one: plain[one] for one in plain if plain[one] != defaults[one]}


class EntrantCard:
    """One entrant, folded; its knobs are made when it is first opened."""

    def __init__(self, turn: Callable[[EntrantCard, str, Any], None], remove: Callable[[EntrantCard], None]) -> None:
        self._turn, self._remove = turn, remove
        self.form: KnobForm | None = None
        self._shown: tuple[Any, ...] | None = None
        self._head = pn.pane.HTML("", stylesheets=[css.TEXT], margin=(4, 0))
        look: dict[str, Any] = {"margin": (2, 0), "stylesheets": [css.FOLDED], "sizing_mode": "stretch_width"}
        self.view = pn.Card(header=self._head, collapsed=True, css_classes=["pmdviz-entrant"], **look)
        self.view.param.watch(handed(self._on_open), "collapsed")

    def _on_open(self, event: Any) -> None:
        if not event.new and self.form is None:
            self.form = KnobForm(lambda name, value: self._turn(self, name, value))
            remove = small_button("Remove this entrant")
            remove.on_click(handed(lambda event: self._remove(self)))
            self._fill()
            self.view.extend([self.form, remove])

    def show(self, label: str, method: str, knobs: Mapping[str, Any], target: Target) -> None:
        """Show an entrant; costs nothing while it stays the same."""
        shown = label, method, dict(knobs), target
        if self._shown != shown:
            self._shown = shown
            self._head.object = f"<b>{html.escape(label)}</b>"
            self._fill()

    def _fill(self) -> None:
        if self.form is not None and self._shown is not None:
            _, method, knobs, target = self._shown
            way = METHODS[method]
            usual = way.fitted(way.Knobs.checked({}), target)
            self.form.rebuild(way.Knobs, usual.as_dict())
            self.form.show(usual.replaced(**knobs), usual.as_dict(), {})

    def refuse(self, sentence: str, name: str) -> bool:
        """Put a refusal beside the knob that it names; False where there is none."""
        control = self.form.controls.get(name) if self.form is not None else None
        if control is not None:
            control.refuse(sentence)
        return control is not None


class RaceSetup:
    """The controls of a race: `begin(setting)` asks for another race, `more(budget)` for another budget."""

    def __init__(self, setting: Setting, begin: Callable[[Setting], None]) -> None:
        self._begin, self._busy, self.setting = begin, False, setting
        self._asked: tuple[EntrantCard, str] | None = None  # the knob that was turned last
        self.target = _select("Target", {cls.title: name for name, cls in TARGETS.items()})
        self.options = KnobForm(lambda name, value: self._ask(options={**self.setting.options, name: value}))
        self.budget = _select("Budget of each (data visited)", limits.budgets(BUDGETS))
        seed_form = KnobForm(lambda name, value: self._ask(seed=value))
        seed_form.build({SEED.name: SEED}, {SEED.name: 0})
        self.seed = seed_form.controls[SEED.name]
        self.cards: list[EntrantCard] = []
        self.entrants = pn.Column(margin=0, sizing_mode="stretch_width")
        self.method = _select("Another entrant", {})
        self.add = small_button("Add")
        self.said = pn.pane.HTML("", stylesheets=[css.TEXT], margin=(4, 0), sizing_mode="stretch_width")
        self._watch()
        header = pn.pane.HTML("Data and options of the target", stylesheets=[css.TEXT], margin=(4, 0))
        look: dict[str, Any] = {"margin": (4, 0, 8, 0), "stylesheets": [css.FOLDED], "sizing_mode": "stretch_width"}
        heading = '<div class="pmdviz-heading">Entrants (open one to turn its knobs)</div>'
        self.view = pn.Column(
            self.target,
            pn.Card(self.options, header=header, collapsed=True, **look),
            self.budget,
            seed_form,
            pn.pane.HTML(heading, stylesheets=[css.TEXT], margin=0, sizing_mode="stretch_width"),
            self.entrants,
            self.method,
            self.add,
            self.said,
            sizing_mode="stretch_width",
            margin=(8, 12),
            css_classes=["pmdviz-race-setup"],
        )
        self.show(setting)

    def _watch(self) -> None:
        self.target.param.watch(handed(self._on_target), "value")
        self.budget.param.watch(handed(lambda event: self._ask(budget=event.new or None)), "value")
        self.add.on_click(handed(lambda event: self._add()))

    def _ask(self, **parts: Any) -> None:
        if not self._busy:
            self._asked = None
            self._begin(self.setting._replace(**parts))

    def _on_target(self, event: Any) -> None:
        """Those who cannot run on another target stay out; knobs that were given stay."""
        if not self._busy:
            made = event.new if isinstance(event.new, Target) else TARGETS[event.new]()
            fitting = fitting_methods(made).values()
            stay = tuple(one for one in self.setting.entrants if one[0] in fitting)
            self._ask(target=event.new, options={}, entrants=stay)

    def _add(self) -> None:
        if len(self.setting.entrants) >= MOST:
            self._say(f"At most {MOST} can race at once on a page: more could not be told apart.")
        elif self.method.value:
            self._ask(entrants=(*self.setting.entrants, (self.method.value, {})))

    def _remove(self, card: EntrantCard) -> None:
        k = self.cards.index(card)
        self._ask(entrants=tuple(one for i, one in enumerate(self.setting.entrants) if i != k))

    def _turn(self, card: EntrantCard, name: str, value: Any) -> None:
        k, entrants = self.cards.index(card), list(self.setting.entrants)
        method, knobs = entrants[k]
        entrants[k] = method, turned(method, knobs, self.setting.made_target(), name, value)
        self._ask(entrants=tuple(entrants))
        self._asked = card, name

    def refuse(self, error: InputError) -> bool:
        """Put a refusal beside the knob that was turned, or the control of its field; False where there is none."""
        self.show(self.setting)
        if self._asked is not None and self._asked[0] in self.cards:
            return self._asked[0].refuse(str(error), self._asked[1])
        control = {**self.options.controls, SEED.name: self.seed}.get(error.field)
        if control is not None:
            control.refuse(str(error))
        return control is not None

    def show(self, setting: Setting) -> None:
        """Show what is raced."""
        self.setting, self._busy = setting, True
        try:
            target = setting.made_target()
            if setting.target not in self.target.options.values():  # a person's own
                self.target.options = {**self.target.options, target.title or target.name: setting.target}
            _set(self.target, setting.target)
            usual = type(target.options).checked({})
            self.options.rebuild(type(target.options), usual.as_dict())
            self.options.show(target.options, usual.as_dict(), {})
            self._show_budget(setting.budget or 0)
            self.seed.show(setting.seed, 0)
            fitting = fitting_methods(target)
            if self.method.options != fitting:
                kept = self.method.value
                self.method.param.update(
                    options=fitting, value=kept if kept in fitting.values() else next(iter(fitting.values()))
                )
            self._show_cards(setting, target)
            self._say("" if setting.entrants else "Nobody races yet: choose a method above and press Add.")
        finally:
            self._busy = False

    def _show_budget(self, value: int) -> None:
        if value not in self.budget.options.values():
            known = {**self.budget.options, f"{value:,}": value}
            self.budget.options = dict(sorted(known.items(), key=lambda item: item[1] or float("inf")))
        _set(self.budget, value)

    def _show_cards(self, setting: Setting, target: Target) -> None:
        wanted = [method for method, _ in setting.entrants]
        kept = self._kept(wanted)
        self.cards = [card or EntrantCard(self._turn, self._remove) for card in kept]
        for card, label, (method, knobs) in zip(self.cards, setting.labels, setting.entrants, strict=True):
            card.show(label, method, knobs, target)
        views = [card.view for card in self.cards]
        if list(self.entrants) != views:
            self.entrants[:] = views

    def _kept(self, wanted: list[str]) -> list[EntrantCard | None]:
        """For each entrant the card that is there already: one was added at the end, or one was taken out."""
        have = [card._shown[1] for card in self.cards if card._shown]
        if wanted[: len(have)] == have:
            return [*self.cards, *[None] * (len(wanted) - len(have))]
        for k in range(len(have)):
            if have[:k] + have[k + 1 :] == wanted and self._gone(k):
                return self.cards[:k] + self.cards[k + 1 :]
        return [None] * len(wanted)

    def _gone(self, k: int) -> bool:
        """Whether the cards after k show what the setting has one place before: two of one method look alike."""
        entrants = self.setting.entrants
        return all(card._shown[2] == dict(entrants[i + k][1]) for i, card in enumerate(self.cards[k + 1 :]))

    def _say(self, words: str) -> None:
        said = f'<span role="status">{html.escape(words)}</span>' if words else ""
        if self.said.object != said:
            self.said.object = said


def _select(label: str, options: dict[str, Any]) -> Any:
    return pn.widgets.Select(
        label=label, options=options, margin=(4, 0), stylesheets=[css.SELECT], sizing_mode="stretch_width"
    )


def _set(widget: Any, value: Any) -> None:
    if widget.value != value:
        widget.value = value
