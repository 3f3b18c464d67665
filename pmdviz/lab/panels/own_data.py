"""The dialog "Your own data": a table is brought, its columns are given roles, and a new run takes it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import param

from pmdviz.data.cells import MOST_BYTES, MOST_CLASSES, NUMBERS, Cells, Limits, cut, read_cells
from pmdviz.data.tables import Table, hold
from pmdviz.errors import InputError
from pmdviz.files import Json
from pmdviz.knobs import KnobSpec, Value
from pmdviz.lab import css
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.loop.task import TaskSlot, pool_for
from pmdviz.lab.panel_internals import handed
from pmdviz.lab.panels.widgets import Component
from pmdviz.scenes.words import whole_sentence
from pmdviz.targets import TARGETS, Target
from pmdviz.targets import options as forms

USING = "your own data"  # what the live loop calls it
SEEN_ROWS = 8
READ_S = 1.0  # CPU seconds that a large table may take: it is read in the background
PASTED = "pasted"
SCALING = "Subtract each column's mean and divide by its sd, to fit priors of sd 1 around 0."
HELD_OUT = 5  # one row of so many, where a target holds some out
NOTHING: dict[str, Json] = {
    "columns": [], "rows": [], "said": [], "misfit": "", "count": 0, "scale": False, "proposal": "", "offer": "",
}  # fmt: skip
MODEL_OF = {"class": "logistic", "classes": "softmax", "number": "linear", "": "mixture"}  # kind of outcome -> target
LOOKS_LIKE = {
    "class": "The last column, {}, has two values.",
    "classes": "The last column, {}, has {} classes.",
    "number": "The table has several columns of numbers.",
    "": "The table has a single column of numbers.",
}


class Brought(NamedTuple):
    """A table while the dialog is open."""

    name: str
    cells: Cells
    roles: tuple[str, ...]
    scale: bool


Tried = tuple[Brought, forms.Chosen | str]


class OwnDataView(Component):
    """Button and dialog; choices there come as messages."""

    form = param.Dict(default={}, doc="What the target takes: words, and the roles that a column may have.")
    told = param.Dict(default=NOTHING, doc="The table, and what does not fit.")
    busy = param.Boolean(default=False, doc="Whether the server is at work on the last message.")
    closes = param.Integer(default=0, doc="Raised by the server: a run with the data is being made.")
    opens = param.Integer(default=0, doc="Raised by the server: the run was refused, and the dialog says why.")
    upload = param.String(default="", doc="From the browser: a number, a file's name or none, a table in base64.")
    most = param.Integer(default=MOST_BYTES, doc="Bytes that a table may have.")

    _esm = css.MAKE + css.static("own_data.js", "own_data")
    _stylesheets = [css.component("pages.css", "own_data")]


class OwnDataDialog:
    """The button next to a target's options; `begin(USING, options=...)` starts the run that takes the table."""

    def __init__(self, begin: Callable[..., None]) -> None:
        self._begin = begin
        self._brought: Brought | None = None
        self._chosen: forms.Chosen | None = None
        self._used: Table | None = None  # keeps the table held until the run does
        self._of_run: forms.TableForm | None = None  # what the run's target takes
        self._target = ""  # another target that was proposed and taken
        self.work = TaskSlot(queues=True)
        most = min(limits.upload_bytes(), MOST_BYTES)
        self.view = OwnDataView(self._hear, most=most, visible=False, margin=(0, 0, 4, 0))
        self.view.param.watch(handed(lambda event: self._arrived(event.new)), "upload")

    def show(self, snapshot: Snapshot) -> None:
        """Follow the run: what its target takes, and that it has the table that was brought."""
        target = snapshot.frame.target
        self.show_form(target.table)
        if self._used is not None and any(table.pin == self._used.pin for table in target.tables):
            self._used = None
            self._clear()

    def show_form(self, form: forms.TableForm | None) -> None:
        """Offer it where a target takes a table; a proposal that was taken stays."""
        if form is not self._of_run:
            self._of_run = form
            self._offer()

    @property
    def _form(self) -> forms.TableForm | None:
        return TARGETS[self._target].table if self._target else self._of_run

    def _offer(self) -> None:
        form, told = self._form, {}
        if form is not None:
            told = {"words": form.words, "roles": role_names(form), "scales": not form.as_given}
        self.view.param.update(visible=form is not None, form=told)

    def refuse(self, sentence: str) -> bool:
        """Say why a run could not take the table; False where none was asked for."""
        if self._used is None:
            return False
        self._used = None
        self._misfit(sentence)
        self.view.opens += 1
        return True

    # What the browser says

    def _hear(self, message: Mapping[str, Json]) -> None:
        brought, form = self._brought, self._form
        if "closed" in message:
            self._clear()
        elif "use" in message:
            self._use()
        elif brought is None or form is None:
            return
        elif "fit" in message:
            self._fit(brought)
        elif "scale" in message:
            self._try(brought._replace(scale=message["scale"] is True and not form.as_given))
        elif isinstance(roles := message.get("roles"), list) and len(roles) == len(brought.cells.columns):
            if all(role in role_names(form) for role in roles):
                self._try(brought._replace(roles=forms.settled(roles, brought.roles, form)))

    def _arrived(self, upload: str) -> None:
        """A file or pasted rows, in base64: a message would be refused where it is large."""
        if not upload or self._form is None:
            return
        self.view.upload = ""
        _, _, rest = upload.partition("\n")
        name, _, content = rest.partition("\n")
        form, most = self._form, self.view.most
        self._ask(lambda: _tried(_proposed(name or PASTED, read_cells(_bytes_of(content), Limits(most)), form), form))

    def _fit(self, brought: Brought) -> None:
        """Take the model that was proposed for the table."""
        if (kind := likely_outcome(brought.cells)) is not None:
            self._target = MODEL_OF[kind]
            self._offer()
            self._try(_proposed(brought.name, brought.cells, self._form))

    def _try(self, brought: Brought) -> None:
        self._brought, form = brought, self._form  # the next choice adds to it
        self._ask(lambda: _tried(brought, form))

    def _ask(self, act: Callable[[], Tried]) -> None:
        self._chosen = None
        self.view.busy = True
        self.work.compute(pool_for(READ_S), act, self._told, self._misfit)

    # What came out

    def _told(self, made: Tried) -> None:
        self._brought, found = made
        self._chosen, misfit = (None, found) if isinstance(found, str) else (found, "")
        said = _used_words(found, self._form) if isinstance(found, forms.Chosen) else []
        offer = proposal(self._brought.cells, self._form)
        self.view.param.update(told=_plain(self._brought, said, misfit) | offer, busy=False)

    def _misfit(self, sentence: str) -> None:
        """The sentence next to the preview; of a table that cannot be read nothing is shown."""
        self._chosen = None
        shown = self.view.told if self._brought is not None else NOTHING
        self.view.param.update(told={**shown, "said": [], "misfit": whole_sentence(sentence)}, busy=False)

    def _use(self) -> None:
        found, form, brought = self._chosen, self._form, self._brought
        if found is None or form is None or brought is None or self._used is not None:
            return
        self.view.busy = True
        self.work.compute(
            pool_for(READ_S),
            lambda: hold(brought.name, found.columns, found.rows, _origin(brought, form), found.units),
            lambda table: self._start_run(table, form),
            self._misfit,
        )

    def _start_run(self, table: Table, form: forms.TableForm) -> None:
        self._used, held_out = table, held_out_of(len(table.rows), form)
        self.view.param.update(closes=self.view.closes + 1, busy=False)
        if self._target:
            options = table_options(table, form, TARGETS[self._target].Options.specs(), held_out)
            self._begin(USING, target=self._target, target_options=options, keep=True)
        else:
            self._begin(USING, options=lambda target: _options(target, table, form, held_out), keep=True)

    def _clear(self) -> None:
        """Drop a table that is not on show."""
        self.work.let_go()
        self._brought = self._chosen = None
        self._target = ""
        self.view.param.update(told=NOTHING, busy=False)
        self._offer()


