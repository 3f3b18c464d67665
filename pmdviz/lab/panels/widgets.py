"""Parts of panels: the playback bar, buttons, menus, texts, folds; the form of knobs; cards over the pictures."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import panel as pn
import param
from bokeh.model import Model
from panel.custom import JSComponent

from pmdviz.errors import InputError
from pmdviz.files import Json
from pmdviz.knobs import Knobs, KnobSpec, Value
from pmdviz.lab import css
from pmdviz.lab.loop.limits import capped
from pmdviz.lab.loop.live import PACES, SLOW, Pace, menu
from pmdviz.lab.panel_internals import handed, set_directly, soon
from pmdviz.scenes.words import duration, short

Turn = Callable[[str, Value], None]  # hears of a knob and its new value
Chosen = TypeVar("Chosen")
Options = Sequence[Chosen] | Mapping[str, Chosen]
BUTTONS = {"Play": "toggle", "Step": "step", "Restart": "restart"}  # label -> act; Play is also Pause
MORE = {"Back": "back", "Replay": "replay", "Continue": "proceed", "New seed": "reseed"}  # in the small menu
LOW = {"Compare": "compare", "See inside this step": "inside"}  # also there where a low window has no room for buttons
STEPS = ("Play", "Step", "Continue", "Replay")  # those that make steps of the run


def iterations(number: int) -> str:
    """So many iterations."""
    return f"{number:,} iteration{'s' * (number > 1)}"


class PlaybackBar:
    """Buttons, speed and a small menu; `act(name)` is called for a button or an entry, `pace(pace)` for another speed.

    No button changes its place: one that makes no sense now is disabled. At the end of the budget Play plays again.
    `more` are entries of the menu, and only a low window has those in `low`; the speeds are there too.
    `room` is where the page puts its time line.
    """

    def __init__(
        self,
        act: Callable[[str], None],
        pace: Callable[[Pace], None],
        count: Callable[[int], str] = iterations,
        buttons: Mapping[str, str] = BUTTONS,
        more: Mapping[str, str] | None = None,
        low: Collection[str] = (),
    ) -> None:
        self._low = low
        names = "playing", "ready", "done", "at_start", "ended", "closed", "held"
        self._now = {**dict.fromkeys(names, False), "at_start": True}  # what `tell` was told last
        self._more, self._act, self._paces = dict(more or {}), act, menu(count)  # in the small menu too, for a phone
        self.buttons = {label: self._button(label, name) for label, name in buttons.items()}
        self.menu = Menu("⋯", self._chosen, about="More ways to play", css_classes=["pmdviz-more"])
        self.menu.visible = bool(self._more)
        look = {"value": SLOW.name, "width": 150, "margin": 0, "css_classes": ["pmdviz-speed"], "sizing_mode": None}
        self.speed = select("Speed", self._paces, lambda name: pace(PACES[name]), **look)
        self.speed.visible = not self._more
        self.room = pn.Column(css_classes=["pmdviz-room"], **WIDE)
        look = {"css_classes": ["pmdviz-transport"], "stylesheets": [css.TRANSPORT], **WIDE}
        self.view = pn.Row(*self.buttons.values(), self.room, self.speed, self.menu, **look)
        self._show()

    def _button(self, label: str, name: str) -> pn.widgets.Button:
        look: dict[str, Json] = {"color": "primary", "variant": "solid"} if label == "Play" else {"color": "default"}
        look |= {"stylesheets": [css.BUTTON], "css_classes": ["pmdviz-button", f"pmdviz-{label.lower()}"], **WIDE}
        return small_button(label, lambda: self._act(name), **look)

    def tell(self, **now: bool) -> None:
        """How the run stands, as far as that may have changed; costs nothing where it has not.

        `playing`; `ready`: there is a picture; `done`: the budget is used up; `at_start`; `ended`: the method could not
        go on. No step can be made while it is `closed`, since a lesson asks first, or `held`, since it waits for its
        kernels: then Play says Play.
        """
        if not now.items() <= self._now.items():
            self._now |= now
            self._show()

    def _show(self) -> None:
        """What the large button would do, and which buttons make sense: Continue only where it could go on."""
        playing, ready, done, at_start, ended, closed, held = self._now.values()
        over = done and not at_start
        label = "Pause" if playing and not held else "Replay" if over and not self._more else "Play"
        update(self.buttons["Play"], label=label)
        dead = {"Step": done, "Back": at_start, "Play": done and at_start, "Continue": not over or ended}
        dead |= dict.fromkeys(STEPS, True) if closed or held else {}
        shut = {label: not ready or dead.get(label, False) for label in (*self.buttons, *self._more)}
        for label, button in self.buttons.items():
            update(button, disabled=shut[label])
        paces = [(f"pace {name}", label, True, False) for label, name in self._paces.items()]
        acts = [(act, label, not shut[label], label in self._low) for label, act in self._more.items()]
        self.menu.offer([*acts, *paces])

    def _chosen(self, entry: str) -> None:
        """An entry of the menu: an act, or a speed."""
        if entry.startswith("pace "):
            self.speed.value = entry.removeprefix("pace ")
        else:
            self._act(entry)


# Small parts of which panels are made. Buttons are at least 40 px high in the playback bar, 32 px elsewhere.

SMALL_CSS = css.BUTTON + ".bk-btn { min-height: 32px; font-size: 13px !important; }"
SMALL: dict[str, Json] = {"variant": "outline", "margin": 0, "stylesheets": [SMALL_CSS]}
WIDE: dict[str, Json] = {"sizing_mode": "stretch_width", "margin": 0}
ASIDE: dict[str, Json] = {"sizing_mode": "stretch_width", "margin": (8, 12)}  # the column next to the pictures


def small_button(label: str, act: Callable[[], None] | None = None, /, **look: Any) -> pn.widgets.Button:
    """A plain button that calls `act`."""
    made = pn.widgets.Button(label=label, **{**SMALL, **look})
    if act is not None:
        made.on_click(handed(lambda event: act()))
    return made


def select(
    label: str, options: Options[Chosen], choose: Callable[[Chosen], None] | None = None, **look: Any
) -> pn.widgets.Select:
    """A menu of words and their values; `choose(value)` hears of another one."""
    usual = {"margin": (4, 0), "sizing_mode": "stretch_width", "stylesheets": [css.SELECT]}
    made = pn.widgets.Select(label=label, options=options, **{**usual, **look})
    if choose is not None:
        made.param.watch(handed(lambda event: choose(event.new)), "value")
    return made


def text(words: str = "", /, **look: Any) -> pn.pane.HTML:
    """Words as HTML, as wide as there is room."""
    return pn.pane.HTML(words, **{"stylesheets": [css.TEXT], **WIDE, **look})


def folded(title: str, *parts: pn.viewable.Viewable, build: Callable[[], None] | None = None, **look: Any) -> pn.Card:
    """A folded card; `build` is called when it is first opened, to put something into it."""
    header = text(title, margin=(4, 0), sizing_mode=None)
    usual = {"stylesheets": [css.FOLDED], "sizing_mode": "stretch_width"}
    made = pn.Card(*parts, header=header, collapsed=True, **{**usual, **look})

    def opened(event: param.parameterized.Event) -> None:
        if build is not None and not (event.new or len(made)):
            build()

    made.param.watch(handed(opened), "collapsed")
    return made


def update(part: pn.viewable.Viewable | Model, **values: Any) -> None:
    """Set what differs: Panel takes a while also for the same value."""
    for name, value in values.items():
        if getattr(part, name) != value:
            setattr(part, name, value)


def offer(menu: pn.widgets.Select, options: Mapping[str, Chosen], value: Chosen | None = None) -> None:
    """Have a menu offer these, and show `value`, else what it shows if that is among them, else the first."""
    if menu.options != options or value is not None:
        kept = menu.value if value is None else value
        shown = kept if kept in options.values() else next(iter(options.values()), None)
        if (menu.options, menu.value) != (options, shown):
            menu.param.update(options=options, value=shown)


def spoken(words: str, name: str = "") -> str:
    """HTML that a screen reader says when it changes; "" for no words. `name` is its class."""
    return f'<span role="status" class="{name}">{html.escape(words)}</span>' if words else ""


def say(pane: pn.pane.HTML, words: str) -> None:
    """Have a pane say words, which a screen reader says too; costs nothing where it does."""
    update(pane, object=spoken(words))


class Component(JSComponent):
    """A component with a script of its own; `hear(message)` is called with the mappings that the browser sends."""

    def __init__(self, hear: Callable[[Mapping[str, Json]], None], **params: Any) -> None:
        self._hear = hear
        super().__init__(**{**WIDE, **params})

    def _handle_msg(self, data: Json) -> None:
        """Input from the browser: anything at all."""
        if isinstance(data, Mapping):
            soon(self._hear, data)


class Menu(Component):
    """A button that opens a menu; `act(name)` is called for an entry."""

    label = param.String(default="")
    about = param.String(default="", doc="The name of the button where its label is a sign.")
    entries = param.List(default=[], doc="Name, words, whether it can be chosen, whether only a low window has it.")

    _esm = css.MAKE + css.static("page.js", "menu")
    _stylesheets = [css.static("lab.css", "menu")]

    def __init__(self, label: str, act: Callable[[str], None], **params: Any) -> None:
        super().__init__(lambda message: self._choose(act, message), label=label, **{"sizing_mode": None, **params})

    def _choose(self, act: Callable[[str], None], message: Mapping[str, Json]) -> None:
        """Input from the browser: the name of an entry that can be chosen, or anything else, which is nothing."""
        if message.get("act") in [entry[0] for entry in self.entries if entry[2]]:
            act(str(message["act"]))

    def offer(self, entries: Iterable[tuple[str, str, bool, bool]]) -> None:
        """The entries as they are now; costs nothing where they stay the same."""
        update(self, entries=[list(entry) for entry in entries])


# Controls generated from knob declarations: one form, in it a knob for each of them.

ACTS = {  # when a knob takes effect, in its explanation
    "at once": "immediately",
    "next step": "at the next step",
    "rejuvenation": "at the next step, with new particles",
    "copies": "at the next step: a random subset or with copies moved a little",
    "resampling": "at the next step, which resamples",
    "restart": "on restart",
}


ENDS = {"bandwidth": ("too spiky", "too smooth")}  # words at the ends of a slider


def as_text(value: Value) -> str:
    """A knob's value as its box shows it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return short(value).replace(",", "") if 1e-4 <= abs(value) < 1e15 or value == 0 else repr(value)
    return str(value)


