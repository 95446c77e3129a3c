"""The table of archived files, and the reports that no archive has."""

from __future__ import annotations

import secrets
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import func, insert, select, update

from deniable_aggregator.keeping.store.batch import TakenError, replace_parts
from deniable_aggregator.keeping.store.encoding import mark_archived, unpack_reports
from deniable_aggregator.keeping.store.merging import ReportCounter, awaits_archive, merge
from deniable_aggregator.keeping.store.parts import NewPart, StoredPart, key_ids, read_bodies
from deniable_aggregator.keeping.store.schema import archive, archived, epochs, metrics
from deniable_aggregator.keeping.store.settling import parts_of_day

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from deniable_aggregator.keeping.store.base import Database

STORE_ID_BYTES: Final = 8


class ArchivedFile(NamedTuple):
    """A file of reports.

    Attributes:
        application: whose reports it has.
        digest: of their spec.
        epoch: their day.
        number: 0, or higher for reports that came after the file before.
        size: its length in bytes.
        sha256: of its content.
    """

    application: str
    metric: str
    digest: bytes
    epoch: int
    number: int
    reports: int
    size: int
    sha256: bytes


_COLUMNS: Final = ("epoch", "number", "reports", "size", "sha256")


class Archive:
    """What an archive has of a store, and what it lacks: the reports of closed days.

    A part of a tally in the form of reports waits for the archive, unless it is marked as archived.
    The mark and the row of the file that has the reports are written in one transaction.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def alone(self) -> AbstractContextManager[None]:
        """Lets one process at a time write files.

        Raises:
            StoreUnavailableError: if another process does.
        """
        return self._database.alone("archive")

    def store_id(self) -> str:
        """The name that the files of this store have: random, and the same for ever."""
        with self._database.write() as connection:
            name = connection.execute(select(archive.c.store)).scalar_one_or_none()
            if name is None:
                name = secrets.token_hex(STORE_ID_BYTES)
                connection.execute(insert(archive).values(store=name))
        return name

    def closed_days(self) -> list[int]:
        """The closed days that may have reports for the archive."""
        query = select(epochs.c.epoch).where(epochs.c.key.is_(None), epochs.c.settled.is_(None))
        with self._database.look_up() as connection:
            return list(connection.execute(query.order_by(epochs.c.epoch)).scalars())

    def waiting(self, epoch: int) -> dict[bytes, list[StoredPart]]:
        """The parts of a day that wait for the archive, by digest."""
        parts_by_version: defaultdict[bytes, list[StoredPart]] = defaultdict(list)
        with self._database.read() as connection:
            for digest, part in parts_of_day(connection, epoch):
                if awaits_archive(part.form):
                    parts_by_version[digest].append(part)
        return dict(parts_by_version)

    def read(self, parts: Sequence[StoredPart]) -> tuple[list[tuple[str, bytes]], dict[int, bytes]]:
        """The reports of parts.

        Returns:
            Pairs of the id of a key and reports, one after the other; and the parts as they are
            stored, by id, for `add`.

        Raises:
            StoreUnavailableError: if another process has changed one of them; to be tried again.
            ValueError: if a part is damaged.
        """
        with self._database.read() as connection:
            ids = key_ids(connection)
            bodies = read_bodies(connection, parts)
        reports = [
            (ids[part.where.key], unpack_reports(bodies[part.part]))
            for part in parts
            if part.part in bodies
        ]
        return reports, bodies

    def next_number(self, digest: bytes, epoch: int) -> int:
        """How many files there are of a spec and day."""
        query = (
            select(func.count())
            .join_from(metrics, archived, metrics.c.number == archived.c.metric)
            .where(metrics.c.digest == digest, archived.c.epoch == epoch)
        )
        with self._database.look_up() as connection:
            return connection.execute(query).scalar_one()

    def add(
        self,
        counter: ReportCounter,
        file: ArchivedFile,
        parts: Sequence[StoredPart],
        bodies: Mapping[int, bytes],
    ) -> bool:
        """Writes that a complete file has the reports of parts, which get their final form.

        Returns:
            False if another process has changed one of them; then nothing has changed.
        """
        by_slice = defaultdict(list)
        for part in parts:
            body = mark_archived(bodies[part.part])
            by_slice[part.where].append(NewPart(part.reports, body, part.largest))
        new = [
            (where, merged)
            for where, parts in by_slice.items()
            for merged in merge(counter, parts, final=True)
        ]
        row = {name: getattr(file, name) for name in _COLUMNS}
        row |= {"metric": parts[0].where.metric, "listed": 0}
        try:
            with self._database.write() as connection:
                replace_parts(connection, parts, new)
                connection.execute(insert(archived).values(row))
        except TakenError:
            return False
        return True

    def unlisted_days(self) -> list[int]:
        """The days with files that are not known to be in the day's manifest."""
        query = select(archived.c.epoch).where(archived.c.listed == 0).distinct()
        with self._database.look_up() as connection:
            return sorted(connection.execute(query).scalars())

    def files(self, epoch: int) -> list[ArchivedFile]:
        """The files of a day, by digest and number."""
        spec = metrics.c.application, metrics.c.name, metrics.c.digest
        query = (
            select(*spec, *(archived.c[name] for name in _COLUMNS))
            .join_from(archived, metrics, metrics.c.number == archived.c.metric)
            .where(archived.c.epoch == epoch)
            .order_by(metrics.c.digest, archived.c.number)
        )
        with self._database.read() as connection:
            return [ArchivedFile(*row) for row in connection.execute(query)]

    def mark_listed(self, epoch: int) -> None:
        """Writes that the manifest of a day has all of its files."""
        with self._database.write() as connection:
            connection.execute(update(archived).where(archived.c.epoch == epoch).values(listed=1))
