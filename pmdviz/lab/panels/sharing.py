"""Links to a run, a race and an experiment, what a teacher leaves out of one, recipes in files, and the clipboard."""

from __future__ import annotations

import html
import io
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import panel as pn
import segno
from bokeh.models import CustomJS, Plot

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import MAX_BUDGET, Recipe, fold, unfold
from pmdviz.errors import InputError
from pmdviz.experiments.running import find_experiment
from pmdviz.export.writers import table_csv
from pmdviz.files import Json
from pmdviz.knobs import Knobs, Value
from pmdviz.lab import css, links
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.frame_sender import Acknowledge
from pmdviz.lab.loop.live import Throttle
from pmdviz.lab.loop.runner import Replay, Runner, Snapshot, replay_to
from pmdviz.lab.loop.task import Again
from pmdviz.lab.panel_internals import handed
from pmdviz.lab.panels.widgets import SMALL, WIDE, folded, select, small_button, spoken, text
from pmdviz.presets import find_experiment_preset
from pmdviz.scenes.words import capital, duration

FOLLOW_S = 2.0  # while it plays the address follows so often; browsers refuse much more
TOO_LONG = (
    "The link starts at {place}. Replaying the run up to it would take about {duration}, more than this server "
    "spends on a link. The run starts at iteration 0 instead of there."
)
ENDED = "The link starts at iteration {iteration:,}, but its run ends at iteration {last:,}."
DIFFERENCES = {
    "same": "",
    "rounded": "At iteration {iteration:,} the replayed run agrees with the shared one to five digits. Another "
    "processor, or another version of pmdviz, NumPy or Numba, rounds differently.",
    "other": "At iteration {iteration:,} the replayed run has other particles than the shared one. Another processor, "
    "or another version of pmdviz, NumPy or Numba, rounds differently, and a random choice came out differently.",
}


class Sharing:
    """The link of a lab: what it came by, and what it shows now."""

    def __init__(self, ack: Acknowledge, link: links.Link) -> None:
        self._ack, self._link = ack, link
        self._pace = Throttle(FOLLOW_S)
        self._opened: str | None = None  # the first query
        self._recipe: Recipe | None = None  # of the link in the address bar
        self._replay: Replay | None = None  # while it is under way
        self.sentence = ""  # what a person must be told of the link once its frame is there

    def arrive(self, runner: Runner) -> Snapshot | Again:
        """Replay up to the link's iteration, turn by turn, and hold the frame against its digest."""
        if runner.session.frame.iteration == 0:
            self._replay = self._replay or replay_to(self._link.iteration, runner)
            if (again := self._replay.bring(runner)) is not None:
                return again
            self.sentence = self._judged(runner.session.frame, self._replay)
            self._replay = None
        return runner.snapshot()

    def _judged(self, frame: Frame, replay: Replay) -> str:
        """What must be said of the way to `frame`; "" where it is the one that was shared."""
        asked = self._link.iteration
        place = "the end of its run" if asked == MAX_BUDGET else f"iteration {asked:,}"
        if replay.too_long:
            return TOO_LONG.format(place=place, duration=duration(replay.foretold))
        if frame.iteration < asked < MAX_BUDGET:  # a link to the end has no iteration
            return ENDED.format(iteration=asked, last=frame.iteration)
        if not self._link.digest:
            return ""
        return DIFFERENCES[links.agreement(frame, self._link.digest)].format(iteration=asked)

    def query(self, snapshot: Snapshot, start: str = links.HERE, page: links.Link | None = None) -> str:
        """The query of the link to a snapshot, or to another place of its run; the page looks as it does now.

        Raises InputError where a link cannot hold it.
        """
        return links.query(snapshot.recipe, snapshot.frame, page or self._link, snapshot.preset, start)

    def follow(self, snapshot: Snapshot, playing: bool) -> None:
        """Bring the address bar up to date, once something has happened."""
        if not self._pace.is_due(time.monotonic(), playing and snapshot.recipe == self._recipe):
            return
        self._recipe = snapshot.recipe
        try:
            text = self.query(snapshot)
        except InputError:
            text = ""
        if self._opened is None:  # an opened file stays as it was written
            self._opened = text
        elif text != self._opened or self._ack.link:
            self._ack.link = text


# The visitor's clipboard: the text put there, and the line that confirms it.


