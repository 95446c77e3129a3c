"""The last window: what was found in days before these, and what has become of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.answers.found import EarlierWindow
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.dates import day_of
from deniable_aggregator.statistics.intervals import z_for_alpha

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Literal, Self

    from numpy.typing import NDArray

    from deniable_aggregator.api.discoveries.deny_list import DenyList
    from deniable_aggregator.catalog import CatalogEntry
    from deniable_aggregator.estimation.metric_reports import MetricReports
    from deniable_aggregator.store import Store, StoredDiscovery
    from deniable_aggregator.tallies.trie import TrieTally

GONE_ALPHA = 0.05
"""The probability that any of the limits of strings that are missing is too low, at most."""


@dataclass(frozen=True)
class Earlier:
    """The newest result about days that all lie before those of a question.

    Reports of other days have their own noise, so its finds may be hints.

    Attributes:
        stored: which result it is; None if there is none.
        strings: the whole strings that it has.
        prefixes: the prefixes.
        reports: how many reports it was made of.
    """

    stored: StoredDiscovery | None = None
    strings: Sequence[Measured] = ()
    prefixes: Sequence[Measured] = field(default=())
    reports: int = 0

    @classmethod
    def of(cls, store: Store, entry: CatalogEntry, reported: MetricReports, day: int) -> Self:
        """The last result before a day; none if it counts reports that are left out now.

        Args:
            store: the store.
            entry: the version of the metric.
            reported: the reports of the question.
            day: the first day of the question, in days since 1970-01-01.
        """
        stored = store.discoveries.before(entry.spec.application, entry.spec.name, day)
        encoded = None if stored is None else store.discoveries.result(stored.number)
        if encoded is None:
            return cls()
        try:
            found = msgspec.json.decode(encoded, type=Answer)
        except msgspec.DecodeError:  # of another version
            return cls()
        assert stored is not None
        excluded = {key for key in reported.keys if reported.is_excluded(key)}
        left_out = (excluded | reported.without).difference(
            each.key for days in found.head.covered for each in days.keys_left_out
        )
        by_digest = store.tallies.reports_by_slice([entry.tally], stored.since, stored.until)
        if any(left_out & keys.keys() for days in by_digest.values() for keys in days.values()):
            return cls()
        # It may have to be more devices now.
        minimum = entry.registration.minimum_devices or 0
        strings, prefixes = (
            [each for each in some if each.ends[0] * found.head.reports >= minimum]
            for some in (found.strings, found.prefixes)
        )
        return cls(stored, strings, prefixes, found.head.reports)

    @property
    def texts(self) -> list[str]:
        """The whole strings that it has found."""
        return [each.value or "" for each in self.strings]

    def seen(self, text: str, *, whole: bool) -> Literal["new", "before"] | None:
        """Whether it has found a string, too; None if there is no earlier result."""
        if self.stored is None:
            return None
        if any(each.value == text for each in self.strings):
            return "before"
        # With more or fewer reports more or fewer letters of the same strings are found.
        prefixes = () if whole else self.prefixes
        again = any(_is_beginning(text, each.value or "") for each in prefixes)
        return "before" if again else "new"

    def window(
        self,
        strings: Collection[str],
        prefixes: Collection[str],
        tally: TrieTally,
        counts: NDArray[np.int64],
        deny: DenyList,
    ) -> tuple[EarlierWindow | None, list[Measured]]:
        """Which result it is, and which of its strings are missing now; none if there is none.

        Args:
            strings: the whole strings that were found now, whether they are shown or not.
            prefixes: the prefixes.
            tally: counts the reports of these days.
            counts: of these days.
            deny: strings that must not be shown.
        """
        if self.stored is None:
            return None, []
        lost = [
            each
            for each in self.strings
            if each.value not in strings and not deny.denies(each.value or "", whole=True)
        ]
        cut = [
            each
            for each in self.prefixes
            if not any(now.startswith(each.value or "") for now in strings)
            and not any(_is_beginning(each.value or "", now) for now in prefixes)
            and not deny.denies(each.value or "", whole=False)
        ]
        limits: list[float | None] = [None] * (len(lost) + len(cut))
        limits[: len(lost)] = _limits(tally, counts, [each.value or "" for each in lost])
        missing = [
            Measured(
                measure="share",
                value=each.value,
                whole=each.whole,
                before=each.estimate,
                high=limit,
                told=False,
                seen="gone" if limit is not None and limit < each.ends[0] else "not_found",
            )
            for each, limit in zip([*lost, *cut], limits, strict=True)
        ]
        window = EarlierWindow(
            id=self.stored.number,
            since=day_of(self.stored.since),
            until=day_of(self.stored.until),
            reports=self.reports,
        )
        return window, sorted(missing, key=lambda each: -(each.before or 0.0))


def _is_beginning(one: str, other: str) -> bool:
    """Whether one of two texts begins with the other."""
    return one.startswith(other) or other.startswith(one)


def _limits(tally: TrieTally, counts: NDArray[np.int64], texts: Sequence[str]) -> list[float]:
    """The largest share that each string can have, all of them together at `GONE_ALPHA`."""
    if not texts:
        return []
    found = tally.shares(counts, texts)
    z = z_for_alpha(2 * GONE_ALPHA / len(texts))  # one-sided
    limits = found.share + z * np.sqrt(found.variance)
    return [float(each) for each in limits]
