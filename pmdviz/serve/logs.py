"""Logs that a visitor cannot fill: short records, few lines a minute, one line for a message that was refused.

An error in a file of this package keeps its traceback.
"""

from __future__ import annotations

import logging
import traceback
import warnings
from pathlib import Path

from pmdviz.errors import words_of
from pmdviz.serve.turns import Bucket

LONGEST = 500  # characters of a record without its traceback
MOST_FRAMES = 20  # of a traceback: the last ones
LINES_A_MINUTE = 50  # and as many at once: no minute has more than twice as many
LOGGERS = (
    *("bokeh.server.protocol_handler", "bokeh.server.views.ws", "panel.io.document", "panel.reactive"),
    *("tornado.application", "bokeh.util.asyncio", "bokeh.util.tornado"),
)
HERE = str(Path(__file__).parents[1])
PASSES = ("__main__.py", "server_internals.py", "messages.py", "handlers.py", "prebuilt.py")  # every message does
CLOSED = "Failed sending message as connection was closed"  # of a tab: dozens at every reload


class RefusedMessages(logging.Filter):
    """Puts a line in place of a traceback that goes through no file of this package; drops records of closed tabs."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is about anything but a closed tab."""
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        text = record.getMessage()
        if error is not None and not _through_ours(error):
            words = f"{type(error).__name__}: {words_of(error)}"
        elif text.startswith("Traceback") and HERE not in text:  # by Bokeh 3.10, of a callback
            words = text.strip().splitlines()[-1]
        else:
            return record.msg != CLOSED
        record.msg, record.args = f"a message was refused: {words[:200]}", ()
        record.exc_info = record.exc_text = None
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


def _through_ours(error: BaseException) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return any(frame.filename.startswith(HERE) for frame in frames if not frame.filename.endswith(PASSES))


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


_refused, _bounded = RefusedMessages(), BoundedLog()


def install() -> None:
    """Filter what the server's loggers say, and bound what the handlers of this process write. Twice does no harm."""
    # A browser describes a model that came later than the page once more when it first speaks of it.
    warnings.filterwarnings("ignore", message="reference already known", category=UserWarning)
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_refused)
    for logger in [logging.root, *logging.root.manager.loggerDict.values()]:
        for handler in getattr(logger, "handlers", ()):
            handler.addFilter(_bounded)
    if logging.lastResort is not None:
        logging.lastResort.addFilter(_bounded)
