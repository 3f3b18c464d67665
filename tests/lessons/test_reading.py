"""A lesson's file is read as it stands, and whatever is wrong with it is said with its step and key."""

import random
from importlib import resources

from hypothesis import given, settings
from hypothesis import strategies as st

from pmdviz import Recipe
from pmdviz.errors import InputError
from pmdviz.lessons.reading import read_block, read_lesson
from tests.lessons.samples import RECIPE, SMALL, changed, lesson_of
from tests.support.tables import refused

OURS = {file.name: file.read_text(encoding="utf-8") for file in (resources.files("pmdviz.lessons") / "files").iterdir()}


def test_a_file_becomes_the_lesson_that_it_says():
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


def test_a_recipe_words_of_the_glossary_and_yes_and_no_are_read_as_they_stand():
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
    (
        "hints: [Think",
        "hints: [{say: A, try: 3}, Think",
        "`try` of a hint of .* is {control: value}, or a list",
    ),
    ("hints: [Think", "hint: [Think", f"unknown key of {FIRST} 'hint'; did you mean 'hints'"),
    ("goal: tv < 0.05", "goal: tv <", "`goal` of step 'second': invalid expression: 'tv <'"),
    ('"It is {ess:.0f}."', '"It is {ess:.0f."', f"`because` of option a of `question` of {FIRST}"),
    ("    tolerance: 0.1\n", "", f"`tolerance` of the number of `after` of {FIRST} must be a number"),
    ("{0: {num_particles: 2000}}", "{num_particles: 2000}", "`solution` of step 'second' is iteration"),
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
