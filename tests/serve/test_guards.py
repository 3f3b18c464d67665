"""A senseless message is one line in the log, a log has few lines, and a queue for pages is bounded."""

import asyncio
import logging
import time

import pytest

from pmdviz.knobs import Knobs
from pmdviz.serve import handlers
from pmdviz.serve.messages import Bucket
from tests.support.tables import looped


@pytest.fixture(autouse=True)
def _heard(monkeypatch):  # Bokeh 3.9.0 keeps the records of its loggers from pytest
    monkeypatch.setattr(logging.getLogger("bokeh"), "propagate", True)


@pytest.fixture
def said(caplog):
    handlers.filter_logs()
    handlers.filter_logs()
    logger = logging.getLogger(handlers.LOGGERS[0])
    assert sum(isinstance(one, handlers.RefusedMessages) for one in logger.filters) == 1

    def log(act):
        try:
            act()
        except Exception:
            logger.error("error handling message", exc_info=True)
        return caplog.records[-1]

    return log


def test_a_message_that_makes_no_sense_is_one_line_and_what_fails_in_our_own_code_stays_whole(said):
    record = said(lambda: {}["no such\nmessage"])
    assert record.getMessage() == r"a message was refused: KeyError: 'no such\nmessage'"
    assert record.exc_info is None and record.levelno == logging.WARNING
    record = said(lambda: Knobs.checked({"nothing": 1}))
    assert record.exc_info and record.levelno == logging.ERROR


@looped("name", ("bokeh.util.asyncio", "bokeh.util.tornado"))
def test_a_traceback_that_is_written_into_a_record_is_one_line_too(caplog, name):
    handlers.filter_logs()
    text = 'Traceback (most recent call last):\n  File "{}", line 1, in f\nValueError: ' + "x" * 5000 + "\n"
    logging.getLogger(name).error(text.format("/panel/reactive.py"))
    assert caplog.messages[-1].startswith("a message was refused: ValueError: xxx") and len(caplog.messages[-1]) < 300
    logging.getLogger(name).error(text.format(f"{handlers.HERE}/lab/live.py"))
    assert caplog.messages[-1].count("\n") == 3


def test_a_log_has_short_records_and_few_lines(monkeypatch):
    written = []

    class Kept(logging.Handler):
        def emit(self, record):
            written.append(self.format(record))

    kept, bounded = Kept(), handlers.BoundedLog()
    kept.addFilter(bounded)
    logger = logging.Logger("attacked")
    for handler in (kept, kept):
        logger.addHandler(handler)
    logger.error("Refusing websocket connection from Origin '%s'", "x" * 60_000)
    assert len(written) == 1 and len(written[0]) < 700 and "60," in written[0]
    try:
        raise ValueError("y" * 10**6)
    except ValueError:
        logger.exception("it failed")
    assert len(written[1]) < 1500 and "ValueError: yyy" in written[1]
    for k in range(1000):
        logger.warning("%s\n" * 3, k, k, k)
    assert sum(text.count("\n") + 1 for text in written) <= handlers.LINES_A_MINUTE
    monkeypatch.setattr(bounded, "_lines", Bucket(1, 10))
    logger.warning("later")
    assert "later (" in written[-1] and "left out" in written[-1]


def test_a_bucket_gives_what_it_has_and_asks_to_wait_for_the_rest(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(handlers.time, "monotonic", lambda: now[0])
    one = Bucket(2.0, 4.0)
    assert [one.take() for _ in range(5)] == [True] * 4 + [False]
    now[0] = 1.0
    assert one.take(2.0) and not one.take(0.1)
    assert one.owed(1.0) == 0.5 and one.owed(1.0) == 1.0
    now[0] = 100.0
    assert one.owed(4.0) == 0.0 and one.owed(1.0) == 0.5


# The queue of those who ask for pages: bounded, and for those who are there.


async def test_who_has_hung_up_and_who_comes_when_it_is_full_gets_nothing(monkeypatch):
    monkeypatch.setattr(handlers, "MOST_WAITING", 3)
    gate, order, here = asyncio.Event(), [], {"b": True}

    async def visit(name):
        async with handlers.turn(lambda: not here.get(name, True), bounded=True):
            order.append(name)
            await gate.wait()

    tasks = {name: asyncio.ensure_future(visit(name)) for name in "abcd"}
    await asyncio.sleep(0)
    with pytest.raises(handlers.Full):
        await visit("late")
    async with handlers.turn(lane=handlers.INSIDE):  # who is there already does not wait at the door
        order.append("tab")
    here["b"] = False
    gate.set()
    outcomes = await asyncio.gather(*tasks.values(), return_exceptions=True)
    assert order == ["a", "tab", "c", "d"] and [type(one) for one in outcomes if one] == [handlers.Gone]


async def test_pages_that_no_browser_keeps_use_up_their_share_of_the_loop(monkeypatch):
    monkeypatch.setattr(handlers, "PAID", (1e-9, 0.05))
    monkeypatch.setattr(handlers, "REST_S", 0.0)

    async def page():
        async with handlers.turn():
            time.sleep(0.03)
        return handlers.built()

    one = await page()
    assert handlers.may_build_ahead()
    one.keep(True)
    two = await page()
    assert handlers.may_build_ahead(), "the first one was paid back"
    one.keep(False)
    assert not handlers.may_build_ahead(), "closed at once"
    two.keep(True)
    assert handlers.may_build_ahead()


async def test_where_pages_were_in_vain_a_sender_who_hangs_up_soon_gets_none(monkeypatch):
    monkeypatch.setattr(handlers, "GRACE_S", 0.05)
    monkeypatch.setattr(handlers, "PAID", (0.2, -1.0))
    hung_up = []
    asyncio.get_running_loop().call_later(0.01, hung_up.append, True)
    with pytest.raises(handlers.Gone):
        async with handlers.turn(lambda: bool(hung_up), bounded=True):
            pytest.fail("a page was built")
