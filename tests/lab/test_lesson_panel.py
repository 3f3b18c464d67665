"""A lesson drives the pages: its gates, what it judges, and the run that it gives back."""

from contextlib import asynccontextmanager

import numpy as np

from pmdviz.lab import Lab
from pmdviz.lab.panels.guide import BROKEN, Guide
from pmdviz.lab.race import Race
from pmdviz.lessons.reading import DEMOS
from pmdviz.serve.pages import PageSpec, Tabs
from tests.lab.threads import drawing, until
from tests.lessons.samples import judging, small_lesson

LESSON = small_lesson()


@asynccontextmanager
async def opened(lesson=LESSON, text=""):
    """A guide with its lab, whose lesson has begun, and a browser that draws every frame at once."""
    lab = Lab(keyboard=True, num_particles=60, budget=500)
    drawing(lab.screen.ack)
    tabs = Tabs({"lab": PageSpec("Lab", lambda: lab), "race": PageSpec("Race", Race)}, "lab")
    guide = Guide(tabs, lab)
    tabs.on_made = guide.hook
    guide.hook("lab", lab)
    lab.start()
    await until(lambda: lab._last is not None)
    guide.open(lesson)
    guide.resume(lesson, text)
    await until(lambda: guide.place.moment() is not None)
    try:
        yield guide, lab
    finally:
        tabs.stop()


def told(guide):
    return guide.card.told


def do(guide, act, **message):
    guide.hear({"act": act, **message})


async def revealed(guide, value="b"):
    do(guide, "answer", part="question", value=value, confidence="sure")
    do(guide, "reveal")
    await until(lambda: told(guide)["asks"]["question"]["verdict"])


async def test_a_kept_progress_comes_back_and_a_broken_one_begins_anew(monkeypatch):
    async with opened() as (guide, lab):
        await revealed(guide)
        kept = guide.card.kept["text"]
    assert guide.card.kept["lesson"] == "one_step"
    async with opened(text=kept) as (again, lab):
        assert again.progress == guide.progress and told(again)["asks"]["question"]["stored"] == ["b", "sure"]
        assert told(again)["said"] == ""
        for text in ("{", kept.replace('"b"', '"z"'), "x" * 200_000):
            again.resume(LESSON, text)
            assert again.step.name == "first" and not again.progress.answers
            assert told(again)["said"].startswith(BROKEN.split("{")[0])
        monkeypatch.setitem(DEMOS, LESSON.name, LESSON)
        again.present(True)
        again.resume(LESSON, kept)
        assert not again.progress.answers  # a lecturer has tried the demo before


MADE_UP = (
    *({}, {"act": None}, {"act": []}, {"act": "eval"}, {"act": "answer"}, {"act": "link"}, {"act": "hint", "x": 1}),
    *({"act": "resume"}, {"act": "resume", "lesson": {}}, {"act": "resume", "lesson": "lost_mode", "text": ""}),
    *({"act": "answer", "part": "question", "value": []}, {"act": "answer", "part": [], "value": "b"}),
    *({"act": "answer", "part": "question", "value": "b", "confidence": {}},),
    *({"act": "answer", "part": "after", "value": 1}, {"act": "following"}, {"act": "list"}),
)


async def test_what_a_browser_makes_up_changes_no_answer():
    async with opened() as (guide, lab):
        for message in MADE_UP[:-1]:
            guide.hear(message)
            assert guide.progress.lesson is LESSON and not guide.progress.answers
        guide.leave()
        for message in MADE_UP:
            guide.hear(message)
            assert not guide.is_open


async def test_what_a_step_hides_is_not_sent_before_the_answer_is_judged():
    async with opened(judging()) as (guide, lab):
        lab.screen.sender.live(False)  # what is sent stays in the document, to be read
        sources, handles = lab.screen.stage.sources, lab.own.handles.view

        def exact():
            both = (sources[name].data.values() for name in ("exact", "areas"))
            return [sum(np.isfinite(row).sum() for values in columns for row in values) for columns in both]

        assert guide.progress.hidden and "tv" not in lab.screen.group.options.values()
        assert told(guide)["reveal"]["label"] == "Play the run"
        do(guide, "reveal")
        await until(lambda: told(guide)["at_end"])
        assert exact() == [0, 0] and handles.handles == [] and lab.screen._noted(lab.last, False) == ""
        assert "TV" not in lab.screen.ack.words and "Done" not in lab.screen.ack.words
        assert told(guide)["reveal"]["text"] == [] and told(guide)["diagnosis"] == ""
        do(guide, "answer", part="after", value=60)
        await until(lambda: told(guide)["asks"]["after"]["verdict"])
        assert min(exact()) > 0 and handles.handles and "TV" in lab.screen.ack.words
        assert "tv" in lab.screen.group.options.values() and told(guide)["reveal"]["text"]
        await until(lambda: told(guide)["diagnosis"])
        do(guide, "again")
        assert guide.progress.hidden
        do(guide, "leave")
        await until(lambda: min(exact()) > 0)


async def test_next_waits_for_the_verdict_unless_no_run_can_give_one():
    async with opened() as (guide, lab):
        first = guide.step.name
        do(guide, "answer", part="question", value="b")
        do(guide, "next")
        assert guide.step.name == first and not told(guide)["may_go_on"]  # nothing was played
        do(guide, "reveal")
        do(guide, "next")
        assert guide.step.name == first and told(guide)["said"]  # it plays
        await until(lambda: told(guide)["asks"]["question"]["verdict"])
        for part in (part for part in guide.step.asks if part != "question"):
            assert not told(guide)["may_go_on"]
            do(guide, "answer", part=part, value=next(iter(guide.step.asks[part].options), 60))
        await until(lambda: told(guide)["may_go_on"])
        do(guide, "next")
        assert guide.step.name != first
    async with opened() as (guide, lab):
        do(guide, "answer", part="question", value="b")
        guide.reveal()  # and then the run fails: it never comes to its end
        for part in (part for part in guide.step.asks if part != "question"):
            do(guide, "answer", part=part, value=next(iter(guide.step.asks[part].options), 60))
        await until(lambda: not guide.place.at_work)
        do(guide, "next")
        assert guide.progress.path[-1] != first


async def test_a_hall_sees_the_next_part_when_the_run_is_over():
    async with opened() as (guide, lab):
        guide.present(True)
        while guide.part != "reveal":
            guide.forward()
        guide.forward()
        assert guide.part == "reveal" and told(guide)["said"]  # the run plays
        await until(lambda: told(guide)["at_end"] and not guide.place.at_work)
        guide.forward()
        assert guide.part != "reveal"


async def test_a_long_run_of_a_step_shows_several_iterations_a_frame(monkeypatch):
    monkeypatch.setattr("pmdviz.lab.panels.lesson_places.SEEN", 1)
    monkeypatch.setattr("pmdviz.lab.panels.lesson_places.FRAMES", 1)
    async with opened(small_lesson(("budget: 20", "budget: 60"))) as (guide, lab):
        assert lab.playback.speed.value == "fast"
        await revealed(guide)
        assert lab.last.frame.iteration == 3 and lab.playback.speed.value == "x5"
        guide.leave()
        await until(lambda: lab.playback.speed.value == "slow")
