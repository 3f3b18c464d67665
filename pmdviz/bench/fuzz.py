"""Ten thousand bad inputs: recipes, command lines, addresses and messages, while a probe session plays on."""

from __future__ import annotations

import asyncio
import contextlib
import io
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import urlopen

from pmdviz.bench.client import Client
from pmdviz.bench.crowd import Crowd, Served, served
from pmdviz.bench.mutations import Mutator
from pmdviz.errors import InputError
from pmdviz.recipe import Recipe

OPTIONS = {"inputs": 10_000, "seed": 0}
SHARES = {"recipes": 0.6, "command_lines": 0.25, "addresses": 0.05, "messages": 0.1}
HANG_S = 2.0  # CPU seconds of whoever looks at the input: on a busy machine the clock on the wall says little
PATIENCE_S = 30.0
ASCII = "".join(map(chr, range(33, 127)))
AT_A_TIME = 25  # messages of one websocket session


def run(options: Namespace) -> dict[str, Any]:
    """How many of each were tried, how they ended, and what went wrong (nothing should)."""
    mutator, number = Mutator(options.seed), 1_000 if options.quick else options.inputs
    asked = {name: round(share * number) for name, share in SHARES.items()}
    figures: dict[str, Any] = {
        "recipes": alone(lambda: try_recipe(mutator.recipe()), asked["recipes"]),
        "command_lines": alone(lambda: try_arguments(mutator.arguments()), asked["command_lines"]),
    }
    with served() as lab:
        figures |= through_server(lab, mutator, asked["addresses"], asked["messages"])
    tried = sum(part["tried"] for part in figures.values() if isinstance(part, dict) and "tried" in part)
    bad = sum(len(part["wrong"]) for part in figures.values() if isinstance(part, dict) and "wrong" in part)
    return {"tried": tried, "wrong": bad + len(figures["server"]["complaints"]), **figures}


def alone(attempt: Callable[[], tuple[str, str]], number: int) -> dict[str, Any]:
    """Repeat an attempt that says how it ended and, where something went wrong, with what."""
    ends, wrong, slowest = Counter(), [], 0.0
    for _ in range(number):
        start = time.process_time()
        end, words = attempt()
        took = time.process_time() - start
        slowest = max(slowest, took)
        if took > HANG_S:
            words = f"{took:.1f} s: {words}"
        ends[end] += 1
        wrong += [words] if words else []
    return {"tried": number, "ended": dict(ends), "slowest_cpu_s": round(slowest, 2), "wrong": wrong[:20]}


def try_recipe(text: str) -> tuple[str, str]:
    """A recipe is read or refused in one line; anything else is wrong."""
    try:
        recipe = Recipe.from_json(text)
        if Recipe.from_json(recipe.to_json()) != recipe:
            return "read", f"it does not come back the same: {text[:300]!r}"
    except InputError as error:
        return "refused", f"several lines for {text[:300]!r}" if "\n" in str(error) else ""
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {error} for {text[:300]!r}"
    return "read", ""


class _Enough(Exception):
    """Raised in place of the run itself."""


def _no_run(*args: Any, **kwargs: Any) -> Any:
    raise _Enough


def try_arguments(words: list[str]) -> tuple[str, str]:
    """A command line is carried out or refused in one line with status 2; the run itself is left out."""
    from pmdviz import api, cli

    real, said = api.run, io.StringIO()
    api.run = _no_run
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            status = cli.main(words)
    except (_Enough, SystemExit):
        return "done", ""
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {error} for {words}"
    finally:
        api.run = real
    lines = said.getvalue().strip().split("\n")
    if status == 2 and len(lines) != 1:
        return "refused", f"{len(lines)} lines for {words}: {lines[:3]}"
    return {0: "done", 2: "refused"}.get(status, "wrong"), "" if status in (0, 2) else f"status {status} for {words}"


def through_server(lab: Served, mutator: Mutator, addresses: int, messages: int) -> dict[str, Any]:
    """Addresses and messages at a live server; a probe session must play on, and the process stay the same."""
    crowd = Crowd(lab.url)
    probe = crowd.join(1)[0]
    before = probe.iteration
    figures = {"addresses": _addresses(lab, mutator, addresses), "messages": _messages(lab, crowd, mutator, messages)}
    time.sleep(2.0)
    since = probe.iteration
    with contextlib.suppress(TimeoutError):
        crowd.do(probe.until(lambda: probe.iteration > since, 20))
    figures["server"] = {
        "same_process": lab.process.is_running(),
        "probe_iterations": [before, since, probe.iteration],
        "complaints": [*lab.complaints(("Traceback", "never retrieved")), *probe.errors]
        + ([] if probe.iteration > since > before else ["the probe session stands still"]),
    }
    crowd.leave()
    return figures


def _addresses(lab: Served, mutator: Mutator, number: int) -> dict[str, Any]:
    def attempt() -> tuple[str, str]:
        drawn = mutator.path() if mutator.rng.random() < 0.5 else f"?{mutator.query()}"
        path = quote(drawn, safe=ASCII)  # what no client can send as it is, goes as %00
        before = lab.cpu_seconds()
        try:
            with urlopen(f"{lab.url}/{path}", timeout=PATIENCE_S) as answer:
                end, body = str(answer.status), answer.read()
        except HTTPError as error:
            end, body = str(error.code), error.read()
        except TimeoutError:
            return "hung", f"no answer within {PATIENCE_S} s for {path[:300]}"
        except (URLError, OSError, HTTPException):  # the server hung up
            return "cut", ""
        took = lab.cpu_seconds() - before
        wrong = f"{end} after {took:.1f} s" if end.startswith("5") or took > HANG_S or b"Traceback" in body else ""
        return end, f"{wrong} for {path[:300]}" if wrong else ""

    return alone(attempt, number)


def _messages(lab: Served, crowd: Crowd, mutator: Mutator, number: int) -> dict[str, Any]:
    sent, answers = 0, Counter()
    while sent < number:
        said, took = crowd.do(_talk(lab.url, mutator, min(AT_A_TIME, number - sent)))
        answers, sent = answers + said, sent + took
    return {"tried": sent, "answered": dict(answers), "wrong": []}


async def _talk(url: str, mutator: Mutator, number: int) -> tuple[Counter, int]:
    """Send broken messages, knobs turned to odd values among them, for as long as the server listens; how many."""
    client, sent = await Client(url).open(), 0
    await client.until(lambda: client.iteration >= 0)
    while sent < number and not client.wire.closed:
        sent += 1
        if mutator.rng.random() < 0.5:
            client.turn(mutator.rng.choice(("num_particles", "bandwidth", "batch_size")), _sendable(mutator.odd()))
        else:
            for fragment in mutator.messages(client.ack_id):
                client.wire.send_text(fragment)
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)
    said = Counter(sentence[:40] for sentence in client.errors)
    await client.close()
    return said, sent


def _sendable(value: Any) -> Any:
    return value if not isinstance(value, int) or abs(value) < 10**300 else "9" * 400
