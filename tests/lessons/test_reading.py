"""Lessons as files: read, refused, ours, of a folder, in words, and a value that one of them names."""

import logging
import os
import random
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pmdviz
from pmdviz import Recipe
from pmdviz.cli import course as teach
from pmdviz.errors import InputError
from pmdviz.essay.pictures import BANDWIDTH, GAMMAS, SEEN_GAMMA, SELDOM, fixed_point, settled
from pmdviz.expressions import Expression
from pmdviz.lessons import reading as catalogue
from pmdviz.lessons import words as diagnosis
from pmdviz.lessons.lesson import Answer, Verdict
from pmdviz.lessons.playing import Player, check_lesson
from pmdviz.lessons.progress import Progress
from pmdviz.lessons.reading import (
    DEMOS,
    FOLDER,
    LESSONS,
    NUM_CASES,
    POOL,
    find_lesson,
    following,
    own_folder,
    practice,
    read_block,
    read_lesson,
    with_own,
)
from pmdviz.lessons.words import calibration, goal_words, grade_words, inline, markdown, summary
from pmdviz.presets import RunScope
from tests.cli.test_cli import called
from tests.lessons.samples import RECIPE, SMALL, changed, lesson_of, small_lesson
from tests.support.tables import looped, refused

OURS = {file.name: file.read_text(encoding="utf-8") for file in (resources.files("pmdviz.lessons") / "files").iterdir()}


def test_a_file_becomes_the_lesson_that_it_says_and_values_are_read_as_they_stand():
    lesson = read_lesson("small", changed(("minutes: 3", "minutes: 3\nposition: 7")))
    assert (lesson.name, lesson.title, lesson.minutes, lesson.position) == ("small", "A small lesson", 3, 7)
    assert lesson.text == "Before the first step." and not lesson.is_challenge
    first, detour, second, third = lesson.steps
    assert (first.name, first.text, first.reveal) == ("first", "The text of the first step.", "So it is.")
    assert first.question.confidence and [*first.question.options] == ["a", "b"]
    assert first.question.options["a"].to == "detour" and first.question.options["a"].when.text.startswith("ess >")
    assert ([one.say for one in first.hints], first.after.number.tolerance) == (["Think.", "Count."], 0.1)
    assert detour.skip and detour.run is None and lesson.recipe_at(detour) == first.recipe
    assert (second.controls, second.solution) == (("num_particles", "step_size"), {0: {"num_particles": 2000}})
    assert [*third.race.entrants] == ["few", "many"] and third.race.recipe.budget == 20
    recipe = Recipe("gaussian", num_particles=20, budget=50, changes=[(3, {"bandwidth": 2.0})])
    lesson = lesson_of(changed((RECIPE, f"recipe: {recipe.to_json(indent=2)}")))
    assert lesson.steps[0].recipe == recipe
    lesson = lesson_of(changed(("The text of", "{term}`ESS` and {term}`total variation` of"), ("So it", "{term}`TV`")))
    assert lesson.terms == ("TV", "ESS", "total variation")
    assert lesson.steps[0].text == "ESS and total variation of the first step." and lesson.steps[0].reveal == "TV is."
    found = read_block("a: No\nb: off\nc: true\nd: false\ne: Yes", "x")
    assert found == {"a": "No", "b": "off", "c": True, "d": False, "e": "Yes"}


