"""Contests of the methods: a step of each, the whole pass of one that ends, and a whole default run with metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.helpers.contest import Contest
from benchmarks.measuring import Call
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.methods import METHODS, Method
from pmdviz.targets import TARGETS

TIME_STEP = 0.1  # of hmc and mala, in prior sds
FIRST = "mixture"  # the target that is tried first
STEPS = {"particles": 20, "parametric": 20, "structured": 20, "chain": 500}  # that a call does, by the method's family
LONG = {  # chains that a session takes in leaps: method, target, steps of a call, knobs
    ("sgld", "mixture"): (5000, {}),
    ("hmc", "mixture"): (500, {"leapfrog_steps": 10, "tune": False, "time_step": TIME_STEP}),
    ("hmc", "banana"): (5000, {"leapfrog_steps": 10, "tune": False, "time_step": TIME_STEP}),
    ("mala", "mixture"): (2000, {"tune": False, "time_step": TIME_STEP}),
}
LONGEST = 1500  # steps after which a method counts as one without an end


def contests() -> Iterator[Contest]:
    """Every method of the table at its defaults."""
    for name, method in METHODS.items():
        session = _session(name)
        if session is None:
            continue
        target, knobs, warm = session.target, session.knobs, 2 * STEPS[method.family]
        session.advance(LONGEST if method.family != "chain" else warm)
        ended = bool(method.ended(session.frame.state, knobs, target))
        state = session.frame.state if not ended else _session(name).frame.state
        steps = session.frame.iteration if ended else STEPS[method.family]
        yield Contest(
            name=f"{name}: {'its whole pass' if ended else 'a step'}",
            size=_size(session),
            ours=_steps(method, session, state, steps),
            calls=1 if ended else steps,
            note=f"{steps} steps, from {'the start' if ended else f'iteration {session.frame.iteration}'}",
        )


def _session(name: str) -> Session | None:
    """An endless run on the first target that the method can be used on."""
    for target in sorted(TARGETS, key=lambda other: other != FIRST):
        try:
            return Session(Recipe(target, name, budget=None), metrics_every=10**6)
        except InputError:
            continue
    return None


def _size(session: Session) -> str:
    known, target = {"num_particles": "m", "batch_size": "B"}, session.target
    has = {short: getattr(session.knobs, name) for name, short in known.items() if hasattr(session.knobs, name)}
    knobs = [f"{short} = {value:,}" for short, value in has.items()]
    return ", ".join([f"{target.name}, N = {target.num_data:,}, d = {target.dim}", *knobs])


def _steps(method: Method, session: Session, state: Any, count: int) -> Call:
    """The same `count` steps at every call: from one state, with one random stream and batches drawn beforehand."""
    target, knobs = session.target, session.knobs
    order = np.random.default_rng(0).permutation(target.num_data)

    def steps() -> Any:
        rng, now, at = np.random.default_rng(1), state, 0
        for _ in range(count):
            size = method.batch_size(now, knobs, target.num_data)
            whole = size == target.num_data
            batch = target.data if whole else target.data[np.take(order, range(at, at + size), mode="wrap")]
            now, _ = method.step(rng, now, target, batch, knobs)
            at += size
        return now

    return steps


def long_chains() -> Iterator[Contest]:
    """Chains that nobody looks at on the way: a session in leaps, which draws within the time and keeps every draw."""
    for (name, target), (steps, knobs) in LONG.items():
        session = Session(Recipe(target, name, budget=None, **knobs), metrics_every=10**9)
        yield Contest(
            name=f"{name}: a step of {steps:,} at once",
            size=_size(session),
            ours=lambda session=session, steps=steps: (session.seek(0), session.advance(steps)),
            calls=steps,
            note=f"a session's advance({steps}); batches, momenta and noise are drawn within the time; hmc: 1 to 10 "
            "leapfrog steps",
        )


def whole_chain() -> Iterator[Contest]:
    """What a person gets: a run of `sgld`, looked at seldom and as often as by default."""
    recipe = Recipe(FIRST, "sgld", budget=20_000)
    for every in (500, 10):
        name, size = f"sgld: a whole default run, metrics every {every} steps", "mixture, 20,000 visited, B = 10"
        yield Contest(name, size, lambda every=every: Session(recipe, every).advance(10**9))


def whole_run() -> Iterator[Contest]:
    """20,000 observations used by PMD's defaults on the mixture, every metric of its history read."""
    recipe = Recipe(FIRST, "pmd", budget=20_000)

    def ours() -> np.ndarray:
        session = Session(recipe)
        while not session.done:
            session.advance()
        return session.history.columns["tv"]

    yield Contest("pmd: a whole default run, metrics every 10 steps", "mixture, 20,000 visited, m = 1,500", ours)
