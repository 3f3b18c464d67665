"""`pmdviz list`: targets, methods and experiments with options and knobs, as text, JSON, or the tables of the docs."""

from __future__ import annotations

import argparse
from typing import Any

from pmdviz.files import write_json

PARTS = {"targets": "options", "methods": "knobs", "experiments": "knobs"}  # where the rows of each table stand


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz list`."""
    parser.add_argument("--json", metavar="FILE", help="write them as JSON; - for standard output")
    parser.add_argument("--markdown", action="store_true", help="as the tables of the docs")
    parser.add_argument("--grammar", action="store_true", help="the parts of every method, as a page of the docs")


def show_tables(options: argparse.Namespace) -> None:
    """Print or write the tables."""
    from pmdviz import api
    from pmdviz.cli import grammar

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
