"""Parts of a metric's table that become values: categories, attributes and segments."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_shared import hashing
from deniable_shared.attributes import Attribute
from deniable_shared.characters import NAME
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.sets.base import DEFAULT_MOST, MAX_MOST
from deniable_shared.segments import Segments
from deniable_shared.spec import TYPES_WITH_RANGE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from deniable_shared.fields import TableReader
    from deniable_shared.numbers import Range


def normalized_categories(
    values: Sequence[str], *roles_named: str | None
) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
    """The categories of a metric in NFC, and those of them that have a role.

    Args:
        roles_named: categories with a role, such as the catch-all; one that is not among the values
            is appended to them.
    """
    normalized = tuple(map(hashing.normalize, values))
    roles = tuple(None if role is None else hashing.normalize(role) for role in roles_named)
    for role in roles:
        if role is not None and role not in normalized:
            normalized = (*normalized, role)
    return normalized, roles


def parse_values(
    table: TableReader, *, absent: str | None = None
) -> tuple[tuple[str, ...], str | None]:
    """A list of values, and the catch-all that stands for all others.

    A value outside of the list must not be passed over in silence: whoever knows that a device
    takes part would learn from its silence, without any noise, that it holds such a value. So the
    table has to name a category that takes it, or say that the list is complete.

    Args:
        table: its fields ``values``, ``other`` and ``complete``.
        absent: the category that is reported where no listed value was; None if there is none.

    Returns:
        The values as they are listed, and ``other`` or None.
    """
    values, catch_all = table.texts("values"), table.text("other", default="")
    complete = table.read("complete", "true", lambda value: value is True, default=None)
    if catch_all and complete:
        table.add_problem("complete", "left out: other takes all other values", complete)
    if catch_all and values and hashing.normalize(catch_all) in map(hashing.normalize, values):
        constraint = "none of values: a device that holds it could not be told from all others"
        table.add_problem("other", constraint, catch_all)
    unstated = catch_all == "" and absent is None and not complete
    if values is not None and unstated:
        table.add_problem("other", "given, or complete = true if there are no other values", None)
    return values or (), catch_all or None


def parse_set(
    table: TableReader, every: str | None
) -> tuple[tuple[str, ...], str | None, str | None, int]:
    """The items of a set, and how many of a device a report covers.

    A set with items that are not listed is reported like any other, so none is given away by
    silence, and ``other`` may be left out.

    Args:
        table: its fields ``values``, ``other``, ``most`` and ``absent``.
        every: how often the metric reports; None if that is not said.

    Returns:
        The items in NFC, the catch-all last, or none if they are any texts; the catch-all or None;
        what the empty set is called, which then stands for a period without a value, or None; and
        how many items a report covers.
    """
    listed = table.texts("values", default=None)
    catch_all = table.text("other", default=None) or None
    absent = table.text("absent", default=None)
    values, (other,) = normalized_categories(listed or (), catch_all)
    if listed == ():
        table.add_problem("values", "a list of at least one item, or left out", [])
    if other is not None and len(values) == len(listed or ()):
        table.add_problem("other", "none of values", catch_all)
    elif other is not None and not listed:
        table.add_problem("other", "left out without values: any text is an item", catch_all)
    if absent is not None:
        absent = hashing.normalize(absent)
        if every == "once":
            constraint = 'left out with every = "once": a period that never ends has no absence'
            table.add_problem("absent", constraint, absent)
        elif not absent or absent in values:
            table.add_problem("absent", "what the empty set is called, and no value", absent)
    limit = min(MAX_MOST, len(values)) if values else MAX_MOST
    most = table.integer("most", 1, limit, default=min(DEFAULT_MOST, limit))
    return values, other, absent, most or 0


def parse_renamed(
    table: TableReader, kind: str | None, values: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """The earlier names of the values of a category or set, from its table in a registry file.

    Answers tell reports of an earlier version by the new names. Devices do not use them.

    Args:
        table: its field ``renamed`` is a table such as ``{ system = "auto" }``.
        kind: the metric's type.
        values: of this version, in NFC, without segments.

    Returns:
        Each earlier name with the one that the value has now, both in NFC.
    """
    if kind not in ("category", "set"):
        return ()
    names = table.optional_table("renamed")
    found: dict[str, str] = {}
    for earlier, now in () if names is None else names.names():
        old, new = map(hashing.normalize, (earlier, now))
        if old in values:
            constraint = "left out: a value that is in values has its own name"
            table.add_problem(f"renamed.{earlier}", constraint, now)
        elif new not in values:
            table.add_problem(f"renamed.{earlier}", "one of values", now)
        elif old in found:
            table.add_problem(f"renamed.{earlier}", "given once in Unicode's form NFC", now)
        else:
            found[old] = new
    return tuple(found.items())


def parse_absent(
    table: TableReader, kind: str | None, ends: Range | None
) -> Literal[False] | Fraction | None:
    """What stands for a period without a value: ``false`` of a flag, or a number of the range.

    Any other answer, such as that nobody was asked, needs a category.

    Args:
        table: its field ``absent``.
        kind: the metric's type.
        ends: the range of its numbers; None without, or if it was refused.

    Returns:
        None if it is not given, or the type has no such field.
    """
    if kind == "boolean":
        return False if table.read("absent", "false", _is_false, default=None) is False else None
    if kind not in TYPES_WITH_RANGE:
        return None
    low, high = ends or (Fraction(0), Fraction(0))
    value = table.read(
        "absent",
        "a number of the range",
        lambda v: (
            ends is None
            or (type(v) in (int, Decimal) and Decimal(v).is_finite() and low <= Fraction(v) <= high)
        ),
        default=None,
    )
    return None if value is None or ends is None else Fraction(value)


def _is_false(value: object) -> bool:
    return value is False


def parse_attributes(table: TableReader) -> tuple[Attribute, ...] | None:
    """The attributes of a metric, from its table in a registry file.

    Args:
        table: ``late = "boolean"``, ``carrier = { values = ["AA", "DL"], other = "another" }``, or
            ``gate = { values = ["A", "B"], complete = true }``.

    Returns:
        None if there were problems; they are noted.
    """
    attributes = []
    failed = False
    for name, domain in table.domains(NAME):
        if domain is None:
            attributes.append(Attribute(name, "boolean"))
            continue
        values, catch_all_value = parse_values(domain)
        domain.report_unknown()
        if not domain.failed:
            try:
                listed, (catch_all,) = normalized_categories(values, catch_all_value)
                attributes.append(Attribute(name, "category", listed, catch_all))
            except ParameterError as error:
                domain.add_problem("values", error.constraint, error.value)
        failed |= domain.failed
    return None if failed or table.failed else tuple(attributes)


def parse_segments(
    metric: TableReader, kind: str | None, name: str, values: tuple[str, ...], other: str | None
) -> Segments | None:
    """The segments of a metric, from its table in a registry file; None if there are none.

    Args:
        metric: its field ``segment`` is a table, such as
            ``{ name = "channel", values = ["stable", "beta"], other = "another" }``.
        kind: the metric's type.
        other: its own catch-all.
    """
    if kind == "set":
        constraint = "left out of a set, which has too little left for each segment"
        metric.read("segment", constraint, lambda _: False, default=None)
    if kind not in ("boolean", "category"):
        return None
    table = metric.optional_table("segment")
    if table is None:
        return None
    segment_name = table.text("name", NAME)
    listed, catch_all = parse_values(table)
    table.report_unknown()
    metric.failed |= table.failed
    if table.failed or segment_name is None:
        return None
    segments, (catch_all,) = normalized_categories(listed, catch_all)
    try:
        own = Attribute(name, "boolean" if kind == "boolean" else "category", values, other)
        return Segments(own, Attribute(segment_name, "category", segments, catch_all))
    except ParameterError as error:
        metric.add_problem(error.name, error.constraint, error.value)
        return None
