"""Registered versions, each of which names the one before it.

The chain of an application's registered versions, and what a registry file is compared with it.

Each entry's hash is the SHA-256 of the hash before it (64 zeros before the first), as 64
hexadecimal digits, followed by ``[application,sequence,day,act,metric,version,summary,expires,``
``retention_days,minimum_devices,renamed]`` as JSON in ASCII without spaces; days are texts such as
``2026-11-23``. Whoever changes, removes or inserts an entry has to change all later hashes too, and
so the last one, the head. A chain that was cut off, or written anew as a whole, is detected only by
comparing with a head that somebody kept.

Unlike the audit log this chain names nobody and belongs to one application, so that it can be
public. It holds the digest of each spec and not its descriptions, and no values but those that were
renamed: a text can be deleted
from a store, and nothing can be deleted from a chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.answers.words import Count, VersionId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.registry import Metric, Registry
    from deniable_shared.spec import Spec


HistoryAct = Literal["registered", "limits changed", "removed"]


class HistoryEntry(Struct, kw_only=True, frozen=True):
    """One act on the registry of an application.

    Attributes:
        sequence: 1 for the first entry, 2 for the second, and so on.
        day: on which it happened.
        act: ``registered``: a version was registered for the first time, or again after a removal.
            ``limits changed``: the version stayed, and one of the fields from `expires` on changed.
            ``removed``: all versions of the metric were removed, with their reports.
        metric: its name.
        version: the id of the version, the SHA-256 of its spec; null if all were removed.
        summary: type, mechanism, epsilon and how often a device reports; empty if removed.
        expires: the last day on which devices report the metric, or null.
        retention_days: after so many days its sums are deleted, or null for those of the server.
        minimum_devices: a string that is found is shown if so many devices surely have it, or null.
        renamed: the earlier names of values, each with the one by which answers tell it.
        hash: the SHA-256, in hexadecimal digits, of the hash before and of all of these fields.
    """

    sequence: Count
    day: date
    act: HistoryAct
    metric: str
    version: VersionId | None
    summary: str
    expires: date | None
    retention_days: int | None
    minimum_devices: int | None
    renamed: dict[str, str]
    hash: str


class RegistryHistory(Struct, kw_only=True):
    """The history of an application's registry.

    Attributes:
        application: whose registry it is.
        entries: in order.
        head: the hash of the last entry; 64 zeros if there is none.
    """

    application: str
    entries: list[HistoryEntry]
    head: str


GENESIS: Final = "0" * 64
"""The hash before the first entry's."""

Standing = Literal["newest", "earlier", "removed", "unknown"]
"""Of a metric of a file: its newest version, an earlier one, a removed one, never registered."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What the history says of one metric of a registry file.

    Attributes:
        metric: its name.
        version: the digest of its spec in the file, in hexadecimal digits.
        standing: see `Standing`.
        entry: that registered this version last; None if none did.
    """

    metric: str
    version: str
    standing: Standing
    entry: HistoryEntry | None


class BrokenHistoryError(ValueError):
    """A history is not what was written. The text says which entry was changed or is missing."""


def registered_entry(act: HistoryAct, metric: Metric, epoch: int) -> HistoryEntry:
    """The entry for a version that is registered, or whose limits change; without its place.

    Args:
        act: ``registered`` or ``limits changed``.
        metric: as the registry has it.
        epoch: the day, in days since 1970-01-01.
    """
    return HistoryEntry(
        sequence=0,
        day=day_of(epoch),
        act=act,
        metric=metric.spec.name,
        version=metric.spec.digest.hex(),
        summary=summary(metric.spec),
        expires=metric.expires,
        retention_days=metric.retention_days,
        minimum_devices=metric.minimum_devices,
        renamed=dict(metric.renamed),
        hash=GENESIS,
    )


