"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# The view as the first version made it.
_LATEST_ESTIMATES = """
CREATE VIEW latest_estimates AS SELECT {columns} FROM (
    SELECT application, period, metric, max(since) AS since FROM estimated_periods
    WHERE numbers > 0 GROUP BY application, period, metric
) AS latest JOIN estimates ON estimates.application = latest.application
    AND estimates.period = latest.period AND estimates.metric = latest.metric
    AND estimates.since = latest.since
"""

_ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Creates the tables of an empty store."""
    op.create_table(
        "metrics",
        sa.Column("number", _ROW_ID, primary_key=True, autoincrement=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False, unique=True),
        sa.Column("application", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("owners", sa.Text, nullable=False),
        sa.Column("expires", sa.Text),
        sa.Column("retention_days", sa.Integer),
        sa.Column("minimum_devices", sa.Integer),
        sa.Column("epsilon", sa.Float, nullable=False),
        sa.Column("registered", sa.Integer, nullable=False),
        sa.Column("renamed", sa.Text, nullable=False),
        sa.Column("relay_required", sa.Integer, nullable=False),
    )
    op.create_table(
        "registry_history",
        sa.Column("application", sa.Text, primary_key=True),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("entry", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "saved_lists",
        sa.Column("application", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("saved", sa.Integer, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "saved_views",
        sa.Column("application", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("saved", sa.Integer, nullable=False),
        sa.Column("place", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "share_links",
        sa.Column("hash", sa.LargeBinary(32), primary_key=True),
        sa.Column("application", sa.Text, nullable=False),
        sa.Column("place", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("made", sa.Integer, nullable=False),
        sa.Column("until", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "annotations",
        sa.Column("application", sa.Text, primary_key=True),
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("text", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "removed_metrics",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.Column("application", sa.Text, nullable=False),
    )
    op.create_table(
        "keys",
        sa.Column("number", _ROW_ID, primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("application", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("created", sa.Integer, nullable=False),
        sa.Column("revoked", sa.Integer),
        sa.Column("expires", sa.Integer),
        sa.Column("last_used", sa.Integer),
        sa.Column("excluded", sa.Integer),
        sa.Column("intake_day", sa.Integer),
        sa.Column("intake_bytes", sa.BigInteger, nullable=False),
        sa.Column("intake_larger", sa.BigInteger, nullable=False),
        sa.Column("refused_since", sa.Integer),
        sa.Column("refused_until", sa.Integer),
    )
    op.create_table(
        "sessions",
        sa.Column("hash", sa.LargeBinary(32), primary_key=True),
        sa.Column("key_ids", sa.Text, nullable=False),
        sa.Column("until", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "epochs",
        sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.LargeBinary(32)),
        sa.Column("settled", sa.Integer),
    )
    op.create_table(
        "seen",
        sa.Column("epoch", sa.Integer, primary_key=True),
        sa.Column("hash", sa.LargeBinary(16), primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "relayed",
        sa.Column("digest", sa.LargeBinary(32), primary_key=True),
        sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("relay_key", sa.LargeBinary(8), primary_key=True),
        sa.Column("batch", sa.LargeBinary(16), primary_key=True),
        sa.Column("reports", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "relayed_sizes",
        sa.Column("digest", sa.LargeBinary(32), primary_key=True),
        sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("least", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("reports", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    for name in ("inbox", "set_aside"):
        op.create_table(
            name,
            sa.Column("id", _ROW_ID, primary_key=True, autoincrement=False),
            sa.Column("digest", sa.LargeBinary(32), nullable=False),
            sa.Column("epoch", sa.Integer, nullable=False),
            sa.Column("key", sa.Text, nullable=False),
            sa.Column("payload", sa.LargeBinary, nullable=False),
            sa.Column("largest", sa.BigInteger, nullable=False, server_default="0"),
            sa.Column("gathered", sa.Integer),
            sa.Column("is_full", sa.Integer, nullable=False, server_default="0"),
        )
    op.create_table(
        "shown",
        sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("day", sa.Integer, nullable=False),
        sa.Column("ids_ordered", sa.Integer, nullable=False, server_default="0"),
        sa.Column("ids_transaction", sa.BigInteger, nullable=False, server_default="0"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tallies",
        sa.Column("metric", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("part", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("reports", sa.BigInteger, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("largest", sa.BigInteger, nullable=False, server_default="0"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tally_rests",
        sa.Column("part", _ROW_ID, primary_key=True, autoincrement=False),
        sa.Column("rest", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "totals",
        sa.Column("metric", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("reports", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table("archive", sa.Column("store", sa.Text, primary_key=True))
    op.create_table(
        "archived",
        sa.Column("metric", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("reports", sa.BigInteger, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("sha256", sa.LargeBinary(32), nullable=False),
        sa.Column("listed", sa.Integer, nullable=False),
    )
    op.create_table(
        "rolled_periods",
        sa.Column("id", _ROW_ID, primary_key=True, autoincrement=False),
        sa.Column("metric", sa.Integer, nullable=False),
        sa.Column("since", sa.Integer, nullable=False),
        sa.Column("until", sa.Integer, nullable=False),
        sa.Column("key", sa.Integer, nullable=False),
        sa.Column("first", sa.Integer, nullable=False),
        sa.Column("reports", sa.BigInteger, nullable=False),
        sa.Column("summary", sa.LargeBinary, nullable=False),
        sa.Column("counters", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("metric", "since", "key", name="rolled_periods_of_metric"),
    )
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
    op.create_table(
        "discoveries",
        sa.Column("number", _ROW_ID, primary_key=True, autoincrement=False),
        sa.Column("tag", sa.LargeBinary(32), nullable=False, unique=True),
        sa.Column("application", sa.Text, nullable=False),
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("since", sa.Integer, nullable=False),
        sa.Column("until", sa.Integer, nullable=False),
        sa.Column("asked", sa.Integer, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("lists", sa.LargeBinary),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("beats", sa.Integer, nullable=False),
        sa.Column("stage", sa.Text, nullable=False),
        sa.Column("progress", sa.Float, nullable=False),
        sa.Column("failure", sa.Text),
        sa.Column("result", sa.LargeBinary),
    )
    estimates = op.create_table(
        "estimates",
        sa.Column("application", sa.Text, primary_key=True),
        sa.Column("period", sa.Text, primary_key=True),
        sa.Column("metric", sa.Text, primary_key=True),
        sa.Column("since", sa.Date, primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("until", sa.Date, nullable=False),
        sa.Column("measure", sa.Text, nullable=False),
        sa.Column("value", sa.Text),
        sa.Column("quantile", sa.Float),
        sa.Column("bin_from", sa.Float),
        sa.Column("bin_to", sa.Float),
        sa.Column("segment", sa.Text),
        sa.Column("estimate", sa.Float),
        sa.Column("standard_error", sa.Float),
        sa.Column("low", sa.Float),
        sa.Column("high", sa.Float),
        sa.Column("possible_low", sa.Float),
        sa.Column("possible_high", sa.Float),
        sa.Column("before", sa.Float),
        sa.Column("p_value", sa.Float),
        sa.Column("adjusted_p_value", sa.Float),
        sa.Column("told", sa.Boolean),
        sa.Column("shift_if_fake", sa.Float),
        sa.Column("reports", sa.BigInteger),
        sa.Column("epsilon", sa.Float),
        sa.Column("version", sa.Text),
        sa.Column("suspicious", sa.Boolean),
        sa.Column("marks", sa.Text),
        sa.Column("rank_first", sa.BigInteger),
        sa.Column("rank_last", sa.BigInteger),
        sa.Column("final", sa.Boolean, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "estimated_periods",
        sa.Column("application", sa.Text, primary_key=True),
        sa.Column("period", sa.Text, primary_key=True),
        sa.Column("metric", sa.Text, primary_key=True),
        sa.Column("since", sa.Date, primary_key=True),
        sa.Column("tag", sa.LargeBinary(24), nullable=False),
        sa.Column("written", sa.Integer, nullable=False),
        sa.Column("numbers", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "digests",
        sa.Column("application", sa.Text, primary_key=True),
        sa.Column("every", sa.Text, primary_key=True),
        sa.Column("since", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("channel", sa.Text, primary_key=True),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("not_before", sa.BigInteger, nullable=False),
        sa.Column("ended", sa.Text),
        sqlite_with_rowid=False,
    )
    columns = ", ".join(f"estimates.{column.name}" for column in estimates.c)
    op.execute(_LATEST_ESTIMATES.format(columns=columns))
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
