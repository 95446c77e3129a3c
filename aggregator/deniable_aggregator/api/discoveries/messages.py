"""What the server and the process that looks for strings write to each other: lines of JSON."""

from __future__ import annotations

import msgspec

# msgspec reads the annotations.
from deniable_aggregator.answers.discoveries import DiscoveryQuery  # noqa: TC001
from deniable_aggregator.answers.words import Count  # noqa: TC001


class Job(msgspec.Struct, frozen=True):
    """What the process is to do; the first line that it reads.

    Attributes:
        store: the path or URL of the store.
        memory_bytes: how much memory it may take.
        accept_days: for how many days a day stays open for reports.
        today: the server's day, in days since 1970-01-01.
        application: whose metric it is.
        metric: the metric's name.
        since: the first day that the question is about, in days since 1970-01-01.
        query: the question.
        hints: strings that may be there.
        deny: all strings that are not to be shown, those of the server, too.
    """

    store: str
    memory_bytes: Count
    accept_days: Count
    today: int
    application: str
    metric: str
    since: int
    query: DiscoveryQuery
    hints: list[str]
    deny: list[str]


class Progress(msgspec.Struct, frozen=True, tag=True):
    """How far the process is.

    Attributes:
        stage: what it is doing, in a few words.
        progress: how much is done, in [0, 1].
    """

    stage: str
    progress: float


class Failed(msgspec.Struct, frozen=True, tag=True):
    """Why there is no result.

    Attributes:
        why: for whoever asked.
    """

    why: str


class Finished(msgspec.Struct, frozen=True, tag=True):
    """The result.

    Attributes:
        result: the JSON of an `Answer`.
    """

    result: msgspec.Raw


Message = Progress | Failed | Finished
"""A line that the process writes."""
