"""What a client reads in the JSON of an answer about a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniable_aggregator.answers.measured import Measure

    Number = dict[str, Any]

LEFT_OUT = {"period": 0}
"""What a field is that JSON leaves out; of others it is null."""


def numbers(body: dict[str, Any], *measures: Measure, **fields: Any) -> list[Number]:
    """The numbers of these measures, in their order; of all reports together unless said.

    Args:
        body: an answer as JSON.
        measures: at least one.
        fields: what they must be, such as ``value="light"`` or ``period=1``.
    """
    wanted = {**({} if "version" in fields else {"within": None}), **fields}
    return [
        each
        for each in body["numbers"]
        if each["measure"] in measures
        and all(each.get(name, LEFT_OUT.get(name)) == value for name, value in wanted.items())
    ]


def number(body: dict[str, Any], measure: Measure, **fields: Any) -> Number:
    """The only one of these numbers."""
    (found,) = numbers(body, measure, **fields)
    return found


def shares(body: dict[str, Any], **fields: Any) -> dict[str, float]:
    """The estimated share of each value, in their order."""
    return {each["value"]: each["estimate"] for each in numbers(body, "share", **fields)}


def codes(body: dict[str, Any], severity: str | None = None) -> list[str]:
    """The codes of its notices.

    Args:
        body: an answer as JSON.
        severity: of the notices; None for all.
    """
    notices = body.get("notices", [])
    return [each["code"] for each in notices if severity in (None, each["severity"])]
