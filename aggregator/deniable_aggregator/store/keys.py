"""Keys at rest: hashes of tokens, never tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import insert, select, update

from deniable_aggregator.store.schema import keys

if TYPE_CHECKING:
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
    """

    id: str
    hash: bytes
    scope: str
    application: str
    label: str
    created: int
    revoked: int | None


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
