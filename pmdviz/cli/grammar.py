"""`pmdviz list --grammar`: the table of all methods by what they do in a step, as docs/methods.md shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pmdviz.methods import Method
from pmdviz.methods.families import by_family
from pmdviz.methods.grammar import COLUMNS

INTRODUCTION = """\
# The grammar of the methods

Every method here is made of five parts: it propagates, reweights, resamples, moves and adapts. This page lists which
method does what, so that you can see what two of them share and where they differ.

It is written by `python -m pmdviz list --grammar` from what each method's file declares, and tests hold the
declarations against runs: points that do not move stand still, weights that are not reweighted stay equal, and step
sizes, kernel widths and temperatures differ between two seeds only where they adapt.

How to read it:

- A cell says which terms apply at the method's default settings, and in brackets when, of what or by what. The terms
  are explained below the tables.
- Read a row from left to right as one step. `pmd` and `smc` start and resample alike and differ in *reweight*; `pmd`
  and `svgd` share the start and nothing else of a step.
- An empty cell says that the method does nothing of the kind. Where a row has neither *resample* nor *move*, points
  stay where they were drawn, and only their weights can say what is probable.
- The *Methods* page of the app shows the same table with filters. Its cells are buttons: a cell runs the method and
  opens what shows that part of it."""


def markdown() -> str:
    """The page."""
    lines = [INTRODUCTION, ""]
    for title, methods in by_family().items():
        lines += [f"## {title}", "", *_table(["method", *COLUMNS], map(_row, methods)), ""]
    lines += ["## The terms", ""]
    for name, column in COLUMNS.items():
        lines += [f"**{column.title}.** {column.about}", "", *_table([name, "meaning"], column.terms.items()), ""]
    return "\n".join(lines).rstrip()


def _row(method: Method) -> list[str]:
    cells = (str(cell) if cell.terms else "" for _, cell in method.grammar)
    return [f"{method.title} (`{method.name}`)", *cells]


def _table(head: Sequence[str], rows: Iterator | Sequence) -> Iterator[str]:
    """The lines of a Markdown table."""
    yield _line(head)
    yield "|---" * len(head) + "|"
    yield from map(_line, rows)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
