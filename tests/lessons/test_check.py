"""The check finds what was planted, says where it is, and has nothing against a lesson that is right."""

import re

from pmdviz.lessons.playing import Player, check_lesson
from tests.lessons.samples import SMALL, changed, lesson_of

PLAYER = Player()  # the runs of the small lesson are played once for all tests


def faults(*pairs):
    return check_lesson(lesson_of(changed(*pairs)), PLAYER)


def test_nothing_is_wrong_with_the_small_lesson():
    assert check_lesson(lesson_of(SMALL), PLAYER) == []
    tried = "hints: [{say: 'Try 60, then 2,000.', try: [{num_particles: 60}, {num_particles: 2000}]}]"
    assert faults(("hints: [More of them.]", tried)) == [], "one of them reaches it"


PLANTED = {
    "a goal out of reach": (
        [("goal: tv < 0.05", "goal: tv < 0.0001")],
        r"step 'second': the goal cannot be reached by its solution: tv < 0.0001 \(tv = 0.0\d+\)",
    ),
    "a goal that is reached untouched": (
        [("goal: tv < 0.05", "goal: tv < 0.9")],
        "the unchanged run reaches the goal already",
    ),
    "a goal that is reached for a moment, by a name that no history has": (
        [("goal: tv < 0.05", "goal: max_weight < 0.03 or tv < 0.05")],  # at the start all weights are 1/50
        "the unchanged run reaches the goal already",
    ),
    "a goal without a solution": ([("solution: {0: {num_particles: 2000}}", "")], "its goal needs a `solution`"),
    "a goal without controls": ([("controls: [num_particles, step_size]", "")], "it has no `controls`"),
    "a solution without a goal": ([("goal: tv < 0.05\n", "")], "it has a solution, but no goal"),
    "a goal of an unknown name": ([("goal: tv <", "goal: tvs <")], "the goal: unknown name in an expression 'tvs'"),
    "a diagnosis that contradicts the run": (
        [("  - when: ess < 0.5 * num", "  - when: ess > 0.5 * num")],
        r"step 'first': the diagnosis .* contradicts the run: ess > 0.5 \* num_particles \(ess = ",
    ),
    "a diagnosis with an unknown name": ([('say: "ESS {ess', 'say: "ESS {es')], "`say` of diagnosis 1: unknown name"),
    "an unknown control": ([("controls: [num_", "controls: [number_")], "unknown control 'number_particles'"),
    "a solution that turns what is no control": (
        [("{0: {num_particles: 2000}}", "{0: {num_particles: 2000, bandwidth: 2.0}}")],
        "its solution turns 'bandwidth', which is none of its controls",
    ),
    "a solution after the end": ([("{0: {num_p", "{7: {num_p")], "the run ends after 1 iterations, before .* 7"),
    "a solution out of bounds": ([("num_particles: 2000}}", "num_particles: 0}}")], "num_particles must be"),
    "an unknown target": ([("target: gaussian", "target: gaussians")], "unknown target 'gaussians'"),
    "a run without an end": ([("budget: 20", "budget: null")], "a lesson's run needs a budget"),
    "an unknown entrant": ([("right: few.tv <", "right: fewer.tv <")], "unknown entrant of this race 'fewer'"),
    "the history of a race": ([("right: few.tv <", "right: lowest(few.tv) <")], "a race compares only final values"),
    "an unknown trace": ([("trace: ess", "trace: es")], "unknown trace 'es'; this run has .*ess"),
    "an unknown term": ([("The text of", "The {term}`EES` of")], "{term}`EES`: no word of the glossary"),
    "an empty hint": ([("hints: [Think., Count.]", 'hints: [Think., ""]')], "a hint is empty"),
    "a hint that leads nowhere": (
        [("hints: [More of them.]", "hints: [{say: Take 60., try: [{num_particles: 55}, {num_particles: 60}]}]")],
        r"step 'second': the goal cannot be reached by what hint 1 says: tv < 0.05 \(tv = ",
    ),
    "a hint that turns what is no control": (
        [("hints: [More of them.]", "hints: [{say: Wider., try: {bandwidth: 2.0}}]")],
        "hint 1 turns 'bandwidth', which is none of its controls",
    ),
    "a hint without a goal": (
        [("hints: [Think., Count.]", "hints: [{say: Take 2000., try: {num_particles: 2000}}]")],
        "a hint has settings to try, but the step has no goal",
    ),
    "a hint twice": ([("hints: [Think., Count.]", "hints: [Think., Think.]")], "two of its hints are the same"),
    "no option that is right": ([("right: ess < 0.5", "right: ess > 0.8")], "`question`: none of its options is right"),
    "all options right": ([("right: ess > 0.9", "right: ess < 0.9")], "`question`: all of its options are right"),
    "an unknown number": ([("right: ess_fraction", "right: tv_states")], "'tv_states', is not known"),
    "a number without tolerance": ([("tolerance: 0.1", "tolerance: 0")], "only one exact number is right"),
    "a number that no sentence has": ([("It is {ess_fraction", "It is {log_z")], "`close` of `after`: 'log_z' is"),
    "a step that no path reaches": ([("to: detour", "to: second")], "step 'detour': no path leads to it"),
    "a path without an end": ([("title: Side by side", "title: Side by side\nto: second")], "no path leads from it"),
    "an unknown experiment": (
        [("title: A detour", "title: A detour\nexperiment: what_dimensions_do")],
        "unknown preset of an experiment",
    ),
}

