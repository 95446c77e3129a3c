"""Whether reports look honest as tables, and the lines below them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.common import IntegritySummary, NamedKey
from deniable_aggregator.answers.days import key_in_words
from deniable_aggregator.cli.render.layout import Texts, fits, lay_out
from deniable_aggregator.cli.render.output import UNBROKEN, WIDE, literal_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from deniable_aggregator.answers.integrity import (
        CheckResult,
        DayHealth,
        Health,
        KeyContrast,
        KeyHealth,
    )


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

VERDICT_WORDS: Final = {
    "ok": "honest",
    "uneven": "keys differ",
    "suspicious": "suspicious",
    "unknown": "not checked",
}
"""How reports look."""

SHORT: Final = 4
"""So many letters of a version's id are shown."""


def health_summary(answer: Health) -> IntegritySummary:
    """Whether the reports look honest, as other answers say it.

    Args:
        answer: the health.
    """
    failing = {
        each.key: NamedKey(each.key, each.label)
        for day in answer.by_day
        for each in day.keys
        if each.key in day.stand_out
    }
    uneven = {
        each.key: NamedKey(each.key, each.label)
        for each in answer.key_contrasts
        if each.verdict == "uneven"
    }
    return IntegritySummary(answer.verdict, list(failing.values()), list(uneven.values()))


def health_table(answer: Health, width: int = UNBROKEN) -> Table:
    """One row per day and version: how its reports look, and which check says the least good.

    Args:
        answer: the health.
        width: of the terminal, in characters.
    """
    days = answer.by_day
    worst = [_worst(day) for day in days]
    checks, rare = list(map(_in_words, worst)), list(map(_p_value, worst))
    keys = [", ".join(_names(day)) for day in days]
    dates, versions = [str(day.day) for day in days], [day.version[:SHORT] for day in days]
    several = len(set(versions)) > 1
    reports = Texts("reports", [f"{day.reports:,}" for day in days], "right")
    look = Texts("look", [VERDICT_WORDS[day.verdict] for day in days])
    columns = [
        Texts("day", dates),
        *([Texts("version", versions)] if several else []),
        reports,
        look,
        Texts("worst check", checks, folds=True),
        Texts("p", rare, "right"),
        Texts("keys that\nfail it", keys),
    ]
    if fits(columns, width, bars=False):
        return lay_out(columns, None, width)
    below = ["\n".join(each) for each in zip(dates, versions, strict=True)]
    failed = [
        "\n".join(filter(None, (check, p and f"p {p}", key)))
        for check, p, key in zip(checks, rare, keys, strict=True)
    ]
    stacked = [
        Texts("day,\nversion" if several else "day", below if several else dates),
        reports,
        look,
        Texts("worst check, its p,\nkeys that fail it", failed, folds=True),
    ]
    return lay_out(stacked, None, width)


def _p_value(check: CheckResult | None) -> str:
    return "" if check is None else f"{check.p:.2g}"


def _in_words(check: CheckResult | None) -> str:
    """What a check looks at, and whether it passed."""
    if check is None:
        return ""
    return f"{CHECK_WORDS[check.check]}, {'passed' if check.verdict == 'ok' else 'failed'}"


def contrast_table(answer: Health, width: int = UNBROKEN) -> Table:
    """One row per key and version: where it differs most from the other keys.

    Args:
        answer: the health.
        width: of the terminal, in characters.
    """
    keys = answer.key_contrasts
    columns = [Texts("key", [key_in_words(each.key, each.label) for each in keys], folds=True)]
    if len({each.version for each in keys}) > 1:
        columns.append(Texts("version", [each.version[:SHORT] for each in keys]))
    columns += [
        Texts("reports", [f"{each.reports:,}" for each in keys], "right"),
        Texts("of all", [f"{each.share:.1%}" for each in keys], "right"),
        Texts("differs most in", list(map(_contrast, keys))),
        Texts("verdict", ["differs" if each.verdict == "uneven" else "alike" for each in keys]),
    ]
    if width < WIDE:
        index = len(columns) - 2
        heading, cells = columns[index].heading, columns[index].cells
        columns[index] = Texts(heading, [each.replace(": ", ":\n") for each in cells])
    return lay_out(columns, None, width)


def _contrast(each: KeyContrast) -> str:
    if each.own is None or each.others is None:
        return f"all that its devices hold: {each.difference:.0%} apart"
    if each.kind == "mean":
        return f"the mean: {each.own:.4g} against {each.others:.4g}"
    own, others = (min(max(share, 0.0), 1.0) for share in (each.own, each.others))
    return f"{literal_text(each.value or '')}: {own:.1%} against {others:.1%}"


def health_notes(answer: Health) -> Iterator[str]:
    """What failed, in words; a line each.

    Args:
        answer: as above.
    """
    for day in answer.by_day:
        for whose, checks in _checks(day):
            for check in checks:
                if check.verdict == "suspicious":
                    yield f"{day.day}{whose}, {CHECK_WORDS[check.check]}: {check.found}."
    if answer.days.not_checked:
        yield f"{answer.days.not_checked:,} earlier days were not checked: narrow --until."
    yield (
        f"{answer.checks_made:,} checks were made. No check can see devices that lie about their "
        "value."
    )


def health_explanation(answer: Health) -> Iterator[str]:
    """What the checks are, and what none can see; a line each.

    Args:
        answer: as above.
    """
    made = [check for day in answer.by_day for _, checks in _checks(day) for check in checks]
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


def _worst(day: DayHealth) -> CheckResult | None:
    made = [
        (check.p, check) for _, checks in _checks(day) for check in checks if check.p is not None
    ]
    return min(made, key=lambda each: each[0])[1] if made else None


def _checks(day: DayHealth) -> Iterator[tuple[str, list[CheckResult]]]:
    """Whose checks, and they."""
    yield "", day.checks
    for each in day.keys:
        yield f", key {_name(each)}", each.checks


def _names(day: DayHealth) -> list[str]:
    """The keys that stand out."""
    named = {each.key: _name(each) for each in day.keys}
    return [named.get(key, key) for key in day.stand_out]


def _name(key: KeyHealth) -> str:
    return key_in_words(key.key, key.label)
