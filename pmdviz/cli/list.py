"""`pmdviz list`: targets, methods and experiments with options and knobs, as text, JSON, or the tables of the docs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from pmdviz.files import write_json
from pmdviz.methods import Method, by_family
from pmdviz.methods.grammar import COLUMNS

PARTS = {"targets": "options", "methods": "knobs", "experiments": "knobs"}  # where the rows of each table stand


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz list`."""
    parser.add_argument("--json", metavar="FILE", help="write them as JSON; - for standard output")
    parser.add_argument("--markdown", action="store_true", help="as the tables of the docs")
    parser.add_argument("--grammar", action="store_true", help="the parts of every method, as a page of the docs")


def show_tables(options: argparse.Namespace) -> None:
    """Print or write the tables."""
    from pmdviz import api
    from pmdviz.cli import list as grammar

    if options.grammar:
        return print(grammar.markdown())
    tables = {"targets": api.list_targets(), "methods": api.list_methods(), "experiments": api.list_experiments()}
    if options.json is not None:
        from pmdviz.cli import lessons

        more = {"presets": presets(), "lessons": lessons.table(), "experiment_presets": experiment_presets()}
        return write_json(options.json, tables | more)
    if options.markdown:
        return print(_markdown(tables))
    for kind, part in PARTS.items():
        print(f"{kind}:")
        for name, entry in tables[kind].items():
            print(f"  {name}: {entry['title']} [{entry['reference']}]")
            if kind == "methods":
                print(f"    Default budget: {budget_words(entry)}")
            for row in entry[part]:
                unit = f", {row['unit']}" if row["unit"] else ""
                print(f"    {row['name']} = {row['default']}  ({row['bounds']}{unit}; {row['acts']}) {row['help']}")
    return None


def presets() -> dict[str, Any]:
    """Every preset: name -> title, question, what to watch and try, what its run shows and why, recipe."""
    from pmdviz.presets import PRESETS

    return {
        name: {
            **{part: getattr(each, part) for part in ("title", "question", "watch", "trace", "try_this")},
            "check": each.check.text,
            "diagnosis": [{"when": one.when.text, "say": one.say.text} for one in each.diagnosis],
            "recipe": each.recipe.to_dict(),
        }
        for name, each in PRESETS.items()
    }


def experiment_presets() -> dict[str, Any]:
    """Every preset of an experiment: name -> title, question, experiment, knobs."""
    from pmdviz.presets.experiments import EXPERIMENT_PRESETS

    parts = ("title", "question", "experiment", "knobs")
    return {name: {part: getattr(each, part) for part in parts} for name, each in EXPERIMENT_PRESETS.items()}


def budget_words(entry: dict[str, Any]) -> str:
    """What a run of a method visits where nobody says how much."""
    number, enough_for = f"{entry['default_budget']:,} data", entry["budget_words"]
    return f"{enough_for}, at least 20,000 data; on the mixture {number}" if enough_for else number


def _markdown(tables: dict[str, Any]) -> str:
    """The declarations as the docs show them."""
    lines = [
        "# Targets, methods, experiments and their knobs",
        "",
        "Every target, method and experiment with its settings: default, limits, unit, when it takes effect, meaning.",
        "Written by `python -m pmdviz list --markdown`.",
        "",
    ]
    for kind, part in PARTS.items():
        for name, entry in tables[kind].items():
            lines += [f"## `{name}`: {entry['title']}", "", *filter(None, [entry.get("about")])]
            lines += [f"Source: {entry['reference']}.", ""]
            lines += [f"Default budget: {budget_words(entry)}.", ""] if kind == "methods" else []
            lines += [
                f"| {part[:-1]} | on a page | default | values | unit | when it acts | what it does |",
                "|---" * 7 + "|",
            ]
            lines += [_markdown_row(row) for row in entry[part]] + [""]
    return "\n".join(lines).rstrip()


def _markdown_row(row: dict[str, Any]) -> str:
    cells = (
        f"`{row['name']}`",
        row["label"],
        f"{row['default']}",
        row["values"],
        row["unit"],
        row["acts"],
        row["help"],
    )
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


# `pmdviz list --grammar`: the table of all methods by what they do in a step, as docs/methods.md shows it.

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
