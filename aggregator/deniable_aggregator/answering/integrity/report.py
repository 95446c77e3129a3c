"""The health of a metric's reports, and what every answer says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import numpy as np
from msgspec.structs import replace

from deniable_aggregator.answering.integrity.day_checks import DayChecks, KeyChecks, smallest_p
from deniable_aggregator.answers.answer import Check, CheckName
from deniable_aggregator.answers.common import IntegritySummary, NamedKey, Notice
from deniable_aggregator.answers.dates import day_of, epoch_of
from deniable_aggregator.answers.measured import Measure, Measured
from deniable_aggregator.telling.wording import days_shortly, key_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.answering.integrity import contrasts
    from deniable_aggregator.answering.integrity.contrasts import KeyContrast
    from deniable_aggregator.answering.integrity.examiner import Examination
    from deniable_aggregator.answering.integrity.kept_verdicts import KeptDay
    from deniable_aggregator.answering.integrity.volumes import Kind, LargestUpload, Surge, Volumes
    from deniable_aggregator.answers.dates import DayRange
    from deniable_aggregator.answers.words import Verdict
    from deniable_aggregator.keeping.store import StoredKey, StoredPast


INVISIBLE: Final = (
    "Checks cannot find devices that lie about their value. Forged reports whose noise is drawn as "
    "a device draws it are visible only where their key differs from the others. The shift beside "
    "each estimate is how far they could move it."
)


def summary(
    examination: Examination,
    contrasts: Sequence[contrasts.KeyContrast],
    volumes: Volumes,
    keys: Mapping[str, StoredKey],
) -> IntegritySummary:
    """The verdict on all days together, and the keys that it is about.

    Args:
        examination: the checks.
        contrasts: every key against the others.
        volumes: what stands out among the volumes.
    """
    failing = {
        key for day in examination.failing_days for key in day.suspicious_keys(examination.limit)
    }
    uneven = dict.fromkeys(contrast.key for contrast in contrasts if contrast.uneven)
    verdict: Verdict = "ok" if examination.checks_made else "unknown"
    surging = sorted({each.key for each in volumes.notable if each.key is not None})
    if volumes.notable:
        verdict = "surge"
    if uneven:
        verdict = "uneven"
    if examination.failing_days:
        verdict = "suspicious"
    return IntegritySummary(
        verdict,
        [NamedKey(key, label_of(keys, key)) for key in sorted(failing)],
        [NamedKey(key, label_of(keys, key)) for key in uneven],
        [NamedKey(key, label_of(keys, key)) for key in surging],
    )


def label_of(keys: Mapping[str, StoredKey], key: str) -> str:
    """The label of a key; empty if it has none."""
    return keys[key].label if key in keys else ""


def by_day(
    examination: Examination, surges: Sequence[Surge], keys: Mapping[str, StoredKey]
) -> list[Check]:
    """Every check, by day and key; of volumes only those that stand out.

    Args:
        surges: the days on which far more came than usual.
    """
    of_day: dict[tuple[int, bytes], list[Surge]] = {}
    for surge in surges:
        of_day.setdefault((surge.epoch, surge.digest), []).append(surge)
    found: list[Check] = []
    for day in examination.days:
        checks = list(checks_of_day(day, keys, examination.limit))
        unusual = of_day.get((day.epoch, day.spec.digest), [])
        if unusual:
            checks = [_with_surges(check, unusual) for check in checks]
            checks += [_check_of_surge(surge, keys) for surge in unusual]
        found += checks
    return found


def _with_surges(check: Check, unusual: Sequence[Surge]) -> Check:
    """The verdict of a day or key that has far more reports than usual."""
    concerned = check.key is None or any(check.key == surge.key for surge in unusual)
    if check.name is None and concerned and check.verdict != "suspicious":
        return replace(check, verdict="surge")
    return check


def _check_of_surge(surge: Surge, keys: Mapping[str, StoredKey]) -> Check:
    return Check(
        day=day_of(surge.epoch),
        version=surge.digest.hex(),
        key=surge.key,
        label=None if surge.key is None else label_of(keys, surge.key),
        reports=surge.reports,
        name=surge.kind,
        verdict="surge",
        p=surge.p,
        finding=f"{surge.reports:,} reports{_IN_ONE[surge.kind]}, usually {surge.usual:,.0f}",
    )


_IN_ONE: Final[Mapping[Kind, str]] = {"volume": "", "upload": " in one upload"}

VOLUME_MEANINGS: Final[Mapping[str, str]] = {
    "volume": "a key brings about as many on a day as on the same weekdays of the four weeks "
    "before; it stands out from twice as many, beyond what these weeks differ",
    "upload": "so does the largest upload of a key's day",
}
"""What is so of volumes that are usual."""


def contrast(key_contrast: contrasts.KeyContrast, keys: Mapping[str, StoredKey]) -> Measured:
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
        flagged_from=compared.flagged_from,
        past=compared.past,
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
                f"{contrast.share:.0%} of the reports, answers differently from the others"
                f"{_since_when(contrast)}: {contrast_in_words(contrast)}. "
                "Its devices may differ, or its reports may be forged: ask again without it, and "
                "compare.",
            )


def of_acknowledged(pasts: Sequence[StoredPast], keys: Mapping[str, StoredKey]) -> Iterator[Notice]:
    """A note for each key whose difference an administrator has acknowledged.

    Args:
        pasts: what is known of keys of the metric, what was acknowledged last at the end.
    """
    last = {past.key: past for past in pasts if past.acknowledged is not None}
    for key, past in last.items():
        assert past.acknowledged is not None
        yield Notice(
            "acknowledged_key",
            "note",
            f"Key {key_in_words(key, label_of(keys, key))} may differ from the others as it did "
            f"from {day_of(past.since)} to {day_of(past.until)}, acknowledged on "
            f"{day_of(past.acknowledged)}: {past.note}",
        )


def of_largest_upload(
    largest: LargestUpload | None, keys: Mapping[str, StoredKey]
) -> Iterator[Notice]:
    """A warning if much of an answer came in one upload.

    Args:
        largest: the largest, if it has more than a tenth of the reports.
    """
    if largest is not None:
        name = key_in_words(largest.key, label_of(keys, largest.key))
        yield Notice(
            "large_upload",
            "warning",
            f"{largest.part:.0%} of these reports came in one upload: {largest.reports:,} of "
            f"{day_of(largest.epoch)}, "
            f"with key {name}. Whoever sent it can have made them up.",
        )


def of_surges(surges: Sequence[Surge], keys: Mapping[str, StoredKey]) -> Iterator[Notice]:
    """A warning for each key that brought far more reports on some days than it usually does.

    Args:
        surges: the days on which that is so.
    """
    by_key: dict[str | None, list[Surge]] = {}
    for surge in surges:
        by_key.setdefault(surge.key, []).append(surge)
    for key, some in by_key.items():
        days = days_shortly(sorted({day_of(surge.epoch) for surge in some}))
        worst = max(some, key=lambda surge: surge.reports / surge.usual)
        who, advice = "All keys together", "ask about other days, and compare"
        if key is not None:
            who = f"Key {key_in_words(key, label_of(keys, key))}"
            advice = "ask again without it, and compare"
        yield Notice(
            "unusual_volume",
            "warning",
            f"{who} brought far more reports than usual on {days}: up to {worst.reports:,}"
            f"{_IN_ONE[worst.kind]}, usually {worst.usual:,.0f}. Its devices may be more, or its "
            f"reports may be forged: {advice}.",
        )


def of_spent_quotas(
    keys: Sequence[StoredKey], asked: DayRange, *, accept_days: int
) -> Iterator[Notice]:
    """A warning for each key of which uploads were refused, as it had brought all that it may.

    Args:
        keys: whose reports an answer is about.
        asked: its days.
        accept_days: for how many days devices may send such reports again.
    """
    first, last = epoch_of(asked.since), epoch_of(asked.until)
    for key in keys:
        since, until = key.refused_since, key.refused_until
        # What was refused early on a day is of the day before.
        if since is None or until is None or since - 1 > last or until < first:
            continue
        days = days_shortly([day_of(epoch) for epoch in range(since, until + 1)])
        yield Notice(
            "quota_spent",
            "warning",
            f"Key {key_in_words(key.id, key.label)} brought on {days} all that it may, and uploads "
            f"with it were refused for hours. Devices send theirs again for {accept_days} days, so "
            "none are lost if that has ended; what took their place may be forged: ask again "
            "without the key, and compare.",
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


def _since_when(key_contrast: KeyContrast) -> str:
    """Whether this is new; what is known of a key without a past."""
    if key_contrast.contrast.acknowledged:
        return ", unlike what was acknowledged"
    if key_contrast.contrast.past is not None:
        return ", unlike in its first weeks"
    return " (it has no past to compare with)"


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
