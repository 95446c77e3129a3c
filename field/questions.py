"""The questions. A new one is one entry: what is asked, and what to read from the answer."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from deniable_aggregator.simulating.population import DAYS_PER_WEEK, numbered
from field.asking import Question
from field.checks import days_said, placed, quiet, reports, sums, warned
from field.comparisons import comparisons
from field.deployment import FORGER, change_of, forged_days, outage_of
from field.laws import LATE_EMOJI, LATE_TERM, RARELY_SEARCHED, SEARCHED
from field.printed import (
    printed_changes,
    printed_numbers,
    printed_series,
    printed_shares,
)
from field.reading import (
    clear_changes,
    combined,
    detected,
    differences,
    differences_of_weekdays,
    each_version,
    possible_shares,
    robust_checks,
    segment_sizes,
    shares,
    together,
)
from field.reading_discovery import found_shares, found_strings
from field.reading_lifts import associations, lifts
from field.reading_numbers import (
    bins,
    means,
    quantile_differences,
    quantiles,
    shape_changes,
    shape_distances,
)
from field.reading_published import alarms, least_distances, published
from field.reading_tables import same_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.simulating.population import Deployment


ABSENT: Final = 200
"""Candidates that nobody holds, beside those that somebody does."""

ACCEPT_DAYS: Final = 14
"""So long a day stays open, unless the server is told otherwise."""

BY_DAY: Final = {"by": "day"}
HEAVY_LISTS: Final = {
    "country": ["US", *numbered("country", 20)],
    "keyboard": ["qwerty", *numbered("keyboard", 20)],
    "carrier": ["north", *numbered("carrier", 20)],
    "time_zone": ["UTC", *numbered("zone", 20)],
    "emoji": [*numbered("emoji", 60), LATE_EMOJI],
    "font": ["Inter", *numbered("font", 25)],
    "plugin": [],
    "template": numbered("template", 60),
    "printer": ["office", *numbered("printer", 40)],
    "site": numbered("site", 20),
}
"""What the analyst lists of each string metric that somebody holds; the rest he does not know."""


def questions(deployment: Deployment) -> Iterator[Question]:
    """All questions, in the order in which they are asked."""
    yield from flags_and_categories(deployment)
    yield from versions(deployment)
    yield from strings(deployment)
    yield from discoveries(deployment)
    yield from numbers(deployment)
    yield from segments(deployment)
    yield from attributes(deployment)
    yield from few_reports()
    yield from changes(deployment)
    yield from health(deployment)
    yield from command_line(deployment)
    yield from publications(deployment)
    yield from wholes(deployment)
    yield from comparisons(deployment, weeks(deployment))
    yield from tables(deployment)


def after_exclusion(deployment: Deployment) -> Iterator[Question]:
    """Questions once the forger's key is excluded."""
    yield Question(
        "browsers, without the forger's key", "browser", "estimate",
        [shares("shares without a key"), reports(), possible_shares(), quiet()],
        days=whole_weeks(deployment), without=(FORGER,),
    )  # fmt: skip
    yield Question(
        "browsers by day, without the forger's key", "browser", "series",
        [shares("shares by day"), reports()], BY_DAY, without=(FORGER,),
    )  # fmt: skip


def whole_weeks(deployment: Deployment) -> tuple[int, int]:
    """All days but those of the last week, which is not over."""
    return 0, (deployment.days - 1) // DAYS_PER_WEEK * DAYS_PER_WEEK - 1


def weeks(deployment: Deployment) -> list[tuple[int, int]]:
    """The first and the last day of each whole week, but not that of the outage."""
    mondays = range(0, whole_weeks(deployment)[1], DAYS_PER_WEEK)
    found = [(monday, monday + DAYS_PER_WEEK - 1) for monday in mondays]
    return [week for week in found if not week[0] <= outage_of(deployment) <= week[1]]


