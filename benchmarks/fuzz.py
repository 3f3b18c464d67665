"""Ten thousand bad inputs: files, links, command lines, addresses and messages, while a probe session plays on."""

from __future__ import annotations

import asyncio
import contextlib
import time
from argparse import Namespace
from collections import Counter
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import numpy as np

from tests.support import fuzzing
from tests.support.client import Client
from tests.support.crowd import Crowd, Served, served
from tests.support.decoding import decoded

OPTIONS = {"inputs": 10_000, "seed": 0}
SHARES = {
    **{"recipes": 0.4, "races": 0.1, "links": 0.1, "tables": 0.05},
    **{"command_lines": 0.2, "addresses": 0.05, "messages": 0.1},
}
DOORS = {
    "recipes": (fuzzing.try_recipe, fuzzing.files(fuzzing.RECIPES)),
    "races": (fuzzing.try_race, fuzzing.files(fuzzing.RACES)),
    "links": (fuzzing.try_link, fuzzing.links()),
    "tables": (fuzzing.try_table, fuzzing.tables()),
    "command_lines": (fuzzing.try_arguments, fuzzing.command_lines()),
}
PATIENCE_S = 30.0
PAGE_S = 6.0  # CPU seconds while a page is made (one or two) and the probe plays beside it; a link that hangs took 24
AT_A_TIME = 25  # messages of one websocket session


def run(options: Namespace) -> dict[str, Any]:
    """How many of each were tried, how they ended, and what went wrong (nothing should)."""
    number = 1_000 if options.quick else options.inputs
    asked = {name: round(share * number) for name, share in SHARES.items()}
    figures: dict[str, Any] = {}
    for name, (attempt, inputs) in DOORS.items():
        tally = fuzzing.Tally(attempt)
        fuzzing.each(inputs, asked[name], options.seed, tally.take)
        figures[name] = tally.figures()
    figures["decoded"] = decoded(np.random.default_rng(options.seed), 2 * number)
    with served() as lab:
        figures |= through_server(lab, options.seed, asked["addresses"], asked["messages"])
    tried = sum(part["tried"] for part in figures.values() if isinstance(part, dict) and "tried" in part)
    bad = sum(len(part["wrong"]) for part in figures.values() if isinstance(part, dict) and "wrong" in part)
    return {"tried": tried, "wrong": bad + len(figures["server"]["complaints"]), **figures}


def through_server(lab: Served, seed: int, addresses: int, messages: int) -> dict[str, Any]:
    """Addresses and messages at a live server; a probe session must play on, and the process stay the same."""
    crowd = Crowd(lab.url)
    probe = crowd.join(1)[0]
    before = probe.iteration
    figures = {"addresses": _addresses(lab, seed, addresses), "messages": _messages(lab, crowd, seed, messages)}
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


def _addresses(lab: Served, seed: int, number: int) -> dict[str, Any]:
    def attempt(path: str) -> fuzzing.Ending:
        try:
            with urlopen(f"{lab.url}/{path}", timeout=PATIENCE_S) as answer:
                end, body = str(answer.status), answer.read()
        except HTTPError as error:
            end, body = str(error.code), error.read()
        except TimeoutError:
            return "hung", f"no answer within {PATIENCE_S} s for {path[:300]}"
        except (URLError, OSError, HTTPException):  # the server hung up
            return "cut", ""
        return end, f"{end} for {path[:300]}" if end.startswith("5") or b"Traceback" in body else ""

    tally = fuzzing.Tally(attempt, lab.cpu_seconds, PAGE_S)
    fuzzing.each(fuzzing.addresses(), number, seed, tally.take)
    return tally.figures()


def _messages(lab: Served, crowd: Crowd, seed: int, number: int) -> dict[str, Any]:
    drawn: list[Any] = []
    fuzzing.each(fuzzing.turns() | fuzzing.messages(), number, seed, drawn.append)
    sent, answers = 0, Counter()
    while sent < number:
        said, took = crowd.do(_talk(lab.url, drawn[sent : sent + AT_A_TIME]))
        answers, sent = answers + said, sent + took
    return {"tried": sent, "answered": dict(answers)}  # what would be wrong shows in the server's log and the probe


async def _talk(url: str, messages: list[Any]) -> tuple[Counter, int]:
    """Send broken messages, knobs turned to odd values among them, for as long as the server listens; how many."""
    client, sent = await Client(url).open(), 0
    await client.until(lambda: client.iteration >= 0)
    for message in messages:
        if client.wire.closed:
            break
        sent += 1
        if isinstance(message, tuple):
            knob, value = message
            client.turn(knob, "9" * 400 if isinstance(value, int) and abs(value) >= 10**300 else value)
        else:
            for fragment in message:
                client.wire.send_text(fragment.replace(fuzzing.ACKNOWLEDGE, client.ack_id))
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)
    said = Counter(sentence[:40] for sentence in client.errors)
    await client.close()
    return said, sent
