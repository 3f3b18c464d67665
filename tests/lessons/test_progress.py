"""The progress of a lesson, and the sheets of answers that become a table of points."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmdviz.errors import InputError
from pmdviz.lessons.lesson import Answer, Verdict, for_student, seed_of
from pmdviz.lessons.playing import Player, check_lesson
from pmdviz.lessons.progress import COLUMNS, Progress, judged_again, lesson_sheet, points, read_sheet, table, to_json
from pmdviz.lessons.questions import Question, as_task, check, report
from pmdviz.lessons.questions import points as points_of_task
from pmdviz.lessons.reading import LESSONS, find_lesson
from tests.cli.test_cli import called
from tests.lessons.samples import SMALL, changed, judging, lesson_of, small_lesson
from tests.support.tables import refused

LESSON = lesson_of(SMALL)
ACTS = {
    "answer a": lambda at: at.answer("question", "a", "sure"),
    "answer b": lambda at: at.answer("question", "b"),
    "answer c": lambda at: at.answer("question", "c"),
    "answer after": lambda at: at.answer("after", 0.2),
    "answer after in words": lambda at: at.answer("after", "many"),
    "reveal": lambda at: at.reveal(),
    "judge": lambda at: at.judged("question", Verdict(True, "So it is.")),
    "judge after": lambda at: at.judged("after", Verdict(False, "More.")),
    "hint": lambda at: at.hint(),
    "reach": lambda at: at.reach(),
    "go on": lambda at: at.go_on(),
    "go back": lambda at: at.go_back(),
}


def begun():
    return Progress.begin(LESSON)


def done(acts):
    """Where a learner stands after each of the acts that were allowed, the beginning first."""
    found = [begun()]
    for name in acts:
        try:
            found.append(ACTS[name](found[-1]))
        except InputError as error:
            assert str(error)
    return found


@given(st.lists(st.sampled_from([*ACTS]), max_size=40))
@settings(max_examples=40)
def test_no_order_of_acts_breaks_the_rules_and_a_reload_loses_nothing(acts):
    path = done(acts)
    for before, at in zip(path, path[1:], strict=False):
        assert Progress.from_json(LESSON, at.to_json()) == at
        assert set(at.verdicts) <= set(at.answers), "no verdict without an answer"
        assert all(before.answers[key] == at.answers[key] for key in before.verdicts), "what was judged stays"
        for step in LESSON.steps:
            assert 0 <= at.hints.get(step.name, 0) - before.hints.get(step.name, 0) <= 1, "hints one by one"
            assert at.hints.get(step.name, 0) <= len(step.hints)
            if step.name in at.revealed and step.question is not None and not step.skip:
                assert f"{step.name}/question" in at.answers, "an answer is stored before the reveal"
        assert before.reached <= at.reached and before.revealed <= at.revealed
        assert at.step is LESSON.step(at.path[-1])
        left = at.path[:-1] if not at.done else at.path
        for name in (name for name in left if not LESSON.step(name).skip):
            assert all(f"{name}/{part}" in at.answers for part in LESSON.step(name).asks), "the gate"


@given(st.lists(st.sampled_from([*ACTS]), max_size=20), st.data())
@settings(max_examples=40)
def test_damaged_text_is_refused_or_is_a_place_in_the_lesson(acts, data):
    text = done(acts)[-1].to_json()
    place = data.draw(st.integers(0, len(text)))
    put = data.draw(st.sampled_from(["", "{", "]", '"', "null", "1e999", "-1", "\u2028", "first"]))
    broken = text[:place] + put + text[place + data.draw(st.integers(0, 5)) :]
    try:
        at = Progress.from_json(LESSON, broken)
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert at.step in LESSON.steps and set(at.verdicts) <= set(at.answers)
        assert Progress.from_json(LESSON, at.to_json()) == at


def test_the_answer_opens_the_reveal_decides_the_branch_and_is_closed_by_its_verdict():
    at = begun()
    for act in ("reveal", "go on", "judge", "answer after"):
        refused("", ACTS[act], at)
    at = at.answer("question", "b").answer("question", "a").reveal()  # changed before it is judged
    at = at.judged("question", Verdict(False, "No."))
    refused("judged already", at.answer, "question", "b")
    refused("submit your answer first", at.go_on)  # the second question waits
    assert at.answer("after", 0.3).go_on().step.name == "detour"  # by the branch of the answer
    other = begun().answer("question", "b").reveal().answer("after", 1.0)
    assert other.go_on().step.name == "second" and other.go_on().go_back() == other
    assert begun().reveal(may_skip=True).go_on(may_skip=True).step.name == "detour"
    assert begun().go_on(may_skip=True).go_on().path == ("first", "detour", "second")  # the detour says skip itself


def test_a_step_hides_until_it_is_answered_and_an_earlier_file_of_the_lesson_is_refused():
    lesson = lesson_of(changed(("title: The first step", "title: The first step\nhide: [exact, numbers]")))
    at = Progress.begin(lesson)
    assert at.hidden == ("exact", "numbers") == at.answer("question", "b").hidden
    assert at.answer("question", "b").reveal().hidden == ()
    at = Progress.begin(judging()).reveal()
    assert at.hidden == ("exact", "numbers") == at.answer("after", 0.3).hidden, "it can still be changed"
    assert at.answer("after", 0.3).judged("after", Verdict(False, "More.")).hidden == ()
    for parts, words in {"[exacts]": "did you mean 'exact'", "exact": "must be a list of some of exact"}.items():
        refused(words, lesson_of, changed(("title: The first step", f"title: The first step\nhide: {parts}")))
    shorter = lesson_of(SMALL[: SMALL.index("```{step} third")])
    at = begun().answer("question", "b").answer("question", "b").reveal().answer("after", 1.0).go_on().go_on()
    assert at.step.name == "third"
    refused("unknown step of this lesson 'third'", Progress.from_json, shorter, at.to_json())
    for text in ("", "null", "[]", "{}", '{"pmdviz_progress": 2}', "x" * 200_000):
        refused("not the stored progress of lesson 'small'", Progress.from_json, LESSON, text)


def done_lesson(lesson):
    """The progress of a learner who was right, then close, and reached the goal."""
    answers = {"first/question": Answer("b", "sure"), "first/after": Answer(0.28, "a guess")}
    verdicts = {"first/question": Verdict(True, "Yes."), "first/after": Verdict(False, "More.", near=True)}
    reached = frozenset({"second"})
    return Progress(lesson, ("first", "second"), answers, verdicts, {}, reached, frozenset(), {}, True)


def test_each_student_has_seeds_of_their_own_where_the_lesson_varies():
    assert seed_of("ada") == seed_of("Ada") != seed_of("ben") and 1 <= seed_of("ben") < 10_000
    varying = next(lesson for lesson in LESSONS.values() if lesson.varies and lesson.steps[0].run is not None)
    plain, ada, ben = (find_lesson(varying.name + of).steps[0].recipe for of in ("", "@ada", "@ben"))
    assert ada.seed - plain.seed == seed_of("ada") and ben.seed - plain.seed == seed_of("ben")
    assert ada.replaced(seed=0) == plain.replaced(seed=0)
    fixed = for_student(small_lesson(), "ada")
    assert fixed.name == "one_step@ada" and fixed.steps == small_lesson().steps, "this one does not vary"
    assert find_lesson("practice-7@ada").steps[0].recipe != find_lesson("practice-7").steps[0].recipe
    for name in ("one_step@", "one_step@a/b", "one_step@" + "x" * 41):
        refused("a student is up to 40", find_lesson, name)


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name, lesson in LESSONS.items() if lesson.varies])
def test_a_lesson_that_varies_has_nothing_wrong_for_other_students(name):
    for student in ("dora", "emil"):
        assert check_lesson(find_lesson(f"{name}@{student}"), Player()) == [], student


def test_sheets_become_one_table_of_points_and_a_table_takes_the_place_of_no_answers(capsys, tmp_path):
    none = frozenset()
    progress = Progress(LESSONS["five_passes"], ("attempt",), {}, {}, {}, none, none, {"attempt": 40.0}, True)
    assert points(lesson_sheet(progress)) == (0.4, 2.0)  # of a score
    ada = lesson_sheet(done_lesson(for_student(small_lesson(), "ada")))
    assert [(row["answer"], row["confidence"], row["grade"], row["points"]) for row in ada["answers"][:2]] == [
        ("b", "sure", "Right", 1.0), (0.28, "a guess", "Close", 0.5),
    ]  # fmt: skip
    worse = {**ada, "answers": ada["answers"][:1]}
    ben = {**ada, "student": "ben", "sheet": "24-write-the-step", "lesson": "", "recipes": {}}
    files = []
    for k, one in enumerate((ada, worse, ben)):
        files.append(tmp_path / f"{k}.json")
        files[-1].write_text(to_json(one), encoding="utf-8")
    rows = table(read_sheet(path.read_text(encoding="utf-8"), "it") for path in files)
    assert rows == [
        {"student": "ada", "24-write-the-step": 0.0, "one_step": 2.5, "points": 2.5, "of": 6.0},
        {"student": "ben", "24-write-the-step": 2.5, "one_step": 0.0, "points": 2.5, "of": 6.0},
    ]
    assert called(capsys, "answers", *files, "--csv", tmp_path / "class.csv")[0] == 0
    lines = (tmp_path / "class.csv").read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["student,24-write-the-step,one_step,points,of", "ada,0,2.5,2.5,6"]
    _, out, _ = called(capsys, "answers", *files, "--rows", "--csv")
    assert out.splitlines()[0] == ",".join(COLUMNS) and len(out.splitlines()) == 8
    files[0].write_text(to_json({**ada, "student": "=1+1"}), encoding="utf-8")
    assert "\n'=1+1," in called(capsys, "answers", files[0])[1], "a spreadsheet would compute it"
    text, files = to_json(lesson_sheet(done_lesson(small_lesson()))), [tmp_path / "a.json", tmp_path / "b.json"]
    for path in files:
        path.write_text(text, encoding="utf-8")
    copy = tmp_path / "a.csv"
    copy.write_text(text, encoding="utf-8")
    for options in (["--csv", *files], ["--json", *files], [*files, "--csv", copy], [copy, "--csv", copy]):
        status, _, error = called(capsys, "answers", *options)
        assert status == 2 and "give the answers first" in error
    assert called(capsys, "answers", *files, "--csv", tmp_path / "new.txt")[0] == 2
    assert [path.read_text(encoding="utf-8") for path in (*files, copy)] == [text] * 3
    for _ in range(2):  # a table of before is replaced
        assert called(capsys, "answers", *files, "--json", tmp_path / "class.json")[0] == 0


def test_what_is_no_sheet_is_refused(capsys, tmp_path):
    good = lesson_sheet(done_lesson(small_lesson()))
    row = good["answers"][0]
    for changes in (
        {"pmdviz_answers": 2},
        *({"answers": [{**row, **one}]} for one in ({"points": 9}, {"points": 10**400}, {"task": 7})),
        {"answers": [{**row, "answer": float("inf")}]},
        {"student": "\ud800"},
    ):
        refused("x.json is not a file of answers", read_sheet, json.dumps({**good, **changes}), "x.json")
    for text in ("", "[]", "{}"):
        refused("x.json is not a file of answers", read_sheet, text, "x.json")


def test_an_edited_file_is_judged_again_by_the_lessons_own_run(monkeypatch):
    monkeypatch.setitem(LESSONS, "one_step", small_lesson())
    found = lesson_sheet(done_lesson(for_student(small_lesson(), "ada")))
    found["answers"][0] |= {"answer": "a"}  # with the grade of b
    again = judged_again(found, Player())
    assert [row["grade"] for row in again["answers"]] == ["No", "Close", "Right"] and points(again) == (1.5, 3.0)
    first, second, goal = found["answers"]
    found["answers"] = [first | {"answer": "b"}] * 2 + [second | {"grade": "", "points": 9.0, "of": 9.0}, goal]
    found["answers"] += [goal | {"task": task} for task in ("gone/goal", "first/goal", "first/other")]
    again = judged_again(found, Player())
    assert [row["points"] for row in again["answers"]] == [1.0, 0.0, 1.0] and points(again) == (2.0, 3.0)


def test_a_notebook_reports_its_questions_and_checks(tmp_path, monkeypatch):
    monkeypatch.setattr("pmdviz.lessons.questions._done", {})
    few = Question("How many?", unit="particles")
    few.name = "few"
    few.answer(5.0, "sure").verdict(4.0, absolute=0.5, close="Yes.", low="More.", high="Fewer.")
    with as_task("exercise 1"):
        check(0.5, 0.5)
    with as_task("exercise 2"):
        check(..., 0.5)
    check(1.0, 1.0)  # an exercise of nobody
    assert (points_of_task("few"), points_of_task("exercise 1"), points_of_task("exercise 9")) == (0.5, 1.0, 0.0)
    path = report("ada", "my-sheet", tmp_path)
    found = read_sheet(path.read_text(encoding="utf-8"), path.name)
    assert path.name == "my-sheet-ada.json" and points(found) == (1.5, 3.0)
    assert [(row["task"], row["grade"]) for row in found["answers"]] == [
        ("few", "Close"), ("exercise 1", "Right"), ("exercise 2", ""),
    ]  # fmt: skip
    refused("a student is up to 40", report, "", "my-sheet", tmp_path)
