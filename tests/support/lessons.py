"""A small lesson with everything that a panel has to show; its runs take an instant."""

from pmdviz.lessons.lesson import Lesson
from pmdviz.lessons.reading import read_lesson

RECIPE = "{target: gaussian, budget: 60, knobs: {batch_size: 20, num_particles: 200}}"
SMALL = f"""---
title: A small lesson
question: What happens?
---
Before the steps. <b>No markup</b>, but **strong** words.

```{{step}} first
---
title: A choice
recipe: {RECIPE}
trace: ess
question:
  ask: How many iterations are 60 data in batches of 20?
  confidence: true
  options:
    - say: Two
      because: "It made {{iteration:.0f}}."
      to: detour
    - say: Three
      right: iteration == 3
      because: "Yes: {{iteration:.0f}} with TV {{tv:.3f}}."
hints:
  - Divide 60 by 20.
  - It is three.
reveal: Each iteration visits a **batch**.
diagnosis:
  - when: iteration == 3
    say: "{{iteration:.0f}} iterations visited {{visited:.0f}} data."
after:
  ask: How many data were visited?
  number: {{right: visited, tolerance: 0.01, close: "Yes.", low: "More: {{visited}}.", high: "Fewer: {{visited}}."}}
---
Predict first.
```

```{{step}} turn
---
title: A goal
controls: [num_particles, seed, budget, sigma_x]
goal: num_particles >= 400 and iteration >= 3
solution: {{0: {{num_particles: 400}}}}
skip: true
---
Turn a setting.
```

```{{step}} detour
---
title: A detour
recipe: {RECIPE.replace("60", "40")}
---
The end of both ways.
```
"""


def small_lesson() -> Lesson:
    """Under the name of one that the package has."""
    return read_lesson("one_step", SMALL)
