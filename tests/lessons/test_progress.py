"""Whatever a learner does, in whatever order: an answer first, hints one by one, and nothing is lost over JSON."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pmdviz.errors import InputError
from pmdviz.lessons.lesson import Verdict
from pmdviz.lessons.progress import Progress
from tests.lessons.samples import SMALL, changed, lesson_of
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


def test_an_earlier_file_of_the_lesson_is_refused_in_a_sentence():
    shorter = lesson_of(SMALL[: SMALL.index("```{step} third")])
    at = begun().answer("question", "b").answer("question", "b").reveal().answer("after", 1.0).go_on().go_on()
    assert at.step.name == "third"
    refused("unknown step of this lesson 'third'", Progress.from_json, shorter, at.to_json())
    for text in ("", "null", "[]", "{}", '{"pmdviz_progress": 2}', "x" * 200_000):
        refused("not the stored progress of lesson 'small'", Progress.from_json, LESSON, text)


def test_a_step_hides_until_its_first_question_is_answered():
    lesson = lesson_of(changed(("title: The first step", "title: The first step\nhide: [exact, numbers]")))
    at = Progress.begin(lesson)
    assert at.hidden == ("exact", "numbers") == at.answer("question", "b").hidden
    assert at.answer("question", "b").reveal().hidden == ()
    alone = SMALL[: SMALL.index("question:\n  ask: How many")] + SMALL[SMALL.index("after:\n") :]
    alone = alone.replace("title: The first step", "title: The first step\nhide: [exact]")
    at = Progress.begin(lesson_of(alone)).reveal()
    assert at.hidden == ("exact",) == at.answer("after", 0.3).hidden, "it can still be changed"
    assert at.answer("after", 0.3).judged("after", Verdict(False, "More.")).hidden == ()
    for parts, words in {"[exacts]": "did you mean 'exact'", "exact": "must be a list of some of exact"}.items():
        refused(words, lesson_of, changed(("title: The first step", f"title: The first step\nhide: {parts}")))
