"""The checks of a metric as an answer: verdicts, and every check by day and key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import numpy as np

from deniable_aggregator.answers.common import IntegritySummary, NamedKey
from deniable_aggregator.answers.integrity import CheckResult, DayHealth, KeyContrast, KeyHealth
from deniable_aggregator.dates import day_of
from deniable_aggregator.integrity.day_checks import smallest_p
from deniable_aggregator.statistics.checks import MEANINGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.answers.integrity import CheckName
    from deniable_aggregator.answers.words import Verdict
    from deniable_aggregator.integrity import key_contrasts
    from deniable_aggregator.integrity.day_checks import DayChecks, KeyChecks
    from deniable_aggregator.integrity.examiner import Examination
    from deniable_aggregator.integrity.kept_verdicts import KeptDay
    from deniable_aggregator.statistics.checks import SliceChecks
    from deniable_aggregator.store import StoredKey

INVISIBLE: Final = (
    "Checks cannot find devices that lie about their value. Forged reports whose noise is drawn as "
    "a device draws it are visible only where their key differs from the others. The shift beside "
    "each estimate is how far they could move it."
)


def summary(
    examination: Examination,
    contrasts: Sequence[key_contrasts.KeyContrast],
    keys: Mapping[str, StoredKey],
) -> IntegritySummary:
    """The verdict on all days together, and the keys that it is about.

    Args:
        examination: the checks.
        contrasts: every key against the others.
        keys: those of the store, by id.
    """
    failing = {
        key for day in examination.failing_days for key in day.suspicious_keys(examination.limit)
    }
    uneven = dict.fromkeys(each.key for each in contrasts if each.uneven)
    verdict: Verdict = "ok" if examination.checks_made else "unknown"
    if uneven:
        verdict = "uneven"
    if examination.failing_days:
        verdict = "suspicious"
    return IntegritySummary(
        verdict,
        [NamedKey(key, label_of(keys, key)) for key in sorted(failing)],
        [NamedKey(key, label_of(keys, key)) for key in uneven],
    )


def label_of(keys: Mapping[str, StoredKey], key: str) -> str:
    """The label of a key; empty if it has none.

    Args:
        keys: those of the store, by id.
        key: an id.
    """
    return keys[key].label if key in keys else ""


def by_day(examination: Examination, keys: Mapping[str, StoredKey]) -> list[DayHealth]:
    """Every check, by day and key.

    Args:
        examination: the checks.
        keys: those of the store, by id.
    """
    return [day_health(day, keys, examination.limit) for day in examination.days]


def contrast(each: key_contrasts.KeyContrast, keys: Mapping[str, StoredKey]) -> KeyContrast:
    """One key against the others, as a part of an answer.

    Args:
        each: the comparison.
        keys: those of the store, by id.
    """
    return KeyContrast(
        key=each.key,
        label=label_of(keys, each.key),
        version=each.spec.digest.hex(),
        reports=each.reports,
        share=each.share,
        verdict="uneven" if each.uneven else "ok",
        **each.contrast._asdict(),
    )


def day_health(day: DayChecks | KeptDay, keys: Mapping[str, StoredKey], limit: float) -> DayHealth:
    """The checks of one day.

    Args:
        day: the checks.
        keys: those of the store, by id.
        limit: a check fails if its p-value is below this.
    """
    return DayHealth(
        day=day_of(day.epoch),
        version=day.spec.digest.hex(),
        title=day.spec.mechanism.title,
        reports=day.reports,
        verdict=_verdict(day.smallest_p if day.checks_made else None, limit),
        stand_out=day.suspicious_keys(limit),
        checks=[
            CheckResult(
                cast("CheckName", check.name),
                MEANINGS[check.name],
                _verdict(check.p, limit),
                check.p,
                check.finding,
            )
            for check in day.found()
        ],
        keys=[] if day.keys is None else _keys(day.keys, keys, limit),
    )


def _keys(found: KeyChecks, keys: Mapping[str, StoredKey], limit: float) -> list[KeyHealth]:
    results = zip(*(_results(check, limit) for check in found.checks), strict=True)
    made = np.any([~np.isnan(check.p) for check in found.checks], axis=0).tolist()
    columns = found.ids, found.reports.tolist(), made, smallest_p(found.checks).tolist(), results
    return [
        KeyHealth(key, label_of(keys, key), reports, _verdict(p if known else None, limit), [*each])
        for key, reports, known, p, each in zip(*columns, strict=True)
    ]


def _results(checks: SliceChecks, limit: float) -> list[CheckResult]:
    """One check of each slice."""
    name, asks = cast("CheckName", checks.name), MEANINGS[checks.name]
    return [
        CheckResult(name, asks, _verdict(p, limit), p, finding)
        for p, finding in zip(checks.values(), checks.findings(), strict=True)
    ]


def _verdict(p: float | None, limit: float) -> Verdict:
    if p is None:
        return "unknown"
    return "suspicious" if p < limit else "ok"
