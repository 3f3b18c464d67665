"""`pmdviz race`."""

import json
from pathlib import Path

import pytest
from PIL import Image

from pmdviz.cli.main import main

QUICK = ["race", "--target-option", "num_data=200", "--target-option", "sigma_x=1.5", "--budget", "400"]
METHODS = "pmd:num_particles=60,pmd:num_particles=60,warm_start=true,sgld"


def test_json_has_rows_summary_and_modes(capsys):
    assert main([*QUICK, "--methods", METHODS, "--seeds", "2", "--json", "-"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out, parse_constant=lambda name: pytest.fail(name))
    assert err == ""
    assert [(row["method"], row["seed"]) for row in result["rows"]] == [
        (label, seed)
        for label in ("pmd:num_particles=60", "pmd:num_particles=60,warm_start=true", "sgld")
        for seed in (0, 1)
    ]
    assert set(result["rows"][0]) >= {
        *("method", "seed", "visited", "tv", "kl_forward", "mean_error", "mode_masses"),
        *("density_evaluations", "gradient_evaluations", "seconds"),
    }
    assert result["summary"][0]["runs"] == 2 and 0 < result["summary"][0]["tv_mean"] < 1
    assert len(result["modes"]) == len(result["rows"][0]["mode_masses"]) == 2
    assert result["target"]["options"]["num_data"] == 200 and result["budget"] == 400


def test_seeds_by_name_and_a_file(tmp_path: Path):
    path = tmp_path / "race.json"
    assert main([*QUICK, "--methods", "pmd:num_particles=60", "--seeds", "7,3", "--json", str(path)]) == 0
    assert [row["seed"] for row in json.loads(path.read_text())["rows"]] == [7, 3]


def test_the_table_begins_with_the_best(capsys):
    assert main([*QUICK, "--methods", "sgld,pmd:num_particles=400"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("method") and "tv_mean" in lines[0]
    assert [line.split()[0] for line in lines[1:]] == ["pmd:num_particles=400", "sgld"]
    assert "unavailable" in lines[1]


def rows(path):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in json.loads(path.read_text())["rows"]]


def test_a_race_is_taken_home_and_run_again(capsys, tmp_path):
    film, recipe, out, again = (tmp_path / name for name in ("race.gif", "race.json", "out.json", "again.json"))
    files = ["--export", str(film), "--export", str(recipe), "--json", str(out)]
    assert main([*QUICK, "--methods", "pmd:num_particles=60,smc:num_particles=60", "--seeds", "7,3", *files]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{film}: ") and f"{recipe}: " in said
    with Image.open(film) as image:
        assert image.size == (960, 540) and image.n_frames == 5
    for given in (recipe, out):
        assert main(["race", str(given), "--json", str(again)]) == 0
        assert rows(again) == rows(out)
    histories = tmp_path / "histories.csv"
    assert main(["export", str(recipe), str(histories), "--table", "histories"]) == 0
    assert len(histories.read_text().splitlines()) == 2 + 2 * (5 + 21)  # steps of 100 and of 10 data, twice
    page = tmp_path / "race.png"
    assert main(["export", str(out), str(page), "--size", "320x180", "--traces", "kl_forward"]) == 0
    with Image.open(page) as image:
        assert image.size == (320, 180)


def test_the_table_is_of_the_metrics_that_all_have(capsys):
    linear = ["race", "--target", "linear", "--target-option", "dim=5", "--budget", "40000"]
    assert main([*linear, "--clock", "evaluations", "--methods", "pmd:num_particles=50,svi"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == [
        *("method", "runs", "density_evaluations_mean", "gradient_evaluations_mean"),
        *("mean_error_mean", "mean_error_sd", "kl_moments_mean", "runs_in_one_mode", "seconds_mean"),
    ]
    assert {line.split()[0] for line in lines} == {"pmd:num_particles=50", "svi"}


def test_json_on_standard_output_stays_json(capsys, tmp_path):
    assert main([*QUICK, "--methods", "sgld", "--export", str(tmp_path / "rows.csv"), "--json", "-"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["race"]["methods"] == ["sgld"] and err.startswith(f"{tmp_path / 'rows.csv'}: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["race", "race.json", "--budget", "9"], "a race's file says all of it; leave --target, --target-option,"),
        (["race", "race.json", "--export", "x.gfi"], "unknown kind of file: '.gfi'; did you mean '.gif'?"),
        (["race", "--methods", ",".join(["pmd"] * 9), "--export", "x.gif"], "at most 8 entrants"),
        (["export", "race.json", "x.gif", "--traces", "es"], "unknown value of traces: 'es'; did you mean 'ess'"),
        (
            ["export", "race.json", "x.gif", "--traces", "ksd"],
            "traces: ksd is unavailable for all methods of this race",
        ),
        (["race", "--clock", "steps"], "clock must be one of data, evaluations; given: 'steps'"),
        (["race", "--target", "ising", "--methods", "gibbs", "--clock", "data"], "target 'ising' has no data to visit"),
        (["race", "--target", "ising", "--methods", "gibbs,pmd"], "entrant pmd: method 'pmd' needs real coordinates"),
        (["export", "race.json", "x.gif", "--seed", "3"], "says all of the run"),
        (["export", "bad.json", "x.gif"], "a race needs budget"),
        (["race", "nothing.json"], "cannot read"),
        (["race", "--points", "few"], "points must be a whole number"),
    ],
)
def test_what_cannot_be_taken_home_is_said_before_anything_runs(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("race.json").write_text('{"pmdviz_race": 1, "methods": ["pmd"], "budget": 400}')
    Path("bad.json").write_text('{"pmdviz_race": 1, "methods": ["pmd"]}')
    monkeypatch.setattr("pmdviz.experiments.race.race", lambda *given, **more: pytest.fail("it ran"))
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and words in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.json", "race.json"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--methods", "pmdd"], "unknown method 'pmdd'; did you mean 'pmd'?"),
        (["--methods", "pmd:eta=-1"], "eta must be a number above 0"),
        (["--methods", "pmd,eta=1"], "after a colon"),
        (["--methods", ""], "unknown method ''"),
        (["--seeds", "many"], "--seeds must be a number of seeds"),
        (["--seeds", "0"], "seeds must be a whole number at least 1"),
        (["--seeds", "1,1"], "different ones"),
        (["--budget", "none"], "budget must be a whole number"),
        (["--target", "bimodal1d", "--target-option", "num_data=20", "--methods", "gibbs"], "entrant gibbs: method"),
        (["--target", "mixtur"], "did you mean 'mixture'"),
        (["--target-option", "x"], "--target-option takes NAME=VALUE"),
        (["--method", "pmd"], "unknown option of race: '--method'; did you mean '--methods'?"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_status_2(more, words, capsys):
    assert main(["race", *more]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("pmdviz: ") and words in err