FIRST = "step 'first'"
TWICE = "two steps of lesson 'small' have the name 'first'"
BROKEN = "the YAML block of step 'detour' cannot be read: .* its line 1"
WRONG = [  # what is replaced in the small lesson, and what is said then
    ("---\ntitle: A small lesson", "title: A small lesson", "lesson 'small' must begin with a YAML block"),
    ("title: A small lesson\n", "", "`title` of lesson 'small' must be a text"),
    ("```\n\n```{step} detour", "```\n\nLost.\n\n```{step} detour", "put it into one of them"),
    ("```{step} detour", "```{stop} detour", "a fence of a lesson is ```{step} name"),
    ("{step} detour", "{step} first", TWICE),
    ("to: detour", "to: detours", "unknown step of this lesson 'detours'"),
    ("title: A goal", "title: A goal\nexperiment: x", "step 'second' may have one of recipe, race"),
    ("hints: [Think", "hints: [3, Think", "is a list of texts, or of `say` and `try`"),
    ("hints: [Think", "hints: [{say: A, try: 3}, Think", "`try` of a hint of .* is {control: value}, or a list"),
    ("hints: [Think", "hint: [Think", f"unknown key of {FIRST} 'hint'; did you mean 'hints'"),
    ("goal: tv < 0.05", "goal: tv <", "`goal` of step 'second': invalid expression: 'tv <'"),
    ('"It is {ess:.0f}."', '"It is {ess:.0f."', f"`because` of option a of `question` of {FIRST}"),
    ("    tolerance: 0.1\n", "", f"`tolerance` of the number of `after` of {FIRST} must be a number"),
    ("{0: {num_particles: 2000}}", "{num_particles: 2000}", "`solution` of step 'second' must be iteration"),
    ("    few: ", "    few more: ", "the race of step 'third' needs `entrants`"),
    ("title: A detour", "title: A detour: this", BROKEN),
    ("title: A detour", "title: &a A\nto: *a", "a word that begins with \\* must be in quotes"),
]


def test_what_is_wrong_is_said_with_its_step_and_key():
    for old, new, words in WRONG:
        refused(words, lesson_of, changed((old, new)))


@given(st.sampled_from([SMALL, *OURS.values()]), st.integers(0, 2**32), st.integers(1, 4))
@settings(max_examples=30)
def test_no_damage_to_a_lesson_does_more_than_be_refused(text, seed, count):
    chance = random.Random(seed)
    lines = text.split("\n")
    for _ in range(count):
        k = chance.randrange(len(lines))
        line = lines[k]
        place, other = chance.randrange(len(line) + 1), chance.choice(lines)
        put_in = line[:place] + chance.choice("{}[]:-*&!\"'`#|\t 0") + line[place:]
        lines[k] = chance.choice([line[:place], line[place:], put_in, "", other])
        if chance.random() < 0.3:
            del lines[chance.randrange(len(lines))]
    try:
        lesson = read_lesson("any", "\n".join(lines))
    except InputError as error:
        assert str(error) and "\n" not in str(error)
    else:
        assert lesson.steps and lesson.position > 0


TIERS = {
    "one_step": (),
    "five_passes": (),
    "demo_one_step": (),
    **dict.fromkeys(("ancestors", "which_distance", "evidence"), pytest.mark.ci),
}
PLAYER = Player()
DOCS = Path(__file__).parents[2] / "docs"
NAMES_A_SETTING = re.compile(r"""\b(?:set|try|take|such as)\b[^.?]*(?:["“]|\d)""", re.I)  # the check has to follow it


PLAYED = [*LESSONS, *DEMOS, "practice-1", "practice-2", "practice-3"]


@pytest.mark.parametrize("name", [pytest.param(name, marks=TIERS.get(name, pytest.mark.nightly)) for name in PLAYED])
def test_nothing_is_wrong_with_it(name):
    assert check_lesson(find_lesson(name), PLAYER) == []


def test_a_lesson_asks_first_and_has_something_to_work_for():
    challenges = [lesson.is_challenge for lesson in LESSONS.values()]
    assert challenges == sorted(challenges), "challenges come last"
    for name, lesson in LESSONS.items():
        assert lesson.is_challenge or (lesson.question and lesson.text and lesson.steps[0].asks), name
        for step in lesson.steps:
            assert step.hints and step.text and (step.asks or step.goal), (name, step.name)
            for hint in step.hints if step.goal else ():
                assert hint.settings or not NAMES_A_SETTING.search(hint.say), (name, step.name, hint.say)
            assert step.score is None or "seed" not in step.controls, "the seed of a score is given"
    refused("unknown lesson 'one_stop'; did you mean 'one_step'", find_lesson, "one_stop")


