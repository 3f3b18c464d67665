"""Bad inputs as Hypothesis strategies, and how each ended: in words what was wrong with that, if any."""

import contextlib
import copy
import io
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, quote

import hypothesis
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from pmdviz.data.tables import hold
from pmdviz.engine.recipe import Recipe, fold
from pmdviz.errors import InputError
from pmdviz.experiments.race import RaceRecipe
from pmdviz.experiments.workers import table_at
from pmdviz.lab.links import NAMES
from pmdviz.lab.links import read as read_link
from pmdviz.lab.panels import sharing as experiment_sharing
from pmdviz.presets import PRESETS

ODD = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53, -(2**63), 10**30, 10**400, 0.1, -0.0, 1e308, 5e-324, 1.5),
    *(float("nan"), float("inf"), float("-inf"), "", " ", "nan", "1e400", "0x10", "1_000", "１５００", "-", "null"),
    *("\x00", "\ud800", "\u202e", "𝛉", "a" * 5000, "<script>alert(1)</script>", "'; DROP TABLE", "../../etc/passwd"),
    *("__import__('os')", "{{7*7}}", "%s%n", [], {}, [[]], [1, 2], {"a": 1}, {"custom": {"name": "x"}}, [[[[[]]]]]),
)
PIECES = (
    *("NaN", "-Infinity", "1e999", '"', "{", "}", "[", "]", ",", ":", "\\u0000", "\\", "null", "9" * 400),
    *("\x00", "\ud800", "\x85", "\u2028", "\uffff", "é", "\n", "\r", "%", "&", "=", "[" * 500, "[" * 20_000),
)
NOISE = (b"", b",", b"\n", b"\r", b'"', b"\x00", b"\xff\xfe", b"1e400", b"9" * 5000, b"\xf0\x9d\x9b\x89", b"tv")
TABLE = b'num_particles,tv,bounded,failed\n20,0.31,True,\n30,nan,False,"it stopped, and ""said"" so"\n'
PATHS = (
    *("liveness", "metadata", "autoload.js", "ws", "static/js/bokeh.min.js", "static/../serving.py", "probe/.."),
    *("%2e%2e/%2e%2e/etc/passwd", "static/%00", "a" * 3000, "%ff%fe", "static/extensions/x"),
)
OWN = hold("heights.csv", ["height", "weight"], [[1.7, 6.5], [1.6, 7.1], [1.8, 8.0], [1.5, 5.5]])  # kept here
RECIPES = [
    *(preset.recipe.to_dict() for preset in PRESETS.values()),
    Recipe("gaussian", seed=3, budget=None, changes=[(3, {"eta": 1.0}), (9, {"bandwidth": 0.2})]).to_dict(),
    Recipe("bimodal1d", num_particles=50, target_options={"num_data": 20}).to_dict(),
    Recipe("gaussian", num_particles=50, target_options={"data": OWN.pin}).to_dict(),
]
METHODS = ["pmd:num_particles=300,warm_start=true", "smc", "gibbs", "svi:num_pairs=5"]
RACES = [
    RaceRecipe.checked(METHODS, "mixture", {"num_data": 300}, 2000, 3).to_dict(),
    RaceRecipe.checked("pmd,sgld,hmc", "gaussian", {}, 500, [7, 2], 5).to_dict(),
]
LINK = {"preset": "two-modes", "at": "12", "frame": "0123456789ab", "hide": "data,seed", "embed": "1", "start": "end"}
LINK |= {"presenter": "1", "race": RaceRecipe.from_dict(RACES[0]).to_link(), "settings": "descent_by_correlation"}
LINK |= {"experiment": "descent", "knobs": fold({"correlation": 0.9})}
LINK |= {"lesson": "one_step", "step": "one-step", "skip": "1"}
RUNS = [Recipe.from_dict(plain).to_link() for plain in RECIPES]
ACKNOWLEDGE = "the model of this page that acknowledges frames"  # what sends a message puts that model's id here

odd_values = st.sampled_from(ODD).map(copy.deepcopy) | st.floats() | st.integers() | st.text(max_size=20)


def one_in(number: int) -> st.SearchStrategy[bool]:
    return st.integers(1, number).map(lambda drawn: drawn == number)


@st.composite
def broken(draw: st.DrawFn, text: str) -> str:
    """A text with something cut off, put in, written over, or in the wrong place."""
    at, piece = draw(st.integers(0, len(text))), draw(st.sampled_from(PIECES) | st.characters())
    before, after = text[:at], text[at:]
    ways = (before, before + piece + after, before + piece + after[len(piece) :], after + before, text + text)
    return draw(st.sampled_from(ways))


