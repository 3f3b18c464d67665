"""`pmdviz essay`, `docs`, `site`, `compile` and `bench`: files of the package, and its benchmarks."""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pmdviz.cli.recipe import end_bar, share_bar
from pmdviz.errors import InputError, check_known, shown
from pmdviz.files import check_html_path, made_folder, put_text, write_json

if TYPE_CHECKING:
    from pmdviz.engine.recipe import Recipe
    from pmdviz.engine.run import Run
    from pmdviz.export.live import Shown
    from pmdviz.expressions import Scope

PACKAGE = Path(__file__).parents[1]
CHECKOUT = PACKAGE.parent


def folder_with(name: str, form: str) -> Path:
    """The folder of that name with files of the form: in an installed package, or next to it in a checkout.

    Raises InputError where the installation has none.
    """
    found = next((place / name for place in (PACKAGE, CHECKOUT) if any((place / name).glob(form))), None)
    if found is None:
        raise InputError(f"this installation of pmdviz has no {name}; repair it: pip install --force-reinstall pmdviz")
    return found


# `pmdviz essay`: write the essay "Inference as descent" as one file for any browser.


def essay_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz essay`: a file."""
    parser.add_argument("file", metavar="FILE", help="an HTML file, such as essay.html; it needs no internet")


def essay(options: argparse.Namespace) -> None:
    """Write it. Raises InputError for a name without the suffix of HTML, or a file that cannot be written."""
    path = check_html_path(options.file, "essay")
    from pmdviz.essay.build import page

    put_text(path, page())
    print(f"the essay is in {path}; open it in a browser")


# `pmdviz docs`: build the docs site into a folder.

BUILDERS = {"html": "the site", "linkcheck": "no site: ask every address of another server whether it answers"}
NEEDED = ("sphinx", "myst_parser", "furo")
MARKER = ".pmdviz-docs"  # is in a folder that a build has made, and may write over
FEW = ("two_modes", "particles_die", "one_gaussian")  # the presets that a build plays by default, in seconds
ALL, NONE = "all", "none"
FRAMES = 40  # of a player: enough to see a run, and each one weighs


def docs_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz docs`: a folder, and which presets are played for the gallery."""
    names = f"{ALL}, {NONE}, or names with commas between (default: %(default)s)"
    builders = "; ".join(f"{name}: {what}" for name, what in BUILDERS.items())
    add = parser.add_argument
    add("folder", metavar="FOLDER", help="output folder; an earlier build in it is replaced")
    add("--gallery", metavar="NAMES", default=",".join(FEW), help=f"presets to run for the gallery: {names}")
    add("--builder", metavar="NAME", default="html", help=f"what Sphinx does ({builders})")


def docs(options: argparse.Namespace) -> int:
    """Build it; returns 1 if a page has a warning. Raises InputError."""
    if not options.folder:  # before anything that a build needs
        raise InputError("docs needs the name of a folder; got ''")
    check_known("builder of docs:", [options.builder], BUILDERS)
    names, settings = chosen(options.gallery), folder_with("docs", "conf.py")
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise InputError(f"the docs site needs {' and '.join(missing)}: pip install 'pmdviz[docs]'")
    folder = make_room(options.folder)
    from sphinx.cmd.build import build_main

    with tempfile.TemporaryDirectory(prefix="pmdviz-docs-") as place:
        given = ["-q", "--fail-on-warning", "-b", options.builder, "-D", f"gallery={','.join(names)}"]
        sources, trees = Path(place) / "sources", Path(place) / "doctrees"
        sources.mkdir()
        status = build_main([*given, "-c", str(settings), "-d", str(trees), str(sources), str(folder)])
    _write_players(names, folder / "players")
    if status == 0 and options.builder == "html":
        print(f"the docs are in {folder}; open {folder / 'index.html'}")
    return status


def chosen(names: str) -> list[str]:
    """The presets that a comma-separated list names; `all`, `none`. Raises InputError for an unknown one."""
    from pmdviz.presets import PRESETS

    if names in (ALL, NONE):
        return [*PRESETS] if names == ALL else []
    asked = [name.strip() for name in names.split(",")]
    check_known(f"preset of the gallery ({ALL}, {NONE} or names):", asked, PRESETS)
    return [*dict.fromkeys(asked)]


def make_room(given: str) -> Path:
    """An empty folder with the marker of a build in it; an earlier build is removed.

    Raises InputError where that cannot be made, or has files that no build has written.
    """
    folder = made_folder(given)
    there = [*folder.iterdir()]
    if there and folder / MARKER not in there:
        raise InputError(f"{shown(str(folder), 200)} holds files that `pmdviz docs` did not write; name another folder")
    for each in there:
        shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
    (folder / MARKER).touch()
    return folder


def _write_players(names: Sequence[str], folder: Path) -> None:
    """Run each preset and write its pictures and its page, which is live where it can be, with a bar on a terminal."""
    from pmdviz.api import run
    from pmdviz.presets import PRESETS

    folder.mkdir(parents=True, exist_ok=True)
    for k, preset in enumerate(map(PRESETS.__getitem__, names)):
        share_bar(k / len(names), preset.title)
        played: Any = run(preset.recipe)
        kind: dict[str, Any] = {"live": True} if runs_live(preset.recipe) else {"frames": FRAMES}
        played.export(folder / f"{preset.name}.html", **kind)
        for theme in ("light", "dark"):
            played.export(folder / f"{preset.name}-{theme}.png", theme=theme, width=768, height=432)
    if names:
        end_bar()


# `pmdviz compile`: fill the cache of compiled kernels, for a class or when an image is built.


def compile_kernels_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz compile`."""
    parser.add_argument("--all", action="store_true", help="also the kernels of every target, method and metric")
    parser.add_argument("--json", metavar="FILE", help="write the seconds per kernel as JSON; - for standard output")


