"""Saved views: pages of metrics, with what was chosen there, that people keep under names."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Final, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode

from msgspec import Meta, Struct

from deniable_aggregator.answers.words import PERIOD_LENGTHS
from deniable_shared.characters import visible_constraint
from deniable_shared.errors import ParameterError

MOST_NAME_LETTERS: Final = 60
MOST_PLACE_LETTERS: Final = 8_000
"""Of an address: browsers and proxies take no much longer ones."""

_OF_DAYS: Final = ("period", "since", "until", "compare", "before", "by")
PARAMETERS: Final = (
    *_OF_DAYS,
    *("split", "why", "one", "other", "above", "below", "top", "sort", "follow"),
    *("segment", "version", "without_key", "list", "values"),
)
"""All that can be chosen on the page of a metric, as its address says it."""

APPLICATION: Final = "application"
"""Says whose page an address is, which a view knows without."""

_PATH: Final = re.compile(r"/metric/([^/?#]+)")
_EXAMPLE: Final = "/metric/theme?period=4-weeks"


class Place(NamedTuple):
    """The page of a metric, and what was chosen there.

    Attributes:
        metric: its name.
        chosen: names of `PARAMETERS` and values, in their order.
    """

    metric: str
    chosen: tuple[tuple[str, str], ...]

    @property
    def address(self) -> str:
        """Path and query, encoded anew: nothing of them leads elsewhere."""
        query = f"?{urlencode(self.chosen)}" if self.chosen else ""
        return f"/metric/{quote(self.metric, safe='')}{query}"


def read_place(address: str) -> Place:
    """Reads the address of the page of a metric.

    Args:
        address: path and query, such as "/metric/theme?period=4-weeks", without a host.

    Raises:
        ParameterError: if it is no such address, has a parameter that the page does not know, or is
            longer than `MOST_PLACE_LETTERS`.
    """
    path, _, query = address.partition("?")
    found = _PATH.fullmatch(path)
    metric = unquote(found[1]) if found else ""
    if not metric or "/" in metric or visible_constraint(metric) is not None:
        constraint = f"path and query of the page of a metric, such as {_EXAMPLE}"
        raise ParameterError("place", constraint, address[:100])
    if len(address) > MOST_PLACE_LETTERS:
        constraint = f"at most {MOST_PLACE_LETTERS:,} characters long"
        raise ParameterError("place", constraint, len(address))
    chosen = [each for each in parse_qsl(query.partition("#")[0]) if each[0] != APPLICATION]
    unknown = [name for name, _ in chosen if name not in PARAMETERS]
    if unknown:
        constraint = f"without parameters other than {', '.join(PARAMETERS)}"
        raise ParameterError("place", constraint, unknown[0][:100])
    return Place(metric, tuple(chosen))


def may_be_shared(place: Place) -> bool:
    """Whether people without a key may be shown a page: no strings that nobody listed."""
    return ("list", "found") not in place.chosen


def with_fixed_days(place: Place, *, since: str, until: str, before: str, by: str) -> Place:
    """The same page with days that stay, for people who may see no others.

    Args:
        place: the page.
        since: the first day, such as "2026-09-01".
        until: the last day.
        before: what they are compared with, such as "2026-08-01..2026-08-31"; empty for nothing.
        by: how long the periods are that are followed.

    Raises:
        ParameterError: if one of these is none.
    """
    named = [("since", since), ("until", until)]
    named += [("before", day) for day in before.split("..", 1)] if before else []
    for name, day in named:
        if not _is_day(day):
            raise ParameterError(name, "a day such as 2026-01-31", day[:100])
    if by not in PERIOD_LENGTHS:
        raise ParameterError("by", f"one of {', '.join(PERIOD_LENGTHS)}", by[:100])
    chosen = [each for each in place.chosen if each[0] not in _OF_DAYS]
    chosen += [("period", "own"), ("since", since), ("until", until), ("by", by)]
    chosen += [("compare", "own"), ("before", before)] if before else [("compare", "none")]
    return Place(place.metric, tuple(chosen))


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


class SavedView(Struct, kw_only=True):
    """A saved view.

    Attributes:
        name: of the view.
        place: path and query of its page; days such as the last four weeks move with time.
        saved: the day on which it got this address.
    """

    name: str
    place: str
    saved: date


class SavedViews(Struct, kw_only=True):
    """The saved views of an application.

    Attributes:
        application: whose views they are.
        views: by name.
    """

    application: str
    views: list[SavedView]


class SaveView(Struct, kw_only=True, forbid_unknown_fields=True):
    """A page that is to be saved as a view.

    Attributes:
        place: path and query of the page of a metric, such as "/metric/theme?period=4-weeks".
    """

    place: Annotated[str, Meta(min_length=1, max_length=MOST_PLACE_LETTERS)]
