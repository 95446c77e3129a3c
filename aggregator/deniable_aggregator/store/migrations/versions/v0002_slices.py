"""Reports are kept by write key, tallies in parts that add up; keys expire; audit and remote."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Adds columns and tables; what was stored before belongs to no key, which is the key ''."""
    for name in ("expires", "last_used", "excluded"):
        op.add_column("keys", sa.Column(name, sa.Integer))
    for name in ("inbox", "set_aside"):
        _rebuild(
            name,
            sa.Column("id", _ROW_ID, primary_key=True, autoincrement=False),
            sa.Column("digest", sa.LargeBinary(32), nullable=False),
            sa.Column("epoch", sa.Integer, nullable=False),
            sa.Column("key", sa.Text, nullable=False),
            sa.Column("payload", sa.LargeBinary, nullable=False),
            values="id, digest, epoch, '', payload",
        )
    _rebuild(
        "tallies",
        sa.Column("digest", sa.LargeBinary(32), primary_key=True),
        sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("part", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("reports", sa.BigInteger, nullable=False),
        sa.Column("cells", sa.LargeBinary, nullable=False),
        values="digest, epoch, '', 0, reports, cells",
    )
    op.create_index("tallies_epoch", "tallies", ["epoch"])
    op.create_table(
        "audit",
        sa.Column("sequence", _ROW_ID, primary_key=True, autoincrement=False),
        sa.Column("day", sa.Integer, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("act", sa.Text, nullable=False),
        sa.Column("details", sa.Text, nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
    )
    op.create_table(
        "remote",
        sa.Column("application", sa.Text, primary_key=True),
        sa.Column("document", sa.Text, nullable=False),
    )
    op.drop_table("schema_version")


def _rebuild(name: str, *columns: sa.Column[object], values: str) -> None:
    # SQLite can neither add a column that must not be null nor change a primary key; and a table
    # that is renamed keeps the names of its indexes in PostgreSQL. All names are from this file.
    op.execute(f"CREATE TEMPORARY TABLE moved AS SELECT * FROM {name}")  # noqa: S608
    op.drop_table(name)
    op.create_table(name, *columns)
    op.execute(f"INSERT INTO {name} SELECT {values} FROM moved")  # noqa: S608
    op.execute("DROP TABLE moved")