def test_there_are_ten_of_five_minutes_with_a_sentence_a_question_and_what_comes_next():
    assert len(DEMOS) == 10 and not {*DEMOS} & {*LESSONS}
    for name, demo in DEMOS.items():
        (step,) = demo.steps
        (ask,) = step.asks.values()
        assert find_lesson(name) is demo and demo.minutes == 5 and demo.text and step.reveal and len(ask.options) >= 2
    assert following(DEMOS["demo_one_step"]).name == "demo_particles_die" and following(DEMOS["demo_two_modes"]) is None
    page = (DOCS / "teach" / "ten-demos.md").read_text(encoding="utf-8")
    assert teach.demos_markdown() in page and page.count("**Ask:**") == 10 and "**Answer:**" not in page


def test_the_list_links_to_presenter_mode_and_the_page_has_a_code_and_a_measured_answer(capsys, tmp_path, monkeypatch):
    status, out, _ = called(capsys, "demos", "--server", "https://lab.example.org/")
    found = re.findall(r"https://lab\.example\.org/\?lesson=(\w+)&presenter=1$", out, re.M)
    assert status == 0 and found == [*DEMOS]
    monkeypatch.setattr("pmdviz.lessons.reading.DEMOS", {"demo_one_step": DEMOS["demo_one_step"]})
    assert called(capsys, "demos", tmp_path / "demos.html", "--server", "http://lab")[0] == 0
    page = (tmp_path / "demos.html").read_text(encoding="utf-8")
    assert page.count('src="data:image/png;base64,') == 1 and 'href="http://lab/?lesson=demo_one_step' in page
    assert re.search(r"Answer:</strong> a\) Yes, .* TV is 0\.0\d\d after 1 step", page)
    assert called(capsys, "demos", tmp_path / "demos.txt")[0] == 2


def recipes(lesson):
    return [step.recipe for step in lesson.steps if step.recipe is not None]


def test_a_number_gives_the_same_twelve_cases_and_another_gives_others():
    one = practice(17)
    assert recipes(one) == recipes(find_lesson("practice-17")) and len(recipes(one)) == NUM_CASES < len(POOL)
    assert recipes(one) != recipes(practice(18))
    assert len({recipe.seed for recipe in recipes(one)}) > 6, "seeds of their own"
    drawn = {recipe.replaced(seed=0).to_json() for k in (5, 9) for recipe in recipes(practice(k))}
    assert len(drawn) == len(POOL), "tests/browser plays these two"
    for step in one.steps[::2]:
        assert {*step.hide} == {"exact", "numbers"} and step.question is None and step.after is not None
    for name in ("practice-", "practice-x", "practice-9999999999", "one_stop"):
        refused("unknown lesson", find_lesson, name)


def stages(page):
    """The file after each change: a step is put in place of the one of its name, or at the end, or after another."""
    head, steps, found = "", {}, []
    for after, block in re.findall(r"(?:<!-- after (\S+) -->\n)?````markdown\n(.*?)````", page, re.S):
        name = re.search(r"^```\{step\} (\S+)$", block, re.M)[1]
        before, step = block[: block.index("```{step}")], block[block.index("```{step}") :]
        head = before or head
        place = [*steps].index(after) + 1 if after else len(steps)
        steps = dict([*[*steps.items()][:place], (name, step), *[*steps.items()][place:]]) | {name: step}
        found.append(head + "\n".join(steps.values()))
    return found