@st.composite
def files(draw: st.DrawFn, valid: list[dict[str, Any]]) -> str:
    """JSON text of a recipe or race with values, names and letters changed."""
    plain = copy.deepcopy(draw(st.sampled_from(valid)))
    for _ in range(draw(st.sampled_from((0, 0, 1, 1, 2, 5)))):
        holder, key = _place(draw, plain)
        if isinstance(holder, dict) and draw(one_in(4)):
            holder[f"{key}{draw(st.sampled_from(('s', ' ', '_', '𝛉')))}"] = holder.pop(key)
        else:
            holder[key] = draw(odd_values)
    text = json.dumps(plain, ensure_ascii=draw(st.booleans()))
    return draw(broken(text)) if draw(one_in(3)) else text


@st.composite
def words(draw: st.DrawFn, usual: Any) -> str:
    value = draw(st.just(usual) | odd_values)
    text = value if isinstance(value, str) else json.dumps(value)
    return draw(broken(text)) if draw(one_in(5)) else text


@st.composite
def links(draw: st.DrawFn) -> str:
    """The query of a link: what ours have, each part broken now and then."""
    parts = {"run": draw(st.sampled_from(RUNS)), **LINK}
    chosen = ["run", *draw(st.lists(st.sampled_from(NAMES), max_size=4))]
    usual = [st.just(parts[name]) for name in chosen]
    odd = [broken(parts[name]).map(_ascii) | words(parts[name]).map(_quoted) for name in chosen]
    text = "&".join(f"{name}={draw(a | b)}" for name, a, b in zip(chosen, usual, odd, strict=True))
    return _ascii(draw(broken(text))) if draw(one_in(10)) else text


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    text = TABLE
    for _ in range(draw(st.integers(1, 3))):
        at, cut = draw(st.integers(0, len(text))), draw(st.sampled_from((0, 0, 1, 7)))
        text = text[:at] + draw(st.sampled_from(NOISE) | st.binary(max_size=3)) + text[at + cut :]
    return text


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """A command line of `run`, `race`, `sweep`, `list` or `export`."""
    recipe = draw(st.sampled_from(RECIPES))
    line = [draw(st.sampled_from(("run", "run", "run", "race", "sweep", "list", "export", "rum", "--version", "")))]
    for name in draw(st.lists(st.sampled_from([*recipe["knobs"]]), max_size=4)):
        flag = draw(st.sampled_from(("--knob", "--target-option", "--konb")))
        line += [flag, f"{name}={draw(words(recipe['knobs'][name]))}"]
    for name in draw(st.lists(st.sampled_from(("target", "method", "seed", "budget", "metrics-every")), max_size=3)):
        line += [f"--{name}", draw(words(recipe.get(name, 1)))]
    if draw(one_in(3)):
        line.insert(draw(st.integers(0, len(line))), draw(words("--json")))
    return [word.replace("\x00", "\\0") for word in line]  # no program can be given that one


@st.composite
def queries(draw: st.DrawFn) -> str:
    recipe = draw(st.sampled_from(RECIPES))
    ours = (*NAMES, "recipe", "r", "bokeh-session-id", "bokeh-autoload-element", "theme")
    names = st.sampled_from([*recipe, *recipe["knobs"], *ours])
    values = words(recipe["knobs"].get("eta", 1)) | files(RECIPES).map(lambda text: text[:4000])
    parts = st.tuples(names.map(_quoted), values.map(_quoted)).map("=".join)
    text = draw(st.sampled_from(("&", "&", "&", ";", "&&", "%26"))).join(draw(st.lists(parts, min_size=1, max_size=5)))
    return _ascii(draw(broken(text))) if draw(one_in(5)) else text


def addresses() -> st.SearchStrategy[str]:
    """What may follow the address of a server, in letters that a client can send."""
    paths = st.sampled_from(PATHS)
    asked = (queries() | links()).map(lambda query: f"?{query}")
    odd_paths = paths.flatmap(broken).map(_quoted).map(lambda path: path[:6000])
    return (paths | odd_paths | asked | asked).map(lambda path: quote(path, safe="".join(map(chr, range(33, 127)))))


def turns() -> st.SearchStrategy[tuple[str, Any]]:
    return st.tuples(st.sampled_from(("num_particles", "bandwidth", "batch_size")), odd_values)


@st.composite
def messages(draw: st.DrawFn) -> list[str]:
    """Fragments of one websocket message, which may be about the model ACKNOWLEDGE."""
    model = draw(st.sampled_from((ACKNOWLEDGE, ACKNOWLEDGE, "p1", "", None, 7, {"id": ACKNOWLEDGE})))
    name = draw(st.sampled_from("drawn hidden key presses words nothing _ __class__ sent name".split()))
    change = {"kind": "ModelChanged", "model": {"id": model}, "attr": name, "new": draw(odd_values)}
    said = {"type": "event", "name": draw(st.sampled_from(("button_click", "data_event", "x")))}
    event = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": said | {"values": draw(odd_values)}}
    events = draw(st.lists(st.sampled_from((change, event, {"kind": "x"}, None, [])), max_size=3))
    kind = draw(st.sampled_from(("PATCH-DOC",) * 9 + ("PULL-DOC-REQ", "SERVER-INFO-REQ", "X")))
    return [json.dumps({"msgid": "f", "msgtype": kind}), "{}", json.dumps({"events": events})]


