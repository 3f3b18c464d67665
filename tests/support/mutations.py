"""Bad input by the thousand, from a seed: valid files, links, command lines and addresses with something broken."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.experiments.race import RaceRecipe
from pmdviz.lab.links import NAMES
from pmdviz.presets import PRESETS

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53, -(2**63), 10**30, 10**400, 0.1, -0.0, 1e308, 5e-324, 1.5),
    *(float("nan"), float("inf"), float("-inf"), "", " ", "nan", "1e400", "0x10", "1_000", "１５００", "-", "null"),
    *("\x00", "\ud800", "\u202e", "𝛉", "a" * 5000, "<script>alert(1)</script>", "'; DROP TABLE", "../../etc/passwd"),
    *("__import__('os')", "{{7*7}}", "%s%n", [], {}, [[]], [1, 2], {"a": 1}, {"custom": {"name": "x"}}, [[[[[]]]]]),
)
PIECES = (
    *("NaN", "-Infinity", "1e999", '"', "{", "}", "[", "]", ",", ":", "\\u0000", "\\", "null"),
    *("\x00", "\ud800", "é", "\n", "\r", "%", "&", "="),
)
TABLE = b'num_particles,tv,bounded,failed\n20,0.31,True,\n30,nan,False,"it stopped, and ""said"" so"\n'
NOISE = (b"", b",", b"\n", b"\r", b'"', b"\x00", b"\xff\xfe", b"1e400", b"9" * 5000, b"\xf0\x9d\x9b\x89", b"tv")


def seeds() -> list[dict[str, Any]]:
    """Valid recipes as plain values, the presets and some with changes on the way."""
    made = [preset.recipe for preset in PRESETS.values()]
    made.append(Recipe("gaussian", seed=3, budget=None, changes=[(3, {"eta": 1.0}), (9, {"bandwidth": 0.2})]))
    made.append(Recipe("bimodal1d", num_particles=50, target_options={"num_data": 20}))
    return [recipe.to_dict() for recipe in made]


def races() -> list[dict[str, Any]]:
    """Valid races as plain values."""
    methods = ["pmd:num_particles=300,warm_start=true", "smc", "gibbs", "svi:num_pairs=5"]
    made = [RaceRecipe.checked(methods, "mixture", {"num_data": 300}, 2000, 3)]
    made.append(RaceRecipe.checked("pmd,sgld,hmc", "gaussian", {}, 500, [7, 2], 5))
    return [recipe.to_dict() for recipe in made]


class Mutator:
    """Draws broken inputs; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self.rng, self._seeds, self._races = random.Random(seed), seeds(), races()
        self._links = [Recipe.from_dict(plain).to_link() for plain in self._seeds]

    def recipe(self) -> str:
        """The JSON text of a recipe that is probably none."""
        return self._broken(self.rng.choice(self._seeds))

    def race(self) -> str:
        """The JSON text of a race that is probably none."""
        return self._broken(self.rng.choice(self._races))

    def link(self) -> str:
        """The query of a link: what ours have, each part broken now and then."""
        usual = {"preset": "two-modes", "at": "12", "frame": "0123456789ab", "hide": "data,seed", "embed": "1"}
        parts = {"run": self.rng.choice(self._links), **usual}
        chosen = ["run", *self.rng.sample(NAMES, self.rng.randint(0, 4))]
        text = "&".join(f"{name}={self._part(parts[name])}" for name in chosen)
        return _ascii(self._break_text(text)) if self.rng.random() < 0.1 else text

    def table(self) -> bytes:
        """A CSV file with something broken in it."""
        text = TABLE
        for _ in range(self.rng.randint(1, 3)):
            at = self.rng.randint(0, len(text))
            text = text[:at] + self.rng.choice(NOISE) + text[at + self.rng.choice((0, 0, 1, 7)) :]
        return text

    def _part(self, usual: str) -> str:
        ways = (
            *(lambda: usual,) * 3,
            lambda: _ascii(self._break_text(usual)),
            lambda: usual[: self.rng.randint(0, len(usual))],
            lambda: _quoted(self._word(usual)),
        )
        return self.rng.choice(ways)()

    def _broken(self, valid: dict[str, Any]) -> str:
        plain = json.loads(json.dumps(valid))
        if self.rng.random() < 0.7:
            for _ in range(self.rng.choice((1, 1, 2, 5))):
                self._break_value(plain)
        text = json.dumps(plain, ensure_ascii=self.rng.random() < 0.5)
        return self._break_text(text) if self.rng.random() < 0.5 else text

    def arguments(self) -> list[str]:
        """A command line of `run`, `race`, `sweep`, `list` or `export`."""
        rng, recipe = self.rng, self.rng.choice(self._seeds)
        words = [rng.choice(("run", "run", "run", "race", "sweep", "list", "export", "rum", "--version", ""))]
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
        ours = (*NAMES, "recipe", "r", "bokeh-session-id", "bokeh-autoload-element", "theme")
        names = [*recipe, *recipe["knobs"], *ours]
        parts = []
        for _ in range(rng.randint(1, 5)):
            value = self.recipe()[:4000] if rng.random() < 0.3 else self._word(recipe["knobs"].get("eta", 1))
            parts.append(f"{_quoted(rng.choice(names))}={_quoted(value)}")
        text = rng.choice(("&", "&", "&", ";", "&&", "%26")).join(parts)
        return _ascii(self._break_text(text)) if rng.random() < 0.2 else text

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


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode()
