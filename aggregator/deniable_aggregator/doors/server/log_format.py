"""The lines that the server logs, as text or as JSON.

No line has a time finer than a day, an address, a user agent, a token or a byte of a report. No
line is about one accepted upload, as the system's journal adds a time to each line. Of an
exception the type and the place are logged, never the message. Of a library's record the logger
and the place are logged, and its message only if the library is in `TRUSTED`.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.characters import visible_lines
from deniable_shared.periods import SECONDS_PER_EPOCH, epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

OURS: Final = "deniable_aggregator"
TRUSTED: Final = frozenset({OURS, "_granian"})
"""Loggers whose messages are logged in full. Granian's are about its own processes."""

FOREIGN_LEVEL: Final = "WARNING"
INTERVAL_SECONDS: Final = 60.0


def logging_config(format_: str, level: str) -> dict[str, Any]:
    """The argument of `logging.config.dictConfig`; it replaces granian's own.

    Args:
        format_: ``text`` or ``json``.
        level: ``debug``, ``info``, ``warning`` or ``error``.
    """
    ours = {"handlers": ["lines"], "level": level.upper(), "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": TextFormatter if format_ == "text" else JsonFormatter}},
        "filters": {"repeats": {"()": RepeatFilter}},
        "handlers": {
            "lines": {
                "class": "logging.StreamHandler",
                "filters": ["repeats"],
                "formatter": "lines",
                "stream": "ext://sys.stderr",
            }
        },
        "root": {"handlers": ["lines"], "level": FOREIGN_LEVEL},
        "loggers": {
            OURS: ours,
            "_granian": {"handlers": ["lines"], "propagate": False},
            # A line for each request: never, whatever the level.
            "granian.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
        },
    }


class RepeatFilter(logging.Filter):
    """Lets one warning of each kind pass in an interval, with the number of those left out before.

    While a store is unreachable every commit fails, and one line says as much as thousands.

    Args:
        monotonic: a clock in seconds.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._said: dict[object, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record passes."""
        if record.levelno < logging.WARNING:
            return True
        # Records of one place are of one kind, though their messages may hold different numbers.
        kind = (record.levelno, record.pathname, record.lineno, _template(record))
        now = self._monotonic()
        with self._lock:
            since, left_out = self._said.get(kind, (-math.inf, 0))
            if now - since < INTERVAL_SECONDS:
                self._said[kind] = (since, left_out + 1)
                return False
            self._said[kind] = (now, 0)
        record.left_out = left_out
        return True


class TextFormatter(logging.Formatter):
    """``deniable: MESSAGE``, with the level in between where it is not "info"."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the places of an exception below it."""
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        message = visible_lines(_message(record))
        return f"deniable: {level}{message}{_left_out(record)}{_exception(record)}"


class JsonFormatter(logging.Formatter):
    """One JSON object in each line: ``day``, ``level``, ``logger``, ``message``.

    Args:
        clock: seconds since 1970; only its day is used.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._clock = clock

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        day = time.gmtime(epoch_at(self._clock()) * SECONDS_PER_EPOCH)
        return json.dumps(
            {
                "day": time.strftime("%Y-%m-%d", day),
                "level": record.levelname.lower(),
                "logger": record.name,
                "message": f"{_message(record)}{_left_out(record)}{_exception(record)}",
            }
        )


def _message(record: logging.LogRecord) -> str:
    if record.name in TRUSTED:
        return record.getMessage()
    # A library's message may quote anything.
    return f"{record.name} logged at {record.module}:{record.lineno}"


def _template(record: logging.LogRecord) -> object:
    """What tells records of one place apart; None for libraries, which may log anything."""
    if record.name != OURS:
        return None
    # Error types and places are strings; numbers and errors of a database are not.
    words = record.args if isinstance(record.args, tuple) else ()
    return record.msg, *(word for word in words if isinstance(word, str))


def _left_out(record: logging.LogRecord) -> str:
    number = getattr(record, "left_out", 0)
    return f" ({number:,} more like this were left out)" if number else ""


def _exception(record: logging.LogRecord) -> str:
    if not record.exc_info or record.exc_info[0] is None:
        return ""
    kind, _, place = record.exc_info
    return f": {kind.__name__}\n{''.join(traceback.format_tb(place))}".rstrip()