def likely_outcome(cells: Cells) -> str | None:
    """What a table looks like, a key of OUTCOMES; None where that is not clear."""
    columns = [column for column in cells.columns if not forms.names_rows(column)]
    if cells.words or not columns or any(column.kind != NUMBERS for column in columns[:-1]):
        return None
    last, values = columns[-1], len(columns[-1].values)
    if len(columns) == 1:
        return "" if last.kind == NUMBERS else None
    if values == 2:
        return "class"
    if last.kind == NUMBERS:
        return "number"
    return "classes" if 2 < values <= MOST_CLASSES else None


def proposal(cells: Cells, form: forms.TableForm | None) -> dict[str, str]:
    """A sentence and a target's title where a table looks as if another kind of model fits; else nothing."""
    kind = likely_outcome(cells)
    if form is None or kind is None or kind == form.outcome or form.as_given:
        return {"proposal": "", "offer": ""}
    last = cells.columns[-1]
    sentence = LOOKS_LIKE[kind].format(last.name, len(last.values))
    return {"proposal": sentence, "offer": f"Use {TARGETS[MODEL_OF[kind]].title}"}


def _bytes_of(content: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise InputError("the file did not arrive whole: choose it again") from None


def _origin(brought: Brought, form: forms.TableForm) -> str:
    """The Python that makes the same table of the same file; "" where the rows were pasted."""
    if brought.name == PASTED:
        return ""
    target = next(name for name, made in TARGETS.items() if made.table is form)
    named = [*zip(brought.cells.names, brought.roles, strict=True)]
    roles = f", inputs={[name for name, role in named if role == forms.INPUT]!r}"
    roles += "".join(f", outcome={name!r}" for name, role in named if role == forms.OUTCOME)
    roles = "" if brought.roles == forms.usual_roles(brought.cells, form) else roles
    return f"pmdviz.read_table({brought.name!r}, {target!r}{roles}{', scale=True' * brought.scale})"


def _proposed(name: str, cells: Cells, form: forms.TableForm) -> Brought:
    """A table with the roles that its columns usually have."""
    roles = forms.usual_roles(cells, form)
    return Brought(name, cells, roles, forms.should_scale(cells, roles, form))


def _tried(brought: Brought, form: forms.TableForm) -> Tried:
    """The table with the parts used of it, or with why it does not fit."""
    try:
        return brought, forms.chosen(brought.cells, brought.roles, form, brought.scale)
    except InputError as error:
        return brought, whole_sentence(error.on_page)


def _options(target: Target, table: Table, form: forms.TableForm, held_out: int) -> dict[str, Value]:
    if target.table is not form:
        raise InputError("the target has changed meanwhile: choose the data again")
    return table_options(table, form, type(target.options).specs(), held_out)


def role_names(form: forms.TableForm) -> list[str]:
    """The roles that a column may have."""
    return [forms.INPUT, forms.OUTCOME, forms.LEAVE_OUT] if form.outcome else [forms.INPUT, forms.LEAVE_OUT]


def held_out_of(n: int, form: forms.TableForm) -> int:
    """How many of n rows are held out."""
    return max(form.held_out, n // HELD_OUT) if form.held_out else 0


def _used_words(found: forms.Chosen, form: forms.TableForm | None) -> list[str]:
    n, k = found.rows.shape
    words = f"{n:,} row{'s' * (n != 1)} of {k} column{'s' * (k != 1)} will be used."
    return [words, *found.said, *held_out_words(found, form)]


def held_out_words(found: forms.Chosen, form: forms.TableForm | None) -> list[str]:
    """How many of the rows are held out, where some are."""
    n = len(found.rows)
    some = held_out_of(n, form) if form else 0
    return [f"{some:,} of the {n:,} rows are held out, to judge predictions."] if some else []


def table_options(
    table: Table, form: forms.TableForm, specs: Mapping[str, KnobSpec], held_out: int = 0
) -> dict[str, Value]:
    """The options of a target with such `specs` with which it takes a table, all but `held_out` rows.

    Raises InputError where the rows are too few.
    """
    n = len(table.rows)
    if n <= form.held_out:
        words = f"at least {form.held_out + 1} rows are needed, because some are held out to judge predictions"
        raise InputError(f"{words}; got {n}: add rows")
    return {"data": table.pin, **form.options(specs, n, len(table.columns), held_out)}


def _plain(brought: Brought, said: Sequence[str], misfit: str) -> dict[str, Json]:
    columns = zip(brought.cells.columns, brought.roles, strict=True)
    return {
        "columns": [{"name": column.name, "kind": column.said, "role": role} for column, role in columns],
        "rows": [[*map(cut, row)] for row in brought.cells.first[:SEEN_ROWS]],
        "count": len(brought.cells),
        "scale": brought.scale,
        "scaling": SCALING,
        "said": [*said],
        "misfit": misfit,
    }
