"""The first schema: one tally for each spec and day.

Stores of it have no table of Alembic's; ``migration.py`` gives them one.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Creates the tables."""
    op.create_table("schema_version", sa.Column("version", sa.Integer, primary_key=True))
    op.execute("INSERT INTO schema_version (version) VALUES (1)")
    op.create_table(
        "metrics",
        sa.Column("digest", sa.LargeBinary(32), primary_key=True),
        sa.Column("application", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("owners", sa.Text, nullable=False),
        sa.Column("expires", sa.Text),
        sa.Column("epsilon", sa.Float, nullable=False),
        sa.Column("registered", sa.Integer, nullable=False),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("application", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("created", sa.Integer, nullable=False),
        sa.Column("revoked", sa.Integer),
    )
    op.create_table(
        "epochs",
        sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.LargeBinary(32)),
    )
    op.create_table(
        "seen",
        sa.Column("epoch", sa.Integer, primary_key=True),
        sa.Column("hash", sa.LargeBinary(16), primary_key=True),
        sqlite_with_rowid=False,
    )
    for name in ("inbox", "set_aside"):
        op.create_table(
            name,
            sa.Column(
                "id",
                sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
                primary_key=True,
                autoincrement=False,
            ),
            sa.Column("digest", sa.LargeBinary(32), nullable=False),
            sa.Column("epoch", sa.Integer, nullable=False),
            sa.Column("payload", sa.LargeBinary, nullable=False),
        )
    op.create_table(
        "tallies",
        sa.Column("digest", sa.LargeBinary(32), primary_key=True),
        sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("reports", sa.BigInteger, nullable=False),
        sa.Column("cells", sa.LargeBinary, nullable=False),
    )
