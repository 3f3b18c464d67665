"""A small lesson with a branch, a number, a goal and a race, whose runs take milliseconds."""

from pmdviz.lessons.reading import read_lesson

RECIPE = """recipe:
  target: gaussian
  budget: 20
  knobs: {policy: never, schedule: constant, step_size: 1.0, batch_size: 20, num_particles: 50, step_limit: 0.0}"""

SMALL = f"""---
title: A small lesson
question: What is asked here?
minutes: 3
---
Before the first step.

```{{step}} first
---
title: The first step
{RECIPE}
question:
  ask: How many count?
  confidence: true
  options:
    - say: All
      right: ess > 0.9 * num_particles
      because: "It is {{ess:.0f}}."
      to: detour
    - say: A few
      right: ess < 0.5 * num_particles
      because: "It is {{ess:.0f}} of {{num_particles}}."
      to: second
after:
  ask: And the share?
  number:
    right: ess_fraction
    tolerance: 0.1
    close: "It is {{ess_fraction:.2f}}."
    low: "More, {{ess_fraction:.2f}}."
    high: "Less, {{ess_fraction:.2f}}."
hints: [Think., Count.]
reveal: So it is.
diagnosis:
  - when: ess < 0.5 * num_particles
    say: "ESS {{ess:.1f}} of {{num_particles}}."
trace: ess
---
The text of the first step.
```

```{{step}} detour
---
title: A detour
skip: true
---
It goes on with what is shown.
```

```{{step}} second
---
title: A goal
{RECIPE}
controls: [num_particles, step_size]
goal: tv < 0.05
solution: {{0: {{num_particles: 2000}}}}
hints: [More of them.]
---
Bring TV below 0.05.
```

```{{step}} third
---
title: Side by side
race:
  target: gaussian
  budget: 20
  entrants:
    few: "pmd:policy=never,schedule=constant,step_size=1,batch_size=20,num_particles=50,step_limit=0"
    many: "pmd:policy=never,schedule=constant,step_size=1,batch_size=20,num_particles=2000,step_limit=0"
question:
  ask: Which is nearer?
  options:
    - say: Few
      right: few.tv < many.tv
      because: "{{few.tv:.2f}} against {{many.tv:.2f}}."
    - say: Many
      right: many.tv < few.tv
      because: "{{many.tv:.2f}} against {{few.tv:.2f}}."
---
Two runs.
```
"""


def changed(*pairs):
    """SMALL with some of its words replaced by others; each must be there."""
    text = SMALL
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def lesson_of(text):
    return read_lesson("small", text)


def small_lesson(*pairs):
    """Its first three steps, under the name of a lesson that the package has."""
    text = changed(*pairs)
    return read_lesson("one_step", text[: text.index("```{step} third")])


def judging():
    """A lesson that shows a run without the exact posterior, and asks what it is worth."""
    text = changed(("title: The first step", "title: The first step\nhide: [exact, numbers]"))
    start, end = text.index("question:\n  ask: How many"), text.index("after:\n")
    return read_lesson("one_step", text[:start] + text[end : text.index("```{step} detour")])
