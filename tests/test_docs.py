"""The docs say what the code says: links lead somewhere, pieces of code run, commands parse, tables are up to date."""

import functools
import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from markdown_it import MarkdownIt

import pmdviz
from pmdviz.cli import lists, main
from pmdviz.lab import links
from pmdviz.presets import EXPERIMENT_PRESETS, PRESETS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
INDENTED = "indented"
ELSEWHERE = {"README.md", "in-a-notebook.md", "course-notebooks.md"}  # other tests run their Python
SOONER = {  # what of a page is made smaller, so that it ends soon
    "export.md": {"20_000": "300", "frames=50": "frames=3"},
    "sweeps.md": {"seeds=4,": "seeds=2, workers=1,"},
}
PROGRAMS = {"echo", "jupyter", "panel", ".", "pip"}  # of others
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


@functools.cache
def parsed(page: Path) -> list:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def blocks(page: Path) -> list[tuple[str, str]]:
    """What the fence of each block of code says it is, `indented` where it has none, and its text."""
    kinds = {"fence": lambda token: token.info, "code_block": lambda token: INDENTED}
    return [(kinds[token.type](token), token.content) for token in parsed(page) if token.type in kinds]


def code_in_text(page: Path) -> list[str]:
    spans = [child for token in parsed(page) for child in token.children or [] if child.type == "code_inline"]
    return [" ".join(span.content.split()) for span in spans]


def command_lines(language: str, text: str) -> Iterator[str]:
    """The lines of a block that are typed: after `$` in a session, all of a script, those of pmdviz elsewhere."""
    typed = {"console": r"\$ (.*)", "sh": r"(.+)", INDENTED: r"((?:python -m )?pmdviz .*)"}
    pattern = typed.get(language)
    for line in text.splitlines() if pattern else ():
        if found := re.fullmatch(pattern, line):
            yield found[1]


def test_every_setting_of_everything_is_on_its_page_with_a_source_and_a_link_that_opens_it(capsys):
    assert main.main(["list", "--markdown"]) == 0
    text = capsys.readouterr().out
    tables = (pmdviz.list_targets(), "options"), (pmdviz.list_methods(), "knobs"), (pmdviz.list_experiments(), "knobs")
    for table, part in tables:
        for name, entry in table.items():
            (section,) = re.findall(rf"^# `{name}`: .*?(?=^# |\Z)", text, flags=re.M | re.S)
            assert not [row["name"] for row in entry[part] if f"`{row['name']}=" not in section], name
            assert all(entry.get(words, "") in section for words in ("formula", "about", "reference")), name
            (query,) = re.findall(r"\?(\S+)\)\.", section)
            link = links.read(parse_qs(query))
            opened = link.recipe
            assert name in ((opened.target, opened.method) if opened else (link.asked.experiment,)), name


def python_of(page):
    return [text for language, text in blocks(page) if language == "python"]


def first_steps(dying, kept, **_):
    """The first run is the preset that the page speaks of, and loses its particles; the second one keeps them."""
    assert dying.recipe == PRESETS["particles_die"].recipe
    ess, tv = ([run.history[name][-1] for run in (dying, kept)] for name in ("ess", "tv"))
    assert ess[0] < 10 and 200 < ess[1] and tv[1] < 0.55 * tv[0]


def own_model(again, mine, run, **_):
    assert again.history["tv"][-1] < 0.3 and mine.exact is not None and run.final.metrics["mean_error"] < 0.4


PROMISED = {"first-steps.md": first_steps, "your-own-model.md": own_model}
PAGES_OF_PYTHON = [page for page in PAGES if page.name not in ELSEWHERE and python_of(page)]
TIERS = {"first-steps.md": ()}


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.name, marks=TIERS.get(page.name, pytest.mark.nightly)) for page in PAGES_OF_PYTHON],
)
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts, scope = python_of(page), {}
    for usual, sooner in SOONER.get(page.name, {}).items():
        assert usual in "".join(texts)
        texts = [text.replace(usual, sooner) for text in texts]
    for text in texts:
        exec(compile(text, page.name, "exec"), scope)
    PROMISED.get(page.name, lambda **_: None)(**scope)


def simple_commands(line):
    """The words of each command of a line, without its comment."""
    words = shlex.shlex(line, posix=True, punctuation_chars="&|;()")
    words.whitespace_split, words.commenters = True, "#"
    parts = groupby(words, lambda word: set(word) <= set("&|;()"))
    return [[*command] for between, command in parts if not between]


def check_command(words):
    """One command: ours by its parser, a module by its file, the extras of an installation by their names."""
    program, *rest = words
    if Path(program).name.startswith("python"):
        assert rest[0] == "-m", rest
        program, *rest = rest[1:]
        assert importlib.util.find_spec(program), program
    if Path(program).name == "pmdviz":
        check_ours(rest)
    elif Path(program).name == "pip":
        for extras in re.findall(r"(?:\.|pmdviz)\[([\w,]+)\]", " ".join(rest)):
            assert {*extras.split(",")} <= {*EXTRAS}, extras
    else:
        assert Path(program).name in PROGRAMS or program.startswith(("benchmarks", "pytest", "venv", "tests")), words


@functools.cache
def parser_of(command):
    return main.parser_of([command])


def check_ours(rest):
    from benchmarks import names

    main._check_command(rest[:1])
    options, left = parser_of(rest[0]).parse_known_args(rest)
    assert not left, left
    experiments = {*pmdviz.list_experiments(), *EXPERIMENT_PRESETS}
    known = {"bench": ("name", names()), "lessons": ("what", lists.ACTS), "experiment": ("name", experiments)}
    part, valid = known.get(options.command, ("command", main.COMMANDS))
    assert getattr(options, part) in valid, options


def test_every_command_line_and_recipe_is_one_and_a_command_in_the_text_has_the_flags_that_it_names():
    for page in PAGES:
        for line in (line for block in blocks(page) for line in command_lines(*block)):
            for words in simple_commands(line):
                try:
                    check_command(words)
                except (AssertionError, pmdviz.InputError) as error:
                    raise AssertionError((page.name, line)) from error
    for page in PAGES:
        for code in code_in_text(page):
            found = re.fullmatch(r"(?:\$ )?(?:python -m )?pmdviz ([a-z]+)\b(.*)", code)
            if found:
                main._check_command([found[1]])
                known = parser_of(found[1]).commands.choices[found[1]]._option_string_actions
                assert {*re.findall(r"(?<!\S)--[\w-]+", found[2])} <= {*known}, (page.name, code)
    texts = [text for page in PAGES for language, text in blocks(page) if language == "json"]
    assert texts and all(pmdviz.Recipe.from_json(text) for text in texts)
