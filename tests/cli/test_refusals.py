"""What the command line cannot use is said in one line with status 2, before anything runs."""

import errno
import io
import sys

import numpy as np
import pytest

from pmdviz.cli import main, recipe
from pmdviz.engine.recipe import Recipe
from pmdviz.targets.mixture import Mixture


def refused(capsys, *arguments):
    """The one line with which a call is refused."""
    status = main.main([str(word) for word in arguments])
    out, err = capsys.readouterr()
    assert (status, out) == (2, ""), (arguments, err)
    assert err.startswith("pmdviz: ") and err.count("\n") == 1 and err.endswith("\n"), (arguments, err)
    return err


TWICE = ["--knob", "eta=1", "--knob", "eta=2"]
ISING = ["--target", "ising", "--methods"]
OVER = ["sweep", "recipe.json", "--over", "num_particles=5"]
WRONG = [
    (["run", "--target", "mixtrue"], "unknown target 'mixtrue'; did you mean 'mixture'?"),
    (["run", "--budget", "0"], "budget must be a whole number at least 1 and at most 1,000,000,000,000; got '0'"),
    (["run", "--target-option", "num_data=5", "--knob", "batch_size=6"], "at most 5"),
    (["run", "--knob", "eta"], "--knob takes NAME=VALUE, such as --knob num_particles=500; got 'eta'"),
    (["run", "--metrics-every", "0"], "--metrics-every must be a whole number at least 1"),
    (["run", "nowhere.json"], "'nowhere.json' is neither a file nor a preset"),
    (["run", "."], "cannot read the recipe '.'"),
    (["run", "nowhere.json", "--seed", "3"], "a recipe file holds all of the run"),
    (["run", "/dev/zero"], "more than 4,000,000 bytes"),
    (["run", "--target", "gaussian", "--budget", "5", "--json", "/nowhere/at/all.json"], "cannot write"),
    (["run", "--json", ""], "a file needs a path that ends in its name"),
    (["run", *TWICE], "--knob gives eta twice, '1' and '2'; give it once"),
    (["run", "--sed", "3"], "--sed"),
    (["run", "--budget"], "expected one argument"),
    (["rnu"], "unknown command 'rnu'; did you mean 'run'?"),
    ([], " | ".join(main.COMMANDS)),
    (["list", "--json", f"{__file__}/x.json"], "Not a directory"),
    (["bench", "nothing"], "'nothing'"),
    (["bench", "growth", "--sessions", "3"], "bench growth takes no --sessions"),
    (["bench", "growth", "--methods", "pmd"], "bench growth takes no --methods"),
    (["bench", "live", "--beside", "demo"], "bench live takes no --beside"),
    (["bench", "live-page", "--beside", "nowhere"], "--beside needs a clone of github.com/chi-feng/mcmc-demo"),
    (["bench", "silence", "--only", "9:9"], "--only must be FROM:TO with 0 <= FROM < TO <= 60, such as 0:10; got"),
    (["bench", "soak", "--sessions", "many"], "--sessions must be a whole number at least 1 and at most 100,000"),
    (["export", "x.gfi"], "unknown kind of file: '.gfi'; did you mean '.gif'?"),
    (["export", "x.gif", "--frames", "two"], "frames must be a whole number"),
    (["export", "x.gif", "--thems", "dark"], "unknown option of export: '--thems'; did you mean '--theme'?"),
    (["export", "bad.json", "x.gif"], "a race needs budget"),
    (["race", "race.json", "--budget", "9"], "a race's file holds all of the race; leave --target, --target-option,"),
    (["race", "--methods", ",".join(["pmd"] * 9), "--export", "x.gif"], "at most 8 entrants"),
    (["race", *ISING, "gibbs", "--clock", "data"], "target 'ising' has no data"),
    (["race", *ISING, "gibbs,pmd"], "entrant pmd: method 'pmd' needs real coordinates"),
    (["race", "--points", "few"], "points must be a whole number"),
    (OVER[:2], "needs --over"),
    ([*OVER[:3], "num_particles"], "--over takes NAME=VALUE"),
    ([*OVER, "--over", "num_particles=6"], "names num_particles twice"),
    ([*OVER, "--seeds", "few"], "--seeds must be a number of seeds"),
    ([*OVER, "--workers", "none"], "workers must be a whole number"),
    (["lessons", "check", "nowhere.md"], "'nowhere.md' cannot be opened: No such file or directory"),
    (["lessons", "lists"], "unknown subcommand of lessons: 'lists'; did you mean 'list'"),
    (["lessons"], "the following arguments are required"),
    (["notebooks", ""], "got ''"),
    (["docs", ""], "needs the name of a folder"),
    (["docs", "site", "--gallery", "two_mods"], "two_modes"),
    (["docs", "site", "--builder", "latex"], "html, linkcheck"),
]
FILES = {
    "recipe.json": Recipe("gaussian", target_options={"dim": 1}, batch_size=5, budget=100).to_json(),
    "race.json": '{"pmdviz_race": 4, "methods": ["pmd"], "budget": 400}',
    "bad.json": '{"pmdviz_race": 4, "methods": ["pmd"]}',
}


