"""`pmdviz lessons`: the lessons and challenges, and a check that plays every one of them without a page."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pmdviz.errors import InputError, unknown, words_of
from pmdviz.files import check_text_path, write_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz lessons`: what to do, and files of one's own."""
    parser.add_argument(
        "what", metavar=" | ".join(ACTS), help="name and question of each | play each and its solutions"
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="lessons of your own (default: all of the package)")
    parser.add_argument("--json", metavar="FILE", help="write it as JSON; - for standard output")


def lessons(options: argparse.Namespace) -> int:
    """List or check them; returns the exit status: 1 where something is wrong with a lesson. Raises InputError."""
    if options.what not in ACTS:
        raise unknown("act of lessons:", options.what, ACTS)
    check_text_path(options.json)
    return ACTS[options.what](options)


def table(found: Iterable[Any] | None = None) -> dict[str, Any]:
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
    found = table([read() for read in _chosen(options.files).values()])
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
    from pmdviz.lessons.playing import Player

    player, found = Player(), {}
    for name, read in _chosen(options.files).items():
        found[name] = _faults(read, player)
        if options.json != "-":
            print(f"{name}: {_count(len(found[name]))}", *(f"  {words}" for words in found[name]), sep="\n", flush=True)
    if options.json is not None:
        write_json(options.json, found)
    return 1 if any(found.values()) else 0


def _chosen(files: list[str]) -> dict[str, Callable[[], Any]]:
    """Files, or the lessons of the package -> what reads each. Raises InputError where a file cannot be opened."""
    from pmdviz.lessons.reading import LESSONS, read_lesson, text_of

    texts = {name: text_of(Path(name)) for name in files}
    read = {name: lambda name=name, text=text: read_lesson(Path(name).stem, text)[0] for name, text in texts.items()}
    return read or {name: lambda lesson=lesson: lesson for name, lesson in LESSONS.items()}


def _faults(read: Callable[[], Any], player: Any) -> list[str]:
    """What is wrong with a lesson; one that cannot be read has one sentence."""
    from pmdviz.lessons.playing import check_lesson

    try:
        return check_lesson(read(), player)
    except InputError as error:
        return [words_of(error)]


def _count(number: int) -> str:
    return "nothing is wrong" if number == 0 else "one thing is wrong" if number == 1 else f"{number} things are wrong"


ACTS = {"list": _list, "check": _check}