class KnobControl:
    """One knob of a form; typed text goes through `KnobSpec.parse`; a refusal appears next to the box."""

    def __init__(self, knob: KnobSpec, default: Value, turn: Callable[[str, Value], None], publish: Callable[[], None]):
        self.name, self._knob, self._default, self._turn, self._publish = knob.name, knob, default, turn, publish
        self.value, self.message, self.note, self.unit = as_text(default), "", "", knob.unit
        self.changed, self.visible, self.serial = False, True, 0  # serial: raised to have `value` shown again
        self.folds = not knob.basic  # away under More, as things are

    @property
    def usual(self) -> str:
        """The default in words."""
        if isinstance(self._default, bool):
            return "on" if self._default else "off"
        return self._knob.said(as_text(self._default))

    def state(self) -> dict[str, Value]:
        """What the browser shows, in plain values."""
        names = ("value", "message", "note", "unit", "changed", "visible", "serial", "usual", "folds")
        return {name: getattr(self, name) for name in names}

    def receive(self, data: Mapping[str, Json]) -> None:
        """Input from the browser, {"value": text} or {"reset": true}: set the knob, or say why not and keep the text.

        This is the one check of the value; from here on it goes its way as it is.
        """
        try:
            value = self._knob.parse(self._default if data.get("reset") else data.get("value"))
            refused, self.message, self.value = self.message, "", as_text(value)
            self.serial += 1
            if refused:  # else the browser shows the value already
                self._publish()
            self._turn(self.name, value)
        except InputError as error:  # of others too, with which it does not go
            self.refuse(error.on_page)

    def show(
        self,
        value: Value,
        default: Value,
        note: str = "",
        unit: str | None = None,
        visible: bool = True,
        asked_for: bool = False,
    ) -> None:
        """The value in force, what its default is now, and when a new value will act.

        A knob that was changed, or is `asked_for` by another one that was, is not folded away.
        """
        self._default, self.changed, self.note, self.visible = default, value != default, note, visible
        self.folds = not (self._knob.basic or self.changed or asked_for)
        self.unit = self.unit if unit is None else unit
        if (text := as_text(value)) != self.value:
            self.value, self.message = text, ""
            self.serial += 1
        self._publish()

    def refuse(self, sentence: str) -> None:
        """Say next to the box why a value could not be used."""
        self.message = sentence
        self.serial += 1
        self._publish()


