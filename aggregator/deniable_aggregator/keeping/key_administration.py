"""Administration of keys, the same for the command line and for HTTP.

A token is shown once, to whoever makes the key; neither the store nor the audit log has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from deniable_aggregator.answers.administration import (
    DEFAULT_OVERLAP_DAYS,
    MAX_OVERLAP_DAYS,
    Key,
)
from deniable_aggregator.answers.dates import day_of, format_day
from deniable_aggregator.answers.words import REPORTING_SCOPES
from deniable_aggregator.keeping.audit import AuditAction, AuditRecord
from deniable_aggregator.keeping.keys import IssuedKey, audit_details, issue_key
from deniable_aggregator.keeping.store.keys import KeyChange, StoredKey
from deniable_shared.errors import DeniableError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from deniable_aggregator.answers.words import Scope
    from deniable_aggregator.keeping.store import Store


class NoSuchKeyError(DeniableError):
    """There is no key with this id, or it belongs to another application."""


class KeyStateError(DeniableError):
    """The key is in a state that does not allow the change, such as revoked."""


class KeyRotation(NamedTuple):
    """A new key and the one that it replaces.

    Attributes:
        issued: the new key.
        old: the replaced key, with the day on which it ends.
    """

    issued: IssuedKey
    old: StoredKey


class KeyAdministrator:
    """Lists and changes keys for an administrator, and records every change in the audit log.

    Args:
        store: holds the keys.
        actor: the id of the administrator's key, or `audit.COMMAND_LINE`.
        today: days since 1970-01-01.
        application: the only application whose keys are listed and changed; None for all.
    """

    def __init__(
        self, store: Store, *, actor: str, today: int, application: str | None = None
    ) -> None:
        self._store = store
        self._actor = actor
        self._today = today
        self._application = application

    def all(self) -> list[StoredKey]:
        """All keys, also revoked and expired ones, by application, scope and id."""
        return [key for key in self._store.keys.all() if self._may_manage(key)]

    def create(
        self, *, scope: str, application: str, label: str = "", expires: int | None = None
    ) -> IssuedKey:
        """Makes a key; see `keys.issue_key` for the arguments.

        Raises:
            ParameterError: if an argument breaks its constraint.
            StoreUnavailableError: if the store cannot be written.
        """
        if self._application not in {None, application}:
            raise ParameterError("application", self._application or "", application)
        issued = issue_key(
            scope=scope, application=application, label=label, today=self._today, expires=expires
        )
        self._store.keys.add(issued.key, self._audit_record(AuditAction.KEY_CREATE, issued.key))
        return issued

    def rotate(
        self,
        key_id: str,
        *,
        overlap_days: int = DEFAULT_OVERLAP_DAYS,
        expires: int | None = None,
    ) -> KeyRotation:
        """Makes a key of the same scope, application and label; the old one ends after a while.

        Args:
            key_id: a valid key.
            overlap_days: for how many days both are valid; in [0, 365]. The old key stays valid for
                the rest of today at least, and never beyond its own end.
            expires: the last day of the new key, or None for no end. It must be given if the old
                key has an end, which may be a policy or come from an earlier rotation.

        Raises:
            ParameterError: if an argument breaks its constraint.
            NoSuchKeyError: if there is no such key.
            KeyStateError: if the key is revoked or has expired.
            StoreUnavailableError: if the store cannot be written.
        """
        if not 0 <= overlap_days <= MAX_OVERLAP_DAYS:
            raise ParameterError("overlap_days", f"in [0, {MAX_OVERLAP_DAYS}]", overlap_days)
        issued: list[IssuedKey] = []

        def decide(old: StoredKey) -> KeyChange:
            if not is_valid(old, self._today):
                raise KeyStateError(
                    f"key {old.id} is no longer valid, so the two cannot overlap; create a new key"
                )
            if expires is None and old.expires is not None:
                raise ParameterError(
                    "expires", f"given, as key {old.id} has an end, {format_day(old.expires)}", None
                )
            new = issue_key(
                scope=old.scope,
                application=old.application,
                label=old.label,
                today=self._today,
                expires=expires,
            )
            issued.append(new)
            last = self._today + overlap_days
            end = last if old.expires is None else min(last, old.expires)
            before = {"predecessor": old.id, "predecessor_expires": format_day(end)}
            record = self._audit_record(AuditAction.KEY_ROTATE, new.key, **before)
            return KeyChange({"expires": end}, record, new.key)

        old = self._change(key_id, decide)
        return KeyRotation(issued[-1], old)

    def revoke(self, key_id: str) -> StoredKey:
        """Ends a key, for good. Running servers refuse it within two seconds.

        Raises:
            NoSuchKeyError: if there is no such key.
            KeyStateError: if it is revoked already.
            StoreUnavailableError: if the store cannot be written.
        """

        def decide(key: StoredKey) -> KeyChange:
            if key.revoked is not None:
                raise KeyStateError(f"key {key.id} is revoked already")
            return self._key_change(AuditAction.KEY_REVOKE, key, revoked=self._today)

        return self._change(key_id, decide)

    def last_mixed_day(self) -> int | None:
        """The last day in which keys cannot be told apart any more; None if there is none."""
        return self._store.rolled.last_mixed_day()

    def exclude(self, key_id: str) -> StoredKey:
        """Leaves the reports of a key out of every estimate, and keeps them.

        Reports that come with the key later are left out too; revoke it to refuse them.

        Raises:
            NoSuchKeyError: if there is no such key.
            KeyStateError: if it brings no reports, or is excluded already.
            StoreUnavailableError: if the store cannot be written.
        """

        def decide(key: StoredKey) -> KeyChange:
            if key.scope not in REPORTING_SCOPES:
                raise KeyStateError(
                    f"key {key.id} has scope {key.scope}, and only keys of scope write or batch "
                    "bring reports"
                )
            if key.excluded is not None:
                raise KeyStateError(f"key {key.id} is excluded already")
            return self._key_change(AuditAction.KEY_EXCLUDE, key, excluded=self._today)

        return self._change(key_id, decide)

    def include(self, key_id: str) -> StoredKey:
        """Takes the reports of an excluded key back into estimates.

        Raises:
            NoSuchKeyError: if there is no such key.
            KeyStateError: if it is not excluded.
            StoreUnavailableError: if the store cannot be written.
        """

        def decide(key: StoredKey) -> KeyChange:
            if key.excluded is None:
                raise KeyStateError(f"key {key.id} is not excluded")
            return self._key_change(AuditAction.KEY_INCLUDE, key, excluded=None)

        return self._change(key_id, decide)

    def _may_manage(self, key: StoredKey) -> bool:
        return self._application in {None, key.application}

    def _audit_record(self, act: AuditAction, key: StoredKey, **more: Any) -> AuditRecord:
        return AuditRecord(self._today, self._actor, act, {**audit_details(key), **more})

    def _key_change(self, act: AuditAction, key: StoredKey, **values: int | None) -> KeyChange:
        details = {"key": key.id, "application": key.application}
        return KeyChange(values, AuditRecord(self._today, self._actor, act, details))

    def _change(self, key_id: str, decide: Callable[[StoredKey], KeyChange]) -> StoredKey:
        def decide_if_allowed(key: StoredKey) -> KeyChange:
            # Another application's key is treated as absent, so that its existence stays unknown.
            if not self._may_manage(key):
                raise _no_such_key(key_id)
            return decide(key)

        # Reject unprintable ids here: PostgreSQL cannot store NUL.
        changed = None
        if key_id.isprintable():
            changed = self._store.keys.change(key_id, decide_if_allowed)
        if changed is None:
            raise _no_such_key(key_id)
        return changed


def is_valid(key: StoredKey, today: int) -> bool:
    """Whether a key is accepted on a day, if nobody changes it before."""
    return key.revoked is None and (key.expires is None or key.expires >= today)


def public_key(key: StoredKey, today: int) -> Key:
    """A key for people and programs: everything but its hash.

    Args:
        today: days since 1970-01-01.
    """

    def day(epoch: int | None) -> date | None:
        return None if epoch is None else day_of(epoch)

    return Key(
        id=key.id,
        application=key.application,
        scope=cast("Scope", key.scope),
        label=key.label,
        valid=is_valid(key, today),
        created=day_of(key.created),
        expires=day(key.expires),
        last_used=day(key.last_used),
        revoked=day(key.revoked),
        excluded=day(key.excluded),
    )


def _no_such_key(key_id: str) -> NoSuchKeyError:
    return NoSuchKeyError(f"there is no key {key_id!r} here; the list of keys has their ids")