class Clipboard:
    """What the browser is asked to copy, by way of the acknowledgement model."""

    def __init__(self, ack: Acknowledge) -> None:
        self._ack = ack
        self.said = text(margin=(6, 0), css_classes=["pmdviz-said"], stylesheets=[])
        ack.on_change("copied", handed(lambda attr, old, new: self.say("Copied to the clipboard.")))
        ack.on_change("refused", handed(lambda attr, old, new: self._by_hand()))

    def put_on_clipboard(self, text: str) -> None:
        """Have the browser copy `text`; it answers whether it could."""
        self._ack.text = text
        self._ack.copies += 1

    def put_link(self, query: Callable[[], str], hint: str = "") -> str:
        """Have the browser copy the link with this query, to which it adds its address; "" where no link can hold it.

        `hint` says where to go then.
        """
        try:
            text = query()
        except InputError as error:
            self.say(f"{capital(str(error))}{hint}.")
            return ""
        self.put_on_clipboard(text)
        return text

    def say(self, words: str) -> None:
        """A line next to the buttons."""
        self.said.object = spoken(words)

    def _by_hand(self) -> None:
        if self._ack.text.startswith("?"):
            self.say("The browser did not allow copying; copy the address of this page instead.")
        else:
            box = f"<textarea readonly rows='8' style='width:100%'>{html.escape(self._ack.text)}</textarea>"
            summary = "<summary>The browser did not allow copying; here it is:</summary>"
            self.said.object = f"<details open>{summary}{box}</details>"


# The link to an experiment of the Theory page: read, shared, and in the browser's address bar.


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
    """The part of a run that a link opens; None: its start. A preset replaces an experiment. Raises InputError."""
    if asked.settings:
        found = of_preset(asked.settings)
    elif asked.experiment:
        given = unfold(asked.knobs) if asked.knobs else {}
        found = Choice(asked.experiment, find_experiment(asked.experiment).Knobs.checked(given))
    else:
        return None
    limits.check_experiment(found.knobs)
    return found


def changed(knobs: Knobs) -> dict[str, Value]:
    """The knobs that do not have their defaults, those that follow from others included."""
    values, specs = knobs.as_dict(), knobs.specs()
    return {name: value for name, value in values.items() if value != specs[name].default_given(values)}


def asked_of(choice: Choice) -> links.Asked:
    """A choice as a link says it: by its preset's name as long as nothing was turned."""
    if choice.preset and choice == of_preset(choice.preset):
        return links.Asked(settings=choice.preset)
    given = changed(choice.knobs)
    return links.Asked(choice.experiment, fold(given) if given else "")


Shared = TypeVar("Shared")  # an experiment or a race


class PageSharing(Generic[Shared]):
    """Share, and the address, of what a page shows: an experiment or a race, whose link is `query(shown)`.

    `bare` is the page's own address, which opens `usual`; `hint` is where to go with what no link can hold.
    """

    shown: Shared | None = None  # what Share is about
    _at = 0  # the moment of it

    def __init__(
        self, ack: Acknowledge, query: Callable[[Shared], str], bare: str, usual: Shared | None = None, hint: str = ""
    ) -> None:
        self._ack, self._query, self._bare, self._usual, self._hint = ack, query, bare, usual, hint
        self._pace, self.clipboard = Throttle(FOLLOW_S), Clipboard(ack)
        self.button, self.said = small_button("Share", self.copy), self.clipboard.said

    def follow(self, shown: Shared, at: int = 0, playing: bool = False) -> None:
        """Share this one from now on, and bring the address up to date; `at` is the moment of it that is shown."""
        same = shown is self.shown
        if same and at == self._at and self._ack.link or not self._pace.is_due(time.monotonic(), playing and same):
            return
        if not same:
            self.clipboard.say("")
        self.shown, self._at = shown, at
        try:
            self._ack.link = self._bare if shown == self._usual and not at else self._query(shown)
        except InputError:
            self._ack.link = self._bare

    def copy(self) -> None:
        """Put the link on the clipboard."""
        text = self.clipboard.put_link(lambda: self._query(self.shown), self._hint)
        self._ack.link = self._ack.link or text


# A recipe out of a file: what Export, the command line or Python wrote opens in the lab.

LABEL = "Open a saved run"
OPENING = "new file"  # what the live loop calls it


class RecipeFile:
    """A box for a file, which begins a new run by `begin(OPENING, make=...)`; any other file gets a sentence."""

    def __init__(self, begin: Callable[..., None]) -> None:
        self._begin = begin
        look = {"margin": (8, 0, 4, 0), "sizing_mode": "stretch_width", "stylesheets": [css.FILE]}
        self.box, self.said = pn.widgets.FileInput(label=LABEL, accept=".json", **look), text()
        self.view = pn.Column(self.box, self.said, **WIDE)
        self.box.param.watch(handed(lambda event: self._take(event.new)), "value")

    def _take(self, content: bytes | None) -> None:
        if content:
            self.say("")
            self._begin(OPENING, make=partial(Recipe.from_json, content))

    def say(self, sentence: str) -> None:
        """Say why a file was refused, or nothing."""
        self.said.object = f'<span class="pmdviz-file-words" role="alert">{html.escape(sentence)}</span>'


# What can be exported: ten lines of Python, a picture, the history as a table.


PRINTED = "\nprint({name: value for name, value in run.frames[-1].metrics.items() if value is not None})\n"


