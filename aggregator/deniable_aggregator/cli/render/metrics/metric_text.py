"""One registered metric in words, a line for each thing that a question needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_aggregator.telling.wording import key_in_words
from deniable_shared.characters import visible
from deniable_shared.commands.text import labelled_lines, report_limit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.metrics import Domain, MetricDetails, VersionDetails

MOST_LISTED: Final = 200
"""Of values; --json has all."""


def metric_text(answer: MetricDetails) -> str:
    """The metric, then each of its versions, the newest first, then what can be asked.

    Args:
        answer: the metric.
    """
    what = f": {visible(answer.description)}" if answer.description else ""
    lines = [f"{visible(answer.name)}{what}", *labelled_lines(_about(answer))]
    for number, version in enumerate(answer.versions):
        newest = ", the newest" if number == 0 and len(answer.versions) > 1 else ""
        lines.append(f"\nVersion {version.version[:VERSION_LETTERS]}{newest}")
        older = answer.versions[number + 1 : number + 2]
        lines += labelled_lines(_version(version, older))
    lines += ["\nTo ask:", *(f"  {line}" for line in _examples(answer))]
    return "\n".join(lines)


def _about(answer: MetricDetails) -> Iterator[tuple[str, str]]:
    if answer.owners:
        yield "owners", ", ".join(map(visible, answer.owners))
    if answer.expires is not None:
        yield "recorded", f"until {answer.expires}"
    if answer.retention_days is not None:
        yield "kept", f"for {answer.retention_days:,} days"
    if answer.candidates:
        found = ", or let the server find popular ones" if answer.discovers else ""
        yield "asked", f"with a list of values to look for{found}"
    yield "reports", _reports(answer)
    for each in answer.keys:
        excluded = ", left out: the key is excluded" if each.excluded else ""
        yield "by key", f"{visible(key_in_words(each.key, each.label))}: {each.reports:,}{excluded}"


def _reports(answer: MetricDetails) -> str:
    text = f"{sum(each.reports for each in answer.versions):,}"
    first = min((each.first_day for each in answer.versions if each.first_day), default=None)
    last = max((each.last_day for each in answer.versions if each.last_day), default=None)
    if first is not None:
        text += f", {first} to {last}"
    if answer.pending_reports:
        text += f"; {answer.pending_reports:,} more wait to be counted"
    if answer.excluded_reports:
        text += f"; {answer.excluded_reports:,} are left out, as their keys are excluded"
    return text


def _version(version: VersionDetails, older: Sequence[VersionDetails]) -> Iterator[tuple[str, str]]:
    since = f"registered {version.registered}"
    if version.first_day is not None:
        since += f", reports {version.first_day} to {version.last_day}: {version.reports:,}"
    yield "since", since
    yield "type", version.type
    yield from _domain_lines(version, older)
    yield "device", report_limit(version.every)
    epsilon = f"{version.epsilon:.4g} for one report ({version.mechanism})"
    if version.epsilon_permanent is not None:
        epsilon += f"; {version.epsilon_permanent:.4g} for all about the same value"
    if version.epsilon_total is not None:
        epsilon += f"; {version.epsilon_total:.4g} over the life of a device"
    yield "epsilon", epsilon
    yield "privacy", version.privacy


def _domain_lines(
    version: VersionDetails, older: Sequence[VersionDetails]
) -> Iterator[tuple[str, str]]:
    """What a device can say; of values that an older version has, too, only what is different."""
    if version.values:
        if older and older[0].values == version.values:
            yield "values", "as of the version before"
        else:
            yield "values", f"{len(version.values):,}: {_listed(version.values)}"
    if version.other is not None:
        yield "other", f"all other values count as {visible(version.other)}"
    if version.absent is not None:
        yield "absent", f"{visible(version.absent)} is reported where nothing was recorded"
    if version.range:
        low, high = version.range
        bins = f" in {version.bins:,} bins" if version.bins else ""
        yield "range", f"{low:g} to {high:g}{bins}; values outside count as its ends"
    for attribute in version.attributes or ():
        yield "attributes", f"{visible(attribute.name)}: {_values(attribute)}"
    if version.segments:
        yield "segments", f"{visible(version.segments.name)}: {_values(version.segments)}"
    if version.letters:
        letters = version.letters
        yield (
            "strings",
            f"{visible(letters.alphabet)} of about {letters.longest} characters; only the "
            "beginning of longer ones can be found",
        )


def _values(domain: Domain) -> str:
    return "yes or no" if domain.type == "boolean" else _listed(domain.values)


def _listed(values: Sequence[str]) -> str:
    more = len(values) - MOST_LISTED
    rest = f" and {more:,} more, which --json lists" if more > 0 else ""
    return ", ".join(map(visible, values[:MOST_LISTED])) + rest


def _examples(answer: MetricDetails) -> Iterator[str]:
    """Questions that fit the metric."""
    name, newest = visible(answer.name), answer.versions[0]
    if answer.candidates:
        yield f"deniable estimate {name} --candidates values.txt --top 20"
        if answer.discovers:
            yield f"deniable discover {name} --since -7d"
        return
    yield f"deniable estimate {name} --since -28d"
    if newest.segments:
        yield f"deniable estimate {name} --segment {_quoted(newest.segments.values[0])}"
    yield f"deniable series {name} --by week"
    yield f"deniable change {name} --before -14d..-8d --after -7d..yesterday"


def _quoted(value: str) -> str:
    import shlex

    return shlex.quote(visible(value))
