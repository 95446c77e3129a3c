"""Answers that a client may keep: what tells whether one is still right, and for how long.

The tag of an answer (RFC 9110, section 8.8.3) is a hash of all that the answer depends on. It is
worked out from the stamps of the days, so a question whose answer the client has costs no estimate.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from deniable_aggregator.answers.questions import SeriesQuery
from deniable_aggregator.api.formats import VARY
from deniable_aggregator.dates import epoch_of
from deniable_shared import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.questions import ValueLists
    from deniable_aggregator.api.metric_reader import AskedMetric
    from deniable_aggregator.dates import DayRange
    from deniable_aggregator.store import Store

KEPT_SECONDS: Final = 60
"""So long a client need not ask again about closed days.

They change where an administrator excludes a key, retries reports that were set aside, or deletes
old days: an answer that is kept may be so many seconds behind.
"""

_TAG_BYTES: Final = 16


class Validity(NamedTuple):
    """How long an answer stays right.

    Attributes:
        tag: the same as long as nothing has changed that the answer depends on.
        closed: whether all its days are closed for reports.
    """

    tag: str
    closed: bool

    def headers(self) -> dict[str, str]:
        """The headers of the answer."""
        kept = f"max-age={KEPT_SECONDS}" if self.closed else "no-cache"
        return {
            "ETag": f'"{self.tag}"',
            "Cache-Control": f"private, {kept}",
            "Vary": VARY,
        }


def validity_of(
    store: Store,
    asked: AskedMetric,
    ranges: Sequence[DayRange],
    question: tuple[msgspec.Struct, ValueLists],
    *,
    today: int,
    accept_days: int,
) -> Validity:
    """How long the answer to a question stays right.

    Args:
        store: the store.
        asked: the metric.
        ranges: the days.
        question: how to answer, and the values that it is about.
        today: the server's day, in days since 1970-01-01.
        accept_days: for how many days a day stays open for reports.
    """
    digests = [entry.spec.digest for entry in asked.entries]
    last = max(epoch_of(days.until) for days in ranges)
    closed = last < today - accept_days
    depends_on = (
        __version__,
        asked.application,
        asked.name,
        type(question[0]).__name__,
        msgspec.json.encode(question),
        # Answers about other days say which of them are still open.
        None if closed else (today, accept_days),
        [
            (each.spec.digest, each.description, each.registered)
            for each in (entry.registration for entry in asked.entries)
        ],
        [
            (key.id, key.label, key.excluded)
            for key in store.keys.all()
            if key.application == asked.application
        ],
        sorted(store.tallies.first_days(digests, asked.without).items()),
        store.rolled.stamp(digests),
        [each for each in store.inbox.backlog(digests) if each.is_left_out],
        # Only series say what happened when.
        store.annotations.all(asked.application) if isinstance(question[0], SeriesQuery) else (),
        [
            sorted(store.tallies.stamps(digest, epoch_of(days.since), epoch_of(days.until)).items())
            for digest in digests
            for days in ranges
        ],
    )
    tag = hashlib.blake2b(repr(depends_on).encode(), digest_size=_TAG_BYTES).hexdigest()
    return Validity(tag, closed)
