"""The four pictures of a step in words: a title and a sentence on what happened in this one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pmdviz.scenes.words import count, number


class Population(NamedTuple):
    """What is known of all rows of a step, drawn or not."""

    noun: str  # in the singular: "particle", "chain"
    size: int
    before: np.ndarray | None  # weights (m0,) of the frame before; None of unweighted points
    after: np.ndarray | None  # (m,)
    total: np.ndarray  # (n, k) sums of the terms
    gain: np.ndarray | None  # (m,) by how much the log-weight grew, nats
    moved: np.ndarray | None  # (n,) whether each is elsewhere after the step; None where it was redrawn
    fresh: bool  # whether every step draws its points anew

    @property
    def plural(self) -> str:
        """How many there are, with their noun."""
        return f"{count(self.size)} {self.noun}{'s' * (self.size != 1)}"


def pictures(kind: str, before: Any, after: Any, found: Population) -> list[dict[str, str]]:
    """Titles and sentences, in the order of the algorithm."""
    pull = {"weights": _gain, "move": _arrows, "ratio": _ratio}[kind](found)
    end = {"weights": _reweighted, "move": _moved, "ratio": _decided}[kind](found)
    title = "The proposal" if kind == "ratio" else "The pull of the batch" if _partial(after) else "The pull"
    shortened = after.info.limited
    last = f"{end[1]} The step was shortened: {shortened}." if shortened else end[1]
    said = [_before(before, found), _redrawn(after, found), (title, pull), (end[0], last)]
    return [{"title": title, "sentence": sentence} for title, sentence in said]


def _partial(after: Any) -> bool:
    """Whether the step was given a part of the data."""
    rows = after.batch_rows
    return rows is not None and not isinstance(rows, slice) and len(rows) < after.target.num_data


def _before(before: Any, found: Population) -> tuple[str, str]:
    at = f"Iteration {count(before.iteration)}"
    if found.before is None:
        return "Before the step", f"{at}: {found.plural}, where the step finds {_them(found)}."
    m = len(found.before)
    return "Before the step", f"{at}: {count(m)} particles, worth {_effective(found.before)} of equal weight."


def _redrawn(after: Any, found: Population) -> tuple[str, str]:
    info = after.info
    if info.parents is not None:
        parents = len(np.unique(info.parents))
        reason = f"New particles: {info.rejuvenated}." if info.rejuvenated else "New particles."
        return "Redrawn", f"{reason} {count(parents)} of the old ones have children."
    if info.rejuvenated:
        return "Redrawn", f"New particles: {info.rejuvenated}."
    if found.fresh:
        return "Redrawn", f"New {found.noun}s, as at every step: they do not descend from the old ones."
    return "Kept", f"{found.noun.capitalize()}s kept: this step redraws none." if found.size > 1 else (
        f"The {found.noun} goes on from where it is."
    )  # fmt: skip


def _gain(found: Population) -> str:
    share = float(np.mean(found.gain > 0)) if found.gain is not None else 0.0
    return f"{100 * share:.0f}% of the particles gain weight (orange), the others lose it (blue)."


def _arrows(found: Population) -> str:
    return "Each arrow is one term; one behind the other they lead to the new place."


def _ratio(found: Population) -> str:
    ratio = float(found.total[0, 0])
    chance = number(float(np.exp(min(ratio, 0.0))))
    first = "" if found.size == 1 else "Chain 0: "
    return f"{first}log α = {_signed(ratio)}, so the proposal is accepted with probability {chance}."


def _reweighted(found: Population) -> tuple[str, str]:
    if found.before is None or found.after is None:
        return "Reweighted", "The new weights."
    was, now, m = _effective(found.before), _effective(found.after), count(len(found.after))
    ess = f"Effective sample size before the step {was}, now {now} of {m}."
    if found.moved is not None and found.moved.any():
        return "Reweighted and moved", f"{ess} The particles moved besides."
    return "Reweighted", ess


def _moved(found: Population) -> tuple[str, str]:
    length = float(np.sqrt((found.total**2).sum(axis=1)).mean())
    what = f"The {found.noun}" if found.size == 1 else f"On average a {found.noun}"
    return "Moved", f"{what} moved by {number(length)}."


def _decided(found: Population) -> tuple[str, str]:
    moved = int(found.moved.sum())
    if found.size == 1:
        return ("Accepted", "The chain moves on.") if moved else ("Rejected", "The chain stays where it is.")
    return "Accepted or rejected", f"{count(moved)} of {found.plural} moved, the others stay where they are."


def _effective(weights: np.ndarray) -> str:
    return count(round(1.0 / float((weights**2).sum())))


def _them(found: Population) -> str:
    return "it" if found.size == 1 else "them"


def _signed(value: float) -> str:
    return f"−{number(-value)}" if value < 0 else number(value)
