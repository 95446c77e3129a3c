"""The table of registered metrics."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Column, Connection, Row, bindparam, func, insert, select, update

from deniable_aggregator.answers.registry_history import (
    HistoryEntry,
    RegistryHistory,
    registered_entry,
    removed_entry,
)
from deniable_aggregator.keeping.audit import COMMAND_LINE, AuditAction, AuditRecord
from deniable_aggregator.keeping.renaming import require_told_apart
from deniable_aggregator.keeping.store.declared import (
    append_history,
    applications_with_history,
    read_history,
)
from deniable_aggregator.keeping.store.expiry import Removal, remove_metric
from deniable_aggregator.keeping.store.keys import append, lock_audit_log
from deniable_aggregator.keeping.store.schema import audit, metrics, removed_metrics
from deniable_shared.errors import RegistryError
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deniable_aggregator.keeping.store.base import Database
    from deniable_shared.registry import Metric


LIMITS: Final = ("expires", "retention_days", "minimum_devices", "renamed")
"""What a registry says of a metric beside its spec, and that limits what is done with reports, or
says how answers tell its values."""

MAX_VERSIONS: Final = 10_000
"""Of all metrics of one application. Every server holds them in memory, and lists show them all."""


@dataclass(frozen=True)
class Registration:
    """A metric as it was registered.

    Attributes:
        spec: how reports are decoded and estimated.
        description: what is collected, in a sentence.
        owners: who is responsible for it.
        expires: the last day on which devices report it, or None.
        retention_days: its tallies are deleted after so many days; None for those of the server.
        minimum_devices: a string that is found is shown if at least so many devices surely have
            it; None unless strings are discovered.
        renamed: the earlier names of values, each with the one that it has now.
        relay_required: whether reports are taken through a relay alone.
        registered: the day on which it was first registered, in days since 1970-01-01.
    """

    spec: Spec
    description: str
    owners: tuple[str, ...]
    expires: date | None
    retention_days: int | None
    minimum_devices: int | None
    renamed: Mapping[str, str]
    relay_required: bool
    registered: int


class UnreadableMetric(NamedTuple):
    """A metric whose spec this version cannot read: a server of a later version registered it.

    Attributes:
        digest: of its spec.
        application: the application that it belongs to.
    """

    digest: bytes
    application: str
    name: str


class RegisteredMetrics(NamedTuple):
    """All registered metrics.

    Attributes:
        readable: those that this version can count, by name.
        unreadable: the others.
        removed: the applications of versions that were removed and not registered again, by digest.
    """

    readable: list[Registration]
    unreadable: list[UnreadableMetric]
    removed: dict[bytes, str]


class Metrics:
    """Metrics by the digest of their spec. A spec never changes; descriptions and owners may."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def register(
        self, registrations: Iterable[Metric], today: int, actor: str = COMMAND_LINE
    ) -> list[Spec]:
        """Adds metrics, and updates what is said about those that exist.

        All versions of a metric are kept for as long as the one that was registered last, and their
        strings are shown if as many devices have them.

        Args:
            today: days since 1970-01-01.
            actor: who registers them, for the audit log.

        Returns:
            The specs that are new.

        Raises:
            RegistryError: if an application would have more than `MAX_VERSIONS`, or answers would
                tell two values of a version by one name; nothing is registered then.
        """
        new: list[Spec] = []
        rows: list[dict[str, Any]] = []
        changes: list[dict[str, Any]] = []
        touched: list[dict[str, Any]] = []
        acts: list[tuple[str, HistoryEntry]] = []
        renamed: dict[tuple[str, str], str] = {}
        retention: dict[tuple[str, str], int | None] = {}
        minimum: dict[tuple[str, str], int | None] = {}
        with self._database.write() as connection:
            lock_audit_log(connection)
            known_versions = _known_metrics(connection)
            number = _last_number(connection)
            for metric in registrations:
                spec = metric.spec
                about = {
                    "description": metric.description,
                    "owners": json.dumps(metric.owners),
                    "expires": None if metric.expires is None else metric.expires.isoformat(),
                    "retention_days": metric.retention_days,
                    "minimum_devices": metric.minimum_devices,
                    "renamed": json.dumps(dict(metric.renamed)),
                    "relay_required": int(metric.relay_required),
                }
                if known_versions.get(spec.digest) == about:
                    continue
                retention[spec.application, spec.name] = metric.retention_days
                minimum[spec.application, spec.name] = metric.minimum_devices
                renamed[spec.application, spec.name] = str(about["renamed"])
                touched.append(
                    {
                        "application": spec.application,
                        "name": spec.name,
                        "digest": spec.digest.hex(),
                        "new": spec.digest not in known_versions,
                        "retention_days": metric.retention_days,
                        "renamed": dict(metric.renamed),
                    }
                )
                if spec.digest in known_versions:
                    changes.append({"changed": spec.digest, **about})
                    if any(known_versions[spec.digest][limit] != about[limit] for limit in LIMITS):
                        acts.append(
                            (spec.application, registered_entry("limits changed", metric, today))
                        )
                    continue
                acts.append((spec.application, registered_entry("registered", metric, today)))
                new.append(spec)
                rows.append({"number": number + len(new), **_row(spec, about, today)})
            if rows:
                _require_room(connection, new)
                connection.execute(insert(metrics), rows)
            if changes:
                condition = metrics.c.digest == bindparam("changed")
                connection.execute(update(metrics).where(condition), changes)
            _share_among_versions(connection, metrics.c.retention_days, retention)
            # A version whose strings are not discovered says nothing of the others.
            limits = {metric: least for metric, least in minimum.items() if least is not None}
            _share_among_versions(connection, metrics.c.minimum_devices, limits)
            _share_among_versions(connection, metrics.c.renamed, renamed)
            _require_told_apart(connection, renamed)
            append_history(connection, acts)
            if touched:
                record = AuditRecord(
                    today, actor, AuditAction.METRICS_REGISTER, {"metrics": touched}
                )
                append(connection, record)
        return new

    def remove(
        self, application: str, name: str, today: int, actor: str = COMMAND_LINE
    ) -> Removal | None:
        """Removes all versions of a metric, with their reports.

        Counted reports are in no answer from now on; maintenance deletes them step by step.

        Args:
            today: days since 1970-01-01.
            actor: who removes it, for the audit log.

        Returns:
            What was removed; None if there is no such metric.
        """
        with self._database.write() as connection:
            lock_audit_log(connection)
            removal = remove_metric(connection, application, name)
            if removal is not None:
                details = {
                    "application": application,
                    "name": name,
                    "digests": [digest.hex() for digest in removal.digests],
                    "reports": removal.reports,
                }
                append_history(connection, [(application, removed_entry(name, today))])
                append(connection, AuditRecord(today, actor, AuditAction.METRICS_REMOVE, details))
        return removal

    def history(self, application: str) -> RegistryHistory:
        """Every version of an application's metrics that was ever registered, in a chain.

        Raises:
            StoreUnavailableError: if the store cannot be read, or an entry is damaged.
        """
        with self._database.look_up() as connection:
            return read_history(connection, application)

    def applications(self) -> list[str]:
        """The applications that ever had a metric, by name.

        Raises:
            StoreUnavailableError: if the store cannot be read.
        """
        with self._database.look_up() as connection:
            return applications_with_history(connection)

    def revision(self) -> int:
        """A number that grows whenever a metric is registered, changed or removed."""
        # Whoever does either writes it into the audit log, in the same transaction.
        with self._database.look_up() as connection:
            last: int | None = connection.execute(select(func.max(audit.c.sequence))).scalar_one()
        return last or 0

    def all(self, specs: Mapping[bytes, Spec] = MappingProxyType({})) -> RegisteredMetrics:
        """Every metric of every application, by name; its versions as they were registered.

        Args:
            specs: specs by digest that need not be decoded again.

        Raises:
            StoreUnavailableError: if the store cannot be read.
        """
        with self._database.look_up() as connection:
            rows = connection.execute(select(metrics)).all()
            gone = select(removed_metrics.c.digest, removed_metrics.c.application)
            removed = {bytes(digest): removed_at for digest, removed_at in connection.execute(gone)}
        for row in rows:
            removed.pop(row.digest, None)
        metrics_found = RegisteredMetrics([], [], removed)
        # Not by the database, whose sorter would write all specs into a file.
        for row in sorted(rows, key=lambda row: (row.name, row.number)):
            registration = _registration(row, specs.get(row.digest))
            if registration is None:
                metrics_found.unreadable.append(
                    UnreadableMetric(row.digest, row.application, row.name)
                )
            else:
                metrics_found.readable.append(registration)
        return metrics_found


