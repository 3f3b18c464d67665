"""Bad input by the thousand, from a seed: valid recipes, command lines and addresses with something broken in them."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from pmdviz.presets import PRESETS
from pmdviz.recipe import Recipe

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53, -(2**63), 10**30, 10**400, 0.1, -0.0, 1e308, 5e-324, 1.5),
    *(float("nan"), float("inf"), float("-inf"), "", " ", "nan", "1e400", "0x10", "1_000", "１５００", "-", "null"),
    *("\x00", "\ud800", "\u202e", "𝛉", "a" * 5000, "<script>alert(1)</script>", "'; DROP TABLE", "../../etc/passwd"),
    *("__import__('os')", "{{7*7}}", "%s%n", [], {}, [[]], [1, 2], {"a": 1}, {"custom": {"name": "x"}}, [[[[[]]]]]),
)
PIECES = (
    "NaN",
    "-Infinity",
    "1e999",
    '"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\u0000",
    "\\",
    "null",
    "\x00",
    "\ud800",
    "é",
)


def seeds() -> list[dict[str, Any]]:
    """Valid recipes as plain values, the presets and some with changes on the way."""
    made = [preset.recipe for preset in PRESETS.values()]
    made.append(Recipe("gaussian", seed=3, budget=None, changes=[(3, {"eta": 1.0}), (9, {"bandwidth": 0.2})]))
    made.append(Recipe("bimodal1d", num_particles=50, target_options={"num_data": 20}))
    return [recipe.to_dict() for recipe in made]


class Mutator:
    """Draws broken inputs; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self.rng, self._seeds = random.Random(seed), seeds()

    def recipe(self) -> str:
        """The JSON text of a recipe that is probably none."""
        plain = json.loads(json.dumps(self.rng.choice(self._seeds)))
        if self.rng.random() < 0.7:
            for _ in range(self.rng.choice((1, 1, 2, 5))):
                self._break_value(plain)
        text = json.dumps(plain, ensure_ascii=self.rng.random() < 0.5)
        return self._break_text(text) if self.rng.random() < 0.5 else text

    def arguments(self) -> list[str]:
        """A command line of `run`, `list` or `export`."""
        rng, recipe = self.rng, self.rng.choice(self._seeds)
        words = [rng.choice(("run", "run", "run", "list", "export", "rum", "--version", ""))]
        for _ in range(rng.randint(0, 4)):
            name = rng.choice(list(recipe["knobs"]))
            words += [
                rng.choice(("--knob", "--target-option", "--konb")),
                f"{name}={self._word(recipe['knobs'][name])}",
            ]
        for flag in rng.sample(("--target", "--method", "--seed", "--budget", "--metrics-every"), rng.randint(0, 3)):
            words += [flag, self._word(recipe.get(flag[2:], 1))]
        if rng.random() < 0.3:
            words.insert(rng.randint(0, len(words)), self._word("--json"))
        return [word.replace("\x00", "\\0") for word in words]  # no program can be given that one

    def query(self) -> str:
        """What follows the question mark of an address: knobs, whole recipes, and what the server itself looks at."""
        rng, recipe = self.rng, self.rng.choice(self._seeds)
        names = [
            *recipe,
            *recipe["knobs"],
            "recipe",
            "r",
            "preset",
            "bokeh-session-id",
            "bokeh-autoload-element",
            "theme",
        ]
        parts = []
        for _ in range(rng.randint(1, 5)):
            value = self.recipe()[:4000] if rng.random() < 0.3 else self._word(recipe["knobs"].get("eta", 1))
            parts.append(f"{_quoted(rng.choice(names))}={_quoted(value)}")
        text = rng.choice(("&", "&", "&", ";", "&&", "%26")).join(parts)
        return self._break_text(text).encode("ascii", "replace").decode() if rng.random() < 0.2 else text

    def path(self) -> str:
        """A path that the server may or may not know."""
        known = (
            "liveness",
            "metadata",
            "autoload.js",
            "ws",
            "static/js/bokeh.min.js",
            "static/../serving.py",
            "probe/..",
        )
        text = self.rng.choice(
            (*known, "%2e%2e/%2e%2e/etc/passwd", "static/%00", "a" * 3000, "%ff%fe", "static/extensions/x")
        )
        return text if self.rng.random() < 0.5 else _quoted(self._break_text(text))[:6000]

    def messages(self, acknowledge: str) -> list[str]:
        """Fragments of one websocket message; `acknowledge` is the id of a model that the page has."""
        rng = self.rng
        model = rng.choice((acknowledge, acknowledge, "p1", "", None, 7, {"id": acknowledge}))
        name = rng.choice(("drawn", "hidden", "key", "presses", "words", "nothing", "_", "__class__", "sent", "name"))
        change = {"kind": "ModelChanged", "model": {"id": model}, "attr": name, "new": rng.choice(ODD_VALUES)}
        event = {
            "type": "event",
            "name": rng.choice(("button_click", "data_event", "x")),
            "values": rng.choice(ODD_VALUES),
        }
        kinds = (change, {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}, {"kind": "x"}, None, [])
        content = {"events": [rng.choice(kinds) for _ in range(rng.randint(0, 3))]}
        header = {
            "msgid": "f",
            "msgtype": rng.choice((*["PATCH-DOC"] * 9, "PULL-DOC-REQ", "SERVER-INFO-REQ", "X")),
        }
        return [_text(header), "{}", _text(content)]

    def odd(self) -> Any:
        """A value that hardly any knob takes."""
        return copy.deepcopy(self.rng.choice(ODD_VALUES))  # a list of its own, as the next change may go into it

    def _word(self, usual: Any) -> str:
        value = usual if self.rng.random() < 0.4 else self.odd()
        text = value if isinstance(value, str) else _text(value)
        return self._break_text(text) if self.rng.random() < 0.2 else text

    def _break_value(self, plain: Any) -> None:
        """Change one value somewhere inside, or its name."""
        places = list(_places(plain))
        holder, key = self.rng.choice(places)
        if isinstance(holder, dict) and self.rng.random() < 0.2:
            holder[f"{key}{self.rng.choice(('', 's', ' ', '_', '𝛉'))}"] = holder.pop(key)
        else:
            holder[key] = self.odd()

    def _break_text(self, text: str) -> str:
        rng, at = self.rng, self.rng.randint(0, len(text))
        ways: tuple[Callable[[], str], ...] = (
            lambda: text[:at],
            lambda: text[:at] + rng.choice(PIECES) + text[at:],
            lambda: text[:at] + text[at + rng.randint(1, 9) :],
            lambda: text[at:] + text[:at],
            lambda: text[:at] + chr(rng.choice((0, 7, 0x85, 0x2028, 0xFFFF, 0x1F600))) + text[at + 1 :],
            lambda: "[" * rng.choice((3, 500, 20_000)) + text,
            lambda: text + text,
            lambda: text.replace("1", "9" * rng.choice((20, 400))),
        )
        return rng.choice(ways)()


def _places(plain: Any) -> Any:
    """Every place inside that holds a value: its holder and key."""
    inner = plain.items() if isinstance(plain, dict) else enumerate(plain)
    for key, value in list(inner):
        yield plain, key
        if isinstance(value, (dict, list)):
            yield from _places(value)


def _text(value: Any) -> str:
    try:
        return json.dumps(value)
    except ValueError:  # a number with too many digits to be written
        return "9" * 5000


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "replace"), safe="")
