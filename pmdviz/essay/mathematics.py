r"""Formulas of the prose as MathML, which every browser sets by itself: no script and no font from elsewhere.

The notation is a line of plain letters: `q_{t+1} ∝ q_t^{1-γ} p^γ`, `\frac{a}{b}`, `\sqrt{a}`, `\text{words}`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from pmdviz.errors import InputError, shown

TOKEN = re.compile(r"\s*(\\[a-z]+|[A-Za-z]{2,}|\d+(?:\.\d+)?|.)")
COMMANDS = {"\\frac": 2, "\\sqrt": 1, "\\text": 1}  # and how many groups each takes
GAP = '<mspace width="0.17em"/>'  # after a function that has no bracket
OPEN = ("(", "[", "=", "")
SCRIPTS = {"_": "msub", "^": "msup"}


def mathml(source: str, block: bool = False) -> str:
    """A formula as one <math> element. Raises InputError for braces that do not match or an unknown command."""
    reader = _Reader(source)
    inside = reader.row("")
    display = ' display="block"' if block else ""
    return f"<math{display}>{inside}</math>"


class _Reader:
    """Reads a formula from left to right."""

    def __init__(self, source: str) -> None:
        self.source, self.at = source, 0

    def fault(self, words: str) -> InputError:
        return InputError(f"a formula {words}; given: {shown(self.source)}")

    def next(self) -> str:
        """The next token; "" at the end."""
        found = TOKEN.match(self.source, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[1]

    def peek(self) -> str:
        at, token = self.at, self.next()
        self.at = at
        return token

    def row(self, end: str) -> str:
        """All up to `end`, which is taken too."""
        parts: list[str] = []
        while (token := self.next()) != end:
            if token in ("", "}"):
                raise self.fault("has a brace without its other one")
            parts.append(self.scripted(self.atom(token)))
        return f"<mrow>{''.join(parts)}</mrow>"

    def atom(self, token: str) -> str:
        """One thing that may carry scripts."""
        if token == "{":
            return self.row("}")
        if token == "\\text":
            return f"<mtext>{html.escape(self.text()).replace(' ', '&#160;')}</mtext>"
        if token in COMMANDS:
            inside = "".join(self.group() for _ in range(COMMANDS[token]))
            return f"<m{token[1:]}>{inside}</m{token[1:]}>"
        if token.startswith("\\"):
            raise self.fault(f"has the command {token}, which is none of {', '.join(COMMANDS)}")
        return _leaf(token)

    def group(self) -> str:
        """The next token, or all in braces."""
        token = self.next()
        if token in ("", "}"):
            raise self.fault("ends where a part of it is missing")
        return self.atom(token)

    def text(self) -> str:
        found = re.compile(r"\{([^{}]*)\}").match(self.source, self.at)
        if found is None:
            raise self.fault("needs braces around its words")
        self.at = found.end()
        return found[1]

    def scripted(self, base: str) -> str:
        """The base with what is below and above the line."""
        scripts = dict(self.scripts())
        base, gap = base.removesuffix(GAP), GAP if base.endswith(GAP) else ""
        if len(scripts) == 2:
            return f"<msubsup>{base}{scripts['_']}{scripts['^']}</msubsup>{gap}"
        for sign, script in scripts.items():
            base = f"<{SCRIPTS[sign]}>{base}{script}</{SCRIPTS[sign]}>"
        return base + (gap if self.peek() not in OPEN else "")

    def scripts(self) -> Iterator[tuple[str, str]]:
        while (sign := self.peek()) in SCRIPTS:
            self.next()
            yield sign, self.group()


def _leaf(token: str) -> str:
    if token[0].isdigit():
        return f"<mn>{token}</mn>"
    if token.isalpha():  # of several letters it is upright, a function
        return f"<mi>{token}</mi>" + (GAP if len(token) > 1 else "")
    return f"<mo>{html.escape({'-': '−'}.get(token, token))}</mo>"