def _row(spec: Spec, about: Mapping[str, str | int | None], today: int) -> dict[str, Any]:
    return {
        "digest": spec.digest,
        "application": spec.application,
        "name": spec.name,
        "spec": spec.canonical_text(),
        "epsilon": spec.mechanism.epsilon,
        "registered": today,
        **about,
    }


def _require_room(connection: Connection, new: Iterable[Spec]) -> None:
    """Refuses versions of which an application would have too many.

    Raises:
        RegistryError: naming the application and how many it has.
    """
    for application, added in Counter(spec.application for spec in new).items():
        query = select(func.count()).where(metrics.c.application == application)
        before = connection.execute(query).scalar_one()
        if before + added > MAX_VERSIONS:
            raise RegistryError(
                [
                    f"{application} must have at most {MAX_VERSIONS:,} versions of metrics, got "
                    f"{added:,} new ones beside {before:,} registered before. If the registry is "
                    "generated, generate the same metrics each time."
                ]
            )


def _require_told_apart(connection: Connection, renamed: Mapping[tuple[str, str], str]) -> None:
    """Refuses new names by which two values of a registered version would be one.

    Args:
        renamed: by application and name, as JSON.

    Raises:
        RegistryError: naming the version and its values.
    """
    for (application, name), text in renamed.items():
        names = json.loads(text)
        if not names:
            continue
        of_metric = metrics.c.application == application, metrics.c.name == name
        texts = connection.execute(select(metrics.c.spec).where(*of_metric)).scalars()
        require_told_apart(filter(None, map(_readable, texts)), names)


