"""Attacks by links, files, exports and tabs on a server that runs, and how long its other visitors wait meanwhile."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.recipe_parts import fold
from tests.support.client import Client
from tests.support.crowd import Crowd, Served, served
from tests.support.wire import objects

ASK_S = 0.05  # so often another visitor asks whether the server lives
WATCH_S = 8.0  # for so long a good session is watched, before and meanwhile
PATIENCE_S = 120.0
MANY_CHANGES = 10_000
ENDLESS = Recipe("mixture", budget=None)
LATE = 3_000  # an iteration to which a replay takes some seconds
END = 200  # where the default run ends


class Visitor:
    """Somebody who asks again and again whether the server lives, and notes how long the answer takes."""

    def __init__(self, url: str) -> None:
        self._url, self.waits = f"{url}/liveness", [0.0]
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        while not self._ending.wait(ASK_S):
            began = time.monotonic()
            with urllib.request.urlopen(self._url, timeout=PATIENCE_S) as answer:
                answer.read()
            self.waits.append(time.monotonic() - began)

    def leave(self) -> float:
        """The longest wait in seconds."""
        self._ending.set()
        self._thread.join(PATIENCE_S)
        return round(max(self.waits), 2)


@contextmanager
def visited(url: str, found: dict[str, Any]) -> Iterator[None]:
    """Within it another visitor asks; `found` gets how long the longest answer took, and how long all of it."""
    visitor, began = Visitor(url), time.monotonic()
    try:
        yield
    finally:
        found["seconds"] = round(time.monotonic() - began, 2)
        found["others_waited_s"] = visitor.leave()


def link_of(number: int, seed: int = 0) -> str:
    """The text of a link to an endless run with so many changes."""
    changes = [[k, {"bandwidth": 0.1 + 0.1 * (k % 2)}] for k in range(1, number + 1)]
    return fold({"target": "mixture", "seed": seed, "budget": None, "changes": changes})


def page(server: Served) -> dict[str, Any]:
    """No attack: any page with arguments, which is built while it is waited for. The others' figures contain it."""
    return _opened(server, "embed=1")


def long_link(server: Served) -> dict[str, Any]:
    """A link with 10,000 changes, in 35,000 characters."""
    return _opened(server, f"run={link_of(MANY_CHANGES)}")


def longest_link(server: Served) -> dict[str, Any]:
    """A link with nearly as many changes as a served run may have."""
    return _opened(server, f"run={link_of(480)}")


def _opened(server: Served, query: str) -> dict[str, Any]:
    found: dict[str, Any] = {"characters": len(query)}
    with visited(server.url, found):
        try:
            with urllib.request.urlopen(f"{server.url}/?{query}", timeout=PATIENCE_S) as answer:
                found["status"], _ = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            found["status"] = error.code
    return found


def long_file(server: Served) -> dict[str, Any]:
    """A recipe file with 10,000 changes, opened in a session of one's own."""
    changes = [[k, {"bandwidth": 0.1 + 0.1 * (k % 2)}] for k in range(1, MANY_CHANGES + 1)]
    content = json.dumps({"target": "mixture", "budget": None, "changes": changes}).encode()
    found: dict[str, Any] = {"bytes": len(content)}
    with crowd_at(server.url) as crowd:
        client = _come(crowd)
        box = next(model["id"] for model in client.models.values() if model["name"] == "FileInput")
        sent = {"filename": "a.json", "mime_type": "application/json", "value": base64.b64encode(content).decode()}
        with visited(server.url, found):
            crowd.do(_patched(client, box, sent))
            crowd.do(asyncio.sleep(WATCH_S))
            crowd.do(_stepped(client))
    return found


async def _patched(client: Client, model: str, values: dict[str, Any]) -> None:
    client.wire.patch(model, **values)


async def _stepped(client: Client) -> None:
    """One step of one's own: when it is drawn, what was asked before has been answered."""
    client.iteration = min(client.iteration, 0)
    client.press("right")
    await client.until(lambda: client.iteration > 0, PATIENCE_S)


def late_links(server: Served) -> dict[str, Any]:
    """Four tabs, then twelve, of an endless run at iteration 1,000,000,000."""
    return _while_replayed(server, 1_000_000_000)


def long_replays(server: Served) -> dict[str, Any]:
    """Four tabs, then twelve, each of a run of its own whose replay the server just about allows."""
    return _while_replayed(server, 20_000)


