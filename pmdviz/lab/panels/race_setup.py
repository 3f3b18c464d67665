"""The settings of a race: target with its options, methods with their knobs, budget and seed."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import panel as pn

from pmdviz.engine.recipe import given_knobs
from pmdviz.errors import InputError
from pmdviz.experiments.race import Entrant, RaceRecipe
from pmdviz.experiments.race.recipe import DATA
from pmdviz.lab.loop import limits
from pmdviz.lab.panels import widgets
from pmdviz.lab.panels.setup import ProblemControls, fitting_methods, refused
from pmdviz.methods import METHODS, find_method
from pmdviz.scenes.style import MOST_ENTRANTS
from pmdviz.targets import Target, get_target
from pmdviz.targets.custom import choice_of

CLOCK_MENU = {"observations used": "data", "likelihood evaluations": "evaluations"}
BUDGET_OF = {unit: f"Budget of each ({words})" for words, unit in CLOCK_MENU.items()}
DEFAULT_ENTRANTS = "pmd,pmd:warm_start=true,smc,gibbs,sgld,svi"


def turned(method: str, knobs: Mapping[str, Any], target: Target, name: str, value: Any) -> dict[str, Any]:
    """The knobs of an entrant with one of them turned; only what differs from the defaults on `target` is kept."""
    way = find_method(method)
    usual = way.fitted(way.Knobs.defaults(), target)
    return given_knobs(method, usual.replaced(**knobs).replaced(**{name: value}), target)


Look = tuple[Callable[[Any], None], Callable[[], str]]
NOWHERE: Look = (lambda entrant: None), (lambda: "Open in the Lab")


class EntrantCard:
    """One entrant, folded; its knobs are made when it is first opened."""

    def __init__(self, setup: RaceSetup) -> None:
        self._setup = setup
        self.form: widgets.KnobForm | None = None
        self.shown: Entrant | None = None
        self._target: Target | None = None
        self.view = widgets.folded("", build=self._build, margin=(2, 0), css_classes=["pmdviz-entrant"])

    def _build(self) -> None:
        self.form, acts = widgets.KnobForm(partial(self._setup.turn, self)), self._setup.acts()
        self.fill()
        buttons = [widgets.small_button(label, partial(act, self)) for label, act in acts.items()]
        self.view.extend([self.form, pn.FlexBox(*buttons, gap="8px", **widgets.WIDE)])

    def show(self, entrant: Entrant, target: Target) -> None:
        """Show an entrant; costs nothing while it stays the same."""
        if (self.shown, self._target) != (entrant, target):
            self.shown, self._target = entrant, target
            self.view.header.object = f"<b>{html.escape(entrant.title)}</b>"
            self.fill()

    def fill(self) -> None:
        """Show the entrant's knobs again, without the last change."""
        if self.form is not None and self.shown is not None:
            way = METHODS[self.shown.method]
            usual = way.fitted(way.Knobs.defaults(), self._target)
            idle = way.idle_knobs(self._target)
            self.form.show_all(usual.replaced(**self.shown.knobs), usual.as_dict(), idle=idle)

    def refuse(self, error: InputError, name: str) -> bool:
        """Put a refusal next to the knob of that name; False without such a knob."""
        return refused(self.form.controls.get(name) if self.form is not None else None, error)