def flags_and_categories(deployment: Deployment) -> Iterator[Question]:
    """Known domains: by day, by week, combined, all at once, the largest."""
    for metric in ("dark_mode", "theme", "crash"):
        yield Question(
            "by day", metric, "series", [shares("shares by day"), reports()], BY_DAY,
        )  # fmt: skip
    for metric in ("sync", "language"):
        yield Question(
            "by day, memoised", metric, "series",
            [shares("shares by day, memoised", by_value=True), reports()], BY_DAY,
        )  # fmt: skip
    yield Question(
        "any crash, by day", "crash", "series", [combined("combined shares")], BY_DAY,
        body={"combined": ["startup", "editor", "export", "print"]},
    )  # fmt: skip
    yield Question(
        "light or dark, by day", "theme", "series", [combined("combined shares")], BY_DAY,
        body={"combined": ["light", "dark"]},
    )  # fmt: skip
    for week in weeks(deployment):
        for metric in ("crash", "language"):
            yield Question(
                "all at once", metric, "estimate",
                [together("intervals for all together"), robust_checks("robust checks"),
                 detected("above zero, known domains"), sums(), reports(), quiet()],
                {"interval": "all"}, days=week,
            )  # fmt: skip
        for metric in ("theme", "crash"):
            yield Question(
                "the two largest", metric, "estimate",
                [shares("intervals of the picked", picked=True)], {"top": "2"}, days=week,
            )  # fmt: skip


def versions(deployment: Deployment) -> Iterator[Question]:
    """Over all days, in which versions with other values and other epsilons reported."""
    days = whole_weeks(deployment)
    for metric in ("dark_mode", "theme", "crash", "language", "sync"):
        yield Question(
            "over all days", metric, "estimate",
            [shares("shares over versions"), reports(), possible_shares(),
             *([] if metric in ("dark_mode", "sync") else [sums()])],
            days=days,
        )  # fmt: skip
    for week in weeks(deployment):
        for metric in ("theme", "dark_mode"):
            yield Question(
                "in a week with several versions", metric, "estimate",
                [shares("shares over versions"), reports(), possible_shares(),
                 *([] if metric == "dark_mode" else [sums()])],
                days=week,
            )  # fmt: skip
    yield Question(
        "light or sepia, over all days", "theme", "estimate", [combined("combined shares")],
        body={"combined": ["light", "sepia"]}, days=days,
    )  # fmt: skip
    for metric in ("theme", "browser", "dark_mode"):
        yield Question(
            "each version by itself", metric, "estimate",
            [each_version(shares("each version by itself"))], {"split": "version"},
            days=(0, forged_days(deployment).start - 1),
        )  # fmt: skip
        first = deployment.registry(1).metrics[metric].spec.digest.hex()
        yield Question(
            "of the first version", metric, "series",
            [shares("one version"), reports()], {"by": "week", "version": first[:12]},
            days=(0, forged_days(deployment).start - 1), versions=(1,),
        )  # fmt: skip
    yield Question(
        "over both types", "documents", "estimate",
        [quantiles("quantiles by week, sw"), means("means over all days"), reports(),
         warned("reports are left out")],
        days=days, versions=(3,),
    )  # fmt: skip
    yield Question(
        "while it was a number", "documents", "estimate",
        [means("means over all days"), reports()], days=(0, deployment.releases[2] - 1),
    )  # fmt: skip


def strings(deployment: Deployment) -> Iterator[Question]:
    """Lists of candidates: heavy items in them and outside of them, and many that nobody has."""
    for metric, held in HEAVY_LISTS.items():
        for number, week in enumerate(weeks(deployment)):
            # Others in every week: the same ones would meet the same collisions.
            listed = [*held, *numbered(f"absent in week {number}", ABSENT)]
            yield Question(
                "listed", metric, "estimate",
                [shares("shares of strings by week", by_value=True),
                 detected("above zero, strings by week", everything=True), reports()],
                body={"candidates": listed}, days=week,
            )  # fmt: skip
            yield Question(
                "detected", metric, "estimate", [shares("intervals of the detected", picked=True)],
                {"detected": "true"}, body={"candidates": listed}, days=week,
            )  # fmt: skip
        listed = [*held, *numbered("absent", 5 * ABSENT)]
        yield Question(
            "over all days", metric, "estimate",
            [shares("shares of strings over all days", by_value=True),
             detected("above zero, strings over all days", everything=True), reports()],
            body={"candidates": listed}, days=whole_weeks(deployment),
        )  # fmt: skip
        yield Question(
            "detected over all days", metric, "estimate",
            [shares("intervals of the detected", picked=True)],
            {"detected": "true"}, body={"candidates": listed}, days=whole_weeks(deployment),
        )  # fmt: skip
    yield Question(
        "a list in which nobody is", "plugin", "estimate", [warned("was not looked for")],
        body={"candidates": numbered("absent", ABSENT)}, days=whole_weeks(deployment),
    )  # fmt: skip