def _readable(text: str) -> Spec | None:
    """A version; None of one that a later version of this server registered, or that is damaged."""
    try:
        return Spec.from_canonical_text(text)
    except (ValueError, TypeError):
        return None


def _known_metrics(connection: Connection) -> dict[bytes, dict[str, Any]]:
    """The descriptive columns of each metric, by digest."""
    about = (
        metrics.c.description,
        metrics.c.owners,
        metrics.c.expires,
        metrics.c.retention_days,
        metrics.c.minimum_devices,
        metrics.c.renamed,
        metrics.c.relay_required,
    )
    rows = connection.execute(select(metrics.c.digest, *about)).mappings()
    return {row["digest"]: {column.name: row[column.name] for column in about} for row in rows}


def _last_number(connection: Connection) -> int:
    """The largest number that a metric has or had; its tallies may still be there."""
    columns = metrics.c.number, removed_metrics.c.number
    return max(connection.execute(select(func.max(column))).scalar_one() or 0 for column in columns)


def _share_among_versions(
    connection: Connection, column: Column[Any], values: Mapping[tuple[str, str], int | str | None]
) -> None:
    """Gives all versions of metrics what was said of the one that was registered.

    Args:
        values: by application and name.
    """
    versions = select(metrics.c.application, metrics.c.name, column).distinct()
    changes = [
        {"of": application, "called": name, column.name: values[application, name]}
        for application, name, value in connection.execute(versions)
        if values.get((application, name), value) != value
    ]
    if changes:
        conditions = metrics.c.application == bindparam("of"), metrics.c.name == bindparam("called")
        connection.execute(update(metrics).where(*conditions), changes)


def _registration(row: Row[Any], spec: Spec | None) -> Registration | None:
    try:
        return Registration(
            spec=Spec.from_canonical_text(row.spec) if spec is None else spec,
            description=row.description,
            owners=tuple(json.loads(row.owners)),
            expires=None if row.expires is None else date.fromisoformat(row.expires),
            retention_days=row.retention_days,
            minimum_devices=row.minimum_devices,
            renamed=json.loads(row.renamed),
            relay_required=bool(row.relay_required),
            registered=row.registered,
        )
    except (ValueError, TypeError):
        # Written by a later version, or damaged. Guessing would debias with the wrong noise.
        return None
