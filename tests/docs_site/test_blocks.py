"""Every piece of code in the docs and the README runs, is read, or is a command that there is."""

import importlib.util
import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

import pmdviz
from pmdviz.cli import lessons, main
from pmdviz.presets import PRESETS
from pmdviz.presets.experiments import EXPERIMENT_PRESETS
from tests.support.pages import INDENTED, PAGES, ROOT, blocks, code_in_text, command_lines

# Pages whose Python a test of their own runs, for it looks at what comes out.
ELSEWHERE = {
    "README.md": "structure/test_readme.py",
    "notebooks.md": "lab/test_notebook_docs.py",
    "python.md": "test_docs.py",
    "race.md": "experiments/race/test_race_docs.py",
}
SOONER = {  # what of a page is made smaller, so that it ends soon
    "export.md": {"20_000": "300", "frames=50": "frames=3"},
    "theory.md": {"seeds=4,": "seeds=2, workers=1,", "seeds=60,": "seeds=3, workers=1,"},
}
AFTER = {"first-steps.md": lambda scope: breaks_and_mends(scope["dying"], scope["kept"])}  # what a page promises
# What is not Python: how it is read, or the test that reads it.
READ = {"json": lambda text: pmdviz.Recipe.from_json(text)}
READ_BY = {"yaml": ("presets.md", "presets/test_presets.py"), "markdown": ("lessons.md", "lessons/test_howto.py")}
SHOWN = {"text", "", INDENTED}  # formulas and output; commands in them are looked at all the same
PROGRAMS = {"echo", "jupyter", "panel", ".", "pip"}  # of others
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def python_of(page):
    return [block.text for block in blocks(page) if block.language == "python"]


def every(part):
    return [pytest.param(one, id=f"{page.name}: {str(one)[:60]}") for page in PAGES for one in part(page)]


@pytest.mark.parametrize("page", [p for p in PAGES if python_of(p) and p.name not in ELSEWHERE], ids=lambda p: p.name)
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts, scope = python_of(page), {}
    for usual, sooner in SOONER.get(page.name, {}).items():
        assert usual in "".join(texts)
        texts = [text.replace(usual, sooner) for text in texts]
    for text in texts:
        exec(compile(text, page.name, "exec"), scope)
    assert AFTER.get(page.name, lambda scope: True)(scope)


def breaks_and_mends(dying, kept):
    """The first run is the preset that the page speaks of, and loses its particles; the second one keeps them."""
    assert dying.recipe == PRESETS["particles_die"].recipe
    ess, tv = ([run.history[name][-1] for run in (dying, kept)] for name in ("ess", "tv"))
    return ess[0] < 10 and 200 < ess[1] and tv[1] < 0.55 * tv[0]


@pytest.mark.parametrize(("name", "test"), ELSEWHERE.items())
def test_what_runs_elsewhere_does(name, test):
    (page,) = (page for page in PAGES if page.name == name and (name != "README.md" or page.parent == ROOT))
    source = (ROOT / "tests" / test).read_text(encoding="utf-8")
    assert python_of(page) and name in source and "```python" in source


def test_every_block_is_of_a_known_kind():
    for page in PAGES:
        for language, text in blocks(page):
            if language in READ:
                READ[language](text)
            elif language in READ_BY:
                name, test = READ_BY[language]
                assert page.name == name and name in (ROOT / "tests" / test).read_text(encoding="utf-8")
            else:
                assert language in {"python", "console", "sh", *SHOWN}, (page.name, language)


# Commands: no more than argparse says without running them.


def simple_commands(line):
    """The words of each command of a line, without its comment."""
    words = shlex.shlex(line, posix=True, punctuation_chars="&|;()")
    words.whitespace_split, words.commenters = True, "#"
    commands: list[list[str]] = [[]]
    for word in words:
        if set(word) <= set("&|;()"):
            commands.append([])
        else:
            commands[-1].append(word)
    return [command for command in commands if command]


def check_command(words):
    """One command: ours by its parser, a module by its file, the extras of an installation by their names."""
    program, *rest = words
    if Path(program).name.startswith("python"):
        return check_python(rest)
    if Path(program).name == "pmdviz":
        return check_ours(rest)
    assert Path(program).name in PROGRAMS, words
    return None


def check_python(rest):
    assert rest[0] == "-m", rest
    if rest[1] == "pmdviz":
        return check_ours(rest[2:])
    if rest[1] == "pip":
        return check_extras(rest)
    assert importlib.util.find_spec(rest[1]), rest
    return None


def check_extras(rest):
    for extras in re.findall(r"(?:\.|pmdviz)\[([\w,]+)\]", " ".join(rest)):
        assert {*extras.split(",")} <= {*EXTRAS}


def check_ours(rest):
    main._check_command(rest[:1])
    parser = main.parser_of(rest[:1])
    options, left = parser.parse_known_args(rest)
    assert not left, left
    check_name(options)


def check_name(options):
    """Where a command is told what to do by a name, it is one that there is."""
    from benchmarks import names

    known = {"bench": ("name", names()), "lessons": ("what", lessons.ACTS), "experiment": ("name", experiments())}
    part, valid = known.get(options.command, ("command", main.COMMANDS))
    assert getattr(options, part) in valid, options


def experiments():
    return {*pmdviz.list_experiments(), *EXPERIMENT_PRESETS}


@pytest.mark.parametrize("line", every(lambda page: [c for b in blocks(page) for c in command_lines(b)]))
def test_a_command_line_is_one(line):
    for words in simple_commands(line):
        check_command(words)


@pytest.mark.parametrize("code", every(lambda page: [c for c in code_in_text(page) if "pmdviz " in c[:18]]))
def test_a_command_in_the_text_has_the_flags_that_it_names(code):
    found = re.fullmatch(r"(?:\$ )?(?:python -m )?pmdviz ([a-z]+)\b(.*)", code)
    if not found:  # the name of every command
        return
    main._check_command([found[1]])
    known = main.parser_of([found[1]]).commands.choices[found[1]]._option_string_actions
    assert {*re.findall(r"(?<!\S)--[\w-]+", found[2])} <= {*known}
    named = re.match(r" ([a-z][\w-]*)(?:\s|$)", found[2])
    if found[1] == "bench" and named:
        from benchmarks import names

        assert named[1] in names()


@pytest.mark.parametrize(
    "line",
    [
        "pmdviz sevre",
        "pmdviz serve --shw",
        "pmdviz run --budget",
        "pmdviz bench no-such-bench",
        "python -m pmdviz experiment no_such_experiment",
        "python -m no_such_module",
        "python -m pip install '.[dcos]'",
        "rm -rf .",
    ],
)
def test_a_line_that_is_wrong_is_found(line):
    with pytest.raises((AssertionError, pmdviz.InputError)):
        for words in simple_commands(line):
            check_command(words)


def test_a_recipe_that_is_wrong_is_found():
    with pytest.raises(pmdviz.InputError):
        READ["json"](json.dumps({"engine": "pmd"}))
