"""How what a preset promises is tried: its run, those of its hints, and why an expression does not hold of one."""

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.run import Run
from pmdviz.engine.session import Session
from pmdviz.expressions import Expression
from pmdviz.presets import Hint, RunScope

NEVER = 10**9


def run_of(recipe: Recipe, hint: Hint | None = None, metrics_every: int | None = NEVER) -> Run:
    """The run of a preset's recipe, or of one of its hints, to the end of its budget.

    With `metrics_every` None it has the history that a page has.
    """
    hint = hint or Hint("")
    recipe = recipe.replaced(
        budget=recipe.budget if hint.budget is None else hint.budget,
        target_options={**recipe.target_options, **hint.options},
    )
    session = Session(recipe, metrics_every)
    while not session.done and session.frame.spent < hint.after * recipe.budget:
        session.advance(1)
    if hint.knobs:
        session.set(**hint.knobs)
    if hint.after == 0:  # nothing has run: they become the recipe's own
        session = Session(session.recipe, metrics_every)
    while not session.done:
        session.advance(NEVER)
    return session.run


def failures(expected: Expression, run: Run, own: Run | None = None) -> list[str]:
    """Why an expression does not hold of a run: [itself with its values]; [] where it holds.

    `own` is the run that ratios compare it with, the preset's own. Raises InputError for an unknown name.
    """
    scope = RunScope(run, own)
    return [] if expected.holds(scope) else [expected.why(scope)]
