"""The Theory page's experiments: live pictures of one run at a time, its link, its rows as a file, and refusals."""

import asyncio
import csv
import io
from urllib.parse import parse_qs

import pytest
from joblib import parallel_config

from pmdviz.engine.recipe_parts import fold, unfold
from pmdviz.errors import InputError
from pmdviz.experiments.base import EXPERIMENTS, Size
from pmdviz.experiments.running import run_experiment
from pmdviz.kernels.pool import Cancelled
from pmdviz.lab import links
from pmdviz.lab.controls.sharing import Choice, asked_of, changed, of_preset, read, usual
from pmdviz.lab.links import Asked
from pmdviz.lab.loop import work as experiment_work
from pmdviz.lab.loop.work import ExperimentWork
from pmdviz.lab.pages.theory import TheoryPage
from pmdviz.lab.panels.experiments import EMPTY, ExperimentResults
from pmdviz.presets import EXPERIMENT_PRESETS
from tests.lab.threads import in_a_thread
from tests.support.tables import looped

QUICK = {"runs": 2, "steps": 3}  # of `recurrence`
PRESET = next(iter(EXPERIMENT_PRESETS))


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


def test_results_are_those_of_their_run_whatever_is_begun_or_chosen_meanwhile():
    results = ExperimentResults()
    assert EMPTY in results.about.object and not results.download.visible
    first = ExperimentWork("recurrence", QUICK)
    first.act(lambda done, total: None)
    results.begin(first)
    assert "Runs: 2" in results.about.object and results.download.visible
    assert len(results.pictures.views) == 2 and "<table>" in results.summary.object
    assert results.download.filename == "pmdviz-recurrence.csv"
    results.begin(ExperimentWork("descent", {}))  # has found nothing yet
    results.look()
    assert results.work is first and "Runs: 2" in results.about.object
    rows = [*csv.DictReader(results._csv())]
    assert len(rows) == 6 and "measured" in rows[0]


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


def test_a_preset_is_a_start_with_a_question_and_has_a_link_of_its_own(page):
    panel, preset = page.experiments, EXPERIMENT_PRESETS[PRESET]
    panel.preset.value = PRESET
    assert panel.choice == of_preset(PRESET) and panel.chosen.value == preset.experiment
    assert preset.question in panel.about.object and changed(panel.knobs).keys() <= preset.knobs.keys()
    assert panel.sharing._ack.link == f"?page=theory&settings={PRESET}"
    name = next(iter(preset.knobs))
    panel._turn(name, panel.knobs.defaults().as_dict()[name])
    assert panel.preset.value == PRESET and f"experiment={preset.experiment}" in panel.sharing._ack.link
    panel.preset.value = ""
    assert panel.choice == usual(preset.experiment) and preset.question not in panel.about.object
    panel.preset.value = PRESET
    panel.chosen.value = "recurrence"
    assert panel.preset.value == "" and panel.choice == usual("recurrence")
    assert TheoryPage(Asked(settings=PRESET)).experiments.choice == of_preset(PRESET)


@looped(
    "asked, words",
    [
        (Asked("descend"), "did you mean 'descent'"),
        (Asked("descent", "4.rubbish"), "cut short or changed"),
        (Asked("descent", "nothing"), "not complete"),
        (Asked("descent", fold({"runs": 9, "steps": 7})), "unknown knob"),
        (Asked(settings="no_such"), "unknown preset of an experiment"),
    ],
)
def test_what_cannot_be_read_is_said_and_the_page_opens_with_its_defaults(asked, words):
    with pytest.raises(InputError, match=words):
        read(asked)
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
    with pytest.raises(InputError, match="num_particles must be"):
        read(asked)
    monkeypatch.setenv("PMDVIZ_MAX_PARTICLES", "")
    with pytest.raises(InputError, match="link would have"):
        links.experiment_query(Asked("descent", "x" * 3000))