def _while_replayed(server: Served, at: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with crowd_at(server.url) as crowd:
        good = crowd.join(1)[0]
        found["frames_a_second_before"] = _rate(crowd, good)
        number = 0
        for tabs in (4, 12):
            while number < tabs:
                link = link_of(0, seed=number)
                crowd.clients.append(crowd.do(Client(server.url).open(f"?run={link}&at={at}")))
                number += 1
            with visited(server.url, {}):
                found[f"frames_a_second_with_{tabs}"] = _rate(crowd, good)
    return found


def class_at_one_link(server: Served, link: str | None = None, iteration: int = LATE) -> dict[str, Any]:
    """Thirty visitors open one link to a late iteration at once; when the last page and the last picture are there."""
    clients = [Client(server.url) for _ in range(30)]
    query, began = f"?run={link or link_of(0)}&at={iteration}", time.monotonic()

    async def arrive(client: Client) -> tuple[float, float]:
        await client.open(query)
        opened = time.monotonic() - began
        await client.until(lambda: client.iteration >= iteration, PATIENCE_S)
        return opened, time.monotonic() - began

    async def arrive_all() -> list[tuple[float, float]]:
        return await asyncio.gather(*map(arrive, clients))

    found: dict[str, Any] = {"visitors": len(clients), "iteration": iteration}
    with crowd_at(server.url) as crowd, visited(server.url, found):
        crowd.clients += clients
        times = crowd.do(arrive_all())
    found["last_page_s"] = round(max(opened for opened, _ in times), 2)
    found["last_picture_s"] = round(max(seen for _, seen in times), 2)
    found["longest_after_the_page_s"] = round(max(seen - opened for opened, seen in times), 2)
    return found


def class_with_pages_ahead(server: Served) -> dict[str, Any]:
    """The same with today's defaults, of a server that was asked to build 30 pages ahead and has done so."""
    _await(lambda: server.probe()["sessions"] >= 30)
    return {"mb_before": round(server.megabytes(), 1), **class_at_one_link(server, ENDLESS.to_link())}


def class_at_the_end(server: Served) -> dict[str, Any]:
    """The same, of a link to where a usual run ends."""
    _await(lambda: server.probe()["sessions"] >= 30)
    return class_at_one_link(server, ENDLESS.to_link(), END)


def first_race(server: Served) -> dict[str, Any]:
    """Somebody's first click on the Race tab, while a good session plays."""
    found: dict[str, Any] = {}
    with crowd_at(server.url) as crowd:
        good, client = crowd.join(1)[0], _come(crowd)
        bar = next(model["id"] for model in client.models.values() if model["name"].startswith("TabBar"))
        began = time.monotonic()
        with visited(server.url, found):
            crowd.do(_patched(client, bar, {"active": "race"}))
            crowd.do(asyncio.sleep(WATCH_S))
        frames = [at for at in good.frames if at >= began]
        gaps = [after - before for before, after in zip(frames, frames[1:], strict=False)]
        found["longest_gap_of_a_good_session_s"] = round(max(gaps, default=WATCH_S), 2)
    return found


def ended_while_exporting(server: Served) -> dict[str, Any]:
    """SIGTERM, then SIGKILL and another start, of servers of their own that make a film: folders left behind."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="pmdviz-attack-") as folder:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with _another(server, folder) as own, crowd_at(own.url) as crowd:
                _export(crowd)
                _await(lambda: bool(_left(folder)))
                found[f"folders_before_{number.name}"] = len(_left(folder))
                own.process.send_signal(number)
                own.process.wait(PATIENCE_S)
            found[f"folders_after_{number.name}"] = len(_left(folder))
        with _another(server, folder):
            found["folders_after_the_next_start"] = len(_left(folder))
    return found


@contextmanager
def _another(server: Served, folder: str) -> Iterator[Served]:
    """A server of the same checkout, where the bench knows of several, whose temporary files go into `folder`."""
    before = os.environ.get("TMPDIR", "")
    os.environ["TMPDIR"] = folder
    try:
        with getattr(server, "another", served)() as own:
            yield own
    finally:
        os.environ["TMPDIR"] = before


def _await(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {PATIENCE_S:.0f} s in vain")
        time.sleep(0.05)


def _left(folder: str) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith("pmdviz-") and not name.endswith(".log")]


class _Curious(Client):
    """A client that also knows the models that come after the document."""

    def _events(self, events: list[dict[str, Any]], buffers: dict[str, bytes]) -> None:
        self.models.update({model["id"]: model for model in objects(events)})
        super()._events(events, buffers)

    def has(self, label: str) -> bool:
        """Whether there is a widget of that label."""
        return any(model["attributes"].get("label") == label for model in self.models.values())


def _export(crowd: Crowd) -> None:
    """A film, begun in a session that has played a while."""

    async def begin(client: _Curious) -> None:
        await client.open()
        await client.play()
        await client.until(lambda: client.iteration >= 100)
        for model in list(client.models.values()):
            if model["name"].endswith("layout.Card"):
                client.wire.patch(model["id"], collapsed=False)
        await client.until(lambda: client.has("Export"))
        client.wire.send_event("button_click", {"model": {"id": client.found("label", "Export")["id"]}})

    crowd.clients.append(client := _Curious(crowd.url))
    crowd.do(begin(client))


@contextmanager
def crowd_at(url: str) -> Iterator[Crowd]:
    """Clients of a server that leave at the end."""
    crowd = Crowd(url)
    try:
        yield crowd
    finally:
        crowd.leave()


def _come(crowd: Crowd) -> Client:
    """A visitor who has seen the first picture."""

    async def come() -> Client:
        client = await Client(crowd.url).open()
        await client.until(lambda: client.iteration >= 0)
        return client

    crowd.clients.append(client := crowd.do(come()))
    return client


def _rate(crowd: Crowd, client: Client) -> float:
    """Frames a second of a session from now on."""
    began = time.monotonic()
    crowd.do(asyncio.sleep(WATCH_S))
    return round(client.rate(began, time.monotonic()), 1)


ATTACKS: dict[str, Callable[[Served], dict[str, Any]]] = {
    "page": page,
    "long_link": long_link,
    "longest_link": longest_link,
    "long_file": long_file,
    "late_links": late_links,
    "long_replays": long_replays,
    "class_at_one_link": class_at_one_link,
    "class_with_pages_ahead": class_with_pages_ahead,
    "class_at_the_end": class_at_the_end,
    "first_race": first_race,
    "ended_while_exporting": ended_while_exporting,
}
FLAGS = dict.fromkeys(("class_with_pages_ahead", "class_at_the_end"), ("--spare-pages", "30"))
