"""No sorter carries large columns: SQLite writes what it sorts into a temporary file.

Every statement that any test of the aggregator runs on SQLite is explained, once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Engine, LargeBinary, event

from deniable_aggregator.keeping.store.schema import metadata, metrics, registered_versions

if TYPE_CHECKING:
    from sqlalchemy import Connection

SHORT: Final = {"hash", "digest", "key", "tag", "sha256"}
LARGE: Final = {
    column.name
    for table in metadata.sorted_tables
    for column in table.columns
    if isinstance(column.type, LargeBinary) and column.name not in SHORT
} | {metrics.c.spec.name, registered_versions.c.entry.name}
_NAMES: Final = re.compile(rf"\b({'|'.join(sorted(LARGE))})\b")
SORTS: Final = "USE TEMP B-TREE"

_seen: set[str] = set()
found: list[str] = []
"""Statements in which a large column may be sorted."""


def watch() -> None:
    """Explains statements from now on."""
    event.listen(Engine, "before_cursor_execute", _explain)


def _explain(
    connection: Connection, _: object, statement: str, parameters: Any, *__: object
) -> None:
    is_read = statement.lstrip().upper().startswith(("SELECT", "WITH"))
    if connection.dialect.name != "sqlite" or not is_read or statement in _seen:
        return
    _seen.add(statement)
    if not _NAMES.search(statement):
        return
    if isinstance(parameters, list):
        parameters = parameters[0] if parameters else ()
    driver = connection.connection.driver_connection
    assert driver is not None
    plan = driver.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
    if any(SORTS in step for *_, step in plan):
        found.append(statement)
