"""The check finds what was planted, says where it is, and has nothing against a lesson that is right."""

import re

import numpy as np

from pmdviz import Recipe, Session
from pmdviz.lessons.lesson import Race
from pmdviz.lessons.playing import Player, begun_with, check_lesson, controls_of, play
from pmdviz.presets import RunScope, scope_of
from tests.lessons.samples import SMALL, changed, lesson_of
from tests.support.tables import refused

PLAYER = Player()  # the runs of the small lesson are played once for all tests


def faults(*pairs):
    return check_lesson(lesson_of(changed(*pairs)), PLAYER)


def test_nothing_is_wrong_with_the_small_lesson_and_what_is_planted_is_found():
    assert check_lesson(lesson_of(SMALL), PLAYER) == []
    tried = "hints: [{say: 'Try 60, then 2,000.', try: [{num_particles: 60}, {num_particles: 2000}]}]"
    assert faults(("hints: [More of them.]", tried)) == [], "one of them reaches it"
    assert faults((GOAL, f"{GOAL}\nscore: min(100, 100 * floor_tv / tv)")) == []
    for part in ("numbers", "exact"):
        assert faults(("title: A detour", f"hide: [{part}]\n{ASKS}")) == [], "what is hidden is not in view"
    for pairs, words in PLANTED:
        found = faults(*pairs)
        assert any(re.search(words, one) for one in found), (pairs, found)


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
GOAL, SOLUTION, HINT = "goal: tv < 0.05", "{0: {num_particles: 2000}}", "hints: [More of them.]"
HINTS, SHARE = "hints: [Think., Count.]", "right: ess_fraction"
TRIED = "hints: [{say: Take 60., try: [{num_particles: 55}, {num_particles: 60}]}]"
NOWHERE = r"step 'second': the goal cannot be reached by what hint 1 says: tv < 0.05 \(tv = "
CONTRADICTS = r"step 'first': the diagnosis .* contradicts the run: ess > 0.5 \* num_particles \(ess = "
PLANTED = [  # what is replaced in the small lesson, and what is said then
    # Goals, solutions and controls
    ([(GOAL, "goal: tv < 0.0001")], r"the goal cannot be reached by its solution: tv < 0.0001 \(tv = 0.0\d+\)"),
    ([(GOAL, "goal: tv < 0.9")], "the unchanged run reaches the goal already"),
    ([(GOAL, "goal: max_weight < 0.03 or tv < 0.05")], "the unchanged run reaches the goal already"),  # at the start
    ([("solution: {0: {num_particles: 2000}}", "")], "its goal needs a `solution`"),
    ([("controls: [num_particles, step_size]", "")], "it has no `controls`"),
    ([("goal: tv < 0.05\n", "")], "it has a solution, but no goal"),
    ([("goal: tv <", "goal: tvs <")], "the goal: unknown name in an expression 'tvs'"),
    ([("controls: [num_", "controls: [number_")], "unknown control 'number_particles'"),
    ([(SOLUTION, "{0: {num_particles: 2000, bandwidth: 2.0}}")], "its solution turns 'bandwidth', which is none"),
    ([("{0: {num_p", "{7: {num_p")], "the run ends after 1 iterations, before .* 7"),
    ([("num_particles: 2000}}", "num_particles: 0}}")], "num_particles must be"),
    ([(GOAL, f"{GOAL}\nscore: tv")], "no better than the"),
    ([(GOAL, f"{GOAL}\nscore: log_z")], "the score is not known in this run: log_z"),
    # Diagnoses, runs, races and words
    ([("  - when: ess < 0.5 * num", "  - when: ess > 0.5 * num")], CONTRADICTS),
    ([('say: "ESS {ess', 'say: "ESS {es')], "`say` of diagnosis 1: unknown name"),
    ([("target: gaussian", "target: gaussians")], "unknown target 'gaussians'"),
    ([("budget: 20", "budget: null")], "a lesson's run needs a budget"),
    ([("right: few.tv <", "right: fewer.tv <")], "unknown entrant of this race 'fewer'"),
    ([("right: few.tv <", "right: lowest(few.tv) <")], "a race compares only final values"),
    ([("trace: ess", "trace: es")], "unknown trace 'es'; this run has .*ess"),
    ([("trace: ess", "trace: kl")], "it needs ess, which the page does not"),
    ([("The text of", "The {term}`EES` of")], "{term}`EES`: no word of the glossary"),
    ([("title: A detour", "title: A detour\nexperiment: what_dimensions_do")], "unknown preset of an experiment"),
    # Hints
    ([(HINTS, 'hints: [Think., ""]')], "a hint is empty"),
    ([(HINTS, "hints: [Think., Think.]")], "two of its hints are the same"),
    ([(HINTS, "hints: [{say: A, try: {num_particles: 2000}}]")], "a hint has settings to try, but the step has no"),
    ([(HINT, TRIED)], NOWHERE),
    ([(HINT, "hints: [{say: Wider., try: {bandwidth: 2.0}}]")], "hint 1 turns 'bandwidth', which is none of"),
    # Answers
    ([("right: ess < 0.5", "right: ess > 0.8")], "`question`: none of its options is right"),
    ([("right: ess > 0.9", "right: ess < 0.9")], "`question`: all of its options are right"),
    ([(SHARE, "right: tv_states")], "'tv_states', is not known"),
    ([("tolerance: 0.1", "tolerance: 0")], "only one exact number is right"),
    ([("It is {ess_fraction", "It is {log_z")], "`close` of `after`: 'log_z' is"),
    # Paths
    ([("to: detour", "to: second")], "step 'detour': no path leads to it"),
    ([("title: Side by side", "title: Side by side\nto: second")], "no path leads from it"),
    # What gives an answer away
    ([(SHARE, "right: 0.45"), ("The text of the first step", "The share is 0.45")], IN_VIEW + "a text has 0.45"),
    ([("The text of the first step", "Perhaps a few")], IN_VIEW + "a text has 'A few'"),
    ([(f"{SHARE}\n", "right: ess\n")], f"`after`: {IN_VIEW}'ess' is in the traces; hide: .traces."),
    ([("title: A detour", ASKS)], f"`question`: {IN_VIEW}'tv' is in the status line; hide: .numbers."),
    ([(NEARER, f"to: next\n{NEARER}"), ("Two runs.\n```", NEXT)], f"{IN_VIEW}the race is over"),
    ([("title: A detour", f"hide: [traces]\n{ASKS}")], "status line"),
    ([("title: A goal", "title: A goal\nhide: [exact]")], "asks nothing that would show"),
    ([("title: Side by", "hide: [traces]\ntitle: Side by")], "`hide` acts on runs alone"),
]  # fmt: skip


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


