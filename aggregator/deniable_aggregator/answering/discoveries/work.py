"""What a run does: reads the reports of a metric, looks for strings, and says what was found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from deniable_aggregator.answering.discoveries.crowds import (
    left_out,
    lifted_together,
    much_left_out,
)
from deniable_aggregator.answering.discoveries.found import Earlier, found_strings
from deniable_aggregator.answering.discoveries.questions import DenyList, require_discoverable
from deniable_aggregator.answering.discovery.discover import discover
from deniable_aggregator.answering.metrics import newest_first
from deniable_aggregator.answering.reader import MetricReader, read_steadily
from deniable_aggregator.answering.requests import estimate_refused
from deniable_aggregator.answering.review import HEALTH_CELLS, Reviewer
from deniable_aggregator.answering.slices import few_reports
from deniable_aggregator.answering.small_parts import require_parts
from deniable_aggregator.answers.answer import Answer, AskedQuestion
from deniable_aggregator.answers.common import Notice, ordered_notices
from deniable_aggregator.answers.dates import FIRST_DAY, LAST_DAY, DayRange
from deniable_aggregator.answers.questions import given_parameters
from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_shared.errors import ParameterError
from deniable_shared.hashing import normalize
from deniable_shared.periods import SECONDS_PER_EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_aggregator.answering.discoveries.runs import Job
    from deniable_aggregator.answering.estimation.inputs import MetricReports
    from deniable_aggregator.counting.tallies.trie import TrieTally
    from deniable_aggregator.keeping.catalog import CatalogEntry, MetricCatalog
    from deniable_aggregator.keeping.store import Store
    from deniable_shared.mechanisms import Trie

ALPHA = 0.05
"""The expected part of false strings among those that are found, at most."""


_PLANTED = Notice(
    "planted_strings",
    "warning",
    "Reports fail a check: strings may have been planted, hundreds by a few reports, and no test "
    "of strings can tell. The health of the metric says which keys and days; ask without "
    "them before relying on what was found",
)


class DiscoveryWork:
    """Looks for the strings of one metric.

    Args:
        store: the store.
        catalogue: the registered metrics.
        job: what to do.
        on_progress: called with what is done, in a few words, and how much of all that is, in
            [0, 1].
    """

    def __init__(
        self,
        store: Store,
        catalogue: MetricCatalog,
        job: Job,
        on_progress: Callable[[str, float], None],
    ) -> None:
        self._store = store
        self._job = job
        self._on_progress = on_progress
        few = few_reports(job.today, job.accept_days, job.batch_reports)
        self._reader = MetricReader(store, catalogue, lambda: few)
        # Only the day of this clock matters: it is noon.
        noon = (job.today + 0.5) * SECONDS_PER_EPOCH
        self._reviewer = Reviewer(
            store,
            catalogue,
            self._reader.tables,
            job.accept_days,
            job.part_reports,
            job.batch_reports,
            lambda: noon,
        )

    def find(self) -> Answer:
        """What was found.

        Raises:
            ProblemError: if the metric is unknown, has no reports or cannot be asked this.
        """
        of = self._job.application, self._job.metric
        return read_steadily(lambda: self._reader.rolled_stamp(*of), lambda: self._find(*of))

    def _find(self, application: str, name: str) -> Answer:
        query = self._job.query
        asked = self._reader.asked_metric(application, name, query.without_key, query.version)
        asked = replace(asked, entries=require_discoverable(asked))
        days = DayRange(query.since or FIRST_DAY, query.until or LAST_DAY)
        self._on_progress("read reports", 0.0)
        reported = self._reader.read(asked, days)
        try:
            require_parts(self._reader, asked, reported, self._job.part_reports, query.version)
        except ParameterError as error:
            raise estimate_refused(error) from None
        entry, notices = _newest(reported)
        reported = reported.only({entry.spec.digest})
        ((spec, counts),) = self._reader.collect(reported, days).tallies
        tally = cast("TrieTally", entry.tally)
        trie, code = cast("Trie", spec.mechanism), spec.letters
        assert code is not None
        kept = tally.uncrowded(counts)
        del counts  # half a gigabyte, if there are 24 levels
        deny = DenyList(self._job.deny)
        earlier = Earlier.of(self._store, entry, reported, self._job.since)
        hints = dict.fromkeys(normalize(hint) for hint in self._job.hints)
        hints |= dict.fromkeys(earlier.texts)
        try:
            findings = discover(
                lambda level: tally.supports_of_level(kept.counts, level),
                trie,
                code,
                spec.salt,
                hints=hints,
                alpha=ALPHA,
                on_progress=self._on_progress,
            )
        except ParameterError as error:
            raise estimate_refused(error) from None
        self._on_progress("check reports", 1.0)
        review = self._reviewer.review(reported, most_cells=HEALTH_CELLS)
        if review.summary.verdict == "suspicious":
            notices = [_PLANTED, *notices]
        notices = [
            *notices,
            *left_out(kept, findings.spreads),
            *lifted_together(findings.flats),
        ]
        return found_strings(
            review.head(application),
            AskedQuestion(name="discovery", parameters=given_parameters(query)),
            ordered_notices(much_left_out(kept), review.notices, notices),
            entry,
            tally,
            kept.counts,
            findings,
            deny,
            earlier,
            alpha=ALPHA,
            hints=len(hints),
        )


def _newest(reported: MetricReports) -> tuple[CatalogEntry, Sequence[Notice]]:
    """The newest version with reports, and a notice of those of other versions."""
    with_reports = [each for each in reported.entries if reported.by_day.get(each.spec.digest)]
    newest = newest_first(with_reports)[0]
    others = [each.spec.digest for each in with_reports if each is not newest]
    if not others:
        return newest, []
    left_out = sum(sum(reported.by_day[each].values()) for each in others)
    ids = ", ".join(each.hex()[:VERSION_LETTERS] for each in others)
    message = (
        f"{left_out:,} reports are left out: they are of another version, which other noise or "
        f"another code makes impossible to add. Ask with version={ids} to see them"
    )
    return newest, [Notice("other_version", "warning", message)]