def compile_kernels(options: argparse.Namespace) -> None:
    """Compile the kernels of the default run, or all."""
    from pmdviz.kernels import compiling

    compiling.compile_ahead(tuple(compiling.all_groups()) if options.all else (compiling.DEFAULT,))
    if options.json is not None:
        write_json(options.json, compiling.compiler.seconds)


# `pmdviz bench`: every figure that we claim, by a command of the folder `benchmarks` in a checkout.


def _benchmarks() -> ModuleType:
    """The folder next to the package, or in a checkout that is the current folder: the name of a module.

    An installed package then measures itself with the checkout's benches. Raises InputError where there is neither.
    """
    for root in (CHECKOUT, Path.cwd()):
        if (root / "benchmarks" / "__init__.py").is_file() and (root / "pmdviz" / "cli").is_dir():
            # Its own come before another checkout's that is installed; an installed package is still the one measured.
            place = 0 if root == CHECKOUT else len(sys.path)
            if str(root) not in sys.path[: place + 1]:
                sys.path.insert(place, str(root))
            return importlib.import_module("benchmarks")
    raise InputError("pmdviz bench needs a checkout: its benches are not installed; change to the checkout's folder")


def bench_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz bench`."""
    _benchmarks().add_arguments(parser)


def bench(options: argparse.Namespace) -> None:
    """Run one bench and write its figures."""
    _benchmarks().main(options)


# `pmdviz site`: lab, presets, lessons and the essay as files that run in a browser, without a server.

LAB, ESSAY = "index.html", "essay.html"
ESSAY_RUN, LESSON_RUN = "essay-{}", "lesson-{}-{}"  # names of runs in the address of the page


def site_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz site`: a folder."""
    parser.add_argument("folder", metavar="FOLDER", help="folder for the files, created if missing")


def site(options: argparse.Namespace) -> None:
    """Write both pages. Raises InputError for a folder that cannot be written."""
    folder = made_folder(options.folder)
    for name, text in pages(share_bar).items():
        put_text(folder / name, text)
    end_bar()
    print(f"the site is in {folder}; open {folder / LAB}")


def pages(progress: Callable[[float, str], None] = lambda share, words: None) -> dict[str, str]:
    """The pages by their file names. The runs of lessons are made, for the numbers in their answers."""
    from pmdviz.essay import build
    from pmdviz.essay.pictures import PICTURES
    from pmdviz.export.live import Shown, page
    from pmdviz.lessons.reading import LESSONS
    from pmdviz.presets import PRESETS

    runs = {
        name: Shown(preset.recipe, preset.title, preset.question)
        for name, preset in PRESETS.items()
        if runs_live(preset.recipe)
    }
    menu, lessons = [*runs], {}
    pictures = {name: picture.recipe() for name, picture in PICTURES.items()}
    framed = frozenset(name for name, recipe in pictures.items() if runs_live(recipe))
    runs |= {ESSAY_RUN.format(name): Shown(pictures[name], PICTURES[name].title) for name in sorted(framed)}
    live = [lesson for lesson in LESSONS.values() if lesson_is_live(lesson)]
    for k, lesson in enumerate(live):
        progress(k / len(live), lesson.title)
        lessons[lesson.name], own = lesson_value(lesson)
        runs |= own
    progress(1, "")
    return {LAB: page(runs, menu=menu, lessons=lessons), ESSAY: build.page(framed=framed)}


def runs_live(recipe: Recipe) -> bool:
    """Whether a recipe can run in a page."""
    from pmdviz.export.live import why_not_live

    return not why_not_live(recipe)


# Lessons: what the page needs of them. Answers are judged by the run in Python, which the page replays bit for bit.


def lesson_is_live(lesson: Any) -> bool:
    """Whether all runs of its steps are live, and all goals are such that a page can judge them."""
    from pmdviz.export.live import watched

    steps = lesson.steps
    return bool(steps[0].run) and all(
        not (step.race or step.experiment)
        and (step.run is None or runs_live(step.recipe))
        and (step.goal is None or (watched(step.goal.names) and not step.goal.over_history))
        and set(step.controls) <= _offered(step)
        for step in steps
    )


def _offered(step: Any) -> set[str]:
    """The controls that a page has of a step's run."""
    from pmdviz.export.live import DATA_OPTIONS

    if step.recipe is None:
        return set()
    knobs = step.recipe.start_knobs()
    return {*knobs.specs(), *DATA_OPTIONS.get(step.recipe.target, ()), "seed"}