def _plain(knob: KnobSpec) -> dict[str, Json]:
    low, high = knob.soft_bounds or (None, None)
    closed = knob.kind in ("whole", "real") and knob.bounds and None not in knob.bounds and all(knob.inclusive)
    if low is None and closed:
        low, high = knob.bounds
    if low is not None and high - low > 1e7 and not knob.log:
        low = high = None  # a seed: a slider over billions does not help
    return {
        "name": knob.name,
        "label": knob.label or knob.name,
        "acts": ACTS[knob.acts],
        "help": knob.help,
        "kind": knob.kind,
        "basic": knob.basic,
        "choices": [[choice, knob.said(choice)] for choice in knob.choices],
        "examples": dict(knob.examples),
        "low": low,
        "high": high,
        "log": bool(knob.log and low and low > 0),
        "whole": knob.kind == "whole",
        "ends": ENDS.get(knob.name, ()),
        "waits": ACTS["restart"] if knob.acts == "restart" else "",
    }


def unit_given(unit: str, values: Mapping[str, Value]) -> str:
    """The part of a unit like "units of θ (isotropic) or factor c (local)" that holds for the choices in force."""
    parts = dict((choice, text) for text, choice in re.findall(r"(?:^|or )([^()]+) \((\w+)\)", unit))
    return next((text for choice, text in parts.items() if choice in values.values()), unit)