def discoveries(deployment: Deployment) -> Iterator[Question]:
    """Strings that nobody listed; and the same reports with a list."""
    days = whole_weeks(deployment)
    yield Question(
        "over all days", "search_term", "discover",
        [found_strings("found strings"), found_shares("shares of found strings"), reports()],
        days=days,
    )  # fmt: skip
    listed = [*SEARCHED, LATE_TERM, *RARELY_SEARCHED[:20], *numbered("absent", ABSENT)]
    yield Question(
        "listed", "search_term", "estimate",
        [shares("shares of strings that are also discovered", by_value=True),
         detected("above zero, strings that are also discovered", everything=True), reports()],
        body={"candidates": listed}, days=days,
    )  # fmt: skip


def numbers(deployment: Deployment) -> Iterator[Question]:
    """Means, histograms and quantiles."""
    days = whole_weeks(deployment)
    yield Question(
        "by day", "startup_seconds", "series", [means("means by day"), reports()], BY_DAY,
    )  # fmt: skip
    yield Question(
        "by day, memoised", "battery", "series",
        [means("means by day, memoised", memoised=True), reports()], BY_DAY,
    )  # fmt: skip
    for metric, name in (("latency", "sw"), ("typing", "sw"), ("pages", "dbitflip")):
        yield Question(
            "by day", metric, "series",
            [quantiles(f"quantiles by day, {name}"), means("means of distributions"), reports()],
            BY_DAY,
        )  # fmt: skip
        for week in weeks(deployment):
            yield Question(
                "in a week", metric, "estimate",
                [quantiles(f"quantiles by week, {name}"), bins(f"bins, {name}"),
                 means("means of distributions"), reports()],
                days=week,
            )  # fmt: skip
        yield Question(
            "over all days", metric, "estimate",
            [quantiles(f"quantiles over all days, {name}"), bins(f"bins, {name}"), reports()],
            days=days,
        )  # fmt: skip
    for metric in ("latency", "pages"):
        yield Question(
            "all of 5 to 95%", metric, "estimate", [placed(0.05, 0.95)], days=days,
        )  # fmt: skip
        yield Question(
            "quantiles of his own", metric, "estimate",
            [quantiles("quantiles that were asked for")],
            {"quantile": ["0.1", "0.37", "0.8"]}, days=days,
        )  # fmt: skip
        yield Question(
            "quantiles of his own, by week", metric, "series",
            [quantiles("quantiles that were asked for")],
            {"quantile": ["0.1", "0.37", "0.8"], "by": "week"}, days=days,
        )  # fmt: skip
    yield Question(
        "a mean where a distribution would serve", "startup_seconds", "estimate",
        [warned("distribution")], days=days,
    )  # fmt: skip


def segments(deployment: Deployment) -> Iterator[Question]:
    """Within each segment, whatever the segment, and both together."""
    spans = [whole_weeks(deployment), *weeks(deployment)]
    for days in spans:
        for segment in ("stable", "beta"):
            yield Question(
                f"within {segment}", "mode", "estimate",
                [shares("shares within a segment"), segment_sizes("segment sizes"), reports()],
                {"segment": segment}, days=days,
            )  # fmt: skip
        yield Question(
            "whatever the segment", "mode", "estimate",
            [shares("shares whatever the segment"), segment_sizes("segment sizes"), reports(),
             possible_shares(), sums()],
            days=days,
        )  # fmt: skip
        pairs = [f"mode={value} & channel={segment}" for value in ("visual", "source")
                 for segment in ("stable", "beta")]  # fmt: skip
        yield Question(
            "pairs of a value and a segment", "mode", "estimate",
            [shares("pairs of value and segment")], body={"candidates": pairs}, days=days,
        )  # fmt: skip
    for segment in ("stable", "beta"):
        yield Question(
            f"within {segment}, by week", "mode", "series",
            [shares("a segment in series and change")], {"by": "week", "segment": segment},
        )  # fmt: skip
        yield Question(
            f"within {segment}, after the change", "mode", "change",
            [differences("a segment in series and change")], {"segment": segment},
            before=(0, change_of(deployment) - 1),
            days=(change_of(deployment), whole_weeks(deployment)[1]),
        )  # fmt: skip
    yield Question(
        "whatever the segment, by day", "mode", "series",
        [shares("shares whatever the segment"), reports()], BY_DAY,
    )  # fmt: skip


