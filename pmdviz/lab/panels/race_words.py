"""A race in words: the status panel, and the rows of the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmdviz.scenes import style
from pmdviz.scenes.race import RaceScene, Tile
from pmdviz.scenes.words import count, number

START = "Same data, same budget: press Play and see who finds both modes."
NOBODY = "Nobody races yet: choose a method in the drawer and press Add."


def status_fields(scene: RaceScene, extra: str = "", playing: bool = False) -> dict[str, Any]:
    """What the status panel says, in the fields of the lab's."""
    high, budget, num_data = max(scene.visited), scene.budget, scene.recipe.target.num_data
    return {
        "share": 100.0 * min(1.0, high / budget) if budget else 0.0,
        "of": _of(high, budget) if budget else "no budget: endless",
        "pmdviz-status": scene.words if scene.tiles else NOBODY,
        "passes": f"{high / num_data:.1f} passes over {count(num_data)} data",
        "step": _step(scene),
        "more": extra,
        "live": "off" if playing else "polite",
    }


def _of(visited: int, budget: int) -> str:
    within = f"{count(visited)} of {count(budget)} data"
    return within if visited <= budget else f"{count(budget)} data asked for, {count(visited)} visited"


def _step(scene: RaceScene) -> str:
    first = scene.best
    if not scene.tiles:
        return ""
    if scene.done:
        return f"The race is over: lowest TV {number(first[1])} ({first[0]})" if first else "It is over"
    slow = [tile.label for tile in scene.tiles if tile.slow]
    if slow:
        return f"The others wait for {', '.join(slow)}: nobody may be more than one pass ahead"
    ended = [tile.label for tile in scene.tiles if tile.ended]
    return f"Ended: {', '.join(ended)}" if ended else ("" if scene.iteration else START)


def table_rows(scene: RaceScene, summary: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Plain rows of the table; `summary` holds, by label, what the bands' runs came to."""
    return [_row(k, tile, summary.get(tile.label)) for k, tile in enumerate(scene.tiles)]


def _row(k: int, tile: Tile, over_seeds: Mapping[str, Any] | None) -> dict[str, Any]:
    row, masses = tile.row, tile.row["mode_masses"]
    now = tile.ended or tile.caveat or "racing"
    return {
        "entrant": k,
        "method": [tile.label, tile.label],
        "visited": [tile.visited, count(tile.visited)],
        "tv": _cell(row["tv"]),
        "kl_forward": _cell(row["kl_forward"]),
        "modes": [None if not masses else min(masses), "–" if not masses else " + ".join(f"{m:.2f}" for m in masses)],
        "gradients": [row["gradient_evaluations"], count(row["gradient_evaluations"])],
        "densities": [row["density_evaluations"], count(row["density_evaluations"])],
        "seconds": [row["seconds"], f"{row['seconds']:.2f}"],
        "seeds": _over_seeds(over_seeds),
        "state": [now, now],
    }


def _cell(value: float | None) -> list[Any]:
    return [value, "–" if value is None else number(value)]


def _over_seeds(entry: Mapping[str, Any] | None) -> list[Any]:
    if entry is None or entry["tv_mean"] is None:
        return [None, "–"]
    sd = "" if entry["tv_sd"] is None else f" ± {number(entry['tv_sd'], 2)}"
    alone = entry["runs_in_one_mode"]
    return [entry["tv_mean"], f"{number(entry['tv_mean'])}{sd}" + (f" ({alone} in one mode)" if alone else "")]


def swatches(dark: bool) -> list[dict[str, Any]]:
    """Colour and dashes of each entrant, for the table."""
    parts = zip(style.entrant_colours(dark), style.ENTRANT_DASHES, strict=True)
    return [{"colour": colour, "dash": " ".join(map(str, dash))} for colour, dash in parts]
