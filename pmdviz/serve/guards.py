"""Messages and addresses that make no sense: one line in the log, a plain answer, and no traceback."""

from __future__ import annotations

import logging
import traceback
import warnings
from pathlib import Path
from typing import Any

from tornado.web import RequestHandler

from pmdviz.errors import words_of

LOGGERS = ("bokeh.server.protocol_handler", "bokeh.server.views.ws", "panel.reactive", "tornado.application")
HERE = str(Path(__file__).parents[1])
PASSES = (
    "__main__.py",
    "bokeh_internals.py",
    "browser_messages.py",
    "handlers.py",
    "prebuilt.py",
)  # through which every message goes
CLOSED = "Failed sending message as connection was closed"
CALLBACK_LOGGERS = ("bokeh.util.asyncio", "bokeh.util.tornado")
CLOSED_LOGGERS = ("bokeh.server.views.ws", "panel.io.document")


class ClosedTabs(logging.Filter):
    """Drops what is said of each message to a tab that has just been closed: dozens at every reload."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is about anything else."""
        return record.msg != CLOSED


class WrittenTraceback(logging.Filter):
    """The same for Bokeh 3.10, which writes the traceback of a callback into the text of its record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Never drops a record."""
        text = record.getMessage()
        if text.startswith("Traceback") and HERE not in text:
            record.msg, record.args = f"a message was refused: {text.strip().splitlines()[-1][:200]}", ()
        return True


class CompactLogFilter(logging.Filter):
    """Puts a line in place of a traceback that goes through no file of this package; what fails in ours stays whole."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Never drops a record."""
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if error is not None and not _through_ours(error):
            words = words_of(error)[:200]
            record.msg, record.args = f"a message was refused: {type(error).__name__}: {words}", ()
            record.exc_info = record.exc_text = None
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


def _through_ours(error: BaseException) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return any(frame.filename.startswith(HERE) for frame in frames if not frame.filename.endswith(PASSES))


def install() -> None:
    """Filter what the server's loggers say, once in a process."""
    # A browser describes a model that came later than the page once more when it first speaks of it.
    warnings.filterwarnings("ignore", message="reference already known", category=UserWarning)
    for kind, names in (
        (CompactLogFilter, LOGGERS),
        (WrittenTraceback, CALLBACK_LOGGERS),
        (ClosedTabs, CLOSED_LOGGERS),
    ):
        for name in names:
            logger = logging.getLogger(name)
            if not any(isinstance(one, kind) for one in logger.filters):
                logger.addFilter(kind())


class NoSuchAddress(RequestHandler):
    """Answers 404 to whatever is asked."""

    def prepare(self) -> None:
        """Before any method."""
        self.set_status(404)
        self.finish("There is nothing at this address.")


def reject_bad_addresses(application: Any) -> None:
    """Keep addresses with a zero byte, which no file system takes, from the handlers of files."""
    application.add_handlers(r".*", [(r".*%00.*", NoSuchAddress)])


def one_question_mark(uri: str) -> str:
    """An address whose question marks after the first are written as %3F: Panel reads it up to the second one."""
    path, mark, query = uri.partition("?")
    return path + mark + query.replace("?", "%3F")
