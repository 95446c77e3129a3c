"""Strings that nobody listed: the question, how far its answer is, and what was found."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.answers.questions import DaysQuery
from deniable_aggregator.answers.words import Count, VersionStart
from deniable_shared.value_lists import ALL_DIFFERENT, first_repeated

DiscoveryState = Literal["waiting", "running", "done", "failed"]


class DiscoveryQuery(DaysQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where popular strings are looked for.

    Attributes:
        since: the first day; left out for the first with reports.
        until: the last day, inclusive; left out for the last with reports.
        without_key: a key whose reports are left out: its id, the first letters of its id, or its
            label. May come several times.
        version: one version of the metric: its id, or the first letters of it. Left out for the
            newest version with reports.
    """

    version: VersionStart | None = None


MOST_HINTS: Final = 200_000
MOST_DENIED: Final = 1_000
LONGEST_LINE: Final = 256
"""No metric finds longer strings."""

Line = Annotated[str, Meta(min_length=1, max_length=LONGEST_LINE)]


class DiscoveryLists(Struct, frozen=True, forbid_unknown_fields=True):
    """What whoever asks knows of the strings.

    Attributes:
        hints: strings that may be among them; these are found at smaller shares. Longer ones than
            can be given cannot be found.
        deny: strings that are not shown, or patterns of them with * and ?.
    """

    hints: Annotated[tuple[Line, ...], Meta(max_length=MOST_HINTS)] = ()
    deny: Annotated[tuple[Line, ...], Meta(max_length=MOST_DENIED)] = ()

    def __post_init__(self) -> None:
        """Checks both lists.

        Raises:
            ValueError: if one has a text twice, or an empty one is denied, which fits every string.
        """
        for name in ("hints", "deny"):
            if (repeated := first_repeated(getattr(self, name))) is not None:
                raise ValueError(f"{name} must be {ALL_DIFFERENT}, got {repeated!r}")
        if not all(line.strip() for line in self.deny):
            raise ValueError("deny must hold no empty text")


class Discovery(Struct, kw_only=True, omit_defaults=True):
    """A question about strings that nobody listed, and how far its answer is.

    Attributes:
        id: names it.
        metric: the metric's name.
        application: whose metric it is.
        asked: the day on which it was asked first.
        since: the first day that it is about.
        until: the last.
        state: whether it waits for another run to end, runs, is done or has failed.
        stage: what the run is doing; empty unless it runs.
        progress: how much of the run is done, from 0 to 1.
        without_key: keys whose reports are left out, as they were named.
        version: the version of the metric that was named, or null.
        current: of a result, whether nothing has changed since that it depends on, such as
            reports, excluded keys or the deny list. Ask again where it is false.
        failure: why there is no result, and what to do.
        result: what was found.
    """

    id: Count
    metric: str
    application: str
    asked: date
    since: date
    until: date
    state: DiscoveryState
    stage: str
    progress: float
    without_key: list[str]
    version: VersionStart | None
    current: bool | None = None
    failure: str | None = None
    result: Answer | None = None


class Discoveries(Struct):
    """What was asked about the strings of a metric.

    Attributes:
        metric: its name.
        application: whose metric it is.
        discoveries: newest first, without results; an earlier result of the same question is not
            kept.
    """

    metric: str
    application: str
    discoveries: list[Discovery]