class Actions(Clipboard):
    """Copy Python, Save PNG, Download CSV, and the words over the page that confirm."""

    def __init__(self, ack: Acknowledge, stage: Plot, last: Callable[[], Snapshot | None]) -> None:
        super().__init__(ack)
        self.said.stylesheets = [css.TOAST]
        self._last = last
        self.copy = small_button("Copy Python", lambda: self.put_on_clipboard(self._python()))
        self.share = small_button("Copy link")
        self.save = small_button("Save PNG", lambda: ack.update(saves=ack.saves + 1))
        # By way of the model: Panel keeps the arguments of a button's own script, and all they depend on, forever.
        ack.js_on_change("saves", CustomJS(args={"stage": stage}, code=css.MAKE + css.static("frames.js", "save_png")))
        file = {"filename": "pmdviz-history.csv", "label": "Download CSV"}
        self.download = pn.widgets.FileDownload(callback=self._csv, **file, **SMALL)

    def cards(self) -> list[pn.viewable.Viewable]:
        """Two of the four ways to take a run along: as Python, and as a picture or a table."""
        rows = {"Python": [self.copy], "Picture and table of this moment": [self.save, self.download]}
        look = {"gap": "6px", "margin": (4, 0, 10, 0), "sizing_mode": "stretch_width"}
        return [part for title, row in rows.items() for part in (text(title), pn.FlexBox(*row, **look))]

    def _python(self) -> str:
        last = self._last()
        return f"{last.run.to_python()}{PRINTED}" if last is not None else ""

    def _csv(self) -> io.StringIO:
        last = self._last()
        return io.StringIO(table_csv(last.history) if last else "")


# A fold in which a teacher makes a link: where it starts, what it leaves out, how the page looks; its QR code.

STARTS = {"at the start": links.START, "here": links.HERE, "at the end": links.END}
PARTS = {
    "preset": "preset",
    "target": "target",
    "its data": "data",
    "method": "method",
    "its settings": "knobs",
    "budget": "budget",
    "seed": "seed",
}
NO_CODE = "The link is too long for a QR code: leave out changes during the run, or share the recipe as a file."
ONLY_HERE = (
    "This link opens on this computer alone. For a class, start the server for others "
    "(see “Serve a class” in the docs), and open this page by the server's own address."
)
LOOKS = {"presenter mode": "presenter", "embedded (lab only)": "embed"}


class LinkBuilder:
    """The fold; `copy(start, page)` puts the link on the clipboard. Its content is made when it is first opened.

    Only the browser knows the address of the page: the QR code is drawn when it has said it, by way of `ack`.
    """

    def __init__(self, copy: Callable[[str, links.Link], None], ack: Acknowledge) -> None:
        self._copy, self._ack, self._awaited = copy, ack, False
        ack.on_change("copied", handed(lambda attr, old, new: self._draw_code()))
        ack.on_change("refused", handed(lambda attr, old, new: self._draw_code()))
        look = {"margin": (8, 0), "css_classes": ["pmdviz-link-builder"]}
        self.view = folded("Link and QR code", build=self._build, **look)

    def _build(self) -> None:
        boxes: dict[str, Json] = {"stylesheets": [css.LINK_BUILDER], "margin": (0, 8, 8, 8)}
        self.start = select("Opens the run", STARTS, value=links.START, margin=(8, 8))
        self.hide = pn.widgets.CheckBoxGroup(label="Leaves out", options=PARTS, **boxes)
        self.looks = pn.widgets.CheckBoxGroup(label="Looks", options=LOOKS, **boxes)
        copy = small_button("Copy the link", lambda: self._ask(False))
        code = small_button("Show a QR code", lambda: self._ask(True))
        self.code = text(margin=8)
        leave, opens = (text(words, margin=(0, 8), sizing_mode=None) for words in ("Leave out:", "Open in:"))
        buttons = pn.Row(copy, code, margin=(0, 8), styles={"gap": "8px"})
        self.view.extend([self.start, leave, self.hide, opens, self.looks, buttons, self.code])

    def _ask(self, with_code: bool) -> None:
        self.code.object, self._awaited = "", with_code
        looks: dict[str, Any] = {name: name in self.looks.value for name in LOOKS.values()}
        self._copy(self.start.value, links.Link(hide=tuple(self.hide.value), **looks))

    def _draw_code(self) -> None:
        if self._awaited:
            self._awaited = False
            self.code.object = qr_code(self._ack.address)


def qr_code(address: str) -> str:
    """HTML of an address as a QR code, dark on light in both themes; a sentence where none can hold it."""
    try:
        code = segno.make_qr(address, error="l")
    except segno.DataOverflowError:
        return NO_CODE
    picture = code.svg_data_uri(border=4, scale=8, light="#fff")
    saved = f'<a href="{picture}" download="pmdviz-link.svg">Save the QR code</a>'
    warned = f'<p role="status">{ONLY_HERE}</p>' if links.is_local(address) else ""
    return f'{warned}<img class="pmdviz-qr" alt="QR code of the link" src="{picture}"><br>{saved}'