def test_what_cannot_be_used_is_said_in_one_line_before_anything_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for place in ("pmdviz.experiments.race.race", "pmdviz.api.run"):
        monkeypatch.setattr(place, lambda *given, **more: pytest.fail("it ran"))
    for arguments, words in WRONG:
        assert words in refused(capsys, *arguments), arguments
    assert {path.name for path in tmp_path.iterdir()} == {*FILES}


def test_what_is_not_a_recipe(capsys, tmp_path, monkeypatch):
    path = tmp_path / "bad.json"
    for text in (
        *("", "{", "[]", "NaN", '{"seed": NaN}', '{"pmdviz_recipe": 99}', '{"knobs": {"etta": 1}}'),
        '{"budget": null}',
    ):
        path.write_text(text, encoding="utf-8")
        refused(capsys, "run", path)
    path.write_bytes(b"\xff\xfe\x00")
    assert "not a recipe in JSON" in refused(capsys, "run", path)
    long = " " * (recipe.MAX_RECIPE_BYTES + 1)
    path.write_text(long, encoding="utf-8")
    assert "bytes" in refused(capsys, "run", path)
    monkeypatch.setattr(sys, "stdin", io.StringIO(long))
    assert "'-' is not a recipe: it has more than" in refused(capsys, "run", "-")
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed" in refused(capsys, "run", "-")


def test_what_the_system_or_a_target_refuses_is_one_line_and_status_one(capsys, monkeypatch):
    def refusing():
        raise PermissionError(errno.EPERM, "Operation not permitted", "somewhere")

    with monkeypatch.context() as patch:
        patch.setattr(main, "_limit_blas", refusing)
        assert main.main(["list"]) == 1
    words = "pmdviz: cannot use 'somewhere': Operation not permitted; check the path and your rights\n"
    assert capsys.readouterr() == ("", words)
    options = ["--target-option", "data_seed=987", "--knob", "batch_size=7", "--knob", "num_particles=10"]
    for bad in (np.nan, np.inf, -np.inf):

        def failing(self, theta, batch, bad=bad):
            return np.full(len(theta), bad if len(batch) == 7 else -1.0)

        monkeypatch.setattr(Mixture, "_log_likelihood", failing)
        assert main.main(["run", *options, "--json", "-"]) == 1
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1
        assert "log_likelihood of target 'mixture' is " in err and "theta = (" in err


def test_an_export_that_fails_or_is_stopped_leaves_no_file(capsys, tmp_path, monkeypatch):
    small = ["export", tmp_path / "x.gif", "--target", "gaussian", "--knob", "num_particles=30", "--budget", "300"]
    assert "got 900" in refused(capsys, *small, "--frames", "900")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(Recipe("gaussian", budget=None).to_json()))
        assert "needs a budget" in refused(capsys, "export", "-", *small[1:2])

    def interrupted(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("pmdviz.export.writers._indexed", interrupted)
    assert main.main([*map(str, small), "--size", "160x160"]) == 130
    assert [*tmp_path.iterdir()] == []
