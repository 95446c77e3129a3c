"""Keys at rest: hashes of tokens, never tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import insert, or_, select, update

from deniable_aggregator.store.schema import keys

if TYPE_CHECKING:
    from collections.abc import Collection

    from deniable_aggregator.store.database import Database


class StoredKey(NamedTuple):
    """One key.

    Attributes:
        id: the part of the token that may be shown.
        hash: SHA-256 of the whole token.
        scope: what it allows: write, read or admin.
        application: the only application that it reaches.
        label: what its owner calls it.
        created: the day it was made, in days since 1970-01-01.
        revoked: the day it was revoked, or None.
        expires: the last day on which it is valid, or None.
        last_used: the last day on which it was used, or None; noted by the day, never finer.
        excluded: the day since which its reports are left out of estimates, or None.
    """

    id: str
    hash: bytes
    scope: str
    application: str
    label: str
    created: int
    revoked: int | None
    expires: int | None = None
    last_used: int | None = None
    excluded: int | None = None


class Keys:
    """Keys by id; a revoked one stays, so that its id is never given out again."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, key: StoredKey) -> None:
        """Adds a key."""
        with self._database.write() as connection:
            connection.execute(insert(keys).values(**key._asdict()))

    def find(self, key_id: str) -> StoredKey | None:
        """The key with this id, revoked or not."""
        with self._database.read() as connection:
            row = connection.execute(select(keys).where(keys.c.id == key_id)).one_or_none()
        return None if row is None else StoredKey(*row)

    def all(self) -> list[StoredKey]:
        """Every key, by application, scope and id."""
        query = select(keys).order_by(keys.c.application, keys.c.scope, keys.c.id)
        with self._database.read() as connection:
            return [StoredKey(*row) for row in connection.execute(query)]

    def revoke(self, key_id: str, today: int) -> bool:
        """Revokes a key; False if there is no such key, or it was revoked before."""
        here = (keys.c.id == key_id, keys.c.revoked.is_(None))
        with self._database.write() as connection:
            result = connection.execute(update(keys).where(*here).values(revoked=today))
            return result.rowcount == 1

    def used(self, key_ids: Collection[str], today: int) -> None:
        """Notes that keys were used on a day; an earlier day changes nothing."""
        earlier = or_(keys.c.last_used.is_(None), keys.c.last_used < today)
        with self._database.write() as connection:
            connection.execute(
                update(keys).where(keys.c.id.in_(key_ids), earlier).values(last_used=today)
            )

    def exclude(self, key_id: str, today: int) -> bool:
        """Leaves the reports of a key out of every estimate, those it has brought and will bring.

        Returns:
            False if there is no such key, or it is excluded already.
        """
        here = (keys.c.id == key_id, keys.c.excluded.is_(None))
        with self._database.write() as connection:
            result = connection.execute(update(keys).where(*here).values(excluded=today))
            return result.rowcount == 1

    def readmit(self, key_id: str) -> bool:
        """Takes the reports of an excluded key back into estimates; nothing of them was lost.

        Returns:
            False if there is no such key, or it is not excluded.
        """
        here = (keys.c.id == key_id, keys.c.excluded.is_not(None))
        with self._database.write() as connection:
            return connection.execute(update(keys).where(*here).values(excluded=None)).rowcount == 1
