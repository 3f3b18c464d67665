"""The Theory page's experiments: live pictures of one run at a time, its link, its rows as a file, and refusals."""

import asyncio
import csv
import io
from urllib.parse import parse_qs

import pytest
from joblib import parallel_config

from pmdviz.engine.recipe import fold, unfold
from pmdviz.experiments import EXPERIMENTS, Size
from pmdviz.experiments.running import run_experiment
from pmdviz.kernels.pool import Cancelled
from pmdviz.lab import links
from pmdviz.lab.links import Asked
from pmdviz.lab.loop import work as experiment_work
from pmdviz.lab.loop.work import ExperimentWork
from pmdviz.lab.panels.sharing import Choice, asked_of, read, usual
from pmdviz.lab.theory import TheoryPage
from tests.lab.threads import in_a_thread
from tests.support.tables import looped, refused

QUICK = {"runs": 2, "steps": 3}  # of `recurrence`


@pytest.fixture(autouse=True)
def in_threads(monkeypatch):
    """No worker processes: what a test puts in the place of an experiment's own then holds."""

    def run(*args, **rest):
        with parallel_config("threading"):
            return run_experiment(*args, **rest)

    monkeypatch.setattr(experiment_work, "run_experiment", run)


@pytest.fixture
def page():
    made = TheoryPage()
    yield made
    made.stop()


def run(page, insist=False):
    """Press Run on a page with an event loop, and wait until it is over."""

    async def act():
        page.experiments.choose(usual("recurrence")._replace(knobs=EXPERIMENTS["recurrence"].Knobs.checked(QUICK)))
        page.experiments.run(insist)
        while page.buttons["Measure"].disabled:
            await asyncio.sleep(0.01)

    in_a_thread(lambda: asyncio.wait_for(act(), 120))


def test_pictures_come_with_the_first_rows_and_what_comes_out_in_the_end():
    seen = []
    work = ExperimentWork("recurrence", {"runs": 3, "steps": 3})

    def tell(done, total):
        work._next = 0.0  # whenever it is asked
        seen.append((len(work.rows), len(work.found.pictures), len(work.found.summary)))

    result = work.act(tell)
    assert any(0 < rows < 9 and pictures for rows, pictures, _ in seen) and all(not entries for *_, entries in seen)
    assert len(work.found.pictures) == 2 and [dict(entry) for entry in work.found.summary] == result.summary


def test_cancelled_work_keeps_its_rows_its_pictures_and_what_comes_out():
    work = ExperimentWork("recurrence", {"runs": 4, "steps": 3})

    def tell(done, total):
        if done >= 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        work.act(tell)
    assert 6 <= len(work.rows) < 12 and work.found.pictures and len(work.found.summary) == 3
    assert len([*csv.DictReader(io.StringIO(work.result.csv()))]) == len(work.rows)


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setenv("PMDVIZ_MAX_EXPERIMENT_S", "")
    monkeypatch.setattr(type(EXPERIMENTS["recurrence"]), "size", lambda self, case: Size(5000.0, 1.0))


def test_what_is_too_large_is_refused_unless_a_person_insists(page, large):
    run(page)
    assert "has to be asked for" in page.experiments.line.said.object and page.experiments.insist.visible
    assert page.experiments.results.work is None
    run(page, insist=True)
    assert "6 rows measured." in page.experiments.line.said.object and not page.experiments.insist.visible


def test_a_link_holds_what_differs_from_the_defaults_and_comes_back(page):
    panel = page.experiments
    assert panel.sharing._ack.link == ""  # what was opened stays as it was written
    panel.chosen.value = "descent"
    assert panel.sharing._ack.link == "?page=theory&experiment=descent"
    panel._turn("correlation", 0.25)
    panel._turn("grouping", "joint")
    text = panel.sharing._ack.link
    parts = {name: values[-1] for name, values in parse_qs(text[1:]).items()}
    assert set(parts) == {"page", "experiment", "knobs"} and unfold(parts["knobs"]) == {
        "correlation": 0.25,
        "grouping": "joint",
    }
    again = TheoryPage(links.read(parse_qs(text[1:])).asked).experiments
    assert (
        again.choice == panel.choice and again.chosen.value == "descent" and again.form.controls["correlation"].changed
    )
    panel.sharing.copy()
    assert panel.sharing._ack.text == text and panel.sharing._ack.copies == 1


@looped(
    "asked, words",
    [
        (Asked("descend"), "did you mean 'descent'"),
        (Asked("descent", "4.rubbish"), "cut short or changed"),
        (Asked("descent", "nothing"), "incomplete"),
        (Asked("descent", fold({"runs": 9, "steps": 7})), "unknown knob"),
        (Asked(settings="no_such"), "unknown preset of an experiment"),
    ],
)
def test_what_cannot_be_read_is_said_and_the_page_opens_with_its_defaults(asked, words):
    refused(words, read, asked)
    if asked.knobs == "nothing":
        panel = TheoryPage(asked).experiments
        said = panel.line.said.object
        assert "This link could not be read" in said and words in said and "default settings instead." in said
        assert panel.choice == usual(panel.choice.experiment)


def test_a_value_beyond_its_bounds_in_a_link_is_refused(monkeypatch):
    knobs = EXPERIMENTS["descent"].Knobs.checked({"num_particles": 40_000})
    asked = asked_of(Choice("descent", knobs))
    assert read(asked).knobs == knobs and asked_of(read(asked)) == asked
    monkeypatch.setenv("PMDVIZ_MAX_PARTICLES", "1000")
    refused("num_particles must be", read, asked)
    monkeypatch.setenv("PMDVIZ_MAX_PARTICLES", "")
    refused("link would have", links.experiment_query, Asked("descent", "x" * 3000))