def removed_entry(name: str, epoch: int) -> HistoryEntry:
    """The entry for a metric whose versions are all removed; without its place.

    Args:
        name: of the metric.
        epoch: the day, in days since 1970-01-01.
    """
    return HistoryEntry(
        sequence=0,
        day=day_of(epoch),
        act="removed",
        metric=name,
        version=None,
        summary="",
        expires=None,
        retention_days=None,
        minimum_devices=None,
        renamed={},
        hash=GENESIS,
    )


def summary(spec: Spec) -> str:
    """Type, mechanism, epsilon and how often a device reports, in a line.

    It stays as it is: entries that were written hold it, and exports are checked against it.
    """
    epsilon = f"epsilon {spec.mechanism.epsilon:.6g}"
    if spec.mechanism.epsilon_permanent is not None:
        epsilon += f", {spec.mechanism.epsilon_permanent:.6g} for all reports of a value"
    every = "once" if spec.every == "once" else f"every {spec.every}"
    return f"{spec.type} by {spec.mechanism.name}, {epsilon}, {every}"


def chain_entry(application: str, last: HistoryEntry | None, entry: HistoryEntry) -> HistoryEntry:
    """An entry in its place after the last one.

    Args:
        application: whose history it is.
        last: the last entry, or None if there is none.
        entry: without its place.
    """
    sequence, previous = (0, GENESIS) if last is None else (last.sequence, last.hash)
    placed = replace(entry, sequence=sequence + 1)
    return replace(placed, hash=_hash(application, previous, placed))


def check_history(history: RegistryHistory, kept: str | None = None) -> None:
    """Checks a history from its first entry to its last.

    Args:
        history: whole.
        kept: a head that was kept elsewhere: the history must contain it.

    Raises:
        BrokenHistoryError: if an entry or the head is not what was written, or the kept head is not
            in it.
    """
    head, heads = GENESIS, {GENESIS}
    for number, entry in enumerate(history.entries, 1):
        if entry.sequence != number:
            raise BrokenHistoryError(
                f"entry {number} is missing: the next entry is {entry.sequence}"
            )
        if entry.hash != _hash(history.application, head, entry):
            raise BrokenHistoryError(f"entry {number}, or its hash, was changed")
        head = entry.hash
        heads.add(head)
    if history.head != head:
        raise BrokenHistoryError(f"the last entry is missing: the head is {history.head}")
    if kept is not None and kept.lower() not in heads:
        raise BrokenHistoryError(
            f"no entry has the hash {kept}: the history was cut off, or written anew, or the hash "
            "is that of another history"
        )


def compare(history: RegistryHistory, registry: Registry) -> list[Compared]:
    """What the history says of each metric of a registry file, in the file's order.

    Args:
        history: of the same application.
        registry: what an application ships.
    """
    return [_compared(history.entries, metric.spec) for metric in registry.metrics.values()]


def _compared(entries: Sequence[HistoryEntry], spec: Spec) -> Compared:
    version = spec.digest.hex()
    of_metric = [each for each in entries if each.metric == spec.name]
    registered = [each for each in of_metric if each.act == "registered"]
    own = next((each for each in reversed(registered) if each.version == version), None)
    standing: Standing = "earlier"
    if own is None:
        standing = "unknown"
    elif any(each.act == "removed" and each.sequence > own.sequence for each in of_metric):
        standing = "removed"
    elif own is registered[-1]:
        standing = "newest"
    return Compared(spec.name, version, standing, own)


def _hash(application: str, previous: str, entry: HistoryEntry) -> str:
    content = [
        application,
        entry.sequence,
        entry.day.isoformat(),
        entry.act,
        entry.metric,
        entry.version,
        entry.summary,
        entry.expires and entry.expires.isoformat(),
        entry.retention_days,
        entry.minimum_devices,
        entry.renamed,
    ]
    import hashlib  # not for questions and their help
    import json

    written = json.dumps(content, separators=(",", ":"))
    return hashlib.sha256(f"{previous}{written}".encode("ascii")).hexdigest()
