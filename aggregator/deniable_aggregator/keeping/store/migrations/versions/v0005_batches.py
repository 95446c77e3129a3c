"""Batches: reports that wait until so many are shown together, and the day up to which all are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Adds the columns, which say of all that waits that it was not gathered, and the table."""
    for table in ("inbox", "set_aside"):
        op.add_column(table, sa.Column("gathered", sa.Integer))
        op.add_column(table, sa.Column("is_full", sa.Integer, nullable=False, server_default="0"))
    op.create_table(
        "shown",
        sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("day", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
