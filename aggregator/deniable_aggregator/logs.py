"""What the server prints: lines for people, or JSON.

No line has a time finer than a day, an address, a user agent, a token or a byte of a report.
Whatever collects the lines, such as the system's journal, adds its own time, so no line is about
one upload that was accepted. Of an exception its type and its place are printed, never its
message; of a library's records only who logged them and where, unless the library is known to say
nothing else.
"""

from __future__ import annotations

import json
import logging
import time
import traceback
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.periods import SECONDS_PER_EPOCH, epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

OURS: Final = "deniable_aggregator"
TRUSTED: Final = frozenset({OURS, "_granian"})
"""Loggers whose messages are printed. Granian's are about its own processes."""

FOREIGN_LEVEL: Final = "WARNING"


def dictconfig(format_: str, level: str) -> dict[str, Any]:
    """What `logging.config.dictConfig` makes of these settings; it replaces granian's own.

    Args:
        format_: ``text`` or ``json``.
        level: ``debug``, ``info``, ``warning`` or ``error``.
    """
    ours = {"handlers": ["lines"], "level": level.upper(), "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": TextLines if format_ == "text" else JsonLines}},
        "handlers": {
            "lines": {
                "class": "logging.StreamHandler",
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


class TextLines(logging.Formatter):
    """``deniable: MESSAGE``, with the level in between where it is not "info"."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the places of an exception below it."""
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        return f"deniable: {level}{_message(record)}{_exception(record)}"


class JsonLines(logging.Formatter):
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
                "message": f"{_message(record)}{_exception(record)}",
            }
        )


def _message(record: logging.LogRecord) -> str:
    if record.name in TRUSTED:
        return record.getMessage()
    # What a library quotes in its messages is not known; who it is and where, is.
    return f"{record.name} logged at {record.module}:{record.lineno}"


def _exception(record: logging.LogRecord) -> str:
    if not record.exc_info or record.exc_info[0] is None:
        return ""
    kind, _, place = record.exc_info
    return f": {kind.__name__}\n{''.join(traceback.format_tb(place))}".rstrip()
