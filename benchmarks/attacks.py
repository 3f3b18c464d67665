"""Attacks on a running server, each on one of its own, before (another checkout's server) and after (this one's)."""

from __future__ import annotations

import importlib
import importlib.util
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.helpers.attack_target import HERE, Target, target
from pmdviz.errors import InputError, words_of

ATTACKED = True  # takes --checkout
MODULES = (
    "benchmarks.helpers.attacks_server",
    "benchmarks.helpers.attacks_links",
)  # each has ATTACKS, and FLAGS where it needs some


def run(options: Namespace) -> dict[str, Any]:
    """What each attack does to each server."""
    places = {"after": HERE}
    if options.checkout is not None:
        other = Path(options.checkout).resolve()
        if not (other / "pmdviz" / "__init__.py").is_file():
            raise InputError(f"--checkout must be a folder with the package pmdviz; given: {options.checkout!r}")
        places = {"before": other, **places}
    return {
        name: {when: _attacked(attack, place, flags) for when, place in places.items()}
        for name, (attack, flags) in attacks().items()
    }


def attacks() -> dict[str, tuple[Callable[[Target], dict[str, Any]], tuple[str, ...]]]:
    """Every attack of the modules that are there, with the flags of its server."""
    found = {}
    for name in MODULES:
        if importlib.util.find_spec(name) is not None:
            module = importlib.import_module(name)
            flags = getattr(module, "FLAGS", {})
            found.update({one: (attack, flags.get(one, ())) for one, attack in module.ATTACKS.items()})
    return found


def _attacked(attack: Callable[[Target], dict[str, Any]], place: Path, flags: tuple[str, ...]) -> dict[str, Any]:
    try:
        with target(place, *flags) as server:
            return attack(server)
    except Exception as error:  # a server that breaks is a result too
        return {"stopped": f"{type(error).__name__}: {words_of(error)[:200]}"}
