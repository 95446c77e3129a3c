"""The largest upload of each key's day: one number beside the tally."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Adds the column, which says 0 (not known) of all that came before."""
    for table in ("inbox", "set_aside", "tallies"):
        op.add_column(
            table, sa.Column("largest", sa.BigInteger, nullable=False, server_default="0")
        )
