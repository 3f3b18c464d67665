"""A race in words: the status panel, and the rows of the table."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from pmdviz.experiments.race.clock import SHORT, evaluations
from pmdviz.metrics import Metric
from pmdviz.scenes import style
from pmdviz.scenes.race import RaceScene, Tile, tiles_legend
from pmdviz.scenes.race_difference import difference_of
from pmdviz.scenes.stage import Scene
from pmdviz.scenes.words import count, number
from pmdviz.views.race_traces import SLOTS

SAMPLED = ("exact", "approximate", "particles")  # layers that the legend has a sample of
BELOW = "Values below those of independent draws are possible: weights and particles that repel one another vary less."
WHY_BELOW = (
    "A method can score lower: weights that make errors cancel and particles that repel one another vary less, and a "
    "fitted density needs no kernels."
)

START = "Same data, same budget. Press Play: which methods find both modes?"
NOBODY = "No methods yet: choose one in the drawer and press Add."


def status_fields(scene: RaceScene, extra: str = "", playing: bool = False) -> dict[str, Any]:
    """What the status panel says, in the fields of the lab's."""
    high, budget = max(scene.spent), scene.budget
    return {
        "share": 100.0 * min(1.0, high / budget) if budget else 0.0,
        "of": _of(high, budget, scene.recipe.budget_unit) if budget else "no budget: endless",
        "pmdviz-status": scene.words if scene.tiles else NOBODY,
        "passes": _passes(scene),
        "step": _step(scene),
        "more": extra,
        "live": "off" if playing else "polite",
    }


def _of(spent: int, budget: int, unit: str) -> str:
    """How far the budget is used up by who is ahead."""
    if spent <= budget:
        return f"{count(spent)} of {count(budget)} {SHORT[unit]}"
    return f"{count(spent)} {SHORT[unit]} (budget {count(budget)})"


def _passes(scene: RaceScene) -> str:
    """How often who has seen most went through the data; "" for a target without data."""
    target = scene.recipe.target
    if target.data is None:
        return ""
    most = max((tile.visited for tile in scene.tiles if not tile.ended), default=None)
    most = max((tile.visited for tile in scene.tiles), default=0) if most is None else most
    return f"{most / target.num_data:.1f} passes over {count(target.num_data)} observations"


def _row_cost(row: Mapping[str, Any]) -> list[Any]:
    """What an observation has cost so far: evaluations of one theta, to sort by and in words."""
    made = {"likelihood": row["density_evaluations"], "gradient": row["gradient_evaluations"]}
    each = {kind: round(number / max(row["visited"], 1)) for kind, number in made.items() if number}
    said = [f"{count(n)} {kind}{'' if n == 1 else 's'}" for kind, n in each.items()]
    return [sum(each.values()), " + ".join(said) or "–"]


def _step(scene: RaceScene) -> str:
    if not scene.tiles:
        return ""
    between = _difference_words(scene)
    if scene.done:
        return " ".join(filter(None, ["Finished.", between, _below(scene)]))
    slow = [tile.title for tile in scene.tiles if tile.slow]
    if slow:
        return f"Waiting for {', '.join(slow)} (methods stay within one pass of each other)"
    ended = [tile.title for tile in scene.tiles if tile.ended]
    return f"Finished: {', '.join(ended)}" if ended else (between if scene.iteration else START)


def _difference_words(scene: RaceScene) -> str:
    """Of two methods which one is closer, and by how much; "" for more of them."""
    found = difference_of(scene)
    return f"{found.words}." if found is not None and found.words else ""


def _below(scene: RaceScene) -> str:
    """Why the lowest TV may be below that of independent draws, where it is."""
    metric = scene.recipe.shown[0]
    known = [tile.row[metric.name] for tile in scene.tiles if tile.row.get(metric.name) is not None]
    reference = scene.floors.get(metric.name)
    return BELOW if known and reference is not None and min(known) < reference else ""


def table_rows(scene: RaceScene, summary: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Plain rows of the table; `summary` holds, by label, what the bands' runs came to."""
    shown = scene.recipe.shown
    return [_row(k, tile, shown, summary.get(tile.label)) for k, tile in enumerate(scene.tiles)]


def _row(k: int, tile: Tile, shown: Sequence[Metric], over_seeds: Mapping[str, Any] | None) -> dict[str, Any]:
    row, masses = tile.row, tile.row["mode_masses"]
    now = tile.ended or tile.caveat or "running"
    return {
        "entrant": k,
        "method": [tile.title, tile.title, tile.full_title],
        "visited": [tile.visited, count(tile.visited)],
        **{slot: _cell(row.get(metric.name)) for slot, metric in zip(SLOTS, shown, strict=False)},
        "modes": [None if not masses else min(masses), "–" if not masses else " + ".join(f"{m:.2f}" for m in masses)],
        "evaluations": [evaluations(row), count(evaluations(row))],
        "row": _row_cost(row),
        "seconds": [row["seconds"], f"{row['seconds']:.2f}"],
        "seeds": _over_seeds(over_seeds, shown[0].name),
        "state": [now, now],
    }


def _cell(value: float | None) -> list[Any]:
    return [value, "–" if value is None else number(value)]


def _over_seeds(entry: Mapping[str, Any] | None, name: str) -> list[Any]:
    if entry is None or entry.get(f"{name}_mean") is None:
        return [None, "–"]
    mean, spread = entry[f"{name}_mean"], entry[f"{name}_sd"]
    sd = "" if spread is None else f" ± {number(spread, 2)}"
    alone = entry["runs_in_one_mode"]
    return [mean, f"{number(mean)}{sd}" + (f" ({alone} in one mode)" if alone else "")]


def legend_html(scene: Scene, dark: bool) -> str:
    """The legend of the tiles: what is neutral, and what has the colour of its method."""
    colours = style.tile_layers(dark, 0, scene.shows_theta)
    parts = [
        f'<i class="{name}" style="--ink: {colours[name]}"></i>{html.escape(words)}'
        for name, words in tiles_legend(scene).items()
        if name in SAMPLED
    ]
    parts.append("Colours mean methods; the exact posterior is grey.")
    return f"<p>{' '.join(f'<span>{part}</span>' for part in parts)}</p>" if len(parts) > 1 else ""


def swatches(dark: bool) -> list[dict[str, Any]]:
    """Colour and dashes of each entrant, for the table."""
    parts = zip(style.entrant_colours(dark), style.ENTRANT_DASHES, strict=True)
    return [{"colour": colour, "dash": " ".join(map(str, dash))} for colour, dash in parts]
