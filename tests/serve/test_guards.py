"""A senseless message is one line in the log; an error of our own keeps its traceback."""

import logging

import pytest

from pmdviz.knobs import Knobs
from pmdviz.serve import guards
from tests.support.tables import looped


@pytest.fixture
def said(caplog):
    guards.install()
    guards.install()
    logger = logging.getLogger(guards.LOGGERS[0])
    assert sum(isinstance(one, guards.CompactLogFilter) for one in logger.filters) == 1

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
    assert guards.one_question_mark("/?a=1?b=2??") == "/?a=1%3Fb=2%3F%3F"
    assert guards.one_question_mark("/") == "/"


@looped("name", guards.CALLBACK_LOGGERS)
def test_a_traceback_that_is_written_into_a_record_is_one_line_too(caplog, name):
    guards.install()
    text = 'Traceback (most recent call last):\n  File "{}", line 1, in f\nValueError: ' + "x" * 5000 + "\n"
    logging.getLogger(name).error(text.format("/panel/reactive.py"))
    assert caplog.messages[-1].startswith("a message was refused: ValueError: xxx") and len(caplog.messages[-1]) < 300
    logging.getLogger(name).error(text.format(f"{guards.HERE}/lab/live.py"))
    assert caplog.messages[-1].count("\n") == 3
