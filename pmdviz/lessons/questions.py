"""A question that is answered before what it asks about is seen: for notebooks that teach."""

from __future__ import annotations

from pmdviz.errors import InputError, shown, unknown


class Unanswered(InputError):
    """What comes next is closed until an answer is stored."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the sentence alone, as nothing is broken."""
        return [f"Not yet: {self}"]


class Question:
    """A question with named choices. An answer is stored first; only then `reveal` lets the run go on.

    In a notebook it shows itself as text with formulas, and after `verdict` as what was said and what is right. It
    needs no front end: executed from top to bottom it does the same.

    Parameters
    ----------
    text : str
        Markdown, with formulas between dollars.
    **choices : str
        At least two, by the name that an answer gives: a="...", b="...".

    Attributes
    ----------
    stored : str
        The choice that was answered; "" before.

    Raises
    ------
    InputError
        Fewer than two choices, an empty text, an answer that is no choice, an answer after the reveal.

    Examples
    --------
    >>> guess = pmdviz.Question("Does TV fall?", a="yes", b="no")
    >>> guess.answer("a")
    >>> guess.reveal()  # refuses unless an answer is stored
    >>> guess.verdict("b", "With `always` it rises.")
    """

    def __init__(self, text: str, /, **choices: str) -> None:
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"a question needs a text; given: {shown(text)}")
        if len(choices) < 2 or not all(isinstance(words, str) for words in choices.values()):
            raise InputError(
                f'a question needs at least two choices, such as a="up", b="down"; given: {shown(choices)}'
            )
        self.text, self.choices, self.stored = text, choices, ""
        self._open, self._right, self._because = False, "", ""

    def answer(self, choice: str) -> Question:
        """Store an answer; it may be changed until the reveal. Returns the question, for the cell to show."""
        if self._open:
            raise InputError(
                f"the answer {self.stored!r} is already revealed; run the question's cell again to ask anew"
            )
        self.stored = self._checked(choice)
        return self

    def reveal(self) -> None:
        """Let what comes after it happen. Raises Unanswered, an InputError, until an answer is stored."""
        if not self.stored:
            calls = " or ".join(f".answer({name!r})" for name in self.choices)
            raise Unanswered(f"store your answer first: {calls}")
        self._open = True

    def verdict(self, right: str, because: str = "") -> Question:
        """Say which choice is right, and why; reveals. Returns the question, for the cell to show."""
        self.reveal()
        self._right, self._because = self._checked(right), because
        return self

    def _checked(self, choice: str) -> str:
        if choice not in self.choices:
            raise unknown("choice", choice, self.choices)
        return choice

    def _repr_markdown_(self) -> str:
        if self._right:
            return self._verdict_words()
        if self.stored:
            return f"Your answer is stored: **{self.stored}**, {self.choices[self.stored]}."
        lines = [f"- **{name}**: {words}" for name, words in self.choices.items()]
        return "\n".join([f"**Question.** {self.text}", "", *lines])

    def _verdict_words(self) -> str:
        agrees = self.stored == self._right
        said = f"You said **{self.stored}**" + (", and so it is:" if agrees else f"; it is **{self._right}**:")
        return f"{said} {self.choices[self._right]}. {self._because}".rstrip()

    def __repr__(self) -> str:
        return self._repr_markdown_().replace("**", "")
