"""The columns of the long table. A row is their source; whoever only asks needs none of them."""

from __future__ import annotations

from datetime import date
from types import NoneType
from typing import Final, NamedTuple, get_args, get_type_hints

from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.answers.row import Row


class ColumnType(NamedTuple):
    """What the cells of a column are.

    Attributes:
        kind: text, numbers, flags or days.
        may_be_none: whether it may not apply.
    """

    kind: type[str | float | int | bool | date]
    may_be_none: bool


_NO_COLUMNS: Final = {"values", "versions", "period", "step"}
"""What other columns say: `value`, `version`, and `since` with `until`; and how words round."""


def _column_types() -> dict[str, ColumnType]:
    """Where a number comes from, and then the number."""
    hints = get_type_hints(Row)
    of_number = [name for name in Measured.__struct_fields__ if name not in _NO_COLUMNS]
    own = [name for name in Row.__struct_fields__ if name not in Measured.__struct_fields__]
    found = {}
    for name in (*own, *of_number):
        alternatives = get_args(hints[name]) or (hints[name],)
        kinds = [each for each in alternatives if each is not NoneType]
        # Those of literals are text.
        kind = kinds[0] if isinstance(kinds[0], type) else str
        found[name] = ColumnType(kind, NoneType in alternatives)
    return found


COLUMNS: Final = _column_types()
"""The columns of the long table, by their names and in their order."""
