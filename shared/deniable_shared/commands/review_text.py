"""The review of a registry as lines for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from deniable_shared.commands.text import labelled_lines, printable_lines, wrapped
from deniable_shared.frozen import field_names
from deniable_shared.planning.disclosure_figures import percent
from deniable_shared.planning.upper_bounds import upper_percent, upper_power
from deniable_shared.review.bits_text import bits_text
from deniable_shared.review.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deniable_shared.review import Finding, Guess, MetricBits, Review

_HEADS: Final = ("bits of", "its value", "the rarest", "one report", "on average", "a year")
_LONGEST_NAME: Final = 20
_LEGEND: Final = (
    "Its value: bits learnt by seeing the true value, {common}. The rarest: the same for the "
    "rarest value. One report: the most one report can reveal{apart}. On average: what one report "
    "reveals on average, {averaged} (at most, where marked ≤). A year: all linked reports of an "
    "unchanged value, on average and at most."
)
_EQUALLY_COMMON: Final = "if all values are equally common (--priors says how common they are)"


def review_lines(result: Review) -> list[str]:
    """Bits of each metric, what they add up to, and findings."""
    common, averaged = _EQUALLY_COMMON, "however common values are"
    if result.shares_given:
        common = averaged = f"with the shares given for {', '.join(result.shares_given)}"
    apart = ", but for rare reports of a metric with a delta" if result.together.with_delta else ""
    return [
        "Together: can what is collected single out a device?",
        "",
        *_table(result.metrics),
        *wrapped([_LEGEND.format(common=common, averaged=averaged, apart=apart)]),
        "",
        *_spaced(sentences(result.together, result.records, result.joint_bits)),
        *finding_lines(result),
    ]


def finding_lines(result: Review) -> list[str]:
    """What a reviewer should know, and what the registry says is known and meant."""
    if not result.findings and not result.ignored:
        return ["Findings: none."]
    ignored = f"; ignored by the file: {len(result.ignored):,}" if result.ignored else ""
    rows, count = list(_rows(result.findings)), len(result.findings)
    kinds = f", of {len(rows):,} kinds" if 1 < len(rows) < count else ""
    lines = [f"Findings: {f'{count:,}' if count else 'none'}{kinds}{ignored}."]
    lines += labelled_lines(rows)
    lines += labelled_lines(_rows(result.ignored))
    return lines


def _rows(findings: Iterable[Finding]) -> Iterator[tuple[str, str]]:
    """Codes and texts; what is the same of several metrics is said once."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((finding.code, finding.reason), []).append(finding)
    for (code, reason), several in alike.items():
        names = ", ".join(finding.metric for finding in several if finding.metric is not None)
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
    short_name = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."
    return (short_name, *bits_text(bits))


def guess_lines(guesses: Sequence[Guess]) -> list[str]:
    """What one report of each metric makes of somebody's guess.

    Args:
        guesses: of each metric, all with the same prior; at least one.
    """
    return [
        f"If somebody thought it {percent(guesses[0].prior)} probable that a device has a value:",
        *labelled_lines((guess.name, _guess_text(guess)) for guess in guesses),
    ]


def _guess_text(guess: Guess) -> str:
    prior, flag = percent(guess.prior), guess.flag
    if flag is None:
        text = f"a report makes {prior} into {upper_percent(guess.most)} at most"
        return text + f", rare ones into more (delta {upper_power(guess.delta)})" * (
            guess.delta > 0
        )
    return (
        f"a yes makes {prior} into {percent(flag.after_a_yes)}, a no into "
        f"{percent(flag.after_a_no)}; {flag.bits_of_a_yes:.4f} bits by a yes, "
        f"{flag.average_bits:.4f} on average"
    )


def guess_as_json(guess: Guess) -> dict[str, Any]:
    """A guess for programs."""
    data = _as_json(guess)
    flag = data.pop("flag")
    return data if flag is None else {**data, **_as_json(flag)}


def review_as_json(result: Review) -> dict[str, Any]:
    """The review for programs."""
    return {
        "bits": [_as_json(entry) for entry in result.metrics],
        "together": _as_json(result.together),
        "records": [{**_as_json(entry), "records": str(entry.records)} for entry in result.records],
        "shares_given": list(result.shares_given),
        "joint_bits": result.joint_bits,
        "rare_cells": [_as_json(entry) for entry in result.rare_cells],
        "findings": [_as_json(entry) for entry in (*result.findings, *result.ignored)],
    }


def _as_json(value: Any) -> dict[str, Any]:
    values = {name: getattr(value, name) for name in field_names(type(value))}
    return {
        name: list(entry) if isinstance(entry, tuple) else entry for name, entry in values.items()
    }
