"""What each metric reveals, and what all of them tell of a device together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from deniable_aggregator.answers.dates import epoch_of
from deniable_aggregator.asking.questions import METRIC, METRICS
from deniable_aggregator.asking.relayed import ask_relayed
from deniable_aggregator.doors.pages.parts import no_metrics
from deniable_aggregator.doors.pages.rendering import page
from deniable_aggregator.doors.pages.visit import current_visit
from deniable_aggregator.telling.document import Column, Table, text_table
from deniable_aggregator.telling.method import every_in_words, what_devices_give_away
from deniable_aggregator.telling.relayed import is_relayed, relayed_sentences
from deniable_aggregator.telling.wording import counted, listed, shown_value
from deniable_shared.periods import period
from deniable_shared.planning.disclosure_figures import most_certain
from deniable_shared.registry import DEFAULT_DEVICES
from deniable_shared.review import FEWEST_DEVICES, MetricBits, bits_of, records_of, together
from deniable_shared.review.bits_text import bits_text
from deniable_shared.review.sentences import sentences
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from flask import Blueprint, Response

    from deniable_aggregator.answers.metrics import Domain, MetricDetails, VersionDetails
    from deniable_aggregator.keeping.parts import Parts
    from deniable_shared.periods import Every


@dataclass(frozen=True, slots=True, kw_only=True)
class TogetherView:
    """Whether what is collected singles out a device.

    Attributes:
        bits: of each metric, as a table.
        answer: in sentences, a paragraph each.
        devices: where the number of devices comes from, in a sentence.
    """

    bits: Table
    answer: Sequence[str]
    devices: str


def together_view(metrics: Sequence[MetricDetails]) -> TogetherView:
    """What the page shows of all metrics together.

    Args:
        metrics: those that devices still report, at least one.
    """
    newest = [metric.versions[0] for metric in metrics]
    specs = [Spec.from_canonical_text(version.canonical) for version in newest]
    bits = [bits_of(spec) for spec in specs]
    seen = _devices_seen(metrics)
    devices = max(seen[1], FEWEST_DEVICES) if seen else DEFAULT_DEVICES
    return TogetherView(
        bits=_table(bits),
        answer=sentences(together(bits, specs, devices), records_of(specs, devices)),
        devices=_where_from(seen),
    )


def _devices_seen(metrics: Sequence[MetricDetails]) -> tuple[str, int] | None:
    """The metric with the most reports in an average period, and how many; None without reports."""
    found = [
        (round(version.reports / _periods(version)), metric.name)
        for metric in metrics
        for version in metric.versions
        if version.reports
    ]
    if not found:
        return None
    most, name = max(found)
    return name, max(most, 1)


def _periods(version: VersionDetails) -> int:
    """How many periods lie between the first report and the last."""
    if version.first_day is None or version.last_day is None:
        return 1
    every = cast("Every", version.every)
    first, last = (period(every, epoch_of(day)) for day in (version.first_day, version.last_day))
    return last - first + 1


def _where_from(seen: tuple[str, int] | None) -> str:
    if seen is None:
        return (
            f"There are no reports yet, so {DEFAULT_DEVICES:,} devices are assumed, as in a "
            "registry that does not say how many are expected."
        )
    name, devices = seen
    return (
        f"Devices are not counted: {name} has {counted(devices, 'report')} in an average period, "
        "of which a device sends one at most. There may be more devices, and fewer if reports were "
        "forged."
    )


def _table(metrics: Sequence[MetricBits]) -> Table:
    return text_table(
        name="bits",
        caption="Bits that are told of a device: by the value itself, which never leaves it; by "
        "one report; and by all reports of a year, linked, of a value that stays",
        columns=(
            Column(heading="metric", words=True),
            Column(heading="the value"),
            Column(heading="one report, at most", minor=True),
            Column(heading="on average"),
            Column(heading="a year, at most"),
        ),
        rows=[
            (each.name, text.value, text.one_report, text.average, text.year)
            for each, text in zip(metrics, map(bits_text, metrics), strict=True)
        ],
    )


MOST_VALUES: Final = 12
"""Of a category are named; a page of its own has all of them."""

SHOWN_OF_VERSION: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """For how long a server keeps what, as its settings say.

    Attributes:
        accept_days: for how many days a day stays open for reports.
        retention_days: after how many days sums are deleted; 0 for never.
        archive_days: for how many days after that reports are kept for an archive; 0 for none.
        roll_up_days: after how many days the days of a period become one; 0 for never.
        roll_up_by: how long such periods are.
    """

    accept_days: int
    retention_days: int
    archive_days: int
    roll_up_days: int
    roll_up_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricPrivacy:
    """What one metric asks of devices.

    Attributes:
        title: what it is for, or its name.
        name: what it is called in registries.
        every: how often a device reports.
        cost: what a day may cost a device.
        part: the same, as a part of the largest of all metrics, from 0 to 1.
        sure: how sure one report makes whoever guesses between two values, at most.
        collected: what a device reports and how often, in a sentence.
        gives_away: what one report gives away, and what reporting again costs.
        relayed: what reports of the last weeks cost that came through a relay, if any did; a
            paragraph each.
        facts: labels and texts: mechanism, version, owners, how long it is kept.
        expired: whether devices do not report it any more.
    """

    title: str
    name: str
    every: str
    cost: str
    part: float
    sure: str
    collected: str
    gives_away: str
    relayed: Sequence[str]
    facts: Sequence[tuple[str, str]]
    expired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyView:
    """What devices give away, and what is kept of it.

    Attributes:
        application: whose metrics these are.
        today: the server's day.
        count: how many metrics there are, in words.
        metrics: each of them, those that cost a device most first.
        day: the epsilon of a day on which every metric reports.
        together: whether what is collected singles out a device; None if nothing is.
        kept: what the server stores and for how long.
        head: the hash of the last entry of the audit log; empty if there is none.
    """

    application: str
    today: date
    count: str
    metrics: Sequence[MetricPrivacy]
    day: str
    together: TogetherView | None
    kept: Table
    head: str


def privacy_view(
    application: str,
    metrics: Sequence[MetricDetails],
    relayed: Mapping[str, Sequence[str]],
    keeping: Keeping,
    head: str,
    today: date,
) -> PrivacyView:
    """What the page shows.

    Args:
        application: whose metrics these are.
        metrics: all of them.
        relayed: of metrics whose reports came through a relay, what these cost, in sentences.
        keeping: for how long the server keeps what.
        head: the hash of the last entry of the audit log; empty if there is none.
        today: the server's day.
    """
    asked = [each for each in metrics if not _expired(each, today)]
    costs = {each.name: each.versions[0].epsilon for each in asked}
    largest = max(costs.values(), default=1.0)
    return PrivacyView(
        application=application,
        today=today,
        count=counted(len(metrics), "metric"),
        metrics=[
            _metric(
                each,
                relayed.get(each.name, ()),
                keeping,
                today,
                costs.get(each.name, 0.0),
                largest,
            )
            for each in sorted(metrics, key=lambda each: (-costs.get(each.name, 0.0), each.name))
        ],
        day=f"{sum(costs.values()):.4g}",
        together=together_view(asked) if asked else None,
        kept=_kept(keeping),
        head=head,
    )


def _expired(metric: MetricDetails, today: date) -> bool:
    return metric.expires is not None and metric.expires < today


def _metric(
    metric: MetricDetails,
    relayed: Sequence[str],
    keeping: Keeping,
    today: date,
    cost: float,
    largest: float,
) -> MetricPrivacy:
    newest, *earlier = metric.versions
    facts = [
        ("mechanism", newest.mechanism),
        ("version", f"{newest.version[:SHOWN_OF_VERSION]}, since {newest.registered}"),
    ]
    if earlier:
        told = [f"{each.version[:SHOWN_OF_VERSION]} since {each.registered}" for each in earlier]
        facts.append(("earlier versions", ", ".join(told)))
    if metric.owners:
        facts.append(("asked for by", ", ".join(metric.owners)))
    if metric.expires is not None:
        facts.append(("ends", str(metric.expires)))
    days = [each for each in (metric.retention_days, keeping.retention_days) if each]
    facts.append(("sums are kept", f"for {counted(min(days), 'day')}" if days else "for ever"))
    return MetricPrivacy(
        title=metric.description or metric.name,
        name=metric.name,
        every=every_in_words(newest.every),
        cost=f"{cost:.4g}",
        part=cost / largest,
        sure=most_certain(newest.epsilon),
        collected=_collected(newest),
        gives_away=what_devices_give_away(
            newest.every,
            newest.epsilon,
            newest.epsilon_permanent,
            newest.epsilon_total,
            newest.delta,
        ),
        relayed=relayed,
        facts=facts,
        expired=_expired(metric, today),
    )


def _collected(version: VersionDetails) -> str:
    """What a device reports, and how often."""
    text = f"A device reports {every_in_words(version.every)}: {_what(version)}"
    if version.segments:
        text += f", together with {_domain(version.segments)}"
    text += "."
    if version.other is not None:
        text += f" All other values count as {shown_value(version.other)}."
    if version.absent is not None:
        text += (
            f" Where nothing was recorded it reports {shown_value(version.absent)}, so that "
            "silence says nothing."
        )
    if version.pick == "random":
        text += (
            f" Of several values in a {version.every} a random one is reported, so a share is that "
            "of a device's values, averaged over devices."
        )
    return text


def _what(version: VersionDetails) -> str:
    if version.letters:
        return (
            f"a part of a text of {version.letters.extent}, which is shown if at least "
            f"{version.letters.minimum_devices or 0:,} devices surely have it"
        )
    if version.attributes:
        return f"a record of {'; '.join(_domain(each) for each in version.attributes)}"
    if version.range:
        low, high = version.range
        bins = f", in {version.bins} parts" if version.bins else ""
        return f"a number from {low:g} to {high:g}{bins}, where numbers outside count as its ends"
    if version.type == "string":
        return "a text, of which only values that somebody asks for by name can be counted"
    if version.type == "boolean":
        return "yes or no"
    if version.most:
        what = _values(version.values) if version.values else "texts"
        return f"any of {what}, of which a report covers {version.most}"
    return f"one of {_values(version.values)}"


def _domain(domain: Domain) -> str:
    if domain.type == "boolean":
        return f"{domain.name} (yes or no)"
    return f"{domain.name}, one of {_values(domain.values)}"


def _values(values: Sequence[str]) -> str:
    more = len(values) - MOST_VALUES
    named = [shown_value(each) for each in values[:MOST_VALUES]]
    said = f"{', '.join(named)} and {more:,} more" if more > 0 else listed(named)
    return f"{counted(len(values), 'value')} ({said})"


def _kept(keeping: Keeping) -> Table:
    open_days = counted(keeping.accept_days, "day")
    sums = (
        f"{counted(keeping.retention_days, 'day')}, or as a metric says"
        if keeping.retention_days
        else "for ever, or as a metric says"
    )
    reports = (
        f"until a day has closed ({open_days}), and {counted(keeping.archive_days, 'day')} more "
        "for an archive"
        if keeping.archive_days
        else "until they are added to the sums; of few reports the sorted reports are smaller than "
        "their sums, and are kept as these are"
    )
    rows = [
        ("randomized reports, without sender and order", reports),
        ("sums of reports by metric, day and write key", sums),
        ("keyed hashes of upload ids, so that none counts twice", f"{open_days}, then unreadable"),
        (
            "sizes of groups of relayed reports; of closed days as powers of two",
            sums,
        ),
        ("keys: hash of the token, label, day of last use, bytes of that day", "for ever"),
        (
            "who has signed in to these pages: hash of the cookie, ids of keys",
            "for two days at most",
        ),
        ("lists of values and annotations of analysts", "until somebody deletes them"),
        ("what administrators did, chained by hashes", "for ever"),
        ("addresses, user agents, device numbers, times finer than a day", "never stored"),
    ]
    if keeping.roll_up_days:
        rows.insert(
            2,
            (
                f"days of a {keeping.roll_up_by}, as one sum over all keys",
                f"instead of days after {counted(keeping.roll_up_days, 'day')}",
            ),
        )
    return text_table(
        name="kept",
        caption="What this server stores, and for how long",
        columns=(Column(heading="what", words=True), Column(heading="for how long", words=True)),
        rows=rows,
    )


def add_privacy(routes: Blueprint, parts: Parts) -> None:
    """Adds ``/privacy``.

    Args:
        routes: the pages.
        parts: the store with the audit log, and settings, which say for how long it keeps what.
    """
    settings = parts.settings
    keeping = Keeping(
        accept_days=settings.accept_days,
        retention_days=settings.retention_days,
        archive_days=settings.archive_days,
        roll_up_days=settings.roll_up_days,
        roll_up_by=settings.roll_up_by,
    )

    def privacy() -> Response:
        visit = current_visit()
        source, last = visit.source, next(iter(parts.store.audit.last(1)), None)
        names = sorted({each.name for each in source.ask(METRICS).metrics})
        view = privacy_view(
            visit.application,
            [source.ask(METRIC.of(name)) for name in names],
            {
                name: list(relayed_sentences(answer))
                for name in names
                if (answer := ask_relayed(source, name, visit.today)) and is_relayed(answer)
            },
            keeping,
            "" if last is None else last.hash.hex(),
            visit.today,
        )
        empty = None if names else no_metrics(visit.application)
        return page("privacy/privacy.html.jinja", privacy=view, empty=empty)

    routes.add_url_rule("/privacy", "privacy", privacy)
