"""Whether reports look honest: what checks look for, what failed, and what none can see."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from deniable_aggregator.telling.numbers import contrast_in_words, contrast_judged, is_contrast
from deniable_aggregator.telling.wording import (
    counted,
    days_shortly,
    key_in_words,
    listed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date

    from deniable_aggregator.answers.answer import Answer, Check, CheckName
    from deniable_aggregator.answers.common import NamedKey
    from deniable_aggregator.answers.measured import Measured

CHECK_WORDS: Final[Mapping[CheckName, str]] = {
    "bounds": "too frequent answers",
    "fillers": "sizes of sets in an impossible order",
    "groups": "uneven groups",
    "levels": "uneven levels",
    "pairs": "bits that come together",
    "seeds": "uneven hash seeds",
    "sizes": "too many or too few ones",
    "sum": "shares that do not add up",
    "alarm": "a change of the whole distribution",
    "volume": "far more reports than usual",
    "upload": "a far larger upload than usual",
}
"""What the checks look for, in a few words."""

NO_CHECK_SEES_LIES: Final = "No check can see devices that lie about their value."


def day_verdicts(answer: Answer) -> list[Check]:
    """The verdict of each day and version, over all checks of its reports.

    Args:
        answer: the health of a metric.
    """
    return [check for check in answer.checks if check.key is None and check.name is None]


def key_verdicts(answer: Answer) -> list[Check]:
    """The verdict of each key, day and version.

    Args:
        answer: the health of a metric.
    """
    return [check for check in answer.checks if check.key is not None and check.name is None]


def contrasts(answer: Answer) -> list[Measured]:
    """Each key with enough reports to matter against all others.

    Args:
        answer: the health of a metric.
    """
    return [number for number in answer.numbers if is_contrast(number)]


def health_finding(answer: Answer) -> str:
    """What the checks found.

    Args:
        answer: the health of a metric.
    """
    verdicts = day_verdicts(answer)
    days = {check.day for check in verdicts}
    failing = sorted({check.day for check in verdicts if check.verdict == "suspicious"})
    if failing:
        of = f"{len(failing):,} of {counted(len(days), 'day')}"
        line = f"reports of {of} fail a check ({days_shortly(failing)})"
        odd = _named_keys(answer.head.health.suspicious_keys if answer.head.health else ())
        if odd:
            stand = "key {} stands out" if len(odd) == 1 else "keys {} stand out"
            line += f"; {stand.format(listed(odd))}"
        return line
    uneven = [key_in_words(number.key or "", number.label or "") for number in _uneven(answer)]
    if uneven:
        answers = "key {} answers" if len(uneven) == 1 else "keys {} answer"
        return f"no check fails, but {answers.format(listed(uneven))} differently from the others"
    if answer.head.verdict == "surge":
        some = sorted({check.day for check in verdicts if check.verdict == "surge"})
        which = f" on {days_shortly(some)}" if some else ""
        return f"no check fails, but far more reports than usual came{which}"
    made = answer.head.checks.made if answer.head.checks else 0
    if answer.head.verdict == "unknown" or not made:
        return f"none of {counted(len(days), 'day')} could be checked"
    which = f"any of {len(days):,} days" if len(days) > 1 else "the only day"
    return f"no check of the reports fails on {which}"


def _named_keys(keys: Sequence[NamedKey]) -> list[str]:
    return [key_in_words(key.key, key.label) for key in keys]


def _uneven(answer: Answer) -> list[Measured]:
    """The contrasts of keys that answer unlike the others, one for each key."""
    by_key: dict[str | None, Measured] = {}
    for number in contrasts(answer):
        if number.told:
            by_key.setdefault(number.key, number)
    return list(by_key.values())


def failed_checks(answer: Answer) -> Iterator[str]:
    """What failed: a sentence for each check of all reports, or of those of a key.

    Args:
        answer: the health of a metric.
    """
    failed: dict[tuple[str, str], list[Check]] = {}
    for check in answer.checks:
        odd = check.verdict in ("suspicious", "surge")
        if check.name is None or check.name == "alarm" or not odd:
            continue
        name = CHECK_WORDS[check.name]
        if check.key is not None:
            name += f", key {key_in_words(check.key, check.label or '')}"
        failed.setdefault((name, check.version), []).append(check)
    for (name, _), checks in failed.items():
        worst = min(checks, key=lambda check: check.p or 0.0)
        days = days_shortly(sorted(check.day for check in checks))
        yield f"{days}: {name}: {worst.finding}."


@dataclass(slots=True, kw_only=True)
class KeyFinding:
    """What the checks say of the reports of one key.

    Attributes:
        key: its id; empty for reports that were stored before reports were kept by key.
        name: as people know it.
        reports: how many it brought on days of which reports were looked at by key.
        failing: the days on which they fail a check.
        contrast: how far they are from those of all others; None if there are too few to tell.
        where: in what they differ most; empty without a contrast.
        judged: how much that is, and from which size on a key is flagged; likewise.
    """

    key: str
    name: str
    reports: int = 0
    failing: set[date] = field(default_factory=set)
    contrast: Measured | None = None
    where: str = ""
    judged: str = ""

    @property
    def differs(self) -> bool:
        """Whether its devices answer differently from the others."""
        return self.contrast is not None and bool(self.contrast.told)

    @property
    def text(self) -> str:
        """What is odd about it, in a sentence or two; empty if nothing is."""
        parts = []
        if self.failing:
            parts.append(f"Its reports fail a check on {counted(len(self.failing), 'day')}.")
        if self.differs:
            parts.append(f"Its devices answer differently from the others, most in {self.where}.")
        if parts and self.reports:
            parts.append(f"It brought {counted(self.reports, 'report')}.")
        return " ".join(parts)


def key_findings(answer: Answer) -> list[KeyFinding]:
    """What the checks say of each key, those with most failing days first, then uneven ones.

    Args:
        answer: the health of a metric.
    """
    keys: dict[str, KeyFinding] = {}

    def of(key: str, label: str | None = None) -> KeyFinding:
        finding = keys.setdefault(key, KeyFinding(key=key, name=key))
        if label is not None:
            finding.name = key_in_words(key, label)
        return finding

    for check in key_verdicts(answer):
        of(check.key or "", check.label or "").reports += check.reports
    for check in day_verdicts(answer):
        for key in check.stand_out:
            of(key).failing.add(check.day)
    for number in contrasts(answer):
        finding = of(number.key or "", number.label or "")
        if finding.contrast is None or (number.told and not finding.contrast.told):
            finding.contrast = number
            finding.where = contrast_in_words(number, answer.head.limits)
            finding.judged = contrast_judged(number)
    return sorted(keys.values(), key=lambda each: (-len(each.failing), not each.differs))


def uneven_keys(answer: Answer) -> Iterator[str]:
    """Where the keys that answer unlike the others differ most, a sentence each.

    Args:
        answer: the health of a metric.
    """
    for number in _uneven(answer):
        key = key_in_words(number.key or "", number.label or "")
        most = contrast_in_words(number, answer.head.limits)
        yield (
            f"Key {key} answers differently from the others, most in {most}: it "
            f"{contrast_judged(number)}."
        )


def health_lines(answer: Answer) -> Iterator[str]:
    """What failed and what was not checked; a line each.

    Args:
        answer: the health of a metric.
    """
    yield from failed_checks(answer)
    yield from uneven_keys(answer)
    not_checked = sum(days.not_checked for days in answer.head.covered)
    if not_checked:
        yield f"{not_checked:,} earlier days were not checked: ask about fewer days to see them."
    made = checks_made(answer)
    if made:
        yield made


def checks_made(answer: Answer) -> str:
    """How many checks were made, and what none can see; empty of an answer without checks.

    Args:
        answer: the health of a metric.
    """
    if answer.head.checks is None:
        return ""
    made = answer.head.checks.made
    return f"{counted(made, 'check')} {'was' if made == 1 else 'were'} made. {NO_CHECK_SEES_LIES}"


def checks_explained(answer: Answer) -> Iterator[str]:
    """What the checks are, and what none can see; a sentence each.

    Args:
        answer: the health of a metric.
    """
    note = answer.head.checks
    if note is None:
        return
    for name, looks in CHECK_WORDS.items():
        if name in note.asks:
            yield f"The check for {looks}: in honest reports, {note.asks[name]}."
    yield (
        f"p is how often honest reports look at least so odd; a check fails below "
        f"{note.p_below:.2g}, which happens to honest reports in less than one of a thousand "
        "answers."
    )
    yield (
        "A key is compared with all others on the same days. It is flagged if how far it is from "
        "them has changed since its first four weeks, beyond what noise explains: a share by 5 "
        "points or more, a mean by a twentieth of the range. A key with fewer than 14 days of past "
        "is flagged if a share is more than 20 points from that of the others, or its mean a fifth "
        "of the range, and if it moves the answer by a point or more. Devices may really differ: "
        "compare with and without the key."
    )
    yield note.invisible