NONE: Mapping[str, str] = {}


def in_order(specs: Mapping[str, KnobSpec]) -> list[str]:
    """The basic knobs first."""
    return sorted(specs, key=lambda name: not specs[name].basic)


class KnobForm(Component):
    """All knobs of a method (or options of a target) as one element of the page: a model for each would be slow."""

    brief = param.Boolean(default=False, doc="Sliders alone, each with what its number means; the rest is elsewhere.")
    specs = param.List(default=[], doc="The declarations, in plain values and in the order of display.")
    states = param.Dict(default={}, doc="What each knob shows now.")
    meanings = param.Dict(default={}, doc="Of sliders alone: what their values mean now.")

    _esm = css.EXPLAIN + css.static("knob.js")
    _stylesheets = [css.component("lab.css", "knob")]

    def __init__(self, turn: Turn | None = None, **params: Any) -> None:
        self.controls: dict[str, KnobControl] = {}
        self._turn, self._quiet = turn, False
        self._made: tuple[type[Knobs], list[str]] | None = None  # the set, and those that have a control
        self.hidden: frozenset[str] = frozenset()  # knobs that a link leaves out
        super().__init__(self._receive, **params)

    def _receive(self, data: Mapping[str, Json]) -> None:
        """Input from the browser, with the name of the knob."""
        if data.get("name") in [*self.controls]:
            self.controls[str(data["name"])].receive(data)

    def build(self, specs: Mapping[str, KnobSpec], defaults: Mapping[str, Value], turn: Turn | None = None) -> None:
        """Make a control for each declaration, from now on turned by `turn` if it is given."""
        self._turn = turn or self._turn
        ways = self._turn, self._publish
        self.controls = {name: KnobControl(spec, defaults[name], *ways) for name, spec in specs.items()}
        self.param.update(specs=[_plain(specs[name]) for name in in_order(specs)], states=self._states)

    def show(
        self,
        values: Knobs,
        defaults: Mapping[str, Value],
        pending: Mapping[str, str] = NONE,
        idle: frozenset[str] = frozenset(),
        turn: Turn | None = None,
        names: Iterable[str] | None = None,
    ) -> None:
        """Show the knobs in force, perhaps of another set, from now on turned by `turn`; with `names` these alone.

        Those that do nothing, with these values or here (`idle`), are not shown at all.
        """
        plain, specs, kind = values.as_dict(), values.specs(), type(values)
        if self._made != (made := (kind, [*(specs if names is None else names)])):
            self._made = made
            self.build({name: capped(specs[name], kind) for name in made[1]}, defaults, turn)
        self._quiet = True
        for name, control in self.controls.items():
            spec = specs[name]
            default = spec.default_beside(plain, defaults)
            unit, seen = unit_given(spec.unit, plain), name not in idle | self.hidden and values.matters(name, plain)
            asked_for = any(plain[other] != defaults[other] for other in spec.only_if or ())
            control.show(plain[name], default, pending.get(name, ""), unit, seen, asked_for)
        self._quiet = False
        self._publish()

    def tell(self, meanings: Mapping[str, Mapping[str, str]]) -> None:
        """Say what the values of the sliders mean now."""
        known = {name: meanings[name] for name in self.controls if name in meanings}
        if known != self.meanings:
            set_directly(self, meanings=known)

    @property
    def _states(self) -> dict[str, dict[str, Value]]:
        return {name: control.state() for name, control in self.controls.items()}

    def _publish(self) -> None:
        if not self._quiet and (states := self._states) != self.states:
            set_directly(self, states=states)


# Cards: work that lasts, notices, failed steps, sheets, headings, lines of buttons.

HIDDEN, SHOWN = {"display": "none"}, {"display": "flex"}


