"""The queue of those who ask for pages: bounded, for those who are there, slower where nobody wants the pages."""

import asyncio
import time

import pytest

from pmdviz.serve import handlers as turns


async def test_who_has_hung_up_and_who_comes_when_it_is_full_gets_nothing(monkeypatch):
    monkeypatch.setattr(turns, "MOST_WAITING", 3)
    gate, order, here = asyncio.Event(), [], {"b": True}

    async def visit(name):
        async with turns.turn(lambda: not here.get(name, True), bounded=True):
            order.append(name)
            await gate.wait()

    tasks = {name: asyncio.ensure_future(visit(name)) for name in "abcd"}
    await asyncio.sleep(0)
    with pytest.raises(turns.Full):
        await visit("late")
    async with turns.turn(lane=turns.INSIDE):  # who is there already does not wait at the door
        order.append("tab")
    here["b"] = False
    gate.set()
    outcomes = await asyncio.gather(*tasks.values(), return_exceptions=True)
    assert order == ["a", "tab", "c", "d"] and [type(one) for one in outcomes if one] == [turns.Gone]


async def gap(wanted):
    """Seconds between two pages, the first of which takes 0.1 s, where pages of late were wanted or not."""
    for is_wanted in wanted:
        turns.built().wanted = is_wanted
    async with turns.turn():
        until = time.monotonic() + 0.1
        while time.monotonic() < until:
            pass
    began = time.monotonic()
    async with turns.turn():
        return time.monotonic() - began


async def test_pages_that_nobody_wants_make_room_for_those_who_play(monkeypatch):
    monkeypatch.setattr(turns, "REST_S", 0.001)
    assert await gap([False] * turns.RECENT) >= 0.9 * 0.1 * turns.IN_VAIN
    rest = turns._queue().rest
    assert rest(100.0) == turns.LONGEST_REST_S and rest(0.0) == turns.REST_S
    for number in range(turns.RECENT + 1):
        for page, wanted in zip(turns._queue().recent, [False] * number + [True] * turns.RECENT, strict=False):
            page.wanted = wanted
        assert rest(0.5) == max(turns.REST_S, min(4.0, 2.0 * max(0, min(number, turns.RECENT) - 1) / 5))


async def test_pages_that_browsers_close_at_once_make_others_wait_for_a_while(monkeypatch):
    queue = turns._queue()
    for _ in range(turns.RECENT):
        turns.built().wanted = True  # the next browsers have theirs
        assert queue.rest(0.5) == pytest.approx(max(turns.REST_S, 2.0 * queue.vain / 5))
        turns.closed_at_once()
    assert queue.rest(0.5) == 2.0
    monkeypatch.setattr(turns, "REMEMBERED_S", 0.0)
    assert queue.rest(0.5) == turns.REST_S


async def test_the_rest_ends_when_a_browser_comes(monkeypatch):
    for name in ("IN_VAIN", "LONGEST_REST_S"):
        monkeypatch.setattr(turns, name, 1e12)  # without a browser it never ends
    pages = [turns.built() for _ in range(turns.RECENT)]
    async with turns.turn():
        sum(range(10_000))
    asyncio.get_running_loop().call_later(0.05, lambda: [setattr(page, "wanted", True) for page in pages])
    async with asyncio.timeout(60), turns.turn():
        assert all(page.wanted for page in pages)


async def test_where_pages_were_in_vain_a_sender_who_hangs_up_soon_gets_none(monkeypatch):
    monkeypatch.setattr(turns, "GRACE_S", 0.05)
    for _ in range(turns.RECENT):
        turns.built()
    hung_up = []
    asyncio.get_running_loop().call_later(0.01, hung_up.append, True)
    with pytest.raises(turns.Gone):
        async with turns.turn(lambda: bool(hung_up), bounded=True):
            pytest.fail("a page was built")