def test_steps_go_on_where_they_are_led_to_and_may_ask_for_what_no_run_says():
    begun = SMALL.index("```{step} first")
    alone, of_a_run = (
        check_lesson(lesson_of(SMALL[:begun] + WORDS_ALONE.format(right) + SMALL[begun:]), PLAYER)
        for right in ("exp(1)", "tv")
    )
    assert alone == [] and any("the number of `question`: no run is on show here that has 'tv'" in x for x in of_a_run)
    text = changed(("title: A detour", "title: A detour\nto: second"), ("to: second\nafter:", "to: aside\nafter:"))
    text = text.replace("title: A goal", "title: A goal\nto: third").replace("budget: 20", "budget: 40", 1)
    place = text.index("```{step} third")
    lesson = lesson_of(text[:place] + ASIDE + text[place:])
    aside = lesson.step("aside")
    assert lesson.on_show(aside) == ["first"] and lesson.recipe_at(aside) == lesson.step("first").recipe
    assert lesson.step("first").recipe != lesson.step("second").recipe
    assert lesson.on_show(lesson.step("third")) == ["third"] and lesson.recipe_at(lesson.step("third")) is None


ASIDE = """```{step} aside
---
title: Aside
to: second
---
It goes on with the first step's run.
```

"""


PLAIN = Recipe("gaussian", budget=100, num_particles=50, batch_size=10)


def test_what_is_changed_before_the_start_or_on_the_way_is_as_if_turned_there():
    known = controls_of(PLAIN)
    assert (known["num_particles"], known["dim"], known["seed"], known["budget"]) == (
        "knobs", "target_options", "seed", "budget"
    )  # fmt: skip
    refused("unknown control 'num_particle'; did you mean 'num_particles'", begun_with, PLAIN, {"num_particle": 3})
    found = begun_with(PLAIN, {"num_particles": 60, "dim": 3, "seed": 4, "budget": 200})
    assert found == Recipe("gaussian", target_options={"dim": 3}, budget=200, seed=4, num_particles=60, batch_size=10)
    refused("'dim' acts from the start of a run; put it at iteration 0", play, PLAIN, {3: {"dim": 3}})
    refused("the run ends after 10 iterations, before .* iteration 11", play, PLAIN, {11: {"bandwidth": 2.0}})
    refused("needs a budget", play, PLAIN.replaced(budget=None))
    session = Session(PLAIN)
    session.advance(4)
    session.set(bandwidth=2.0, batch_size=5)
    session.advance(1000)
    found = play(PLAIN, {4: {"bandwidth": 2.0, "batch_size": 5}})
    assert found.recipe == session.recipe and found.final.iteration == session.frame.iteration
    assert np.array_equal(found.particles, session.frame.particles)
    assert np.array_equal(found.history["tv"], session.run.history["tv"])


def test_names_of_a_race_have_their_entrant_in_front_and_without_a_run_there_are_numbers_alone():
    race = Race({"few": "pmd:num_particles=50", "more": "pmd:num_particles=100"}, {"target": "gaussian", "budget": 100})
    runs = Player().race(race)
    scope = scope_of(runs)
    assert scope.value("few.tv") == RunScope(runs["few"]).value("tv") != scope.value("more.tv")
    assert (scope.value("few.num_particles"), scope.value("more.num_particles")) == (50, 100)
    assert np.array_equal(runs["few"].particles, play(race.recipe.recipes[0]).particles)
    for name, words in {"tv": "unknown entrant of this race 'tv'", "few": "such as few.tv", "few.tvs": "'tvs'"}.items():
        refused(words, scope.value, name)
    refused("no run is on show here that has 'tv'", scope_of(None).value, "tv")
