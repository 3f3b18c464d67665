"""`pmdviz list`: targets, methods and experiments with options and knobs; `pmdviz lessons`: lessons and challenges."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pmdviz.errors import InputError, check_known, words_of
from pmdviz.files import write_json

PARTS = {"targets": "options", "methods": "knobs", "experiments": "knobs"}  # where the rows of each table stand


def show_tables_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz list`."""
    add = parser.add_argument
    add("--json", metavar="FILE", help="write them as JSON; - for standard output")
    add("--markdown", action="store_true", help="print the settings as Markdown, as on the docs site")
    add("--grammar", action="store_true", help="print the parts of every method as tables in Markdown")


def show_tables(options: argparse.Namespace) -> None:
    """Print or write the tables."""
    from pmdviz import api

    if options.grammar:
        return print(grammar_markdown())
    tables = {"targets": api.list_targets(), "methods": api.list_methods(), "experiments": api.list_experiments()}
    if options.json is not None:
        more = {"presets": presets(), "lessons": lesson_table(), "experiment_presets": experiment_presets()}
        return write_json(options.json, tables | more)
    if options.markdown:
        return print(settings_markdown())
    for kind, part in PARTS.items():
        print(f"{kind}:")
        for name, entry in tables[kind].items():
            print(f"  {name}: {entry['title']} [{entry['reference']}]")
            if kind == "methods":
                print(f"    Default budget: {budget_words(entry)}")
            for row in entry[part]:
                unit = f"; unit: {row['unit']}" if row["unit"] else ""
                print(f"    {row['name']} = {row['default']}  ({row['values']}{unit}; {row['acts']}) {row['help']}")
    print("presets:")
    for name, entry in presets().items():
        print(f"  {name}: {entry['question']}")


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
    from pmdviz.presets import EXPERIMENT_PRESETS

    parts = ("title", "question", "experiment", "knobs")
    return {name: {part: getattr(each, part) for part in parts} for name, each in EXPERIMENT_PRESETS.items()}


def budget_words(entry: dict[str, Any]) -> str:
    """The default budget of a run of a method."""
    number, enough_for = f"{entry['default_budget']:,} data", entry["budget_words"]
    return f"{enough_for}, at least 20,000 data; on the mixture {number}" if enough_for else number


# `pmdviz list --markdown`: a page of every target, method and experiment, as on the site of the docs.

SHARED = 2  # a setting that so many have in the same form is explained once, on the page of shared settings
MANY = 12  # choices; of more the page gives only their number
APP = "http://127.0.0.1:5006/"  # of `pmdviz serve`


def settings_pages() -> dict[str, dict[str, str]]:
    """Title of a group -> name of a page -> Markdown: shared settings, then targets, methods and experiments."""
    from pmdviz import api
    from pmdviz.methods import by_family

    targets, methods = api.list_targets(), api.list_methods()
    with_data = [name for name, entry in targets.items() if any(row["name"] == "data" for row in entry["options"])]
    groups: dict[str, dict[str, Any]] = {
        "Targets with data": {name: targets[name] for name in with_data},
        "Targets without data": {name: entry for name, entry in targets.items() if name not in with_data},
        **{family: {each.name: methods[each.name] for each in members} for family, members in by_family().items()},
        "Experiments": api.list_experiments(),
    }
    users: dict[tuple[str, str], list[str]] = {}
    for name, row in ((name, row) for some in groups.values() for name, entry in some.items() for row in _rows(entry)):
        users.setdefault(_setting(row), []).append(name)
    shared = {setting: names for setting, names in users.items() if len(names) >= SHARED}
    pages = {"Shared settings": {"shared": f"# Shared settings\n\n{_shared(shared)}"}}
    return pages | {
        title: {name: _page(name, entry, shared) for name, entry in entries.items()}
        for title, entries in groups.items()
    }


def settings_markdown() -> str:
    """All pages, one below the other."""
    return "\n\n".join(text for pages in settings_pages().values() for text in pages.values())