def test_each_change_leaves_a_lesson_that_the_check_has_nothing_against(tmp_path, capsys):
    files = []
    for k, text in enumerate(stages((DOCS / "tutorials" / "write-a-lesson.md").read_text(encoding="utf-8"))):
        (tmp_path / str(k)).mkdir()
        files.append(tmp_path / str(k) / "few_particles.md")
        files[-1].write_text(text, encoding="utf-8")
    status, out, _ = called(capsys, "lessons", "check", *files)
    assert files and status == 0 and out.count("nothing is wrong") == len(files)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.md").write_text(SMALL, encoding="utf-8-sig")  # as some editors do
    (tmp_path / "one_step.md").write_text(SMALL, encoding="utf-8")
    (tmp_path / "broken.md").write_text("no lesson", encoding="utf-8")
    (tmp_path / "picture.md").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(tmp_path / "pipe.md")  # to be read, it would be waited for without end
    (tmp_path / "notes.txt").write_text("not looked at", encoding="utf-8")
    return tmp_path


def test_what_is_no_lesson_is_left_out_with_a_sentence(folder, caplog, monkeypatch):
    monkeypatch.setenv(FOLDER, str(folder))
    with caplog.at_level(logging.WARNING):
        found = catalogue._loaded()
    assert found["mine"].title == "A small lesson" and found["one_step"].title == "One step, opened up"
    assert set(found) - set(catalogue.LESSONS) == {"mine"} and [*found][-1] == "mine"  # without a position: last
    said = " | ".join(record.getMessage() for record in caplog.records)
    assert "lesson broken.md is left out: lesson 'broken' must begin with a YAML block" in said
    assert "lesson one_step.md is left out: there is a lesson 'one_step' already" in said
    assert "lesson picture.md is left out" in said and "it is not text in UTF-8" in said and "notes" not in said


def test_without_a_folder_there_are_ours_alone_and_what_is_none_is_refused(monkeypatch, caplog, folder):
    monkeypatch.delenv(FOLDER, raising=False)
    assert own_folder() is None and with_own({}, None) == {} and [*catalogue._loaded()] == [*catalogue.LESSONS]
    monkeypatch.setenv(FOLDER, "/no/such/folder")
    with caplog.at_level(logging.WARNING):
        assert [*catalogue._loaded()] == [*catalogue.LESSONS]
    assert "'/no/such/folder'" in caplog.text
    monkeypatch.setenv(FOLDER, "")  # so that what the server sets is taken back, and no later test serves it
    monkeypatch.setattr(catalogue, "LESSONS", dict(catalogue.LESSONS))
    catalogue.offer_lessons(str(folder))
    assert own_folder() == folder and catalogue.find_lesson("mine").title == "A small lesson"
    refused("must be a folder", catalogue.offer_lessons, str(folder / "mine.md"))
    monkeypatch.setenv(FOLDER, "")
    catalogue.offer_lessons(None)
    assert own_folder() is None


def tags(nodes):
    return {tag for node in nodes if not isinstance(node, str) for tag in ({node[0]} | tags(node[2]))}


def text(nodes):
    return "".join(node if isinstance(node, str) else text(node[2]) for node in nodes)


def test_markdown_is_elements_and_markup_in_it_stays_text_and_asks_no_other_server():
    nodes = markdown(
        "**TV** <script>x</script> & `ESS`\n\n| a | b |\n|---|---|\n| 1 | [c](https://x.org/ESS) |\n\n<!-- hidden -->"
    )
    assert tags(nodes) == {"p", "strong", "button", "code", "table", "thead", "tbody", "tr", "th", "td", "a"}
    assert "<script>x</script> & ESS" in text(nodes) and "hidden" not in text(nodes)
    assert text(inline("{term}`ESS` is a <b>")) == "ESS is a <b>"
    for source in ("[x](javascript:alert(1))", "![x](http://elsewhere/x.png)", "<img src=http://elsewhere/x>"):
        assert not tags(inline(source)) & {"img", "script"}
        assert "javascript:" not in str([node for node in inline(source) if not isinstance(node, str)])


