"""The audit log: what administrators did, chained so that no entry can be changed unnoticed.

Each entry's hash is the SHA-256 of the previous entry's hash (32 zero bytes for the first),
followed by ``[sequence, day, actor, act, details]`` as JSON in ASCII without spaces, where details
is the text that is stored. Whoever changes, removes or inserts an entry has to change all later
hashes too, and so the last one, the head. A log that was cut off, or written anew as a whole, is
detected only by comparing with a head that was kept elsewhere.

Entries name keys, applications, metrics and days. They contain no free text, because nothing can be
deleted from a chain.
"""

from __future__ import annotations

import enum
import hashlib
import json
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HASH_BYTES: Final = 32
GENESIS: Final = bytes(HASH_BYTES)
"""The hash before the first entry's."""

COMMAND_LINE: Final = "command line"
"""The actor of commands that work on the store itself, without a key."""

SERVER: Final = "server"
"""The actor of what a server does by itself, as its settings say."""


class AuditAction(enum.StrEnum):
    """The acts that are recorded. Their names never change, because logs are kept."""

    KEY_CREATE = "key.create"
    KEY_ROTATE = "key.rotate"
    KEY_REVOKE = "key.revoke"
    KEY_EXCLUDE = "key.exclude"
    KEY_INCLUDE = "key.include"
    KEY_ACKNOWLEDGE = "key.acknowledge"
    KEY_WITHDRAW = "key.withdraw"
    METRICS_REGISTER = "metrics.register"
    METRICS_REMOVE = "metrics.remove"
    REMOTE_PUBLISH = "remote.publish"
    LIST_SAVE = "list.save"
    LIST_DELETE = "list.delete"
    VIEW_SAVE = "view.save"
    VIEW_DELETE = "view.delete"
    LINK_CREATE = "link.create"
    LINK_REVOKE = "link.revoke"
    ANNOTATION_WRITE = "annotation.write"
    ANNOTATION_DELETE = "annotation.delete"
    RETENTION_SET = "retention.set"
    STORE_MIGRATE = "store.migrate"
    STORE_BACKUP = "store.backup"
    STORE_RESTORE = "store.restore"
    STORE_EXPORT = "store.export"
    STORE_IMPORT = "store.import"
    STORE_SALVAGE = "store.salvage"
    STORE_LOAD = "store.load"
    STORE_SIMULATE = "store.simulate"
    STORE_READER = "store.reader"
    ASIDE_RETRY = "set-aside.retry"
    ASIDE_DISCARD = "set-aside.discard"
    PAGE_SIGN_IN = "page.sign-in"
    PAGE_SIGN_OUT = "page.sign-out"


class AuditRecord(NamedTuple):
    """An act that is to be recorded.

    Attributes:
        day: days since 1970-01-01; no finer time is recorded.
        actor: the id of a key, `COMMAND_LINE` or `SERVER`.
        act: what was done.
        details: what it was done to, as JSON data.
    """

    day: int
    actor: str
    act: AuditAction
    details: Mapping[str, Any]


class AuditEntry(NamedTuple):
    """One entry of the log, as it is stored.

    Attributes:
        sequence: 1 for the first entry, 2 for the second, and so on.
        day: days since 1970-01-01.
        actor: the id of a key, `COMMAND_LINE` or `SERVER`.
        act: one of `AuditAction`, or an act of a later version.
        details: JSON, as text.
        hash: the hash of the previous entry's hash and of all fields above.
    """

    sequence: int
    day: int
    actor: str
    act: str
    details: str
    hash: bytes

    def digest(self, previous: bytes) -> bytes:
        """The hash that this entry must have after the entry with the hash `previous`."""
        # Somebody may have changed the table by other means: a field may have any type.
        content = json.dumps(self[:-1], separators=(",", ":"), default=repr)
        return hashlib.sha256(previous + content.encode("ascii")).digest()


class ChainBreak(NamedTuple):
    """The first place where a log is not what was written.

    Attributes:
        sequence: of the entry that was changed or is missing.
        reason: what is wrong, in words.
    """

    sequence: int
    reason: str


class ChainCheck(NamedTuple):
    """The result of checking a log.

    Attributes:
        entries: how many entries, from the first on, are as they were written.
        head: the hash of the last of these; `GENESIS` if there are none.
        broken: where the chain breaks, or None.
        kept_head_at: the sequence of the entry whose hash was kept elsewhere; None if no entry has
            this hash.
    """

    entries: int
    head: bytes
    broken: ChainBreak | None
    kept_head_at: int | None


def record_from_command_line(act: AuditAction, **details: Any) -> AuditRecord:
    """The record of an act that a command does today."""
    return AuditRecord(epoch_at(time.time()), COMMAND_LINE, act, details)


def canonical_json(details: Mapping[str, Any]) -> str:
    """Details as they are stored: equal data give the same text."""
    return json.dumps(details, sort_keys=True, separators=(",", ":"))


def next_entry(last: AuditEntry | None, record: AuditRecord) -> AuditEntry:
    """The entry that records an act.

    Args:
        last: the last entry of the log, or None if it has none.
        record: the act.
    """
    sequence, previous = (0, GENESIS) if last is None else (last.sequence, last.hash)
    details = canonical_json(record.details)
    entry = AuditEntry(
        sequence + 1, record.day, record.actor, record.act.value, details, hash=GENESIS
    )
    return entry._replace(hash=entry.digest(previous))


def verify_chain(entries: Iterable[AuditEntry], kept: bytes | None = None) -> ChainCheck:
    """Checks a log from its first entry to its last, or to where its chain breaks.

    Args:
        entries: all of them, by sequence.
        kept: a head that was kept elsewhere: the log must contain it.
    """
    sequence, head, kept_head_at = 0, GENESIS, 0 if kept == GENESIS else None
    for entry in entries:
        reason = None
        if entry.sequence != sequence + 1:
            reason = f"entry {sequence + 1} is missing: the next entry is {entry.sequence}"
        elif entry.hash != entry.digest(head):
            reason = f"entry {entry.sequence}, or its hash, was changed"
        if reason is not None:
            return ChainCheck(sequence, head, ChainBreak(sequence + 1, reason), kept_head_at)
        sequence, head = entry.sequence, entry.hash
        if head == kept:
            kept_head_at = sequence
    return ChainCheck(sequence, head, None, kept_head_at)
