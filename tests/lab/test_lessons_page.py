"""The Lessons page without a browser: lessons and challenges apart, in their order, and what a press opens."""

from pmdviz.lab.pages.lessons import LessonsPage
from pmdviz.lessons.reading import LESSONS, read_lesson

STEP = """```{{step}} {name}
---
title: A step
recipe: {{target: gaussian, budget: 200}}
{more}
---
Text.
```
"""


def made(name, more=""):
    head = f"---\ntitle: Of {name}\nquestion: Why {name}?\nminutes: 7\n---\n"
    return read_lesson(name, head + STEP.format(name="one", more=more) + STEP.format(name="two", more=more))[0]


def test_it_lists_what_there_is_in_its_order_and_challenges_apart():
    score = "goal: tv < 0.5\nsolution: {0: {num_particles: 900}}\ncontrols: [num_particles]\nscore: 1 / tv"
    lessons = {name: made(name) for name in ("b", "a")} | {"c": made("c", score)}
    page = LessonsPage(lessons)
    assert [row[0] for row in page.list.lessons] == ["b", "a"]
    assert page.list.challenges == [["c", "Of c", "Why c?", 7, ["one", "two"]]]
    assert "Challenges" in page.controls[0].object and "Challenges" not in LessonsPage({}).controls[0].object
    page = LessonsPage()
    assert sorted(row[0] for row in [*page.list.lessons, *page.list.challenges]) == sorted(LESSONS)
    page = LessonsPage({})
    assert page.list.lessons == page.list.challenges == []
    page.look(False)
    page.look(True)
    assert page.list.looks == 1


def test_a_press_opens_the_lesson_in_the_lab_and_nonsense_does_not():
    page, opened = LessonsPage({"a": made("a")}), []
    page.list._handle_msg({"lesson": "a"})  # where there is no lab
    page.on_open = lambda name, what: opened.append((name, what.name))
    for message in ({"lesson": "a"}, {"lesson": "no such"}, {"lesson": ["a"]}, {}):
        page.list._handle_msg(message)
    assert opened == [("lab", "a")]
