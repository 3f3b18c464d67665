"""`pmdviz export`: its flags are the declared options, and nothing is run for what cannot be written."""

import io
import json
import sys

import pytest
from PIL import Image

from pmdviz import api
from pmdviz.cli import main
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.export.options import LAYER_LIST, SIZE, Look

RUN = ["--target", "gaussian", "--knob", "num_particles=30", "--budget", "300"]
SMALL = ["--size", "160x160"]


def called(capsys, *arguments):
    try:
        status = main.main(["export", *(str(a) for a in arguments)])
    except SystemExit as end:  # --help
        status = end.code
    out, err = capsys.readouterr()
    return status, out, err


def test_a_recipe_becomes_a_film(capsys, tmp_path):
    recipe = Recipe("gaussian", num_particles=30, budget=300)
    given, film = tmp_path / "recipe.json", tmp_path / "out.gif"
    given.write_text(recipe.to_json(), encoding="utf-8")
    status, out, err = called(capsys, given, film, *SMALL, "--fps", "10", "--theme", "dark", "--large-type")
    assert (status, err) == (0, "") and out.startswith(f"{film}: ") and out.endswith("kB\n")
    with Image.open(film) as image:
        assert image.size == (160, 160) and image.n_frames == api.run(recipe, floor=False).final.iteration + 1


def test_every_option_reaches_the_file(capsys, tmp_path, monkeypatch):
    from pmdviz.engine.run import Run

    seen = {}
    monkeypatch.setattr(Run, "export", lambda self, path, **options: seen.update(options) or __file__)
    monkeypatch.setattr(main.sys.modules["pmdviz.cli.export"], "_size", lambda path: "")
    words = ["--width", "320", "--height", "180", "--fps", "7", "--frames", "3", "--theme", "dark", "--no-exact"]
    words += [
        "--transparent",
        "--large-type",
        "--approximate",
        "--no-particles",
        "--traces",
        "ess",
        "--clock",
        "seconds",
    ]
    assert called(capsys, tmp_path / "x.gif", *RUN, *words)[0] == 0
    assert seen == {
        "width": "320", "height": "180", "fps": "7", "frames": "3", "theme": "dark", "exact": False,
        "transparent": True, "large_type": True, "approximate": True, "particles": False, "traces": "ess",
        "clock": "seconds",
    }  # fmt: skip


def test_the_help_names_every_option_and_kind_of_file(capsys):
    status, out, _ = called(capsys, "--help")
    assert status == 0
    for name in (SIZE, LAYER_LIST, *Look.specs()):
        assert f"--{name.replace('_', '-')}" in out
    assert ".gif" in out and ".parquet" in out


def test_a_recipe_from_standard_input_and_tables(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(Recipe("gaussian", num_particles=30, budget=300).to_json()))
    assert called(capsys, "-", tmp_path / "p.csv", "--table", "particles")[0] == 0
    assert len((tmp_path / "p.csv").read_text(encoding="utf-8").splitlines()) == 32
    assert called(capsys, tmp_path / "r.json", *RUN)[0] == 0
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["target"] == "gaussian"


def test_a_terminal_gets_bars(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    status, _, err = called(capsys, tmp_path / "x.gif", *RUN, *SMALL, "--frames", "3")
    assert status == 0 and "300 of 300 data" in err and "3 of 3 frames" in err and err.endswith("\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["x.gfi"], "unknown kind of file: '.gfi'; did you mean '.gif'?"),
        (["x.png", "--fps", "3"], "fps means nothing to a .png file"),
        (["x.gif", "--size", "20x20"], "width must be a whole number at least 160"),
        (["x.gif", "--frames", "two"], "frames must be a whole number"),
        (["x.gif", "--layers", "exakt"], "did you mean 'exact'?"),
        (["x.gif", "--thems", "dark"], "unknown option of export: '--thems'; did you mean '--theme'?"),
        (["x.mp4", "--size", "961x541"], "must be even; given: 961x541"),
        (["nowhere/x.gif"], "there is no folder"),
        ([".gif"], "a file needs a name before its suffix"),
        (["n" * 300 + ".gif"], "File name too long"),
        ([], "the following arguments are required: FILE"),
        (["nothing.json", "x.gif"], "cannot read the recipe"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line_before_the_run(capsys, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(api, "run", lambda *given, **more: pytest.fail("it ran"))
    status, out, err = called(capsys, *arguments)
    assert (status, out) == (2, "") and err.startswith("pmdviz: ") and err.count("\n") == 1
    assert words in err and [*tmp_path.iterdir()] == []


def test_more_frames_than_there_are(capsys, tmp_path):
    status, _, err = called(capsys, tmp_path / "x.gif", *RUN, "--frames", "900")
    assert status == 2 and "given: 900" in err and [*tmp_path.iterdir()] == []


def test_an_endless_recipe_needs_a_budget(capsys, tmp_path):
    given = tmp_path / "recipe.json"
    given.write_text(Recipe("gaussian", budget=None).to_json(), encoding="utf-8")
    status, _, err = called(capsys, given, tmp_path / "x.gif")
    assert status == 2 and "needs a budget" in err


def test_cancel_by_the_keyboard(capsys, tmp_path, monkeypatch):
    def interrupted(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("pmdviz.export.writers.gif._block", interrupted)
    assert called(capsys, tmp_path / "x.gif", *RUN, *SMALL)[0] == 130
    assert [*tmp_path.iterdir()] == []
