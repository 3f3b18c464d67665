"""Attacks on the server itself: addresses, tokens, connections, bodies, messages, processes. All on loopback."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import psutil

from benchmarks.helpers.attack_target import Target
from tests.support.client import Client
from tests.support.crowd import Crowd
from tests.support.raw_client import ask, connected, forged, shake_hands

READER_S = 20.0
BODIES, BODY_MB = 4, 40
ROOTS, ROOT_MB = 10, 5
IDLE, FILES = 300, 200


def runs_a_module_of_python(server: Target) -> dict[str, Any]:
    """Name a program of the standard library in an address."""
    answer = ask(server.port, "/components/unittest.__main__/x/_css/y")
    return {"status": answer.status, "server_runs": server.alive}


def runs_a_module_of_the_folder(server: Target) -> dict[str, Any]:
    """Name a file that lies where the server was started."""
    (server.folder / "clean_up.py").write_text("open('it_was_run', 'w').close()\n", encoding="utf-8")
    answer = ask(server.port, "/components/clean_up/x/_css/y")
    return {"status": answer.status, "it_was_run": (server.folder / "it_was_run").exists()}


def ends_all_processes(server: Target) -> dict[str, Any]:
    """The same with one of two processes: whether the other one lives on."""
    with server.another("--num-procs", "2") as many:
        answer = ask(many.port, "/components/unittest.__main__/x/_css/y")
        time.sleep(2)
        other = ask(many.port + 1, "/liveness", timeout=5).status == 200
        return {"status": answer.status, "parent_runs": many.popen.poll() is None, "other_process_answers": other}


def joins_anothers_session(server: Target) -> dict[str, Any]:
    """Choose the session by the address, and join it with a forged token, with an origin and without."""
    return {
        "chosen_by_address": ask(server.port, "/?bokeh-session-id=known").status,
        "websocket_with_forged_token": shake_hands(server.port, forged("known")).status,
        "websocket_without_origin": shake_hands(server.port, forged("known"), origin=None).status,
    }


def token_that_unfolds(server: Target) -> dict[str, Any]:
    """A forged token of some thousand characters whose payload is megabytes."""
    token, before = forged("bomb", [{}] * 2_000_000), server.megabytes()

    def act() -> dict[str, Any]:
        answer = shake_hands(server.port, token)
        waited = ask(server.port, "/liveness", timeout=60).seconds
        return {"status": answer.status, "others_waited_s": round(waited, 1)}

    figures = server.beside(act, 5)
    return {"characters": len(token), **figures, "mb_more": round(server.megabytes() - before, 1)}


def idle_connections(server: Target) -> dict[str, Any]:
    """More connections than the process may have files, all silent."""
    with server.another(files=FILES) as small:
        log = small.log_bytes()
        with connected(small.port, IDLE):
            cpu, began = small.cpu_seconds(), time.monotonic()
            time.sleep(5)
            served = ask(small.port, "/liveness", timeout=5).status
            seconds = time.monotonic() - began
            figures = {
                "connections": IDLE,
                "files": FILES,
                "served_meanwhile": served == 200,
                "log_kb_per_s": round((small.log_bytes() - log) / 1000 / seconds, 2),
                "cpu_cores": round((small.cpu_seconds() - cpu) / seconds, 2),
            }
        time.sleep(2)
        return {**figures, "serves_afterwards": small.alive}


def bodies(server: Target) -> dict[str, Any]:
    """Bodies that nobody asked for, held open before their end."""
    before = server.megabytes()
    head = f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {(BODY_MB + 1) << 20}\r\n\r\n".encode()
    with connected(server.port, BODIES, head + b"x" * (BODY_MB << 20)):
        time.sleep(2)
        return {"bodies": BODIES, "mb_each": BODY_MB, "mb_more": round(server.megabytes() - before, 1)}


def lying_reader(server: Target) -> dict[str, Any]:
    """A session writes the server's counter of frames, plays without end and reads nothing."""

    async def lie() -> Client:
        client = await Client(server.url, draw_s=1e6).open()
        await client.until(lambda: client.iteration >= 0)
        client.wire.patch(client.ack_id, sent=-1_000_000_000)
        client.wire.patch(client.found("title", "Run length (observations used)")["id"], value="0")
        client.press("space")
        await asyncio.sleep(1)
        client.wire._reader.cancel()
        return client

    crowd, before = Crowd(server.url), server.megabytes()
    crowd.clients.append(crowd.do(lie()))
    time.sleep(READER_S)
    grown = server.megabytes() - before
    crowd.leave()
    return {"seconds": READER_S, "mb_more": round(grown, 1)}


def roots_without_end(server: Target) -> dict[str, Any]:
    """A session adds models to its document."""

    async def add() -> list[str]:
        client = await Client(server.url).open()
        await client.until(lambda: client.iteration >= 0)
        for k in range(ROOTS):
            model = {"type": "object", "name": "Div", "id": f"x{k}", "attributes": {"text": "x" * (ROOT_MB << 20)}}
            client.wire._send("PATCH-DOC", {"events": [{"kind": "RootAdded", "model": model, "setter": None}]})
            await asyncio.sleep(0.5)
        await asyncio.sleep(2)
        crowd.clients.append(client)
        return client.errors

    crowd, before = Crowd(server.url), server.megabytes()
    refused = crowd.do(add())
    grown = server.megabytes() - before
    crowd.leave()
    return {"roots": ROOTS, "mb_each": ROOT_MB, "mb_more": round(grown, 1), "refused": len(refused)}


def value_of_no_menu(server: Target) -> dict[str, Any]:
    """A Select is given a value of 50,000 characters that it does not have."""

    async def choose() -> None:
        client = await Client(server.url).open()
        await client.until(lambda: client.iteration >= 0)
        client.wire.patch(client.found("title", "Run length (observations used)")["id"], value="x" * 50_000)
        await asyncio.sleep(2)
        crowd.clients.append(client)

    crowd, before = Crowd(server.url), server.log_bytes()
    crowd.do(choose())
    crowd.leave()
    return {"log_bytes": server.log_bytes() - before}


def parent_killed(server: Target) -> dict[str, Any]:
    """kill -9 of the parent of two processes: whether they hold their ports."""
    with server.another("--num-procs", "2") as many:
        workers = psutil.Process(many.popen.pid).children()
        many.popen.kill()
        left = psutil.wait_procs(workers, timeout=10)[1]
        for worker in left:
            worker.kill()
        return {"workers": len(workers), "left_after_10_s": len(left)}


ATTACKS: dict[str, Callable[[Target], dict[str, Any]]] = {
    attack.__name__: attack
    for attack in (
        *(runs_a_module_of_python, runs_a_module_of_the_folder, ends_all_processes, joins_anothers_session),
        *(token_that_unfolds, idle_connections, bodies, lying_reader, roots_without_end, value_of_no_menu),
        parent_killed,
    )
}