def lesson_value(lesson: Any) -> tuple[dict[str, Any], dict[str, Shown]]:
    """A lesson for the page, and the runs of its steps."""
    from pmdviz.api import run
    from pmdviz.export.live import Shown
    from pmdviz.lessons.words import markdown

    runs, steps, last = {}, [], None
    for step in lesson.steps:
        name = ""
        if step.recipe is not None:
            last, name = run(step.recipe), LESSON_RUN.format(lesson.name, step.name)
            runs[name] = Shown(step.recipe, step.title, metrics=last.final.metrics)
        steps.append({"run": name, **step_value(lesson, step, last)})
    words = {"title": lesson.title, "question": lesson.question, "text": markdown(lesson.text)}
    return {**words, "steps": steps}, runs


def step_value(lesson: Any, step: Any, run: Run | None) -> dict[str, Any]:
    """A step: texts, controls, questions with the answers that `run` gives, and the goal as a tree."""
    from pmdviz.lessons.words import goal_words, markdown
    from pmdviz.presets import RunScope

    scope = RunScope(run) if run is not None else None
    following = lesson.following(step)
    return {
        "title": step.title,
        "text": markdown(step.text),
        "controls": list(step.controls),
        "hints": [markdown(hint.say) for hint in step.hints],
        "reveal": markdown(step.reveal),
        "goal": step.goal and {"words": goal_words(step.goal), "tree": step.goal.tree},
        "to": lesson.places[following.name] if following is not None else len(lesson.steps),
        "question": step.question and ask_value(step.question, scope, lesson.places),
        "after": step.after and ask_value(step.after, scope, lesson.places),
    }


def ask_value(ask: Any, scope: Scope, places: Mapping[str, int]) -> dict[str, Any]:
    """A question with its verdicts in words."""
    from pmdviz.lessons.words import inline, markdown

    number = ask.number and {
        "right": float(ask.number.right.value(scope)),
        "tolerance": ask.number.tolerance,
        "scale": ask.number.scale,
        "unit": ask.number.unit,
        **{name: inline(getattr(ask.number, name).words(scope)) for name in ("close", "low", "high")},
    }
    options = [
        {
            "letter": letter,
            "say": inline(option.say),
            "right": option.is_right(scope),
            "because": inline(option.because.words(scope)),
            "to": places.get(option.to),
        }
        for letter, option in ask.options.items()
    ]
    return {"text": markdown(ask.text), "options": options, "number": number}
