"""The tables. Days are counted since 1970-01-01; nothing here is finer than a day.

What is *not* here is the point: no address, no user agent, no device, no arrival time, and no
order of arrival either, since inbox rows have random keys.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

SCHEMA_VERSION: Final = 1
"""Raised with every change of the tables; a store of another version is refused."""

# Only a column declared INTEGER is SQLite's own row key; BIGINT would get a second index.
_RowId = BigInteger().with_variant(Integer(), "sqlite")

metadata: Final = MetaData()

schema_version: Final = Table(
    "schema_version", metadata, Column("version", Integer, primary_key=True)
)

metrics: Final = Table(
    "metrics",
    metadata,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("application", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("spec", Text, nullable=False),  # canonical JSON
    Column("description", Text, nullable=False),
    Column("owners", Text, nullable=False),  # JSON list
    Column("expires", Text),  # ISO date
    Column("epsilon", Float, nullable=False),
    Column("registered", Integer, nullable=False),
)

keys: Final = Table(
    "keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("hash", LargeBinary(32), nullable=False),  # SHA-256 of the whole token
    Column("scope", Text, nullable=False),
    Column("application", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("created", Integer, nullable=False),
    Column("revoked", Integer),
)

epochs: Final = Table(
    "epochs",
    metadata,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("key", LargeBinary(32)),  # NULL once the epoch is closed, for good
)

seen: Final = Table(
    "seen",
    metadata,
    Column("epoch", Integer, primary_key=True),
    Column("hash", LargeBinary(16), primary_key=True),
    sqlite_with_rowid=False,
)

inbox: Final = Table(
    "inbox",
    metadata,
    Column("id", _RowId, primary_key=True, autoincrement=False),
    Column("digest", LargeBinary(32), nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("payload", LargeBinary, nullable=False),
)

set_aside: Final = Table(
    "set_aside",
    metadata,
    Column("id", _RowId, primary_key=True, autoincrement=False),
    Column("digest", LargeBinary(32), nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("payload", LargeBinary, nullable=False),
)

tallies: Final = Table(
    "tallies",
    metadata,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("reports", BigInteger, nullable=False),
    Column("cells", LargeBinary, nullable=False),  # int64, little-endian
)