IN_VIEW = "its answer is in view before it is given: "
ASKS = """title: A detour
question: {ask: "TV?", options: [{say: Low, right: tv < 2, because: Yes.}, {say: High, because: No.}]}"""
NEXT = """Two runs.
```

```{step} next
---
title: The same race
question:
  ask: By TV?
  options:
    - {say: Few, right: few.tv < many.tv, because: Few.}
    - {say: Many, right: many.tv < few.tv, because: Many.}
---
Again.
```"""
NEARER = "question:\n  ask: Which is nearer?"
PLANTED |= {
    "the right number in the text": (
        [("right: ess_fraction", "right: 0.45"), ("The text of the first step", "The share is 0.45")],
        IN_VIEW + "a text has 0.45",
    ),
    "the right option in the text": ([("The text of the first step", "Perhaps a few")], IN_VIEW + "a text has 'A few'"),
    "a number to be read off the traces": (
        [("right: ess_fraction\n    tolerance: 0.1", "right: ess\n    tolerance: 0.1")],
        f"`after`: {IN_VIEW}'ess' is in the traces; hide: .traces.",
    ),
    "a question about a run that is over": (
        [("title: A detour", ASKS)],
        f"step 'detour': `question`: {IN_VIEW}'tv' is in the status line; hide: .numbers.",
    ),
    "a question about a race that is over": (
        [(NEARER, f"to: next\n{NEARER}"), ("Two runs.\n```", NEXT)],
        f"{IN_VIEW}the race is over",
    ),
    "a metric that the page does not show": ([("trace: ess", "trace: kl")], "it needs ess, which the page does not"),
    "hide without a question": ([("title: A goal", "title: A goal\nhide: [exact]")], "asks nothing that would show"),
    "hide in a race": ([("title: Side by", "hide: [traces]\ntitle: Side by")], "`hide` acts on runs alone"),
}


def test_what_is_hidden_is_not_in_view():
    parts = ("numbers", "exact", "traces")
    hiding = {part: faults(("title: A detour", f"hide: [{part}]\n{ASKS}")) for part in parts}
    assert hiding["numbers"] == hiding["exact"] == []
    assert any("status line" in one for one in hiding["traces"])


def test_what_is_planted_is_found():
    for name, (pairs, words) in PLANTED.items():
        found = faults(*pairs)
        assert any(re.search(words, one) for one in found), (name, found)


WORDS_ALONE = """```{{step}} words
---
title: Words alone
question:
  ask: What is e?
  number: {{right: {}, tolerance: 0.1, close: "Yes.", low: "More.", high: "Less."}}
---
No run yet.
```

"""


def test_a_step_before_any_run_may_ask_for_what_no_run_says():
    begun = SMALL.index("```{step} first")
    for right, words in {
        "exp(1)": None,
        "tv": "the number of `question`: no run is on show here that has 'tv'",
    }.items():
        found = check_lesson(lesson_of(SMALL[:begun] + WORDS_ALONE.format(right) + SMALL[begun:]), PLAYER)
        assert (found == []) if words is None else any(words in one for one in found)


ASIDE = """```{step} aside
---
title: Aside
to: second
---
It goes on with the first step's run.
```

"""


def test_a_step_goes_on_with_the_step_that_leads_to_it_not_with_the_one_above():
    text = changed(("title: A detour", "title: A detour\nto: second"), ("to: second\nafter:", "to: aside\nafter:"))
    text = text.replace("title: A goal", "title: A goal\nto: third").replace("budget: 20", "budget: 40", 1)
    place = text.index("```{step} third")
    lesson = lesson_of(text[:place] + ASIDE + text[place:])
    aside = lesson.step("aside")
    assert lesson.on_show(aside) == ["first"] and lesson.recipe_at(aside) == lesson.step("first").recipe
    assert lesson.step("first").recipe != lesson.step("second").recipe
    assert lesson.on_show(lesson.step("third")) == ["third"] and lesson.recipe_at(lesson.step("third")) is None


def test_a_score_must_be_known_and_better_with_the_solution():
    scored = ("goal: tv < 0.05", "goal: tv < 0.05\nscore: {}")
    for score, words in {
        "min(100, 100 * floor_tv / tv)": None,
        "tv": "no better than the",
        "log_z": "the score is not known in this run: log_z",
        "floor_t": "the score is not known in this run",
    }.items():
        found = faults((scored[0], scored[1].format(score)))
        assert (found == []) if words is None else any(words in one for one in found), (score, found)
