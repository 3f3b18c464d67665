"""A question in a notebook: its text as Markdown, and buttons of ipywidgets under it that store an answer.

A module of its own at the top of the package: it is loaded with a notebook's first question, long before the lab.
"""

from __future__ import annotations

import ast
import base64
import importlib.util
import inspect
import sys
import zlib
from html import escape
from typing import Any

from pmdviz.errors import InputError
from pmdviz.lessons import questions
from pmdviz.lessons.lesson import CONFIDENCES

MORE = "Run the next cell to go on; until then the answer may be changed."


class Question(questions.Question):
    """A question with named choices, or for a number. An answer is stored first; only then `reveal` lets the run go on.

    `ask` shows it in a notebook with buttons. It needs no front end: `answer` stores an answer as well.

    Parameters
    ----------
    text : str
        Markdown, with formulas between dollars.
    unit : str
        Of the number that is asked for, of a question without choices.
    **choices : str
        At least two, by the letter that an answer gives: a="...", b="..."; none for a number.

    Attributes
    ----------
    name : str
        Of the variable that holds it, once it was asked in a notebook.
    stored : str, float or None
        The answer: the letter of a choice, or a number; None before.
    confidence : str
        "a guess", "rather sure" or "sure", if it was given.
    judgement : Judgement or None
        What `verdict` was given.

    Raises
    ------
    InputError
        A single choice, an empty text, an invalid answer, an answer after the reveal, a verdict that leaves an
        answer without a text.

    Examples
    --------
    >>> guess = pmdviz.Question("Does TV fall?", a="yes", b="no")
    >>> guess.ask()  # buttons; without them: guess.answer("a")
    >>> guess.reveal()  # refuses unless an answer is stored
    >>> guess.verdict("b", a="A redraw adds h² each time.", b="With `always` it rises.")
    >>> count = pmdviz.Question("How many still count?", unit="particles")
    >>> count.answer(20, "a guess").verdict(
    ...     3.7, tolerance=0.3, close="m / (1 + χ²).", low="Not quite.", high="m alone says nothing."
    ... )
    """

    def ask(self) -> None:
        """Show it, in a notebook with buttons that store an answer; as the last line of a cell."""
        self.buttons = show(self)


def show(question: Question) -> AnswerButtons | None:
    """Show a question: with buttons in a Jupyter kernel that has ipywidgets, else as text."""
    ipython = _ipython()
    if ipython is None:
        print(question)  # noqa: T201, a script has no other place for it
        return None
    from IPython.display import Markdown, display

    names = [name for name, value in [*ipython.user_ns.items()] if value is question and not name.startswith("_")]
    question.name = names[0] if names else question.name
    display(Markdown(question.words))
    if hasattr(ipython, "kernel") and importlib.util.find_spec("ipywidgets"):
        return AnswerButtons(question)
    display(Markdown(_by_hand(question)))
    return None


def _ipython() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def _by_hand(question: Question) -> str:
    return f"Answer in a cell of your own: `{question.example}`"


class AnswerButtons:
    """A button for each choice, or a field for a number; confidence; and the stored answer, in words."""

    def __init__(self, question: Question) -> None:
        import ipywidgets as widgets
        from IPython.display import display

        self._question = question
        self.confidence = widgets.Dropdown(
            options=[("", ""), *((words, words) for words in CONFIDENCES)],
            description="How sure? (may be left out)",
            style={"description_width": "initial"},
            layout={"width": "max-content"},
        )
        self.confidence.observe(self._more_or_less_sure, "value")
        self.answers = self._choices(widgets) if question.choices else self._field(widgets)
        self.said = widgets.HTML()
        self._say("Choose an answer." if question.choices else "Type a number and press Enter.")
        self._whole = widgets.VBox([widgets.HBox([*self.answers, self.confidence]), self.said])
        words = _by_hand(question)  # for a front end without widgets
        data, metadata = _ipython().display_formatter.format(self._whole)  # metadata of its own: Colab looks there
        self._place = display(
            {**data, "text/plain": words, "text/markdown": words}, metadata=metadata, raw=True, display_id=True
        )

    def update(self) -> None:
        """Say which answer is stored, and mark its button."""
        for button in self.answers:
            button.icon = "check" if button.description == self._question.stored else ""
        self._say(f"{self._question.stored_as} {MORE}")

    def close(self) -> None:
        """Put the answer instead of the buttons: a saved notebook keeps it."""
        from IPython.display import Markdown

        self._place.update(Markdown(self._question.stored_words))
        self._whole.close()

    def _choices(self, widgets: Any) -> list[Any]:
        made = []
        for letter, words in self._question.choices.items():
            button = widgets.Button(description=letter, tooltip=f"{letter}: {words}", layout={"width": "5em"})
            button.on_click(lambda _, letter=letter: self._store(letter))
            made.append(button)
        return made

    def _field(self, widgets: Any) -> list[Any]:
        unit = f" ({self._question.unit})" if self._question.unit else ""
        self.field = widgets.Text(
            description=f"Your number{unit}:", continuous_update=False, style={"description_width": "initial"}
        )
        button = widgets.Button(description="Store", layout={"width": "6em"})
        self.field.observe(lambda change: self._store(change["new"]), "value")
        button.on_click(lambda _: self._store(self.field.value))
        return [self.field, button]

    def _store(self, value: str) -> None:
        try:
            self._question.answer(value, self.confidence.value)
        except InputError as error:
            self._say(f"Not stored: {error}")

    def _more_or_less_sure(self, _: Any) -> None:
        if self._question.stored is not None:
            self._store(str(self._question.stored))

    def _say(self, words: str) -> None:
        self.said.value = f'<span role="status">{escape(words)}</span>'


def sealed(task: str, packed: str) -> Any:
    """Run the packed source of a verdict or a check in the notebook; what its last line shows.

    `pmdviz notebooks --student` packs them, so no right value is in view. They are not secret: anybody can unpack them.

    Parameters
    ----------
    task : str
        Under which the points are kept: the name of a question, or "exercise 1".
    packed : str
        The source, compressed, in base 64.
    """
    caller = inspect.currentframe()
    names = caller.f_back.f_globals if caller is not None and caller.f_back is not None else {}
    tree = ast.parse(zlib.decompress(base64.b64decode(packed)).decode())
    last: Any = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with questions.as_task(task):
        exec(compile(tree, task, "exec"), names)  # noqa: S102, the cell of the notebook itself
        return eval(compile(ast.Expression(last.value), task, "eval"), names) if last is not None else None  # noqa: S307