class RaceSetup(ProblemControls):
    """The controls of a race: `begin(recipe)` starts another race.

    `branch(k, values)` has entrant k go on with other knobs as one more entrant, and `leave(k)` has the race go on
    without it; both return whether that can be done now. `look` opens an entrant by itself, and says what that is
    called.
    """

    begun: RaceRecipe | None = None  # the race that is being made: shown here until it is drawn or refused

    def __init__(
        self,
        recipe: RaceRecipe,
        begin: Callable[[RaceRecipe], None],
        branch: Callable[[int, Mapping[str, Any]], bool] = lambda k, values: False,
        leave: Callable[[int], bool] = lambda k: False,
        look: Look = NOWHERE,
    ) -> None:
        super().__init__(BUDGET_OF, self._option, lambda name, value: self._ask(seeds=(value,)))
        self._begin, self._branch, self._leave, self.recipe = begin, branch, leave, recipe
        self._look = look
        self._asked: tuple[EntrantCard, str] | None = None  # the knob that was turned last
        self.cards: list[EntrantCard] = []
        self.clock = widgets.select("Clock", CLOCK_MENU, self._ask_by)
        self.entrants = pn.Column(**widgets.WIDE)
        self.method = widgets.select("Add a method", {})
        self.add = widgets.small_button("Add", self._add)
        self.said = widgets.text(margin=(4, 0))
        heading = '<div class="pmdviz-heading">Methods in the race (open one to change its settings)</div>'
        problem = self.target, self.data, self.clock, self.budget, self.seed_form
        methods = widgets.text(heading), self.entrants, self.method, self.add, self.said
        self.view = pn.Column(*problem, *methods, css_classes=["pmdviz-race-setup"], **widgets.ASIDE)
        self.show(recipe)

    def _ask(self, **parts: Any) -> None:
        """Begin another race. A menu that was set while the page was made comes here later, with nothing new."""
        made = replace(self.recipe, **parts)
        if not self._busy and made != self.recipe:
            self._asked = None
            self._begin(made)

    def expect(self, recipe: RaceRecipe) -> None:
        """Show a race that is being made; the next setting then changes this race."""
        self.begun = recipe
        self._show(recipe)

    def forget(self) -> None:
        """The race that was being made is not to come: show the drawn one again."""
        self.begun = None
        self._show(self._drawn)

    def _ask_by(self, unit: str) -> None:
        """Another clock, with the budget that is usual by it."""
        if not self._busy:
            self._ask(**self._counted(replace(self.recipe, budget_unit=unit, budget=None)))

    def _counted(self, recipe: RaceRecipe) -> dict[str, Any]:
        """Unit and budget of a race whose clock was changed; an endless one stays endless."""
        budget = None if self.recipe.budget is None else limits.usual_budget(recipe)
        return {"budget_unit": recipe.budget_unit, "budget": budget}

    def _option(self, name: str, value: Any) -> None:
        target = self.recipe.target
        self._ask(target=get_target(target.name, {**target.options.as_dict(), name: value}))

    def _on_budget(self, budget: int) -> None:
        self._ask(budget=budget or None)

    def _on_target(self, choice: Any) -> None:
        """Those who cannot run on another target stay out; knobs that were given stay."""
        if self._busy:
            return
        target = get_target(choice, {})
        fitting, recipe = fitting_methods(target).values(), self.recipe
        stay = [one for one in recipe.entrants if one.method in fitting]
        parts: dict[str, Any] = {"target": target}
        if target.data is None and recipe.budget_unit == DATA:
            after = replace(recipe.with_entrants(stay), target=target, budget_unit="evaluations", budget=None)
            parts |= self._counted(after)
        self._ask_for(stay, **parts)

    def _ask_for(self, methods: Sequence[Any], **parts: Any) -> None:
        self._ask(entrants=self.recipe.with_entrants(methods).entrants, **parts)

    def _add(self) -> None:
        if len(self.recipe.entrants) >= MOST_ENTRANTS:
            widgets.say(self.said, f"At most {MOST_ENTRANTS} methods: more lines could not be told apart.")
        elif self.method.value:
            self._ask_for([*self.recipe.entrants, self.method.value])

    def acts(self) -> dict[str, Callable[[EntrantCard], None]]:
        """What the buttons of an entrant's card do, by their labels."""
        look, words = self._look
        return {words(): lambda card: look(self.cards.index(card)), "Remove": self._remove}

    def _remove(self, card: EntrantCard) -> None:
        k, self._asked = self.cards.index(card), None
        if self.begun is not None or not self._leave(k):
            self._ask(entrants=self.recipe.without(k).entrants)

    def turn(self, card: EntrantCard, name: str, value: Any) -> None:
        """A person has turned a knob of an entrant."""
        k, methods = self.cards.index(card), [*self.recipe.entrants]
        self._asked = card, name
        if self.begun is None and self._branch(k, {name: value}):
            card.fill()  # the entrant itself stays as it is
            return
        one = methods[k]
        methods[k] = replace(one, knobs=turned(one.method, one.knobs, self.recipe.target, name, value))
        self._ask_for(methods)
        self._asked = card, name

    def refuse(self, error: InputError) -> bool:
        """Put a refusal next to the changed knob, or the control of its field; False without a control."""
        self.forget()
        if self._asked is not None and self._asked[0] in self.cards:
            return self._asked[0].refuse(error, self._asked[1])
        return super().refuse(error)

    def show(self, recipe: RaceRecipe) -> None:
        """Show the race that is drawn, unless another one is being made."""
        self._drawn = recipe
        if self.begun is None or recipe == self.begun:
            self.begun = None
            self._show(recipe)

    def _show(self, recipe: RaceRecipe) -> None:
        self.recipe, self._busy = recipe, True
        try:
            target = recipe.target
            self.show_problem(target, choice_of(target), recipe.seeds[0], recipe.budget, recipe.budget_unit)
            with_data = recipe.target.data is not None  # else there is one clock alone
            menu = {words: unit for words, unit in CLOCK_MENU.items() if unit != DATA or with_data}
            widgets.offer(self.clock, menu, recipe.budget_unit)
            widgets.offer(self.method, fitting_methods(target))
            self._show_cards(recipe)
            widgets.say(self.said, "" if recipe.entrants else "No methods yet: choose one above and press Add.")
        finally:
            self._busy = False

    def _show_cards(self, recipe: RaceRecipe) -> None:
        """A card for each entrant: its own, else a card of its method whose entrant has gone."""
        left, self.cards = self.cards, []
        for entrant in recipe.entrants:
            alike = [card for card in left if card.shown == entrant]
            alike += [card for card in left if card.shown is not None and card.shown.method == entrant.method]
            card = alike[0] if alike else EntrantCard(self)
            left = [each for each in left if each is not card]
            self.cards.append(card)
            card.show(entrant, recipe.target)
        if (views := [card.view for card in self.cards]) != list(self.entrants):
            self.entrants[:] = views
