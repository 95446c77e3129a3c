"""What values of earlier versions are called now."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Adds the column, which says that none was renamed."""
    op.add_column("metrics", sa.Column("renamed", sa.Text, nullable=False, server_default="{}"))
