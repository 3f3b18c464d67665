"""The Theory page's two tables: Theorem 2 step by step, and Table 1 of the paper with what was measured."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence

from pmdviz.experiments.theory.costs import AXES, LINES, Cost, exponents
from pmdviz.experiments.theory.recurrence import Terms
from pmdviz.scenes.words import number, typeset

NOT_MEASURED, NOT_IN_TABLE = "not measured yet", "not in Table 1"
RECURRENCE_HEAD = (
    "t",
    "γ",
    "‖g‖, nats",
    "(1−γ) KL(p‖q_t)",
    "γ²/2 ‖g‖²",
    "ε_t as printed",
    "allowed as printed",
    "ε_t as proved",
    "allowed as proved",
    "measured KL(p‖q_{t+1})",
)
COST_HEAD = (
    "method",
    "proved in",
    "rate",
    "time of a step, paper",
    "measured",
    "memory, paper",
    "measured",
    "black box",
)


def recurrence_table(rows: Sequence[Terms]) -> str:
    """Theorem 2's terms of every step, in nats."""
    names = ("gamma", "gradient", "kept", "noise", "inexactness", "bound", "proved_inexactness", "proved", "measured")
    body = [[str(row.t), *(number(getattr(row, name)) for name in names)] for row in rows]
    return table("Theorem 2, term by term, nats", RECURRENCE_HEAD, body)


def cost_table(costs: Sequence[Cost]) -> str:
    """Table 1 with the fitted powers of m, N and d, and the time and memory at the smallest size."""
    body = []
    for line in LINES:
        time, memory = _measured(costs, line.name, "time"), _measured(costs, line.name, "memory")
        proved, rate = (line.criterion or "not proved", line.rate or "none") if line.time else (NOT_IN_TABLE,) * 2
        printed = (line.time or NOT_IN_TABLE, line.memory or NOT_IN_TABLE)
        black_box = "yes" if line.black_box else "no"
        body.append([line.name, proved, rate, printed[0], time, printed[1], memory, black_box])
    return table("Table 1 of the paper beside what is measured here", COST_HEAD, body)


def _measured(costs: Sequence[Cost], name: str, what: str) -> str:
    mine = [cost for cost in costs if cost.name == name]
    if not mine:
        return NOT_MEASURED
    first, powers = mine[0], exponents(costs, name)
    value = f"{number(first.step_ms)} ms" if what == "time" else f"{number(first.memory_kb)} kB"
    where = f"m = {first.m:,}, " if first.m else ""
    law = [f"{letter}^{power:.2f}" for letter in AXES if (power := powers[f"{what}_{letter}"]) is not None]
    return f"{value} ({where}N = {first.num_data:,}, d = {first.dim})" + (f"; ~ {', '.join(law)}" if law else "")


def table(
    caption: str, head: Iterable[str], body: Iterable[Iterable[str]], shown: Callable[[str], str] = typeset
) -> str:
    """A table of words and formulas as HTML, or of names as they are (`shown` html.escape); wide ones scroll."""
    heads = "".join(f'<th scope="col">{shown(cell)}</th>' for cell in head)
    rows = "".join("<tr>" + "".join(f"<td>{shown(cell)}</td>" for cell in row) + "</tr>" for row in body)
    made = (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )
    return f'<div class="pmdviz-scroll" tabindex="0">{made}</div>'
