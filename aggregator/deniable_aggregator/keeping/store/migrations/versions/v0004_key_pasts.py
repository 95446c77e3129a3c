"""How keys are known to differ from the others."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Makes the table."""
    op.create_table(
        "key_pasts",
        sa.Column("metric", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("since", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("acknowledged", sa.Integer),
        sa.Column("until", sa.Integer, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
