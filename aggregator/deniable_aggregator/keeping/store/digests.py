"""The table of digests: what people were sent of which period, and what is still to be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import delete, insert, select, update

from deniable_aggregator.keeping.store.schema import digests

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from sqlalchemy import ColumnElement

    from deniable_aggregator.keeping.store.base import Database

ALONE: Final = "digests"
"""One process at a time sends."""

KEPT_DAYS: Final = 100
"""So long it is remembered what was sent."""


class Digest(NamedTuple):
    """One message.

    Attributes:
        application: whose metrics it is about.
        every: how long its period is: day or week.
        since: the first day of that, in days since 1970-01-01.
        channel: how it is sent.
    """

    application: str
    every: str
    since: int
    channel: str


class Digests:
    """What was sent, and what is still to be sent."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def alone(self) -> AbstractContextManager[None]:
        """Lets one process at a time send, also if one is killed.

        Raises:
            InUseError: if another one does.
        """
        return self._database.alone(ALONE)

    def open(self, wanted: Sequence[Digest], now: float) -> dict[Digest, tuple[int, int]]:
        """Those that are still to be sent, with their attempts and when the next one is due.

        Args:
            wanted: all that should be sent some day.
            now: seconds since 1970; when those are due that nobody has tried to send.
        """
        columns = digests.c
        query = select(
            columns.application, columns.every, columns.since, columns.channel,
            columns.attempts, columns.not_before, columns.ended,
        )  # fmt: skip
        with self._database.look_up() as connection:
            known = {Digest(*row[:4]): row[4:] for row in connection.execute(query)}
        states = {each: known.get(each, (0, int(now), None)) for each in wanted}
        return {each: (state[0], state[1]) for each, state in states.items() if state[2] is None}

    def begin(self, digest: Digest, attempts: int, not_before: float) -> None:
        """Writes down that it is about to be sent, so that no crash makes it be sent without end.

        Args:
            digest: the message.
            attempts: how many there are with this one.
            not_before: when it is tried again if this one fails, seconds since 1970.
        """
        values = {"attempts": attempts, "not_before": int(not_before)}
        with self._database.write() as connection:
            if not connection.execute(update(digests).where(_is(digest)).values(values)).rowcount:
                connection.execute(insert(digests).values(**digest._asdict(), **values))

    def end(self, digest: Digest, how: str) -> None:
        """Writes down that nothing more is to be sent, and forgets what is long past.

        Args:
            digest: one that was begun.
            how: "sent", "nothing to say" or "given up".
        """
        with self._database.write() as connection:
            connection.execute(update(digests).where(_is(digest)).values(ended=how))
            connection.execute(delete(digests).where(digests.c.since < digest.since - KEPT_DAYS))


def _is(digest: Digest) -> ColumnElement[bool]:
    return (
        (digests.c.application == digest.application)
        & (digests.c.every == digest.every)
        & (digests.c.since == digest.since)
        & (digests.c.channel == digest.channel)
    )
