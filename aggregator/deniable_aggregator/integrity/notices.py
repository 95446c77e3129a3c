"""What an answer says of reports that do not look right: which days and keys, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers.common import Notice
from deniable_aggregator.dates import day_of
from deniable_aggregator.integrity.report import label_of
from deniable_aggregator.telling.wording import days_shortly, key_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.integrity.examiner import Examination
    from deniable_aggregator.integrity.key_contrasts import KeyContrast
    from deniable_aggregator.store import StoredKey

LEAST_DISAGREEMENT = 0.02
"""A robust check that differs by less is not worth a warning."""


def of_checks(
    metric: str, examination: Examination, keys: Mapping[str, StoredKey]
) -> Iterator[Notice]:
    """A warning if reports of some days are not all those of honest devices."""
    failing = examination.failing_days
    if not failing:
        return
    days = days_shortly(sorted({day_of(day.epoch) for day in failing}))
    suspicious = sorted({key for day in failing for key in day.suspicious_keys(examination.limit)})
    advice = f"Look at the health of {metric}."
    if any(suspicious):
        names = ", ".join(key_in_words(key, label_of(keys, key)) for key in suspicious)
        stand = f"Keys {names} stand out" if suspicious[1:] else f"Key {names} stands out"
        without = "without them" if suspicious[1:] else "without it"
        advice = f"{stand}: ask again {without}, and look at the health of {metric}."
    message = f"The reports of {days} are not all those of honest devices. {advice}"
    yield Notice("suspicious_reports", "warning", message)


def of_contrasts(
    contrasts: Sequence[KeyContrast], keys: Mapping[str, StoredKey]
) -> Iterator[Notice]:
    """A warning for each key that answers unlike the others.

    Args:
        contrasts: every key against the others.
    """
    for contrast in contrasts:
        if contrast.uneven:
            yield Notice(
                "uneven_key",
                "warning",
                f"Key {key_in_words(contrast.key, label_of(keys, contrast.key))}, with "
                f"{contrast.share:.0%} of the reports, answers differently from the others: "
                f"{contrast_in_words(contrast)}. Its devices may differ, or its reports may be "
                "forged: ask again without it, and compare.",
            )


def of_mixed_keys(mixed: Mapping[str, int], keys: Mapping[str, StoredKey]) -> Iterator[Notice]:
    """A warning for each excluded key whose reports could not be left out of all days.

    Args:
        mixed: how many of its reports are counted, by key.
    """
    for key, reports in sorted(mixed.items()):
        yield Notice(
            "excluded_key_counted",
            "warning",
            f"{reports:,} reports of key {key_in_words(key, label_of(keys, key))}, which is "
            "excluded, are counted: they are of days that had become one before the key was "
            "excluded. Ask about later days to do without them.",
        )


def contrast_in_words(key_contrast: KeyContrast) -> str:
    """Where a key differs most, such as "100% contrast against 0%"."""
    contrast = key_contrast.contrast
    if contrast.own is None or contrast.others is None:
        return f"what their devices hold is {contrast.difference:.0%} apart"
    if contrast.kind == "mean":
        return f"a mean of {contrast.own:.4g} against {contrast.others:.4g}"
    own, rest_share = (min(max(share, 0.0), 1.0) for share in (contrast.own, contrast.others))
    return f"{own:.0%} {contrast.value} against {rest_share:.0%}"


def of_robust_checks(metric: str, rows: Sequence[Measured]) -> Iterator[Notice]:
    """A warning if a share and its robust check cannot both be right."""
    apart = [
        (abs(row.estimate - row.robust), row)
        for row in rows
        if row.estimate is not None
        and row.robust is not None
        and row.robust_low is not None
        and row.robust_high is not None
        and not (row.ends[0] <= row.robust_high and row.robust_low <= row.ends[1])
    ]
    if not apart:
        return
    difference, row = max(apart, key=lambda pair: pair[0])
    if difference >= LEAST_DISAGREEMENT:
        middle = min(max(row.robust or 0.0, 0.0), 1.0)
        yield Notice(
            "robust_check_differs",
            "warning",
            f"The estimate of {row.value} is {row.estimate:.1%}, but {middle:.1%} in the middle "
            "one of all days and keys: some of them differ much from the rest. Look at the "
            f"health of {metric}, and at the series by day.",
        )
