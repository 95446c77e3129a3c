"""Parts of a metric's table that become values: categories, attributes and segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_shared import hashing
from deniable_shared.attributes import NAME, Attribute
from deniable_shared.errors import ParameterError
from deniable_shared.segments import Segments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.fields import TableReader


def normalized_categories(
    values: Sequence[str], *named: str | None
) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
    """The categories of a metric in NFC, and those of them that have a role.

    Args:
        values: the categories that are listed.
        named: categories with a role, such as the catch-all; any that is not among the values is
            appended to them.
    """
    normalized = tuple(map(hashing.normalize, values))
    roles = tuple(None if role is None else hashing.normalize(role) for role in named)
    for role in roles:
        if role is not None and role not in normalized:
            normalized = (*normalized, role)
    return normalized, roles


def parse_attributes(table: TableReader) -> tuple[Attribute, ...] | None:
    """The attributes of a metric, from its table in a registry file.

    Args:
        table: ``carrier = ["AA", "DL"]``, ``late = "boolean"``, or
            ``carrier = { values = ["AA", "DL"], other = "another" }``.

    Returns:
        None if there were problems; they are noted.
    """
    found = []
    failed = False
    for name, domain in table.domains(NAME):
        if domain is None:
            found.append(Attribute(name, "boolean"))
            continue
        values, other = domain.texts("values"), domain.text("other", default=None)
        domain.report_unknown()
        if not domain.failed:
            try:
                listed, (catch_all,) = normalized_categories(values or (), other)
                found.append(Attribute(name, "category", listed, catch_all))
            except ParameterError as error:
                domain.add_problem("values", error.constraint, error.value)
        failed |= domain.failed
    return None if failed or table.failed else tuple(found)


def parse_segments(
    metric: TableReader, kind: str | None, name: str, values: tuple[str, ...], other: str | None
) -> Segments | None:
    """The segments of a metric, from its table in a registry file; None if there are none.

    Args:
        metric: its field ``segment`` is ``{ name = "channel", values = ["stable", "beta"] }``, with
            ``other`` or without.
        kind: the metric's type.
        name: the metric's name.
        values: its own values.
        other: its own catch-all.
    """
    if kind not in ("boolean", "category"):
        return None
    table = metric.optional_table("segment")
    if table is None:
        return None
    called, listed = table.text("name", NAME), table.texts("values")
    catch_all = table.text("other", default=None)
    table.report_unknown()
    metric.failed |= table.failed
    if table.failed or called is None or listed is None:
        return None
    segments, (catch_all,) = normalized_categories(listed, catch_all)
    try:
        own = Attribute(name, "boolean" if kind == "boolean" else "category", values, other)
        return Segments(own, Attribute(called, "category", segments, catch_all))
    except ParameterError as error:
        metric.add_problem(error.name, error.constraint, error.value)
        return None
