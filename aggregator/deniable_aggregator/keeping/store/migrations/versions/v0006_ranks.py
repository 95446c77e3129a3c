"""Between which ranks shares are, in the table of estimates and its view."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_VIEW = """
CREATE VIEW latest_estimates AS SELECT {columns} FROM (
    SELECT application, period, metric, max(since) AS since FROM estimated_periods
    WHERE numbers > 0 GROUP BY application, period, metric
) AS latest JOIN estimates ON estimates.application = latest.application
    AND estimates.period = latest.period AND estimates.metric = latest.metric
    AND estimates.since = latest.since
"""


def upgrade() -> None:
    """Adds the columns, which are empty until a period is written again."""
    op.execute("DROP VIEW latest_estimates")
    for name in ("rank_first", "rank_last"):
        op.add_column("estimates", sa.Column(name, sa.BigInteger))
    columns = sa.inspect(op.get_bind()).get_columns("estimates")
    op.execute(_VIEW.format(columns=", ".join(f"estimates.{each['name']}" for each in columns)))
