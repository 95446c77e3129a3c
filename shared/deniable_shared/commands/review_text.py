"""The review of a registry as lines for a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.commands.text import labelled_lines, printable_lines, wrapped
from deniable_shared.frozen import field_names
from deniable_shared.review.entropy import posterior
from deniable_shared.review.information import information
from deniable_shared.review.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deniable_shared.registry import Registry
    from deniable_shared.review import Finding, MetricBits, Review
    from deniable_shared.spec import Spec

_HEADS: Final = ("bits of", "its value", "the rarest", "one report", "on average", "a year")
_LONGEST_NAME: Final = 20
_LEGEND: Final = (
    "Its value and the rarest: what somebody would learn who saw it, {common}. One report: the "
    "most that it can reveal. On average: what one report tells of the value, {averaged}; ≤ marks "
    "an upper bound. A year: all reports of a year, linked, of a value that stays; on average, and "
    "at most."
)
_EQUALLY_COMMON: Final = "if all values are equally common (--priors says how common they are)"


def review_lines(found: Review) -> list[str]:
    """Bits of each metric, what they add up to, and findings."""
    common, averaged = _EQUALLY_COMMON, "however common values are"
    if found.shares_given:
        common = averaged = f"with the shares given for {', '.join(found.shares_given)}"
    return [
        "Together: can what is collected single out a device?",
        "",
        *_table(found.metrics),
        *wrapped([_LEGEND.format(common=common, averaged=averaged)]),
        "",
        *_spaced(sentences(found.together, found.records)),
        *finding_lines(found),
    ]


def finding_lines(found: Review) -> list[str]:
    """What a reviewer should know, and what the registry says is known and meant."""
    if not found.findings and not found.ignored:
        return ["Findings: none."]
    ignored = f"; ignored by the file: {len(found.ignored):,}" if found.ignored else ""
    lines = [f"Findings: {len(found.findings) or 'none'}{ignored}."]
    lines += labelled_lines(_rows(found.findings))
    lines += labelled_lines(_rows(found.ignored))
    return lines


def _rows(findings: Iterable[Finding]) -> Iterator[tuple[str, str]]:
    """Codes and texts; what is the same of several metrics is said once."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for each in findings:
        alike.setdefault((each.code, each.reason), []).append(each)
    for (code, reason), several in alike.items():
        names = ", ".join(each.metric for each in several if each.metric is not None)
        text = f"{names}: {reason}." if names else f"{reason}."
        if several[0].ignored:
            yield f"ignored: {code}", text
        else:
            yield code, f"{text} To do: {several[0].remedy}."


def _spaced(paragraphs: Iterable[str]) -> Iterator[str]:
    for text in paragraphs:
        yield from wrapped([text])
        yield ""


def _table(metrics: Iterable[MetricBits]) -> list[str]:
    rows = [_HEADS, *map(_cells, metrics)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    return printable_lines(
        "  "
        + "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        )
        for row in rows
    )


def _cells(bits: MetricBits) -> tuple[str, ...]:
    name = bits.name
    return (
        name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}...",
        "any text" if bits.value is None else f"{bits.value:.2f}",
        "any text" if bits.rarest is None else f"{bits.rarest:.2f}",
        f"{bits.one_report:.2f}",
        f"{bits.average:.4f}" if bits.exact else f"≤ {bits.average:.4f}",
        f"{bits.year:.2f}",
    )


def prior_lines(registry: Registry, prior: float) -> list[str]:
    """What one report makes of somebody's guess, for each metric.

    Args:
        registry: with the metrics.
        prior: how probable it seemed that a device has a value, in (0, 1).
    """
    rows = [
        (name, _guess_text(guess_data(metric.spec, prior)))
        for name, metric in registry.metrics.items()
    ]
    return [
        f"If somebody thought it {prior:.1%} probable that a device has a value:",
        *labelled_lines(rows),
    ]


def guess_data(spec: Spec, prior: float) -> dict[str, Any]:
    """What one report makes of a guess.

    Args:
        spec: of a metric.
        prior: how probable it seemed, in (0, 1).
    """
    data: dict[str, Any] = {
        "name": spec.name,
        "prior": prior,
        "most": posterior(prior, math.exp(spec.mechanism.epsilon), 1.0),
    }
    if spec.type == "boolean":
        support = spec.mechanism.support  # type: ignore[attr-defined]  # all over flags have one
        data["after_a_yes"] = posterior(prior, support.p, support.q)
        data["after_a_no"] = posterior(prior, 1 - support.p, 1 - support.q)
        data["average_bits"] = information(spec.mechanism, (1 - prior, prior)).bits
        data["bits_of_a_yes"] = math.log2(data["after_a_yes"] / prior)
    return data


def _guess_text(guess: dict[str, Any]) -> str:
    prior = f"{guess['prior']:.1%}"
    if "after_a_yes" not in guess:
        return f"a report makes {prior} into {guess['most']:.1%} at most"
    return (
        f"a yes makes {prior} into {guess['after_a_yes']:.1%}, a no into "
        f"{guess['after_a_no']:.1%}; {guess['bits_of_a_yes']:.4f} bits by a yes, "
        f"{guess['average_bits']:.4f} on average"
    )


def review_data(found: Review) -> dict[str, Any]:
    """The review for programs."""
    return {
        "bits": [_as_data(each) for each in found.metrics],
        "together": _as_data(found.together),
        "records": [{**_as_data(each), "records": str(each.records)} for each in found.records],
        "shares_given": list(found.shares_given),
        "findings": [_as_data(each) for each in (*found.findings, *found.ignored)],
    }


def _as_data(value: Any) -> dict[str, Any]:
    found = {name: getattr(value, name) for name in field_names(type(value))}
    return {name: list(each) if isinstance(each, tuple) else each for name, each in found.items()}
