from dataclasses import replace
from types import SimpleNamespace

import pmdviz
from pmdviz.expressions import Expression
from pmdviz.lessons import words as diagnosis
from pmdviz.lessons.lesson import Answer, Verdict
from pmdviz.lessons.progress import Progress
from pmdviz.lessons.words import calibration, goal_words, grade_words, inline, markdown, summary
from pmdviz.presets import RunScope
from tests.support.lessons import small_challenge, small_lesson
from tests.support.tables import looped


def tags(nodes):
    """Every tag that is used."""
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
    for given in ("[x](javascript:alert(1))", "![x](http://elsewhere/x.png)", "<img src=http://elsewhere/x>"):
        assert not tags(inline(given)) & {"img", "script"}
        assert "javascript:" not in str([node for node in inline(given) if not isinstance(node, str)])


@looped(
    "goal, words",
    [
        ("tv < 0.08", "TV below 0.08"),
        ("tv < 0.2 before visited 3000", "TV below 0.2 before 3,000 observations are used"),
        ("ess > 0.4 * num_particles and tv < .1", "ESS above 0.4 × number of particles and TV below .1"),
        ("lowest(tv) <= 0.1", "lowest TV at most 0.1"),
        ("plain.tv < bold_one.tv", "plain: TV below bold one: TV"),
        ("abs(tv - 1) < 2 or ess > 3", "abs(tv - 1) < 2 or ess > 3"),
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
    assert summary(Progress.begin(small_challenge()).score(71.4).score(30.0))[-1] == "Best score: 71 of 100."
    monkeypatch.setattr(diagnosis, "diagnose", lambda each, scope: "")
    monkeypatch.setattr(diagnosis, "RunScope", lambda run: None)
    for caveat in ("weights rest on few particles", "weights rest on few particles."):
        run = SimpleNamespace(final=SimpleNamespace(iteration=3, caveat=caveat))
        assert diagnosis.diagnosis_of("two_modes", run) == "Weights rest on few particles."


def test_the_summary_counts_close_answers_and_compares_how_sure_with_how_right():
    def told(*given):
        """Of an answer of each confidence, right or wrong, near or not."""
        answers = {f"{k}/question": Answer("a", said) for k, (said, _, _) in enumerate(given)}
        verdicts = {f"{k}/question": Verdict(right, "", near) for k, (_, right, near) in enumerate(given)}
        return summary(replace(Progress.begin(small_lesson()), answers=answers, verdicts=verdicts))

    too_sure = told(("sure", True, False), *[("sure", False, False)] * 2, ("sure", False, True))
    assert too_sure[0] == "1 of 4 answers right, and 1 close." and too_sure[2] == "You were more often sure than right."
    assert told(*[("a guess", True, False)] * 3)[2] == "Your guesses were better than you thought."


def test_an_answer_has_one_of_three_grades_by_how_far_off_it_is():
    ask = small_lesson().step("first").after  # 60 visited, within 1 %
    scope = RunScope(pmdviz.run(small_lesson().step("first").recipe, floor=False))
    grades = {value: ask.judged(ask.checked(value), scope) for value in (60, 61, 58.5, 62, 6)}
    assert [one.grade for one in grades.values()] == ["Right", "Close", "Close", "No", "No"]
    assert grade_words(grades[6], "sure") == "No. You were sure: read on."
    assert grade_words(grades[61], "sure") == "Close." and grade_words(grades[60], "a guess").startswith("Right. ")
