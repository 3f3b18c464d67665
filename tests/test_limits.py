"""Limits of the environment: one that cannot be read is refused in a sentence, and never means that there is none."""

import pytest

from pmdviz.cli.main import main
from pmdviz.errors import InputWarning
from pmdviz.limits import LIMITS, MOST, check_limits, limit, set_limits, variable
from pmdviz.serve import pages, server
from tests.support.tables import refused

BAD = ("abc", "-1", "0", "1.5", "inf", "9" * 5000)


@pytest.fixture(autouse=True)
def no_limits(monkeypatch):
    for name in LIMITS:
        monkeypatch.setenv(variable(name), "")


def test_a_variable_without_a_limit_is_refused_and_a_misspelt_one_gets_the_nearest_name(monkeypatch):
    for name in LIMITS:
        words = rf"^{variable(name)} must be a whole number at least [\d,]+ .*got '"
        with monkeypatch.context() as patch:
            for raw in BAD:
                patch.setenv(variable(name), raw)
                for ask in (check_limits, lambda name=name: limit(name), lambda: set_limits({})):
                    refused(words, ask)
    for name, meant in [("MAX_SESSION", "MAX_SESSIONS"), ("THREAD", "THREADS"), ("MAXPARTICLES", "MAX_PARTICLES")]:
        with monkeypatch.context() as patch:
            patch.setenv(f"PMDVIZ_{name}", "1")
            with pytest.warns(InputWarning, match=f"PMDVIZ_{name}, which does nothing; did you mean PMDVIZ_{meant}"):
                check_limits()
    monkeypatch.setenv("PMDVIZ_SOMETHING_ELSE", "1")
    monkeypatch.setenv("PMDVIZ_THREADS", "1")
    check_limits()


def test_a_variable_has_the_bounds_of_its_flag_and_both_are_read_alike(monkeypatch):
    for name in LIMITS:
        with monkeypatch.context() as patch:
            for raw in (LIMITS[name].least - 1, MOST + 1):
                patch.setenv(variable(name), str(raw))
                refused(f"{variable(name)} must be", limit, name)
                refused(f"--{name.replace('_', '-')} must be", set_limits, {name: raw})
            for raw in (LIMITS[name].least, MOST):
                patch.setenv(variable(name), f" {raw} ")
                assert limit(name) == raw, name
    for raw in ("2e3", "2,000", "2000"):
        set_limits({"max_particles": raw})
        monkeypatch.setenv(variable("max_budget"), raw)
        assert limit("max_particles") == limit("max_budget") == 2000
    monkeypatch.setenv(variable("max_sessions"), "abc")
    set_limits({"max_sessions": "3"})  # a flag goes first
    assert limit("max_sessions") == 3


def test_serve_refuses_before_it_starts_and_under_panel_serve_every_page_is_the_sentence(monkeypatch, capsys):
    monkeypatch.setattr(server, "chosen_port", lambda *asked: pytest.fail("it went on"))
    for arguments, words in (
        (["--max-sessions", "many"], "--max-sessions must be a whole number"),
        (["--max-grid", "10"], "--max-grid must be a whole number at least 160"),
        (["--num-procs", "0"], "--num-procs must be a whole number at least 1 and at most 64; got 0"),
    ):
        assert main(["serve", *arguments]) == 2
        assert words in capsys.readouterr().err
    monkeypatch.setenv(variable("max_step_ms"), "1 s")
    assert main(["serve"]) == 2 and "PMDVIZ_MAX_STEP_MS must be a whole number" in capsys.readouterr().err
    monkeypatch.setenv(variable("max_sessions"), "<b>")
    text = pages._scripted_page().main[0].object
    assert "limits cannot be used: PMDVIZ_MAX_SESSIONS must be a whole number" in text
    assert "<b>" not in text