@looped(
    "goal, words",
    [
        ("tv < 0.2 before visited 3000", "TV below 0.2 before 3,000 observations are used"),
        ("ess > 0.4 * num_particles and tv < .1", "ESS above 0.4 × number of particles and TV below .1"),
        ("lowest(tv) <= 0.1", "lowest TV at most 0.1"),
        ("plain.tv < bold_one.tv", "plain: TV below bold one: TV"),
        (
            "abs(draws_sd / sd - 1) < 0.125 and visited >= 5000",
            "sd of the draws within 12.5 % of the exact sd and number of observations used at least 5,000",
        ),
        ("abs(log_z_error) < 0.2", "error of log Z within ±0.2"),
    ],
)
def test_a_goal_as_a_person_says_it(goal, words):
    assert goal_words(Expression(goal)) == words


def test_the_end_says_what_became_of_the_answers_and_a_caveat_becomes_a_sentence(monkeypatch):
    progress = Progress.begin(small_lesson()).answer("question", "b", "sure").reveal().answer("after", 60)
    progress = progress.judged("question", Verdict(True, "")).judged("after", Verdict(False, "")).reach()
    told = ["1 of 2 answers right.", "You were sure of 1 answer, and right on 1.", "0 of 1 goals reached."]
    assert summary(progress) == told and calibration(replace(progress, verdicts={})) == []
    assert summary(Progress.begin(LESSONS["five_passes"]).score(71.4).score(30.0))[-1] == "Best score: 71 of 100."
    monkeypatch.setattr(diagnosis, "diagnose", lambda each, scope: "")
    monkeypatch.setattr(diagnosis, "RunScope", lambda run: None)
    for caveat in ("weights rest on few particles", "weights rest on few particles."):
        run = SimpleNamespace(final=SimpleNamespace(iteration=3, caveat=caveat))
        assert diagnosis.diagnosis_of("two_modes", run) == "Weights rest on few particles."


def test_an_answer_has_one_of_three_grades_and_how_sure_is_compared_with_how_right():
    def told(said, *verdicts):
        """The end of a lesson with so many answers of one confidence."""
        answers = {f"{k}/question": Answer("a", said) for k in range(len(verdicts))}
        made = replace(Progress.begin(small_lesson()), answers=answers)
        return summary(replace(made, verdicts=dict(zip(answers, verdicts, strict=True))))

    right, wrong, near = Verdict(True, ""), Verdict(False, ""), Verdict(False, "", near=True)
    too_sure = told("sure", right, wrong, wrong, near)
    assert too_sure[0] == "1 of 4 answers right, and 1 close." and too_sure[2] == "You were more often sure than right."
    assert told("a guess", right, right, right)[2] == "Your guesses were better than you thought."
    step = small_lesson().step("first")
    scope, ask = RunScope(pmdviz.run(step.recipe, floor=False)), step.after
    right = scope.value("ess_fraction")  # within 10 %
    one, *others = (ask.judged(ask.checked(share * right), scope) for share in (1.05, 1.15, 0.8, 1.4, 0.1))
    assert [each.grade for each in (one, *others)] == ["Right", "Close", "Close", "No", "No"]
    assert grade_words(others[-1], "sure") == "No. You were sure: read on."
    assert grade_words(others[0], "sure") == "Close." and grade_words(one, "a guess").startswith("Right. ")


def test_the_price_of_a_draw_by_its_quadratic_and_by_the_recursion():
    """The essay: v = 1 / ((1-γ)/v + γ/s²) + h², iterated; and a few redraws instead of none."""
    exact, added = 1 / 6, BANDWIDTH**2
    for gamma in GAMMAS:
        v = exact
        for _ in range(5000):
            v = 1 / ((1 - gamma) / v + gamma / exact) + added
        root = 0.5 * (np.sqrt((exact - added) ** 2 + 4 * added * exact / gamma) - (exact - added))
        assert v - exact == pytest.approx(root, rel=1e-6)
        assert fixed_point(gamma, exact, added) == pytest.approx(v, rel=1e-6)
    frame, variance = settled(GAMMAS[SEEN_GAMMA], policy="ess", ess_threshold=SELDOM)
    assert 2 <= frame.rejuvenations <= 5
    assert variance == pytest.approx(exact + added, rel=0.05)
