"""What checks of reports look for, and what failed, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.days import days_shortly, key_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from deniable_aggregator.answers.integrity import CheckResult, DayHealth, Health, KeyContrast

CHECK_WORDS: Final = {
    "bounds": "too frequent answers",
    "groups": "uneven groups",
    "levels": "uneven levels",
    "pairs": "bits that come together",
    "seeds": "uneven hash seeds",
    "sizes": "too many or too few ones",
    "sum": "shares that do not add up",
}
"""What the checks look for, in a few words."""

NO_CHECK_SEES_LIES: Final = "No check can see devices that lie about their value."


def failed_checks(answer: Health) -> Iterator[str]:
    """What failed: a sentence for each check of all reports, or of those of a key.

    Args:
        answer: the health of a metric.
    """
    failed: dict[tuple[str, str], list[tuple[date, CheckResult]]] = {}
    for day in answer.by_day:
        for whose, checks in checks_of(day):
            for check in checks:
                if check.verdict == "suspicious":
                    name = f"{CHECK_WORDS[check.check]}{whose}"
                    failed.setdefault((name, day.version), []).append((day.day, check))
    for (name, _), found in failed.items():
        worst = min((check for _, check in found), key=lambda check: check.p or 0.0)
        days = days_shortly(sorted(day for day, _ in found))
        yield f"{days}: {name}: {worst.found}."


def checks_explained(answer: Health) -> Iterator[str]:
    """What the checks are, and what none can see; a sentence each.

    Args:
        answer: the health of a metric.
    """
    made = [check for day in answer.by_day for _, checks in checks_of(day) for check in checks]
    for name, asks in {check.check: check.asks for check in made}.items():
        yield f"The check for {CHECK_WORDS[name]}: in honest reports, {asks}."
    yield (
        f"p is how often honest reports look at least so odd; a check fails below "
        f"{answer.alarm.p_below:.2g}, which happens to honest reports in less than one of a "
        "thousand answers."
    )
    yield (
        "A key differs if one of its shares is more than 20 points from that of the other keys, or "
        "its mean a fifth of the range, beyond what noise explains, and if it moves the answer by "
        "a point or more. Devices may really differ: compare with and without the key."
    )
    yield answer.invisible


def contrast_in_words(contrast: KeyContrast, value: str) -> str:
    """Where a key differs most from the others.

    Args:
        contrast: the key against the others.
        value: the value whose shares are compared, as it is to be shown.
    """
    if contrast.own is None or contrast.others is None:
        return f"all that its devices hold: {contrast.difference:.0%} apart"
    if contrast.kind == "mean":
        return f"the mean: {contrast.own:.4g} against {contrast.others:.4g}"
    own, others = (min(max(share, 0.0), 1.0) for share in (contrast.own, contrast.others))
    return f"{value}: {own:.1%} against {others:.1%}"


def checks_of(day: DayHealth) -> Iterator[tuple[str, list[CheckResult]]]:
    """Whose checks, and they: first those of all reports, then of each key's.

    Args:
        day: a day of a version.
    """
    yield "", day.checks
    for each in day.keys:
        yield f", key {key_in_words(each.key, each.label)}", each.checks
