"""The tables. Days are counted since 1970-01-01; no column is finer than a day.

What is *not* here matters most: no address, no user agent, no device, no time of arrival, and no
order of arrival, as inbox rows have random ids.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    Column,
    Date,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
)

from deniable_aggregator.answers.columns import COLUMNS
from deniable_aggregator.answers.row import KEPT_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.sql.ddl import ExecutableDDLElement

REVISION: Final = "0001"
"""The newest revision in ``migrations/versions``; a store at another one is refused."""

# Only a column declared INTEGER is SQLite's own row key; BIGINT would get a second index.
_RowId = BigInteger().with_variant(Integer(), "sqlite")

metadata: Final = MetaData()

# Alembic's own table, in Alembic's own form.
revision: Final = Table(
    "alembic_version",
    metadata,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)

metrics: Final = Table(
    "metrics",
    metadata,
    # Stands for the digest in tallies, of which there are many.
    Column("number", _RowId, primary_key=True, autoincrement=False),
    Column("digest", LargeBinary(32), nullable=False, unique=True),
    Column("application", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("spec", Text, nullable=False),  # canonical JSON
    Column("description", Text, nullable=False),
    Column("owners", Text, nullable=False),  # JSON list
    Column("expires", Text),  # ISO date
    Column("retention_days", Integer),  # tallies are deleted after so many days
    Column("minimum_devices", Integer),  # a found string is shown if so many have it
    Column("epsilon", Float, nullable=False),
    Column("registered", Integer, nullable=False),
    # JSON object: the earlier names of values, each with the one that it has now.
    Column("renamed", Text, nullable=False),
    Column("relay_required", Integer, nullable=False),  # whether a relay alone brings its reports
)

# The chain of registered versions, see `registry_history`; entries are never changed or deleted.
registered_versions: Final = Table(
    "registry_history",
    metadata,
    Column("application", Text, primary_key=True),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("entry", Text, nullable=False),  # JSON
    sqlite_with_rowid=False,
)

# Lists of values that analysts keep, to look for in metrics of strings.
saved_lists: Final = Table(
    "saved_lists",
    metadata,
    Column("application", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("saved", Integer, nullable=False),  # on which day
    Column("number", Integer, nullable=False),  # of values
    Column("size", Integer, nullable=False),  # of the values as text, in bytes
    Column("body", LargeBinary, nullable=False),  # the text, compressed: a line for each value
    sqlite_with_rowid=False,
)

# Pages of metrics, with what was chosen there, that people keep under names.
saved_views: Final = Table(
    "saved_views",
    metadata,
    Column("application", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("saved", Integer, nullable=False),  # on which day
    Column("place", Text, nullable=False),  # path and query
    sqlite_with_rowid=False,
)

# Links that show one view to whoever has them.
share_links: Final = Table(
    "share_links",
    metadata,
    Column("hash", LargeBinary(32), primary_key=True),  # SHA-256 of the secret in the link
    Column("application", Text, nullable=False),
    Column("place", Text, nullable=False),  # path and query, with fixed days
    Column("key", Text, nullable=False),  # the id of the key that it was made with
    Column("made", Integer, nullable=False),  # on which day
    Column("until", Integer, nullable=False),  # the last day on which it works
    sqlite_with_rowid=False,
)

# What happened on a day, such as a release, in an administrator's words.
annotated_days: Final = Table(
    "annotations",
    metadata,
    Column("application", Text, primary_key=True),
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
    sqlite_with_rowid=False,
)

# What is left of a metric that was removed, so that its reports are refused for good.
removed_metrics: Final = Table(
    "removed_metrics",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),  # never given out again
    Column("digest", LargeBinary(32), nullable=False),
    Column("application", Text, nullable=False),
)

keys: Final = Table(
    "keys",
    metadata,
    # Stands for the id in tallies.
    Column("number", _RowId, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("hash", LargeBinary(32), nullable=False),  # SHA-256 of the whole token
    Column("scope", Text, nullable=False),
    Column("application", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("created", Integer, nullable=False),
    Column("revoked", Integer),
    Column("expires", Integer),  # the last day on which it is valid
    Column("last_used", Integer),
    Column("excluded", Integer),  # the day since which its reports are left out of estimates
    # How many bytes a key brought, how many of them in uploads of several reports, and on which
    # day; of no other day is it kept.
    Column("intake_day", Integer),
    Column("intake_bytes", BigInteger, nullable=False),
    Column("intake_larger", BigInteger, nullable=False),
    # The last days in a row on which uploads were refused as the key had brought all that it may.
    Column("refused_since", Integer),
    Column("refused_until", Integer),
)

# Who is signed in to pages. What a browser holds cannot be made from this.
sessions: Final = Table(
    "sessions",
    metadata,
    Column("hash", LargeBinary(32), primary_key=True),  # SHA-256 of the whole cookie
    Column("key_ids", Text, nullable=False),  # with spaces between them, the newest first
    Column("until", Integer, nullable=False),  # the last day on which it may be valid
    sqlite_with_rowid=False,
)

epochs: Final = Table(
    "epochs",
    metadata,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("key", LargeBinary(32)),  # NULL once the epoch is closed, for good
    # Not NULL once the epoch is closed and its tallies have their final form, until more reports
    # come; then it gets another random number.
    Column("settled", Integer),
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
    # The id of the write key that the upload came with; all devices of a build share it.
    Column("key", Text, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    # The most bytes of the payload that came in one upload; of no other upload is the size kept.
    Column("largest", BigInteger, nullable=False, server_default="0"),
    # NULL for a row as a commit wrote it. Rows of a slice are gathered in one, beside one that is
    # a full batch: then it is the day in `shown` at that time. A row of an earlier one is due.
    Column("gathered", Integer),
    Column("is_full", Integer, nullable=False, server_default="0"),  # 1 for a full batch
)

set_aside: Final = inbox.to_metadata(metadata, name="set_aside")

# Groups of uploads that came through a relay and look alike, of open days.
relayed: Final = Table(
    "relayed",
    metadata,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("key", Text, primary_key=True),  # the id of the write key that was inside
    Column("relay_key", LargeBinary(8), primary_key=True),  # the id of the key they were sealed to
    Column("batch", LargeBinary(16), primary_key=True),  # as the relay drew it
    Column("reports", BigInteger, nullable=False),  # uploads that were stored
    sqlite_with_rowid=False,
)

# The same of closed days, without batches: uploads by the size of their group.
relayed_sizes: Final = Table(
    "relayed_sizes",
    metadata,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("key", Text, primary_key=True),
    # The largest power of two that the groups had.
    Column("least", BigInteger, primary_key=True, autoincrement=False),
    Column("reports", BigInteger, nullable=False),  # in all of them
    sqlite_with_rowid=False,
)

# One row, once something was counted: the last day at whose begin all that waited became due.
shown: Final = Table(
    "shown",
    metadata,
    Column("place", Integer, primary_key=True, autoincrement=False),  # 0
    Column("day", Integer, nullable=False),
    # When upload ids were put in order, and PostgreSQL's number of the last transaction of it.
    Column("ids_ordered", Integer, nullable=False, server_default="0"),
    Column("ids_transaction", BigInteger, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)

# The parts of a tally are added up by whoever reads it, and merged now and then. There are many of
# them, so a row has only what it needs, and no second index. In SQLite a row without row id takes a
# whole page more beyond about 1,000 bytes, so longer parts continue in another table.
tallies: Final = Table(
    "tallies",
    metadata,
    Column("metric", Integer, primary_key=True, autoincrement=False),  # its number
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("key", Integer, primary_key=True, autoincrement=False),  # its number
    Column("part", BigInteger, primary_key=True, autoincrement=False),  # random, new at each write
    Column("reports", BigInteger, nullable=False),
    Column("size", Integer, nullable=False),  # bytes of the whole part
    Column("body", LargeBinary, nullable=False),  # the part, or its first byte; see `encoding`
    # The most reports that one upload brought; 0 if not known. Merged parts keep the larger.
    Column("largest", BigInteger, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)

tally_rests: Final = Table(
    "tally_rests",
    metadata,
    Column("part", _RowId, primary_key=True, autoincrement=False),
    Column("rest", LargeBinary, nullable=False),  # what follows the first byte of a long part
)

# The sums of `tallies.reports`, changed in the transactions that change these.
totals: Final = Table(
    "totals",
    metadata,
    Column("metric", Integer, primary_key=True, autoincrement=False),
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("reports", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# The sums of closed days that became one. Reports of these days that come later are in `tallies`
# until they are added here.
rolled_periods: Final = Table(
    "rolled_periods",
    metadata,
    Column("id", _RowId, primary_key=True, autoincrement=False),  # random, new at each write
    Column("metric", Integer, nullable=False),  # its number
    Column("since", Integer, nullable=False),  # the first day of the period
    Column("until", Integer, nullable=False),  # the last
    # The number of a key that was excluded when the days became one; 0 for all other keys together.
    Column("key", Integer, nullable=False),
    Column("first", Integer, nullable=False),  # the first day with reports
    Column("reports", BigInteger, nullable=False),
    Column("summary", LargeBinary, nullable=False),  # what is known by day; see `slices.rolled`
    Column("counters", LargeBinary, nullable=False),
    UniqueConstraint("metric", "since", "key", name="rolled_periods_of_metric"),
)

# How keys are known to differ from the others; see `key_pasts`.
key_pasts: Final = Table(
    "key_pasts",
    metadata,
    Column("metric", Integer, primary_key=True, autoincrement=False),  # its number
    Column("key", Text, primary_key=True),  # the id of one that was acknowledged, or nothing
    Column("since", Integer, primary_key=True, autoincrement=False),  # the first of its days
    Column("acknowledged", Integer),  # on which day
    Column("until", Integer, nullable=False),  # the last
    Column("note", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

# One row, once the store is archived: a random name that its files have.
archive: Final = Table("archive", metadata, Column("store", Text, primary_key=True))

# The files of reports that `deniable archive` has written.
archived: Final = Table(
    "archived",
    metadata,
    Column("metric", Integer, primary_key=True, autoincrement=False),  # its number
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),  # 0, then later additions
    Column("reports", BigInteger, nullable=False),
    Column("size", BigInteger, nullable=False),  # bytes of the file
    Column("sha256", LargeBinary(32), nullable=False),
    Column("listed", Integer, nullable=False),  # 1 once the manifest of the day has it
)

# What was asked about strings that nobody listed: runs that wait, run or failed, and results.
discoveries: Final = Table(
    "discoveries",
    metadata,
    Column("number", _RowId, primary_key=True, autoincrement=False),
    Column(
        "tag", LargeBinary(32), nullable=False, unique=True
    ),  # of all that the result depends on
    Column("application", Text, nullable=False),
    Column("metric", Text, nullable=False),
    Column("since", Integer, nullable=False),  # the first day that the result is about
    Column("until", Integer, nullable=False),  # the last
    Column("asked", Integer, nullable=False),  # the day on which it was asked first
    Column("question", Text, nullable=False),  # JSON; its lists only as a hash
    Column("lists", LargeBinary),  # JSON: hints and denied strings; NULL once the run has ended
    Column("state", Text, nullable=False),
    Column("beats", Integer, nullable=False),  # grows as long as the server that runs it lives
    Column("stage", Text, nullable=False),  # what the run is doing, in a few words
    Column("progress", Float, nullable=False),  # in [0, 1]
    Column("failure", Text),  # why there is no result, for whoever asked
    Column("result", LargeBinary),  # JSON
)


def _columns_of_numbers() -> Iterator[Column[Any]]:
    """What is kept of a number, as the long table has it; of ids only the first letters."""
    types = {bool: Boolean, date: Date, float: Float, int: BigInteger, str: Text}
    for name in KEPT_COLUMNS:
        kind, may_be_none = COLUMNS[name]
        yield Column(name, types[kind], nullable=may_be_none)


# Estimates of past days, weeks and months, for whoever asks the database itself: a row for each
# number, with names and values in words and days as DATE, in SQLite as text such as 2026-01-31.
estimates: Final = Table(
    "estimates",
    metadata,
    Column("application", Text, primary_key=True),
    Column("period", Text, primary_key=True),  # day, week or month
    Column("metric", Text, primary_key=True),  # its name
    Column("since", Date, primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),  # from 0, in the answer
    *_columns_of_numbers(),
    Column("final", Boolean, nullable=False),  # whether no day takes reports any longer
    sqlite_with_rowid=False,
)

# The periods whose estimates are in the table above, or of which there are none to write.
estimated_periods: Final = Table(
    "estimated_periods",
    metadata,
    Column("application", Text, primary_key=True),
    Column("period", Text, primary_key=True),
    Column("metric", Text, primary_key=True),
    Column("since", Date, primary_key=True),
    Column("tag", LargeBinary(24), nullable=False),  # of all that the estimates depend on
    Column("written", Integer, nullable=False),  # on which day
    Column("numbers", Integer, nullable=False),  # how many rows there are
    sqlite_with_rowid=False,
)

# What people were sent, and what is still to be sent.
digests: Final = Table(
    "digests",
    metadata,
    Column("application", Text, primary_key=True),
    Column("every", Text, primary_key=True),  # day or week
    Column("since", Integer, primary_key=True, autoincrement=False),  # the first day it is about
    Column("channel", Text, primary_key=True),
    Column("attempts", Integer, nullable=False),
    Column("not_before", BigInteger, nullable=False),  # of the next attempt, seconds since 1970
    Column("ended", Text),  # how: sent, nothing to say, given up
    sqlite_with_rowid=False,
)

LATEST_ESTIMATES: Final = "latest_estimates"
"""The view of the newest day, week and month of each metric."""

_columns = ", ".join(f"estimates.{column.name}" for column in estimates.c)
CREATE_LATEST_ESTIMATES: Final = f"""
CREATE VIEW {LATEST_ESTIMATES} AS SELECT {_columns} FROM (
    SELECT application, period, metric, max(since) AS since FROM estimated_periods
    WHERE numbers > 0 GROUP BY application, period, metric
) AS latest JOIN estimates ON estimates.application = latest.application
    AND estimates.period = latest.period AND estimates.metric = latest.metric
    AND estimates.since = latest.since
"""  # noqa: S608  nothing of it comes from outside
_create_view: ExecutableDDLElement = DDL(CREATE_LATEST_ESTIMATES)  # type: ignore[no-untyped-call]
event.listen(metadata, "after_create", _create_view)

audit: Final = Table(
    "audit",
    metadata,
    Column("sequence", _RowId, primary_key=True, autoincrement=False),
    Column("day", Integer, nullable=False),
    Column("actor", Text, nullable=False),
    Column("act", Text, nullable=False),
    Column("details", Text, nullable=False),  # JSON
    Column("hash", LargeBinary(32), nullable=False),  # over this row and the hash before it
)

remote: Final = Table(
    "remote",
    metadata,
    Column("application", Text, primary_key=True),
    Column("document", Text, nullable=False),  # JSON
)