def _place(draw: st.DrawFn, holder: Any) -> tuple[Any, Any]:
    """Somewhere inside that holds a value: the holder and the key."""
    while True:
        key = draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
        if not holder[key] or not isinstance(holder[key], (dict, list)) or draw(st.booleans()):
            return holder, key
        holder = holder[key]


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "replace"), safe="")


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode()


HANG_S = 2.0  # CPU seconds of whoever looks at the input: on a busy machine the clock on the wall says little
COLUMNS = {"num_particles": int, "tv": float, "bounded": bool, "failed": str}  # columns of the table that is broken
Ending = tuple[str, str]


class Tally:
    """Attempts one after the other: how they ended, how long they took, and what was wrong."""

    def __init__(
        self, attempt: Callable[[Any], Ending], clock: Callable[[], float] = time.process_time, most: float = HANG_S
    ) -> None:
        self._attempt, self._clock, self._most = attempt, clock, most
        self.ends: Counter[str] = Counter()
        self._wrong: list[str] = []
        self._slowest = 0.0

    def take(self, given: Any) -> str:
        start = self._clock()
        end, words = self._attempt(given)
        took = self._clock() - start
        self._slowest = max(self._slowest, took)
        if took > self._most:
            words = f"{took:.1f} s: {words}"
        self.ends[end] += 1
        self._wrong += [words] if words else []
        return words

    def figures(self) -> dict[str, Any]:
        ends, slowest = dict(self.ends), round(self._slowest, 2)
        return {"tried": self.ends.total(), "ended": ends, "slowest_cpu_s": slowest, "wrong": self._wrong[:20]}


def each(inputs: SearchStrategy, number: int, seed: int, take: Callable[[Any], Any]) -> None:
    """Call `take` with so many inputs, the same for the same seed, and where it raises with the smallest such one."""

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=number, deadline=None, database=None, suppress_health_check=[*hypothesis.HealthCheck]
    )
    @hypothesis.given(inputs)
    def one(given: Any) -> None:
        take(given)

    one()


def try_recipe(text: str) -> Ending:
    """A recipe is read, and comes back the same, or is refused in one line; anything else is wrong."""
    return _reading(text, lambda: _comes_back(Recipe, text))


def try_race(text: str) -> Ending:
    return _reading(text, lambda: _comes_back(RaceRecipe, text))


def try_link(query: str) -> Ending:
    """What follows the question mark of an address, an experiment in it too, is read or refused in one line."""

    def read() -> bool:
        link = read_link(parse_qs(query.lstrip("?"), keep_blank_values=True))
        experiment_sharing.read(link.asked)
        return True

    return _reading(query, read)


def try_table(content: bytes) -> Ending:
    with tempfile.TemporaryDirectory(prefix="pmdviz-fuzz-") as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(content)

        def read() -> bool:
            with table_at(path, COLUMNS) as table:
                return all(type(row[name]) is kind for row in table.rows for name, kind in COLUMNS.items())

        return _reading(content, read)


def _comes_back(kind: type, text: str) -> bool:
    recipe = kind.from_json(text)
    return kind.from_json(recipe.to_json()) == recipe


def _reading(given: str | bytes, sound: Callable[[], bool]) -> Ending:
    try:
        return "read", "" if sound() else f"it is read as something else: {given[:300]!r}"
    except InputError as error:
        return "refused", f"several lines for {given[:300]!r}" if "\n" in str(error) else ""
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {error} for {given[:300]!r}"


@contextlib.contextmanager
def _deep_folder() -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="pmdviz-fuzz-") as folder:
        deep = Path(folder, *"abcdef")
        deep.mkdir(parents=True)
        with contextlib.chdir(deep):
            yield


def try_arguments(words: list[str]) -> Ending:
    """A command line is carried out, in a deep folder and without its run, or refused in one line with status 2."""
    from pmdviz.cli import main

    said = io.StringIO()
    try:
        with contextlib.ExitStack() as stack:
            for place in ("pmdviz.api.run", "pmdviz.experiments.sweep.sweep", "pmdviz.api.race"):
                stack.enter_context(mock.patch(place, side_effect=SystemExit))
            stack.enter_context(_deep_folder())
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            stack.enter_context(contextlib.redirect_stderr(said))
            status = main.main(words)
    except SystemExit:
        return "done", ""
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {error} for {words}"
    lines = said.getvalue().strip().split("\n")
    if status == 2 and len(lines) != 1:
        return "refused", f"{len(lines)} lines for {words}: {lines[:3]}"
    return {0: "done", 2: "refused"}.get(status, "wrong"), "" if status in (0, 2) else f"status {status} for {words}"
