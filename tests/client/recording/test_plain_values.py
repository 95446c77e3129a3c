"""Flags, numbers and text of other types than Python's own: taken for what they are, or refused."""

from __future__ import annotations

import datetime
import enum
import math
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import deniable
from deniable import Outcome
from deniable._recording.plain_values import as_plain
from deniable.testing import RecordingClient

REGISTRY = deniable.parse_registry("""
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 8.0
epsilon_lifetime = 80.0
[metrics.late]
type = "boolean"
epsilon = 1.0
[metrics.theme]
type = "category"
values = ["light", "dark"]
complete = true
epsilon = 1.0
[metrics.startup]
type = "number"
range = [0, 30]
epsilon = 1.0
[metrics.flight]
type = "attributes"
epsilon = 1.0
attributes = { carrier = { values = ["AA", "DL"], other = "another" }, late = "boolean" }
""")
LARGEST = sys.float_info.max


class Theme(enum.Enum):
    DARK = "dark"


class TextTheme(str, enum.Enum):  # noqa: UP042  as older programs write it
    DARK = "dark"


class NewTheme(enum.StrEnum):
    DARK = "dark"


class Seconds(enum.IntEnum):
    THREE = 3


class Unreadable(Fraction):
    def __float__(self):
        raise RuntimeError("the value is 4711")


def record(metric, value):
    with RecordingClient(REGISTRY, strict=False) as client:
        return client.record(metric, value)


TAKEN = [
    ("late", np.bool_(True)),
    ("theme", np.str_("dark")),
    ("theme", TextTheme.DARK),
    ("theme", NewTheme.DARK),
    ("startup", Seconds.THREE),
    *(("startup", kind(3)) for kind in (np.int8, np.uint64, np.float16, np.float32, np.float64)),
    ("startup", np.longdouble(3)),
    ("startup", Decimal("2.5")),
    ("startup", Fraction(5, 2)),
    ("startup", Decimal("1e999999")),
    ("flight", {"carrier": np.str_("AA"), "late": np.bool_(False)}),
]
REFUSED = [
    *(("late", value) for value in (1, 0.0, None, "true", np.int64(1), Decimal(1), np.array(True))),
    *(("theme", value) for value in (None, b"dark", Theme.DARK, np.bytes_(b"dark"), 1)),
    *(("startup", value) for value in (True, np.bool_(True), None, "3", 3j, b"3", np.array([3.0]))),
    *(("startup", kind("nan")) for kind in (float, np.float32, Decimal)),
    *(("startup", kind("inf")) for kind in (float, np.float32, Decimal)),
    ("startup", Decimal("snan")),
    ("startup", np.timedelta64(3, "s")),
    ("startup", datetime.timedelta(seconds=3)),
    ("startup", Unreadable(3)),
    ("flight", {"carrier": "AA", "late": np.int64(1)}),
]


@pytest.mark.parametrize(("metric", "value"), TAKEN, ids=repr)
def test_what_is_plainly_meant_is_taken(metric, value):
    assert record(metric, value) is Outcome.RECORDED


@pytest.mark.parametrize(("metric", "value"), REFUSED, ids=repr)
def test_what_would_have_to_be_guessed_is_refused(metric, value):
    assert record(metric, value) is Outcome.OUTSIDE_DOMAIN


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.bool_(False), False),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float32(0.1), 0.10000000149011612),
        (Decimal("0.1"), 0.1),
        (Fraction(1, 3), 1 / 3),
        (Decimal("-1e400"), -LARGEST),
        (Decimal("1e-999999999"), 0.0),
        (Fraction(10**400, 3), LARGEST),
        (Fraction(-(10**400)), -LARGEST),
        ({"late": np.bool_(True)}, {"late": True}),
    ],
)
def test_a_value_keeps_its_meaning_and_all_the_digits_of_a_float(value, plain):
    made = as_plain(value)
    assert made == plain
    assert type(made) is type(plain)


def test_a_number_that_is_none_stays_none():
    assert math.isnan(as_plain(np.float16("nan")))
    assert math.isinf(as_plain(np.float32("inf")))
    assert as_plain(Decimal("inf")) == Decimal("inf")


def test_programs_without_numpy_and_with_a_broken_one_are_no_different(monkeypatch):
    for module in (None, object()):
        monkeypatch.setitem(sys.modules, "numpy", module)
        assert as_plain(Decimal(3)) == 3.0
        assert as_plain(b"dark") == b"dark"


@pytest.mark.parametrize(
    ("metric", "value", "words"),
    [
        ("late", 1, "late takes a bool: True or False"),
        ("theme", Theme.DARK, "theme takes a str; of an Enum member pass its value"),
        ("startup", datetime.timedelta(3), "of a timedelta pass its total_seconds()"),
        ("startup", Unreadable(4711), "startup takes a finite number"),
    ],
)
def test_a_strict_client_says_what_to_pass_and_not_what_was_passed(metric, value, words):
    with (
        RecordingClient(REGISTRY) as client,
        pytest.raises(deniable.RecordError, match="outside_domain") as raised,
    ):
        client.record(metric, value)
    error = raised.value
    assert words in str(error)
    assert error.__context__ is None
    assert not {"4711", "dark", "3"} & set(str(error).split())
