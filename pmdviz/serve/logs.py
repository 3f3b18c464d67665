"""Logs that nobody can fill: records are short, and so many lines a minute are written at most."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator

from pmdviz.serve.bucket import Bucket

LONGEST = 500  # characters of a record without its traceback
MOST_FRAMES = 20  # of a traceback: the last ones
LINES_A_MINUTE = 50  # and as many at once: no minute has more than twice as many


class BoundedLog(logging.Filter):
    """For every handler: shortens a record, and drops it where too many lines were written of late."""

    def __init__(self) -> None:
        super().__init__()
        self._lines, self._dropped = Bucket(LINES_A_MINUTE / 60, LINES_A_MINUTE), 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written; one that has been seen by another handler is not counted again."""
        if not hasattr(record, "pmdviz_written"):
            _shorten(record)
            lines = 1 + record.getMessage().count("\n") + (record.exc_text or "").count("\n")
            record.pmdviz_written = self._lines.take(min(lines, LINES_A_MINUTE))
            if not record.pmdviz_written:
                self._dropped += 1
            elif self._dropped:
                record.msg, record.args = f"{record.getMessage()} ({self._dropped} records before were left out)", ()
                self._dropped = 0
        return record.pmdviz_written


def _shorten(record: logging.LogRecord) -> None:
    text = record.getMessage()
    if len(text) > LONGEST:
        record.msg, record.args = f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]} ({len(text):,} characters)", ()
    if isinstance(record.exc_info, tuple) and record.exc_info[1] is not None:
        frames = traceback.format_exception(*record.exc_info, limit=-MOST_FRAMES, chain=False)
        record.exc_text = "".join([*frames[:-1], frames[-1][:LONGEST]]).rstrip()
    record.stack_info = None


def _handlers() -> Iterator[logging.Handler]:
    """Those of all loggers."""
    for logger in [logging.root, *logging.root.manager.loggerDict.values()]:
        yield from getattr(logger, "handlers", ())
    if logging.lastResort is not None:
        yield logging.lastResort


_bounded = BoundedLog()


def install() -> None:
    """Bound what the handlers of this process write. Twice does no harm."""
    for handler in _handlers():
        handler.addFilter(_bounded)