def _rows(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return next(entry[part] for part in ("options", "knobs") if part in entry)


def _page(name: str, entry: dict[str, Any], shared: Collection[tuple[str, str]]) -> str:
    """What it is, its formula, its source, a link to the app, its own settings with their defaults, the shared ones."""
    rows = _rows(entry)
    own = [row for row in rows if _setting(row) not in shared]
    common = [f"`{row['name']}={row['default']}`" for row in rows if row not in own]
    lines = [f"# `{name}`: {entry['title']}", "", *([entry["about"], ""] if "about" in entry else [])]
    lines += [f"    {entry['formula']}", ""] if entry.get("formula") else []
    lines += [f"{entry['reference']}. [Open in the Lab]({APP}?{_address(name, entry)}).", ""]
    lines += [*(f"- `{row['name']}={row['default']}`{_setting(row)[1]}" for row in own), ""] if own else []
    lines += [f"[Shared](shared.md): {', '.join(common)}."] if common else []
    return "\n".join(lines).rstrip()


def _address(name: str, entry: dict[str, Any]) -> str:
    """What follows "?" in the address of the app: a run of the target or method, or the experiment."""
    from pmdviz.engine.recipe import Recipe
    from pmdviz.methods import usual_method, usual_target

    if "formula" in entry:
        return f"run={Recipe(usual_target(name), name).to_link()}"
    return (
        f"run={Recipe(name, usual_method(name)).to_link()}" if "options" in entry else f"page=theory&experiment={name}"
    )


def _shared(found: dict[tuple[str, str], list[str]]) -> str:
    """The settings that several have; where two have one name, with those that have each."""
    counts = Counter(name for name, _ in found)
    of = {each: f" of {', '.join(users)}" if counts[each[0]] > 1 else "" for each, users in found.items()}
    return "\n".join(f"- `{name}`{of[name, text]}{text}" for name, text in sorted(found))


def _setting(row: dict[str, Any]) -> tuple[str, str]:
    """Its name; its allowed values, its unit, and the first sentence of the help: `pmdviz list` has the rest."""
    allowed = ["true", "false"] if row["bounds"] is None else [_plain(each) for each in row["bounds"]]
    words = f"one of {len(allowed)}" if len(allowed) > MANY else ", ".join(allowed)
    if row["inclusive"] is not None:
        low, high = row["inclusive"]
        words = f"{'[' if low else '('}{words}{']' if high else ')'}"
    unit = f" {row['unit']}" if row["unit"] else ""
    return row["name"], f", {words}{unit}: {row['help'].split('. ')[0].rstrip('.')}."


def _plain(value: Any) -> str:
    """A bound or choice in few letters."""
    return f"{value:g}" if isinstance(value, float) else f"{value}" or '""'


# `pmdviz list --grammar`: the tables of all methods by what they do in a step.


def grammar_markdown() -> str:
    """Which method runs on which target; a table for each family; and the meaning of the terms."""
    from pmdviz.methods import by_family
    from pmdviz.methods.step import COLUMNS

    lines = ["## What runs where", "", *_table(["methods", "targets"], _pairs()), ""]
    for title, methods in by_family().items():
        lines += [f"## {title}", "", *_table(["method", *COLUMNS], map(_row, methods)), ""]
    lines += ["## The terms", ""]
    for name, column in COLUMNS.items():
        lines += [f"**{name.capitalize()}.** {column.about}", "", *_table([name, "meaning"], column.terms.items()), ""]
    return "\n".join(lines).rstrip()


def _pairs() -> list[tuple[str, str]]:
    """Methods that run on the same targets, and these, or all but those; at the targets' default options."""
    from pmdviz.methods import METHODS
    from pmdviz.targets import TARGETS, get_target

    found: dict[tuple[str, ...], list[str]] = {}
    for name, method in METHODS.items():
        found.setdefault(tuple(each for each in TARGETS if not method.missing_in(get_target(each))), []).append(name)
    rows = []
    for fitting, names in sorted(found.items(), key=lambda pair: -len(pair[0])):
        others = [each for each in TARGETS if each not in fitting]
        targets = f"all but {', '.join(others)}" if len(others) < len(fitting) else ", ".join(fitting)
        rows.append((", ".join(names), targets))
    return rows


def _row(method: Any) -> list[str]:
    cells = (str(cell) if cell.terms else "" for cell in method.grammar.values())
    return [f"[`{method.name}`](settings/{method.name}.md)", *cells]


def _table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """The lines of a Markdown table."""
    yield _line(head)
    yield "|---" * len(head) + "|"
    yield from map(_line, rows)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


# `pmdviz lessons`: the lessons and challenges, and a check that plays every one of them without a page.


def lessons_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz lessons`: what to do, and files of one's own."""
    add = parser.add_argument
    add("what", metavar=" | ".join(ACTS), help="names and questions | play each with its solutions")
    add("files", nargs="*", metavar="FILE", help="lessons of your own (default: all of the package)")
    add("--json", metavar="FILE", help="write it as JSON; - for standard output")


def lessons(options: argparse.Namespace) -> int:
    """List or check them; returns the exit status: 1 where something is wrong with a lesson. Raises InputError."""
    check_known("subcommand of lessons:", [options.what], ACTS)
    return ACTS[options.what](options)


def lesson_table(found: Iterable[Any] | None = None) -> dict[str, Any]:
    """Of every lesson and challenge: name -> title, question, minutes, titles of its steps, and whether it scores."""
    from pmdviz.lessons.reading import LESSONS

    return {
        lesson.name: {
            **{part: getattr(lesson, part) for part in ("title", "question", "minutes")},
            "challenge": lesson.is_challenge,
            "steps": [step.title for step in lesson.steps],
        }
        for lesson in (LESSONS.values() if found is None else found)
    }


def _list(options: argparse.Namespace) -> int:
    found = lesson_table([read() for read in _chosen(options.files).values()])
    if options.json is not None:
        write_json(options.json, found)
    if options.json == "-":
        return 0
    for kind, is_challenge in (("lessons", False), ("challenges", True)):
        print(f"{kind}:")
        for name, entry in found.items():
            if entry["challenge"] == is_challenge:
                print(f"  {name}: {entry['title']} ({entry['minutes']} minutes)\n    {entry['question']}")
    return 0


def _check(options: argparse.Namespace) -> int:
    from pmdviz.lessons.playing import Player, check_lesson

    player, found = Player(), {}
    for name, read in _chosen(options.files).items():
        try:
            found[name] = check_lesson(read(), player)
        except InputError as error:  # it cannot be read
            found[name] = [words_of(error)]
        if options.json != "-":
            print(f"{name}: {_count(len(found[name]))}", *(f"  {words}" for words in found[name]), sep="\n", flush=True)
    if options.json is not None:
        write_json(options.json, found)
    return 1 if any(found.values()) else 0


def _chosen(files: list[str]) -> Mapping[str, Callable[[], Any]]:
    """Files, or the lessons of the package -> what reads each. Raises InputError where a file cannot be opened."""
    from pmdviz.lessons.reading import LESSONS, find_lesson, read_lesson, text_of

    texts = {name: text_of(Path(name)) for name in files}
    read = {name: partial(read_lesson, Path(name).stem, text) for name, text in texts.items()}
    return read or {name: partial(find_lesson, name) for name in LESSONS}


def _count(number: int) -> str:
    return "nothing is wrong" if number == 0 else "one thing is wrong" if number == 1 else f"{number} things are wrong"


ACTS = {"list": _list, "check": _check}