def attributes(deployment: Deployment) -> Iterator[Question]:
    """Single attributes, and pairs of flags."""
    for metric in ("settings", "features"):
        yield Question(
            "by day", metric, "series", [shares("attributes by day"), reports()], BY_DAY,
        )  # fmt: skip
        yield Question(
            "over all days", metric, "estimate", [shares("attributes over all days"), reports()],
            days=whole_weeks(deployment),
        )  # fmt: skip
    for day in range(whole_weeks(deployment)[1]):
        if day != outage_of(deployment):
            yield Question(
                "lifts", "features", "estimate", [lifts("lifts of flags")], days=(day, day),
            )  # fmt: skip
    for days in weeks(deployment):
        yield Question(
            "which flags go together", "features", "estimate",
            [associations("flags that go together", truly=("search=true", "comments=true"))],
            {"margin": "noise-and-sampling"}, days=days,
        )  # fmt: skip


def few_reports() -> Iterator[Question]:
    """Metrics that few devices report: intervals must still be right, or be refused."""
    for by in ("day", "week"):
        line = f"few reports, by {by}"
        yield Question(
            f"by {by}", "few_numbers", "series", [means(f"{line}: means")], {"by": by},
        )  # fmt: skip
        yield Question(
            f"by {by}", "few_flags", "series", [shares(f"{line}: pairs")], {"by": by},
        )  # fmt: skip
        yield Question(
            f"by {by}", "few_values", "series", [shares(f"{line}: shares")], {"by": by},
        )  # fmt: skip
        yield Question(
            f"combined, by {by}", "few_values", "series", [combined(f"{line}: combined")],
            {"by": by}, body={"combined": ["a", "b"]},
        )  # fmt: skip


def changes(deployment: Deployment) -> Iterator[Question]:
    """Week against week, and before against after the change."""
    listed = weeks(deployment)
    for before, after in itertools.pairwise(listed):
        for metric in ("dark_mode", "theme", "crash", "startup_seconds"):
            yield Question(
                "week by week", metric, "change", [differences("differences")],
                before=before, days=after,
            )  # fmt: skip
        # Nothing about these ever changes.
        for metric in ("language", "sync", "settings"):
            yield Question(
                "week by week", metric, "change", [clear_changes("clear change")],
                before=before, days=after,
            )  # fmt: skip
        for metric in ("dark_mode", "theme", "startup_seconds"):
            yield Question(
                "unlike weekdays", metric, "change",
                [differences_of_weekdays("differences of the same weekdays")],
                before=(before[0], before[0] + 4), days=(after[0] + 2, after[1]),
            )  # fmt: skip
    # Both weeks have reports of it as a number; the second has more of it as a distribution.
    yield Question(
        "over the change of type", "documents", "change", [differences("differences")],
        before=listed[1], days=listed[-1], versions=(1, 2),
    )  # fmt: skip
    early = 0, change_of(deployment) - 1
    late = change_of(deployment), whole_weeks(deployment)[1]
    yield Question(
        "after the change", "crash", "change",
        [differences("differences"), clear_changes("clear change", truly=("editor", "none"))],
        before=early, days=late,
    )  # fmt: skip
    yield Question(
        "after the change", "features", "change",
        [differences("differences")], before=early, days=late,
    )  # fmt: skip
    for metric in ("typing", "latency", "pages"):
        yield Question(
            "the shape after the change", metric, "change",
            [shape_changes("clear change of shape", truly=metric == "typing"),
             shape_distances("distances of shapes"),
             quantile_differences("quantiles, differences")],
            before=early, days=late,
        )  # fmt: skip
        for before, after in itertools.pairwise(listed):
            if metric != "typing" or not before[0] < change_of(deployment) <= after[0]:
                yield Question(
                    "the shape, week by week", metric, "change",
                    [shape_changes("clear change of shape"), shape_distances("distances of shapes"),
                     quantile_differences("quantiles, differences")],
                    before=before, days=after,
                )  # fmt: skip


def health(deployment: Deployment) -> Iterator[Question]:
    """What an answer must say about the days and reports behind it."""
    around = outage_of(deployment) - 2, outage_of(deployment) + 4
    last_week = deployment.last - 6, deployment.last
    forged = forged_days(deployment).start, forged_days(deployment).stop - 1
    for form, parameters in (("estimate", {}), ("series", BY_DAY)):
        yield Question(
            f"days with an outage, {form}", "theme", form, [days_said()], parameters, days=around,
        )  # fmt: skip
        yield Question(
            f"until today, {form}", "theme", form, [days_said()], parameters, days=last_week,
        )  # fmt: skip
        yield Question(
            f"days with forged reports, {form}", "browser", form,
            [days_said(), warned(FORGER), reports()], parameters, days=forged,
        )  # fmt: skip
    yield Question(
        "before and during forged reports", "browser", "change", [warned(FORGER)],
        before=(forged[0] - 7, forged[0] - 1), days=forged,
    )  # fmt: skip
    yield Question(
        "days before forged reports", "browser", "estimate",
        [quiet(), days_said(), shares("shares over versions"), reports(), possible_shares()],
        days=(0, forged[0] - 1),
    )  # fmt: skip
    yield Question(
        "leaving the forger's key out", "browser", "estimate",
        [shares("shares without a key"), reports(), days_said(), possible_shares()],
        {"without_key": FORGER}, days=forged, without=(FORGER,),
    )  # fmt: skip
    yield Question(
        "by day, leaving the forger's key out", "browser", "series",
        [shares("shares without a key"), reports(), days_said()],
        {**BY_DAY, "without_key": FORGER}, days=forged, without=(FORGER,),
    )  # fmt: skip


