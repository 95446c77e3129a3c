from __future__ import annotations

import json
import logging
import logging.config
import sys

import pytest

from deniable_aggregator.doors.server.log_format import (
    INTERVAL_SECONDS,
    OURS,
    JsonFormatter,
    RepeatFilter,
    TextFormatter,
    logging_config,
)
from tests.aggregator.service import Clock

SECRET = "203.0.113.77"


def record(name=OURS, level=logging.ERROR, message="%d rows", args=(3,), failure=None):
    return logging.LogRecord(name, level, "/somewhere/module.py", 7, message, args, failure)


def failed():
    try:
        raise ValueError(SECRET)
    except ValueError:
        return sys.exc_info()


def test_a_line_for_people_says_who_speaks_and_how_bad_it_is():
    lines = TextFormatter()
    assert lines.format(record()) == "deniable: error: 3 rows"
    assert lines.format(record(level=logging.INFO)) == "deniable: 3 rows"


def test_a_name_from_a_store_cannot_act_on_a_terminal():
    line = TextFormatter().format(record(message="metric %s", args=("a\x1b[2J\u202e",)))
    assert line == "deniable: error: metric a<U+001B>[2J<U+202E>"


def test_a_line_of_json_has_the_day_and_nothing_finer():
    line = JsonFormatter(clock=Clock(20_000)).format(record(message="a\nb", args=()))
    assert json.loads(line) == {
        "day": "2024-10-04",
        "level": "error",
        "logger": OURS,
        "message": "a\nb",
    }
    assert "\n" not in line


@pytest.mark.parametrize("lines", [TextFormatter(), JsonFormatter()])
def test_an_exception_shows_its_type_and_place_and_not_its_message(lines):
    text = lines.format(record(failure=failed()))
    assert "ValueError" in text
    assert "test_log_format.py" in text
    assert SECRET not in text


@pytest.mark.parametrize("lines", [TextFormatter(), JsonFormatter()])
def test_what_a_library_quotes_is_not_repeated(lines):
    for message, args in ((f"request from {SECRET}", ()), ("request from %s", (SECRET,))):
        text = lines.format(record("asyncio", message=message, args=args))
        assert SECRET not in text
        assert "asyncio logged at module:7" in text


@pytest.fixture
def configured(capsys):
    """Configures logging as the server does, in this test only."""
    names = ("", OURS, "_granian", "granian.access")
    before = [(logging.getLogger(name), dict(vars(logging.getLogger(name)))) for name in names]

    def configure(format_, level):
        logging.config.dictConfig(logging_config(format_, level))
        return capsys

    yield configure
    for logger, state in before:
        vars(logger).update(state)
        logger.setLevel(state["level"])  # forgets which levels it has looked up


@pytest.mark.parametrize(
    ("level", "printed"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_less_important_lines_are_left_out(configured, level, printed):
    output = configured("json", level)
    ours = logging.getLogger(OURS)
    for each in ("debug", "info", "warning", "error"):
        getattr(ours, each)("said")
        logging.getLogger("granian.access").log(logging.INFO, "somebody asked")
    lines = output.readouterr().err.splitlines()
    assert [json.loads(line)["level"] for line in lines] == printed


def test_a_storm_of_one_warning_is_one_line_an_interval_with_their_number():
    now = [0.0]
    repeats = RepeatFilter(lambda: now[0])

    def printed(**options):
        each = record(**options)
        return TextFormatter().format(each) if repeats.filter(each) else None

    assert printed(args=(1,)) == "deniable: error: 1 rows"
    for number in range(2, 1_000):
        now[0] += INTERVAL_SECONDS / 1_000
        assert printed(args=(number,)) is None
    assert printed(message="something else", args=()) == "deniable: error: something else"
    now[0] = INTERVAL_SECONDS
    assert printed(args=(7,)) == "deniable: error: 7 rows (998 more like this were left out)"
    now[0] *= 2
    assert printed(args=(8,)) == "deniable: error: 8 rows"


def test_failures_of_two_kinds_at_one_place_are_both_told():
    repeats = RepeatFilter(lambda: 0.0)
    for kind in ("MemoryError", "ValueError"):
        assert repeats.filter(record(message="decoding failed: %s", args=(kind,)))
        assert not repeats.filter(record(message="decoding failed: %s", args=(kind,)))


def test_what_is_no_warning_is_never_left_out():
    repeats = RepeatFilter(lambda: 0.0)
    assert all(repeats.filter(record(level=logging.INFO)) for _ in range(3))


def test_what_a_library_makes_up_takes_no_memory():
    repeats = RepeatFilter(lambda: 0.0)
    for number in range(100):
        repeats.filter(record("library", message=f"request {number}", args=(str(number),)))
    assert len(repeats._said) == 1


def test_a_server_prints_a_storm_as_one_line(configured):
    output = configured("json", "info")
    for number in range(50):
        logging.getLogger(OURS).error("a commit of %d uploads failed: %s", number, OSError())
    (line,) = output.readouterr().err.splitlines()
    assert json.loads(line)["message"].startswith("a commit of 0 uploads")
