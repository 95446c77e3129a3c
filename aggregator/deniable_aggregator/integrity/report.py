"""The checks of a metric as an answer: verdicts, and every check by day and key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import numpy as np
from msgspec.structs import replace

from deniable_aggregator.answers.answer import Check
from deniable_aggregator.answers.common import IntegritySummary, NamedKey
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.dates import day_of
from deniable_aggregator.integrity.day_checks import smallest_p

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.answers.answer import CheckName
    from deniable_aggregator.answers.measured import Measure
    from deniable_aggregator.answers.words import Verdict
    from deniable_aggregator.integrity import key_contrasts
    from deniable_aggregator.integrity.day_checks import DayChecks, KeyChecks
    from deniable_aggregator.integrity.examiner import Examination
    from deniable_aggregator.integrity.kept_verdicts import KeptDay
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
    """
    failing = {
        key for day in examination.failing_days for key in day.suspicious_keys(examination.limit)
    }
    uneven = dict.fromkeys(contrast.key for contrast in contrasts if contrast.uneven)
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
    """The label of a key; empty if it has none."""
    return keys[key].label if key in keys else ""


def by_day(examination: Examination, keys: Mapping[str, StoredKey]) -> list[Check]:
    """Every check, by day and key."""
    return [
        check for day in examination.days for check in checks_of_day(day, keys, examination.limit)
    ]


def contrast(key_contrast: key_contrasts.KeyContrast, keys: Mapping[str, StoredKey]) -> Measured:
    """One key against the others, as a number of an answer.

    Args:
        key_contrast: the comparison.
    """
    compared = key_contrast.contrast
    return Measured(
        measure=_CONTRASTS[compared.kind],
        value=compared.value,
        key=key_contrast.key,
        label=label_of(keys, key_contrast.key),
        version=key_contrast.spec.digest.hex(),
        reports=key_contrast.reports,
        part=key_contrast.share,
        estimate=compared.difference,
        low=compared.least,
        before=compared.others,
        after=compared.own,
        told=key_contrast.uneven,
    )


def checks_of_day(
    day: DayChecks | KeptDay, keys: Mapping[str, StoredKey], limit: float
) -> Iterator[Check]:
    """The verdict of a day, its checks, and the same of what each key brought.

    Args:
        limit: a check fails if its p-value is below this.
    """
    of_day = Check(
        day=day_of(day.epoch),
        version=day.spec.digest.hex(),
        reports=day.reports,
        verdict=_verdict(day.smallest_p if day.checks_made else None, limit),
    )
    stand_out = tuple(day.suspicious_keys(limit))
    yield replace(of_day, title=day.spec.mechanism.title, stand_out=stand_out)
    for check in day.joint_checks():
        yield replace(
            of_day,
            name=cast("CheckName", check.name),
            verdict=_verdict(check.p, limit),
            p=check.p,
            finding=check.finding,
        )
    if day.keys is not None:
        yield from _of_keys(day.keys, of_day, keys, limit)


def _of_keys(
    key_checks: KeyChecks, of_day: Check, keys: Mapping[str, StoredKey], limit: float
) -> Iterator[Check]:
    results = [
        (cast("CheckName", check.name), check.values(), check.findings())
        for check in key_checks.checks
    ]
    made_checks = np.any([~np.isnan(check.p) for check in key_checks.checks], axis=0).tolist()
    columns = (
        key_checks.ids,
        key_checks.reports.tolist(),
        made_checks,
        smallest_p(key_checks.checks).tolist(),
    )
    for place, (key, reports, is_checked, p) in enumerate(zip(*columns, strict=True)):
        of_key = replace(
            of_day,
            key=key,
            label=label_of(keys, key),
            reports=reports,
            verdict=_verdict(p if is_checked else None, limit),
        )
        yield of_key
        for name, values, findings in results:
            yield replace(
                of_key,
                name=name,
                verdict=_verdict(values[place], limit),
                p=values[place],
                finding=findings[place],
            )


def _verdict(p: float | None, limit: float) -> Verdict:
    if p is None:
        return "unknown"
    return "suspicious" if p < limit else "ok"


_CONTRASTS: Final[Mapping[str, Measure]] = {
    "share": "contrast in share",
    "mean": "contrast in mean",
    "distance": "contrast in distribution",
}