def tables(deployment: Deployment) -> Iterator[Question]:
    """Weeks that are closed, in the table of estimates."""
    closed = [week for week in weeks(deployment) if week[1] < deployment.last - ACCEPT_DAYS]
    for metric in ("theme", "crash", "features", "startup_seconds", "latency"):
        for week in closed:
            yield Question(
                "in the table and as CSV", metric, "tables",
                [same_numbers("the table of estimates, CSV")], days=week,
            )  # fmt: skip


def command_line(deployment: Deployment) -> Iterator[Question]:
    """By the command line, reading the printed tables."""
    days = whole_weeks(deployment)
    for metric in ("crash", "language", "theme", "settings"):
        yield Question(
            "as a table", metric, "estimate", [printed_shares("printed shares")],
            days=days, command=(),
        )  # fmt: skip
    yield Question(
        "as a table, before forged reports", "browser", "estimate",
        [printed_shares("printed shares")],
        days=(0, forged_days(deployment).start - 1), command=(),
    )  # fmt: skip
    yield Question(
        "as a table by week", "theme", "series", [printed_series("printed series")],
        {"by": "week"}, days=days, command=(),
    )  # fmt: skip
    for metric in ("startup_seconds", "latency", "pages"):
        yield Question(
            "as a table", metric, "estimate", [printed_numbers("printed numbers")],
            days=days, command=(),
        )  # fmt: skip
    for metric in ("crash", "startup_seconds"):
        yield Question(
            "as a table of changes", metric, "change", [printed_changes("printed changes")],
            before=(0, change_of(deployment) - 1), days=(change_of(deployment), days[1]),
            command=(),
        )  # fmt: skip
    forged = forged_days(deployment).start, forged_days(deployment).stop - 1
    for form, parameters in (("estimate", {}), ("series", {"by": "week"})):
        yield Question(
            f"as a table, with forged reports, {form}", "browser", form, [warned(FORGER)],
            parameters, days=forged, command=(),
        )  # fmt: skip
    yield Question(
        "as a table, with an outage", "crash", "estimate",
        [warned(f"{deployment.date_of(outage_of(deployment)):%m-%d}")],
        days=(outage_of(deployment) - 2, outage_of(deployment) + 4), command=(),
    )  # fmt: skip


def publications(deployment: Deployment) -> Iterator[Question]:
    """Tables for the public, as ``deniable publish`` prints them."""
    spans = [whole_weeks(deployment), *weeks(deployment)]
    for days in spans:
        for metric in ("theme", "crash", "language"):
            yield Question(
                "published", metric, "publish", [published("published tables")],
                days=days, command=("--format", "json"),
            )  # fmt: skip
    for segment in ("stable", "beta"):
        yield Question(
            f"published, within {segment}", "mode", "publish", [published("published tables")],
            {"segment": segment}, days=spans[0], command=("--format", "json"),
        )  # fmt: skip
    for metric in ("startup_seconds", "latency", "settings"):
        yield Question(
            "published", metric, "publish", [published("published tables")],
            days=spans[0], command=("--format", "json"),
        )  # fmt: skip


def wholes(deployment: Deployment) -> Iterator[Question]:
    """Whether a segment is like the whole, and whether a series has changed as a whole."""
    days = whole_weeks(deployment)
    for span in (days, *weeks(deployment)):
        for segment in ("stable", "beta"):
            yield Question(
                f"how close {segment} is, {span}", "mode", "estimate",
                [least_distances("least distances of segments")], {"segment": segment}, days=span,
            )  # fmt: skip
    for metric, truly in (("language", False), ("sync", False), ("typing", True)):
        for by in ("day", "week"):
            yield Question(
                f"an alarm, by {by}", metric, "series", [alarms("alarms", truly=truly)],
                {"by": by, "alarm": "true"}, days=days,
            )  # fmt: skip
