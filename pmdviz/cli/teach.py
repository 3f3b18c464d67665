"""`pmdviz demos` and `pmdviz answers`: what a lecturer shows in five minutes, and what students hand in."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

from pmdviz.errors import InputError
from pmdviz.files import atomic_write, check_writable, write_json, write_text

# `pmdviz demos`: the list, or a page with links, QR codes and measured answers.

HERE = "http://localhost:5006"


def demos_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz demos`."""
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE.html", help="play each demo and write a page with QR codes and answers")
    add("--server", metavar="URL", default=HERE, help="address of your lab, for the links (default: %(default)s)")
    add("--markdown", action="store_true", help="print the page of the docs, without answers")


def demos(options: argparse.Namespace) -> None:
    """List them, or write the page. Raises InputError for a file that cannot be written."""
    if options.markdown:
        return print(demos_markdown())
    if options.file is not None:
        return _write_page(options.file, options.server.rstrip("/"))
    from pmdviz.lessons.reading import DEMOS, demo_link

    for name, demo in DEMOS.items():
        print(f"{demo.position}. {demo.title}: {options.server.rstrip('/')}/{demo_link(name)}")
        print(f"   Say: {demo.text}")
        print(f"   Ask: {_ask(demo).text}")
    return None


def _write_page(file: str, server: str) -> None:
    from markdown_it import MarkdownIt

    from pmdviz.lab.links import is_local

    path = check_writable(file)
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"demos writes a file that ends in .html, such as demos.html, not {file!r}")
    body = MarkdownIt("commonmark", {"html": False}).render(demos_markdown(server, partial(print, flush=True)))
    template = Path(__file__).with_name("demos.html").read_text(encoding="utf-8")
    with atomic_write(path) as part:
        part.write_text(Template(template).substitute(body=body), encoding="utf-8")
    print(f"the demos are in {path}; open it in a browser, or print it")
    if is_local(server):
        print("its links and codes open on this computer alone; for a class, give the server's address with --server")


def demos_markdown(server: str = "", tell: Callable[[str], None] = lambda words: None) -> str:
    """Title, link, sentence and question of each demo; with a server QR codes and measured answers too.

    `tell` is called with a line before each demo.
    """
    from pmdviz.lessons.playing import Player
    from pmdviz.lessons.reading import DEMOS

    player, sections = Player(), []
    for demo in DEMOS.values():
        tell(f"demo {demo.position} of {len(DEMOS)}: {demo.title}")
        sections.append(_section(demo, server, player))
    return "\n\n".join(sections)


def _section(demo: Any, server: str, player: Any) -> str:
    from pmdviz.lessons.reading import demo_link

    address = f"{server}/{demo_link(demo.name)}"
    parts = [f"## {demo.position}. {demo.title}", f"[{address}]({address})" if server else f"`{address}`"]
    parts += [f"![QR code of the link]({_qr(address)})"] if server else []
    parts += [f"**Say:** {demo.text}", f"**Ask:** {_ask(demo).text}"]
    parts += ["\n".join(f"- {letter}) {one.say}" for letter, one in _ask(demo).options.items())]
    if server:
        parts += [f"**Answer:** {measured_answer(demo, player)}", f"**Afterwards:** {demo.steps[0].reveal}"]
    return "\n\n".join(parts)


def _ask(demo: Any) -> Any:
    """The one question of a demo."""
    (ask,) = demo.steps[0].asks.values()
    return ask


def measured_answer(demo: Any, player: Any) -> str:
    """The right option of a demo, and why, with the numbers of its run."""
    from pmdviz.presets import scope_of

    scope = scope_of(player.run(demo.steps[0].recipe))
    (right,) = ((letter, one) for letter, one in _ask(demo).options.items() if one.is_right(scope))
    return f"{right[0]}) {right[1].say}. {right[1].because.words(scope)}"


def _qr(address: str) -> str:
    """A QR code as the address of a picture."""
    import segno

    return segno.make_qr(address, error="m").png_data_uri(scale=4)


# `pmdviz answers`: the files of students as one table.


ORDER = "give the answers first, as in: pmdviz answers *.json --csv class.csv"


def answers_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz answers`."""
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="answers that students saved, as JSON")
    add("--csv", nargs="?", const="-", default="-", metavar="FILE", help="write the table as CSV; - is standard output")
    add("--json", metavar="FILE", help="write the table as JSON instead; - for standard output")
    add("--rows", action="store_true", help="a row for each answer, with confidence and seed, instead of points")
    add("--replay", action="store_true", help="play each lesson here, and judge its answers by that run")


def answers(options: argparse.Namespace) -> None:
    """Write the table. Raises InputError for a file that is none of answers, or to be written over one."""
    from pmdviz.lessons.reading import text_of
    from pmdviz.lessons.sheets import read_sheet, rows_of, table

    for output in (options.csv, options.json):
        _check_output(output)
    if options.csv != "-" and Path(options.csv).suffix.lower() != ".csv":
        raise InputError(f"--csv writes a file that ends in .csv, such as class.csv, not {options.csv!r}; {ORDER}")
    found = [read_sheet(text_of(Path(name)), name) for name in options.files]
    if options.replay:
        found = _replayed(found)
    rows = rows_of(found) if options.rows else table(found)
    if options.json is not None:
        return write_json(options.json, rows)
    return write_text(options.csv, as_csv(rows).rstrip("\n"))


def _check_output(name: str | None) -> None:
    """Raise InputError where the table would take the place of answers: an option takes the first file after it."""
    from pmdviz.lessons.reading import text_of

    if name not in (None, "-") and Path(name).is_file() and '"pmdviz_answers"' in text_of(Path(name)):
        raise InputError(f"{name} is a file of answers, and the table would take its place; {ORDER}")


def _replayed(sheets: Iterable[Any]) -> list[Any]:
    """The sheets of lessons judged again; sheets of notebooks as they came."""
    from pmdviz.lessons.playing import Player
    from pmdviz.lessons.sheets import judged_again

    player = Player()
    return [judged_again(one, player) if one["lesson"] else one for one in sheets]


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of the same names as CSV. A text that a spreadsheet would take for a formula gets an apostrophe."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, [*(rows[0] if rows else ())], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return stream.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:g}"
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t" and value else value
