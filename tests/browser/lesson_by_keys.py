"""Completes a lesson by keyboard; before a step's first answer the page must not have what the step hides."""

import json
from typing import Any

from pmdviz.lessons.lesson import Lesson, Step

TOLD = """(() => { for (const m of window.Bokeh?.documents[0]?._all_models.values() ?? [])
  if (m.data?.told?.lesson !== undefined) return m.data.told
  return {} })()"""
# Label of what has the focus, through all shadow roots.
FOCUS = """(() => { let at = document.activeElement
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
  return at?.id || at?.getAttribute?.("aria-label") || at?.textContent?.trim() || "" })()"""
MOST_TABS = 150
# Finite values that the stage holds of the exact posterior; a race before has its own on another page.
EXACT = """[...window.Bokeh.documents[0]._all_models.values()].filter((m) => m.name === "stage")
  .flatMap((m) => m.renderers).reduce((sum, m) => sum + (["exact", "areas"].includes(m.name)
    ? [...Object.values(m.data_source.data)[0] ?? []].flatMap((x) => x?.length ? [...x] : [x]).filter(isFinite).length
    : 0), 0)"""
TRACES = "pmdviz.find('.pmdviz-traces')?.checkVisibility()"
# All that the page shows in words, through its shadow roots.
TEXT = """(() => {
  const hidden = (part) => /STYLE|SCRIPT/.test(part.tagName) || getComputedStyle(part).display === "none"
  const inside = (part) => hidden(part) ? "" : texts(part) + " " + (part.shadowRoot ? texts(part.shadowRoot) : "")
  const texts = (node) => [...node.childNodes].map((each) =>
    each.nodeType === 3 ? each.textContent : each.nodeType === 1 ? inside(each) : "").join(" ")
  return texts(document.body) })()"""
JUDGED = r"/\bTV\s+0|independent draws\s+0|sds off|Done:/"


def told(lab: Any) -> dict[str, Any]:
    return lab.page.evaluate(TOLD)


def wait(lab: Any, condition: str, seconds: float = 60.0) -> None:
    try:
        lab.wait(f"((t) => {condition})({TOLD})", seconds)
    except Exception as error:
        raise AssertionError(f"waited in vain for {condition}; the card says {told(lab)}") from error


def tab_to(lab: Any, *labels: str) -> None:
    for _ in range(MOST_TABS):
        if lab.page.evaluate(FOCUS) in labels:
            return
        lab.page.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not reach {labels}; the card says {told(lab)}")


def keeps(step: Step) -> str:
    """Of the page: neither its words nor the data of its figures have what the step hides until its first answer."""
    hidden = {*step.hide}
    found = [f"{EXACT} === 0"] if "exact" in hidden else []
    found += [f"!{JUDGED}.test({TEXT})"] if hidden & {"exact", "numbers"} else []
    found += [f"!{TRACES}"] if "traces" in hidden else []
    return " && ".join(found) or "true"


def answer(lab: Any, step: Step, part: str, keys: str = "") -> None:
    ask = step.asks[part]
    right = next((letter for letter, one in ask.options.items() if one.right), "a")
    lab.page.keyboard.type(keys or (right if ask.options else "0.5"))
    lab.page.keyboard.press("Enter")
    wait(lab, f"t.asks.{part}.stored !== null")


def turn(lab: Any, name: str, value: Any) -> None:
    """Type a number into a control of the step, or the words of a choice."""
    box = f"pmdviz.find('#knob-{name}', pmdviz.find('.pmdviz-lesson').shadowRoot)"
    chosen = f"[...{box}.options ?? []].find((each) => each.value === {json.dumps(str(value))})?.textContent"
    tab_to(lab, f"knob-{name}")
    words = lab.page.evaluate(chosen)
    if words is None:
        lab.page.keyboard.press("Control+A")
    lab.page.keyboard.type(words or str(value))
    if words is None:
        lab.page.keyboard.press("Enter")
    lab.at_rest(f"{box}.value")


def reach(lab: Any, step: Step) -> None:
    for name, value in step.solution.get(0, {}).items():
        turn(lab, name, value)
    lab.settled()
    tab_to(lab, "Play", "Replay")
    lab.page.keyboard.press("Enter")
    wait(lab, "t.goal.reached", 120)


def take(lab: Any, step: Step) -> None:
    lab.wait(keeps(step))  # the run of the step before is gone
    if step.question is not None:
        answer(lab, step, "question")
    if told(lab)["reveal"]["offered"]:
        tab_to(lab, told(lab)["reveal"]["label"])
        lab.page.keyboard.press("Enter")
        wait(lab, "!t.reveal.offered && t.at_end", 180)
    if step.question is not None:
        wait(lab, "t.asks.question.verdict !== null", 180)
    if step.after is not None:
        wait(lab, "t.asks.after")
        if step.question is None:
            assert lab.page.evaluate(keeps(step)), step.name
        answer(lab, step, "after")
        wait(lab, "t.asks.after.verdict !== null")
    if "exact" in step.hide and step.recipe.make_target().planar is not None:
        lab.wait(f"{EXACT} > 0")
    if step.goal is not None and step.solution:
        reach(lab, step)


def complete(lab: Any, lesson: Lesson, most: int = 20) -> None:
    """All steps, by the way that the answers lead, to the end."""
    for _ in range(most):
        name = told(lab)["key"].split("/")[2]
        take(lab, lesson.step(name))
        tab_to(lab, told(lab)["next"])
        before = told(lab)["key"]
        lab.page.keyboard.press("Enter")
        wait(lab, f"t.key !== {json.dumps(before)}")
        if told(lab)["is_done"]:
            return
    raise AssertionError("it has no end")
