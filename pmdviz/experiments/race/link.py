"""A race as a short text for links, in the form of a recipe's: the format's number, a dot, the folded JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pmdviz.engine.recipe_parts import FORMAT, LARGEST, fold, json_value, mapping, unfold, without_large_data
from pmdviz.errors import InputError
from pmdviz.targets.custom import CustomTarget
from pmdviz.targets.offered import choice_of

if TYPE_CHECKING:
    from pmdviz.experiments.race.recipe import RaceRecipe

LEFT_OUT = ("pmdviz_race", "made_with")  # the first stands before the dot


def pack(race: RaceRecipe) -> str:
    """The text that stands for `race`; equal races give equal texts. Raises InputError for a custom target.

    One that a server offers is told by its name and fingerprint.
    """
    if isinstance(race.target, CustomTarget) and choice_of(race.target) is race.target:
        raise InputError(f"a link cannot hold your own target {race.target.name!r}; share the race as a file")
    plain = {name: value for name, value in without_large_data(race.to_dict()).items() if name not in LEFT_OUT}
    text = json.dumps(plain, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    if len(text) > LARGEST:
        raise InputError(f"a link holds at most {LARGEST:,} bytes of a race; this one has {len(text):,}: share a file")
    return f"{FORMAT}.{fold(text)}"


def unpack(text: str) -> dict[str, Any]:
    """The plain values of `pack`'s text, for `RaceRecipe.from_dict`. Raises InputError for others."""
    version, unfolded = unfold(text)
    plain = mapping("the race of a link", json_value(unfolded))
    return {**plain, "pmdviz_race": version}
