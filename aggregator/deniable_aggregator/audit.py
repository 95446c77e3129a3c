"""The audit log: what administrators did, chained so that no entry can be changed unnoticed.

Each entry's hash is the SHA-256 of the hash before it (32 zero bytes before the first), followed
by ``[sequence, day, actor, act, details]`` as JSON in ASCII without spaces, where details is the
text that is stored. Whoever changes, removes or inserts an entry would have to change all hashes
after it too, and with them the head, the last hash, which can be kept elsewhere. A log that was
cut off, or written anew as a whole, can only be told by a head that was kept.

Entries name keys, applications, metrics and days: nothing that people write freely, because what
is in a chain cannot be taken out of it again.
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
"""What stands before the first entry."""

COMMAND_LINE: Final = "command line"
"""Who acts on the store itself, with no key."""

SERVER: Final = "server"
"""What a server does as it was configured to."""


class AuditAction(enum.StrEnum):
    """What is recorded. Names are never changed: logs are kept."""

    KEY_CREATE = "key.create"
    KEY_ROTATE = "key.rotate"
    KEY_REVOKE = "key.revoke"
    KEY_EXCLUDE = "key.exclude"
    KEY_INCLUDE = "key.include"
    METRICS_REGISTER = "metrics.register"
    REMOTE_PUBLISH = "remote.publish"
    RETENTION_SET = "retention.set"
    STORE_MIGRATE = "store.migrate"
    STORE_BACKUP = "store.backup"
    STORE_RESTORE = "store.restore"
    STORE_EXPORT = "store.export"
    STORE_IMPORT = "store.import"
    ASIDE_RETRY = "set-aside.retry"
    ASIDE_DISCARD = "set-aside.discard"


class AuditRecord(NamedTuple):
    """What is to be recorded of an act.

    Attributes:
        day: days since 1970-01-01; nothing finer.
        actor: the id of a key, `COMMAND_LINE` or `SERVER`.
        act: what was done.
        details: to what; JSON data.
    """

    day: int
    actor: str
    act: AuditAction
    details: Mapping[str, Any]


class AuditEntry(NamedTuple):
    """One entry, as it is stored.

    Attributes:
        sequence: 1 for the first; no number is left out.
        day: days since 1970-01-01.
        actor: the id of a key, `COMMAND_LINE` or `SERVER`.
        act: one of `AuditAction`, or of a later version.
        details: JSON, as text.
        hash: over the hash before it and everything above.
    """

    sequence: int
    day: int
    actor: str
    act: str
    details: str
    hash: bytes

    def digest(self, previous: bytes) -> bytes:
        """The hash that this entry must have after the entry with the hash `previous`."""
        # What somebody put into a table past this program may be of any type.
        content = json.dumps(self[:-1], separators=(",", ":"), default=repr)
        return hashlib.sha256(previous + content.encode("ascii")).digest()


class ChainBreak(NamedTuple):
    """Where a chain does not hold.

    Attributes:
        sequence: of the first entry that is not what was written.
        reason: what is wrong, in words.
    """

    sequence: int
    reason: str


class ChainCheck(NamedTuple):
    """What the check of a log has found.

    Attributes:
        entries: how many were found to be as they were written.
        head: the hash of the last of these; `GENESIS` if there is none.
        broken: where the chain does not hold, or None.
        kept: the sequence of the entry with the hash that was kept, or None if there is none.
    """

    entries: int
    head: bytes
    broken: ChainBreak | None
    kept_head_at: int | None


def record_from_command_line(act: AuditAction, **details: Any) -> AuditRecord:
    """The record of an act at the command line, now."""
    return AuditRecord(epoch_at(time.time()), COMMAND_LINE, act, details)


def canonical_json(details: Mapping[str, Any]) -> str:
    """Details as they are stored: the same data, the same text."""
    return json.dumps(details, sort_keys=True, separators=(",", ":"))


def next_entry(last: AuditEntry | None, record: AuditRecord) -> AuditEntry:
    """The entry of a record after the last one, or as the first."""
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
    sequence, head, found = 0, GENESIS, 0 if kept == GENESIS else None
    for entry in entries:
        reason = None
        if entry.sequence != sequence + 1:
            reason = f"entry {sequence + 1} is missing, {entry.sequence} is the next that is there"
        elif entry.hash != entry.digest(head):
            reason = f"entry {entry.sequence}, or its hash, was changed"
        if reason is not None:
            return ChainCheck(sequence, head, ChainBreak(sequence + 1, reason), found)
        sequence, head = entry.sequence, entry.hash
        if head == kept:
            found = sequence
    return ChainCheck(sequence, head, None, found)
