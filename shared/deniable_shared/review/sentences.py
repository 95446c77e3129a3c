"""What a registry tells of a device, in sentences for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_shared.device_classes import CLASSES
from deniable_shared.planning.upper_bounds import upper_decimals
from deniable_shared.review.entropy import share_alone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.review.together import RecordBits, Together

MOST_NAMED: Final = 6
"""So many metrics are named in a sentence; of more, how many there are."""


def sentences(
    bits: Together,
    records: Sequence[RecordBits],
    joint_bits: float | None = None,
) -> list[str]:
    """Whether what is collected singles out a device, a paragraph for each part of the answer.

    Args:
        bits: what all metrics tell together.
        records: of metrics with attributes.
        joint_bits: as of `Review`.
    """
    lines = [_of_values(bits, joint_bits)]
    lines += [_of_reports(bits), _of_a_year(bits)]
    if bits.constant_metrics:
        lines.append(_of_constants(bits))
    return [*lines, *(_of_record(record, bits.devices) for record in records)]


def _of_values(bits: Together, joint_bits: float | None) -> str:
    """What would be known of a device whose values were seen."""
    decimals = 1 if bits.total is None else _decimals_apart(bits.needed, bits.total)
    text = (
        f"{bits.needed:.{decimals}f} bits single out one of {bits.devices:,} devices. If the "
        f"values themselves were seen, they would tell {_range(bits, decimals, joint_bits)}"
    )
    if bits.leading:
        text += f": {join_names(bits.leading)} would be enough."
    else:
        text += "." if bits.texts else ": not enough on average."
    if bits.alone is None and bits.rarest:
        text += f" A device with the rarest value of each would tell {bits.rarest:.1f} bits."
    if bits.alone is not None and (bits.leading or not bits.texts):
        text += (
            " If all values were equally common and none told anything of another, "
            f"{_percent(bits.alone)} of the devices would have {_shared_by_nobody(bits)}."
        )
    return text


def _shared_by_nobody(bits: Together) -> str:
    """What no other device has: of all values, or of those that are enough by themselves."""
    whole = "a combination of values that no other device has"
    if not bits.leading or len(bits.leading) == bits.metrics:
        return whole
    few = "a value of it" if len(bits.leading) == 1 else "a combination of these values"
    text = f"{few} that no other device has"
    if bits.total is None:
        return text
    return f"{text}, and {_percent(share_alone(bits.devices, bits.total))} {whole}"


def _range(bits: Together, decimals: int, joint_bits: float | None) -> str:
    """How much all values tell together, without noise."""
    if joint_bits is not None:
        return f"{joint_bits:.{decimals}f} bits together, with the pairs that are given"
    if bits.total is None:
        texts = _listed(bits.texts, ", ")
        return f"{bits.largest:.1f} bits or more together, as {texts} may be any text"
    if bits.total == bits.largest:
        return f"{bits.total:.{decimals}f} bits"
    return (
        f"{bits.largest:.{decimals}f} to {bits.total:.{decimals}f} bits together (the lower figure "
        "if the values are fully related, the upper one if they are independent)"
    )


def _decimals_apart(first: float, second: float) -> int:
    """The fewest decimals, at least 1, with which different numbers read as different.

    Each may be rounded, up or to the nearest.
    """
    return next((places for places in range(1, 12) if abs(first - second) * 10**places > 1.5), 1)


def _of_reports(bits: Together) -> str:
    """What one report of each metric tells."""
    text = (
        "But what leaves a device is randomized. One report of each metric, seen together, tells "
        f"at most {upper_decimals(bits.one_report_each, 2)} bits on average, and never more than "
        f"{upper_decimals(bits.one_report_each_most, 1)}"
    )
    if bits.with_delta:
        rare = _listed(bits.with_delta, ", ")
        return f"{text}; rare reports of {rare} may tell more, as these metrics have a delta."
    return f"{text}."


def _of_a_year(bits: Together) -> str:
    """What all reports of a year tell, if they are linked."""
    decimals = _decimals_apart(bits.needed, bits.year)
    text = (
        "If somebody links all reports of one device for a year and its values do not change, they "
        f"learn at most {upper_decimals(bits.year, decimals)} bits on average. Singling out a "
        f"device takes {bits.needed:.{decimals}f}"
    )
    if bits.year < bits.needed:
        return f"{text}."
    by = join_names(bits.leading_in_a_year) or "the class of the device"
    return (
        f"{text}: {by} may be enough. The server stores nothing that links reports; whoever sees "
        "from which addresses they come may link them, and no shuffler stands between."
    )


def _of_constants(bits: Together) -> str:
    """What is the same, without noise, in all reports of a device."""
    return (
        f"The same in all reports of a device, without noise: the row, cohort or group of bins in "
        f"{_listed(bits.constant_metrics, ', ')}. All metrics together show {bits.constants:.1f} "
        f"bits by them, never more than {math.log2(CLASSES):.0f}: a device shares them with 1 in "
        f"{2**bits.constants:.0f} devices."
    )


def _of_record(record: RecordBits, devices: int) -> str:
    """How many devices a whole record would single out."""
    return (
        f"{record.name} is a record of {record.attributes} attributes, of {_count(record.records)} "
        f"different ones. A whole record would leave {_percent(record.alone)} of {devices:,} "
        f"devices alone (e^(-n/d): {_percent(record.alone_approximately)}) and "
        f"{_percent(record.in_pairs)} with one other, if all were equally common; a report "
        "tells of one or two attributes only."
    )


def join_names(names: Sequence[str]) -> str:
    """The names of metrics whose values are taken together."""
    return _listed(names, " x ")


def _listed(names: Sequence[str], sign: str) -> str:
    more = len(names) - MOST_NAMED
    return sign.join([*names[:MOST_NAMED], *([f"{more:,} more"] if more > 0 else [])])


def _percent(share: float) -> str:
    """A share in (0, 1) in per cent; one close to 0 or 1 is never written as 0% or 100%.

    Floats may have rounded it to 0 or 1.
    """
    if share < 0.0001:
        return "less than 0.01%"
    if share > 0.9999:
        return "more than 99.99%"
    return f"{share:.2%}"


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**9 else f"2^{math.log2(number):.0f}"
