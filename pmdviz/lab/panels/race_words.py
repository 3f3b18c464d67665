"""A race in words: the status panel, the words at the tiles, the rows of the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmdviz.lab.loop.race_runner import RaceSnapshot, Tile
from pmdviz.scenes import style
from pmdviz.scenes.race_words import TileWords, at_tile, best, state
from pmdviz.scenes.words import count, duration, number

START = "Same data, same budget: press Play and see who finds both modes."
NOBODY = "Nobody races yet: choose a method in the drawer and press Add."
SLOW_S = 0.5


def tile_words(snapshot: RaceSnapshot) -> list[TileWords]:
    """Title, state and note of each tile."""
    waits = {slow.label: slow.seconds for slow in snapshot.slow if slow.seconds > SLOW_S}
    return [_at_tile(tile, waits.get(tile.label)) for tile in snapshot.tiles]


def _at_tile(tile: Tile, waited: float | None) -> TileWords:
    words = at_tile(tile.label, tile.frame, tile.ended)
    return words if waited is None else words._replace(note=f"computing a step: {duration(waited)} so far")


def status_fields(snapshot: RaceSnapshot, extra: str = "", playing: bool = False) -> dict[str, Any]:
    """What the status panel says, in the fields of the lab's."""
    visited = [tile.frame.visited for tile in snapshot.tiles if not tile.ended]
    visited = visited or [tile.frame.visited for tile in snapshot.tiles] or [0]
    tiles, high = snapshot.tiles, max(visited)
    first = best([tile.label for tile in tiles], [tile.metrics["tv"] for tile in tiles])
    return {
        "share": 100.0 * min(1.0, high / snapshot.budget) if snapshot.budget else 0.0,
        "of": _of(high, snapshot.budget) if snapshot.budget else "no budget: endless",
        "pmdviz-status": state(snapshot.iteration, visited, snapshot.budget, first) if tiles else NOBODY,
        "passes": f"{high / snapshot.target.num_data:.1f} passes over {count(snapshot.target.num_data)} data",
        "step": _step(snapshot, first),
        "more": extra,
        "live": "off" if playing else "polite",
    }


def _of(visited: int, budget: int) -> str:
    within = f"{count(visited)} of {count(budget)} data"
    return within if visited <= budget else f"{count(budget)} data asked for, {count(visited)} visited"


def _step(snapshot: RaceSnapshot, first: tuple[str, float] | None) -> str:
    if not snapshot.tiles:
        return ""
    if snapshot.done:
        return f"The race is over: lowest TV {number(first[1])} ({first[0]})" if first else "It is over"
    slow = [slow.label for slow in snapshot.slow if slow.seconds > SLOW_S]
    if slow:
        return f"The others wait for {', '.join(slow)}: nobody may be more than one pass ahead"
    ended = [tile.label for tile in snapshot.tiles if tile.ended]
    return f"Ended: {', '.join(ended)}" if ended else ("" if snapshot.iteration else START)


def table_rows(snapshot: RaceSnapshot, summary: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Plain rows of the table; `summary` holds, by label, what the bands' runs came to."""
    return [_row(k, tile, summary.get(tile.label)) for k, tile in enumerate(snapshot.tiles)]


def _row(k: int, tile: Tile, over_seeds: Mapping[str, Any] | None) -> dict[str, Any]:
    frame, masses = tile.frame, tile.masses
    now = tile.ended or frame.caveat or "racing"
    return {
        "entrant": k,
        "method": [tile.label, tile.label],
        "visited": [frame.visited, count(frame.visited)],
        "tv": _cell(tile.metrics["tv"]),
        "kl_forward": _cell(tile.metrics["kl_forward"]),
        "modes": [None if not masses else min(masses), "–" if not masses else " + ".join(f"{m:.2f}" for m in masses)],
        "gradients": [frame.gradient_evaluations, count(frame.gradient_evaluations)],
        "densities": [frame.density_evaluations, count(frame.density_evaluations)],
        "seconds": [frame.seconds, f"{frame.seconds:.2f}"],
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