class Card:
    """Some Panel objects in a frame of their own; hidden at first."""

    def __init__(self, name: str, stylesheet: str, *parts: pn.viewable.Viewable) -> None:
        self.view = pn.Column(*parts, css_classes=[name], styles=HIDDEN, stylesheets=[stylesheet], margin=0)

    @property
    def shown(self) -> bool:
        """Whether it is to be seen."""
        return bool(self.view.styles == SHOWN)

    def reveal(self) -> None:
        """Show it."""
        update(self.view, styles=SHOWN)

    def hide(self) -> None:
        """Take it away."""
        update(self.view, styles=HIDDEN)


class SheetHead(Component):
    """The title of a sheet and the button that closes it; it takes the focus when the sheet is opened."""

    title = param.String(default="")
    opened = param.Integer(default=0, doc="Raised by the server.")

    _esm = css.MAKE + css.static("page.js", "sheet")
    _stylesheets = [css.static("lab.css", "sheet_head")]


class Sheet(Card):
    """A drawer on the right, without a backdrop: the stage stays in sight."""

    def __init__(
        self, title: str, *parts: pn.viewable.Viewable, about: Callable[[Sheet], None] = lambda sheet: None
    ) -> None:
        self._about = about  # hears that it was opened or closed
        self.head = SheetHead(lambda message: self.hide(), title=title)
        super().__init__("pmdviz-sheet", css.SHEET, self.head, *parts)

    def toggle(self) -> None:
        """Open it, or close it."""
        (self.hide if self.shown else self.reveal)()

    def reveal(self) -> None:
        """Open it."""
        super().reveal()
        self.head.opened += 1
        self._about(self)

    def hide(self) -> None:
        """Close it."""
        super().hide()
        self._about(self)


# What a person sees of work that lasts: what it is, for how long already, how far, and Cancel.

WORDS = {  # what the live loop calls its jobs, for a person; all others make a run
    "step": "Computing a step",
    "step back": "Going back one step",
    "set": "Updating",
    "going to the iteration of the link": "Replaying up to the iteration of the link",
    "going to a moment": "Computing the steps up to this moment",
    "branch": "Computing the steps of both runs",
    "undo": "Restoring the previous run",
    **dict.fromkeys(("look", "look at data", "look at traces", "look inside", "diagnosis", "budget"), "Measuring"),
}
NEW_RUN = "Preparing the first picture"


def live_words(seconds: float) -> str:
    """When a run that waits for its kernels goes on."""
    return f"Live in about {max(1, round(seconds))} s: compiling for this computer, once"


class Busy(Card):
    """A card over the traces, hidden while everything is quick."""

    def __init__(self, cancel: Callable[[], None]) -> None:
        self.text, self.button = text(stylesheets=[]), small_button("Cancel", cancel)
        super().__init__("pmdviz-busy", css.BUSY, self.text, self.button)

    def show(self, what: str, seconds: float, share: float, can_cancel: bool = True) -> None:
        """Say in the words `what` what lasts, for how long already, and which share of its present part is done."""
        words = html.escape(what)
        bar = f'<progress aria-label="{words}" max="1" value="{share:.2f}"></progress>'
        self._say(f'<div role="status">{words}: {duration(seconds)} so far</div>{bar}', can_cancel)

    def wait(self, words: str) -> None:
        """Give in `words` the reason for the wait."""
        self._say(f'<div role="status">{html.escape(words)}</div>', True)

    def _say(self, words: str, can_cancel: bool) -> None:
        self.text.object, self.button.label, self.button.disabled = words, "Cancel", not can_cancel
        self.reveal()

    def cancelling(self) -> None:
        """Cancel was pressed: it ends at the next block, or when a target's own function comes back."""
        self.button.label, self.button.disabled = "Cancelling …", True


# A sentence over the pictures: a link that could not be read, a picture unlike the shared one, or a failed step.

STOPPED = "<b>The run stopped.</b> The last good frame is still shown. "


class Notice(Card):
    """One sentence, and buttons with what they do; without any Close."""

    def __init__(self, name: str, stylesheet: str, acts: Mapping[str, Callable[[], None]] | None = None) -> None:
        self.text = text(stylesheets=[])
        buttons = [small_button(label, act) for label, act in (acts or {"Close": self.hide}).items()]
        super().__init__(name, stylesheet, self.text, pn.Row(*buttons, margin=0))

    def say(self, sentence: str, before: str = "") -> None:
        """Show the sentence; it is text, never markup."""
        self.text.object = f'<div role="alert">{before}{html.escape(sentence)}</div>'
        self.reveal()
