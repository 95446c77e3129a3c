"""How many reports days, keys and single uploads bring, beside the past of each.

Forged reports that are drawn as a device draws them pass every check of noise. What one upload of
millions of them cannot hide is that it brings far more than its key usually does.

The logarithms of the reports of a key's days are compared with those of the 28 days before: with
the same weekday, once there are three weeks, by the t-test for one new observation. As counts vary
by chance, too, a day must also be more than Poisson noise explains. What is flagged is no past for
later days, until fewer than a week of unflagged days is left: then the new volume is usual.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import special

from deniable_aggregator.answering.rolled_slices import read_rolled
from deniable_aggregator.counting.yield_points import yield_point

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.inputs import MetricReports
    from deniable_aggregator.answering.rolled_slices import RolledSums
    from deniable_aggregator.keeping.store import Store

FAMILY_P: Final = 1e-3
"""Days whose volume is usual make any day of an answer stand out with this probability, at most."""

PAST_DAYS: Final = 28
"""A day is compared with so many days before it."""

DAYS_BEFORE: Final = 2 * PAST_DAYS
"""So many days before those that are asked about are read, so that days before these are flagged
alike, whatever days are asked about."""

LEAST_PAST: Final = 7
"""With fewer of them that have reports, nothing is usual yet."""

LEAST_FACTOR: Final = 2.0
"""Fewer than so many times the usual number is growth."""

LEAST_REPORTS: Final = 100
"""Fewer additional reports than so many stand out nowhere; nor does an upload of fewer."""

LEAST_MOVED: Final = 0.01
"""Days that are a smaller part of an answer's reports are marked, but are no verdict on it."""

LEAST_PART: Final = 0.1
"""An upload with more than this part of an answer's reports is named before its numbers."""

_WEEK: Final = 7
_ROUNDING: Final = 1e-9
_ENOUGH_FREEDOM: Final = 14
"""Degrees of freedom that weekdays need: those of three weeks."""

Kind = Literal["volume", "upload"]


class Surge(NamedTuple):
    """A day on which far more came than usual.

    Attributes:
        kind: whether all reports of the day, or those of its largest upload, are many.
        epoch: the day.
        key: the id of the key; None for all keys together.
        digest: the version of the metric that most of these reports are of.
        reports: how many there are; of an upload, the largest.
        usual: how many there were, by the same weekday where that is known: a geometric mean.
        p: how often a day that is as usual as those before has so many, at least.
    """

    kind: Kind
    epoch: int
    key: str | None
    digest: bytes
    reports: int
    usual: float
    p: float


class LargestUpload(NamedTuple):
    """The upload with most of an answer's reports.

    Attributes:
        key: the id of its key.
        epoch: the day of its reports.
        reports: how many it brought.
        part: which part of all reports of the answer these are.
    """

    key: str
    epoch: int
    reports: int
    part: float


class Volumes(NamedTuple):
    """What stands out among the volumes of an answer.

    Attributes:
        surges: the days on which it does, the latest first.
        notable: those of them that can move a share of the answer by a percentage point.
        largest: the largest upload, if it has more than a tenth of the reports.
    """

    surges: tuple[Surge, ...] = ()
    notable: tuple[Surge, ...] = ()
    largest: LargestUpload | None = None


def volumes_of(reported: MetricReports, store: Store) -> Volumes:
    """What stands out among the volumes of a metric's days.

    Args:
        reported: the reports; at least one.
        store: has those of the days before.
    """
    own = [columns for digest in reported.tables for columns in _of_table(digest, reported)]
    largest = _largest_upload(own, reported.reports)
    days = reported.reported_days
    first, last = days[0], days[-1]
    since = first - DAYS_BEFORE
    left_out = {key for key in reported.keys if reported.is_excluded(key)} | reported.without
    brought = [*_before(reported, store, since, first - 1), *own]
    found = surges([columns.without(left_out) for columns in brought], since, first, last)
    total = reported.reports
    notable = [surge for surge in found if surge.reports >= LEAST_MOVED * total]
    return Volumes(tuple(found), tuple(notable), largest)


class Brought(NamedTuple):
    """What keys brought of one version, by day: columns with an entry for each day and key.

    Attributes:
        digest: of the version.
        epochs: int64, (entries,): the day of each.
        keys: int64, (entries,): its key, as a position in `key_ids`.
        key_ids: the ids of the keys; some may have no entry.
        reports: int64, (entries,): how many reports it has.
        largest: int64, (entries,): the most of these that one upload brought; 0 if not known.
    """

    digest: bytes
    epochs: NDArray[np.int64]
    keys: NDArray[np.int64]
    key_ids: Sequence[str]
    reports: NDArray[np.int64]
    largest: NDArray[np.int64]

    @classmethod
    def of(cls, digest: bytes, volumes: Iterable[tuple[int, str, int, int]]) -> Brought:
        """The columns of some volumes.

        Args:
            volumes: the day, the id of the key, the reports, and the largest upload of each.
        """
        code_of: dict[str, int] = {}
        rows = [
            (epoch, code_of.setdefault(key, len(code_of)), reports, largest)
            for epoch, key, reports, largest in volumes
        ]
        epochs, keys, reports, largest = np.array(rows, np.int64).reshape(-1, 4).T
        return cls(digest, epochs, keys, tuple(code_of), reports, largest)

    def rows(self, chosen: NDArray[np.bool_]) -> Brought:
        """Some of the entries.

        Args:
            chosen: bool, (entries,).
        """
        return self._replace(
            epochs=self.epochs[chosen],
            keys=self.keys[chosen],
            reports=self.reports[chosen],
            largest=self.largest[chosen],
        )

    def without(self, keys: Collection[str]) -> Brought:
        """The entries of all other keys.

        Args:
            keys: ids.
        """
        codes = [code for code, key in enumerate(self.key_ids) if key in keys]
        return self.rows(~np.isin(self.keys, codes)) if codes else self


def _before(reported: MetricReports, store: Store, since: int, until: int) -> Iterator[Brought]:
    """What came on some days, also of those that became one."""
    volumes = store.tallies.volumes([entry.tally for entry in reported.entries], since, until)
    for digest, days in volumes.items():
        yield Brought.of(
            digest,
            ((day, key, *volume) for day, keys in days.items() for key, volume in keys.items()),
        )
    for entry in reported.entries:
        digest = entry.spec.digest
        rolled = _of_rolled(digest, read_rolled(store, digest, since, until))
        yield rolled.rows((rolled.epochs >= since) & (rolled.epochs <= until))


def _of_rolled(digest: bytes, rolled: Iterable[RolledSums]) -> Brought:
    return Brought.of(
        digest,
        (
            (epoch, key, *volume)
            for period in rolled
            for key, days in period.summary.volumes.items()
            for epoch, volume in days.items()
        ),
    )


def _of_table(digest: bytes, reported: MetricReports) -> Iterator[Brought]:
    table = reported.tables[digest]
    epochs, keys = table.epochs.astype(np.int64), table.keys.astype(np.int64)
    yield Brought(digest, epochs, keys, table.key_ids, table.reports, table.largest)
    yield _of_rolled(digest, table.rolled)


def _largest_upload(brought: Iterable[Brought], total: int) -> LargestUpload | None:
    some = [columns for columns in brought if columns.largest.size]
    columns = max(some, key=lambda each: int(each.largest.max()), default=None)
    if columns is None:
        return None
    row = columns.largest.argmax()
    largest = int(columns.largest[row])
    if largest < LEAST_REPORTS or largest <= LEAST_PART * total:
        return None
    key = columns.key_ids[columns.keys[row]]
    return LargestUpload(key, int(columns.epochs[row]), largest, largest / total)


def surges(brought: Iterable[Brought], since: int, first: int, last: int) -> list[Surge]:
    """The days on which far more came than in the days before, the latest first.

    Versions are added up, as one takes the reports of another when it is released. All keys
    together are looked at where no key with a past of its own is flagged that day: a new key.

    Args:
        brought: what came.
        since: the first day of these.
        first: the first day that is asked about.
        last: the last.
    """
    some = [columns for columns in brought if columns.epochs.size]
    if not some:
        return []
    keys = sorted({c.key_ids[code] for c in some for code in np.unique(c.keys).tolist()})
    place = {key: number for number, key in enumerate(keys)}
    reports, largest = np.zeros((2, last - since + 1, len(keys) + 1))
    for columns in some:
        places = np.array([place.get(key, -1) for key in columns.key_ids], np.int64)
        cells = columns.epochs - since, places[columns.keys]
        np.add.at(reports, cells, columns.reports.astype(np.float64))
        np.maximum.at(largest, cells, columns.largest.astype(np.float64))
    reports[:, -1] = reports[:, :-1].sum(axis=1)
    asked = slice(first - since, None)
    tests = int(np.count_nonzero(reports[asked])) + int(np.count_nonzero(largest[asked]))
    limit = FAMILY_P / max(tests, 1)
    found: list[Surge] = []
    kinds: Sequence[tuple[Kind, NDArray[np.float64]]] = (("volume", reports), ("upload", largest))
    for kind, counts in kinds:
        p, usual = _unusual(counts, limit)
        for row, column in np.argwhere(p[asked] < limit).tolist():
            day = row + first - since
            whole = column == len(keys)
            if whole and (p[day, :-1] < limit).any():
                continue  # a key explains it
            key, epoch = None if whole else keys[column], day + since
            digests: Counter[bytes] = Counter()
            for columns in some:
                is_own = columns.epochs == epoch
                if key is not None:
                    is_own &= np.array(columns.key_ids)[columns.keys] == key
                digests[columns.digest] += int(columns.reports[is_own].sum())
            found.append(
                Surge(
                    kind,
                    epoch,
                    key,
                    max(digests, key=lambda digest: (digests[digest], digest)),
                    int(counts[day, column]),
                    float(usual[day, column]),
                    float(p[day, column]),
                )
            )
    return sorted(found, key=lambda each: (-each.epoch, each.kind != "volume", each.key or ""))


def _unusual(
    counts: NDArray[np.float64], limit: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The p-value of each day beside the days before, and what is usual there.

    Args:
        counts: (days, columns): numbers of reports; 0 where there are none.

    Returns:
        Both as `counts`; p is 1 where nothing can be told, or no more came than may be growth. What
        is usual is worked out for days on which more may have come.
    """
    logs = np.log(np.where(counts > 0, counts, np.nan))
    p_values, usual = np.ones_like(counts), np.full_like(counts, np.nan)
    past = logs.copy()  # without what is flagged
    for day in _may_be_flagged(counts):
        yield_point()
        window = past[max(day - PAST_DAYS, 0) : day]
        missing = np.full((PAST_DAYS - len(window), window.shape[1]), np.nan)
        # The first of the seven is the weekday of the day itself.
        weeks = np.concatenate([missing, window]).reshape(-1, _WEEK, window.shape[1])
        p, expected = _one_day(logs[day], weeks)
        flagged = (
            (p < limit)
            & (counts[day] >= LEAST_FACTOR * expected)
            & (counts[day] >= expected + LEAST_REPORTS)
        )
        p_values[day] = np.where(flagged, p, 1.0)
        usual[day] = expected
        past[day, flagged] = np.nan
    return p_values, usual


def _may_be_flagged(counts: NDArray[np.float64]) -> list[int]:
    """The days on which some count is large beside the least of the days before.

    What is usual is a mean of these, or of some of them.
    """
    known = np.where(counts > 0, counts, np.inf)
    padded = np.concatenate([np.full((PAST_DAYS, counts.shape[1]), np.inf), known[:-1]])
    least = sliding_window_view(padded, PAST_DAYS, axis=0).min(axis=2) * (1 - _ROUNDING)
    large = (counts >= LEAST_FACTOR * least) & (counts >= least + LEAST_REPORTS)
    days = np.flatnonzero(large.any(axis=1))
    return list(days[days >= LEAST_PAST].tolist())


def _one_day(
    log: NDArray[np.float64], weeks: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The p-values of a day's counts, and what is expected.

    Args:
        log: (columns,): of the day.
        weeks: (4, 7, columns): of the days before; NaN where there is nothing.
    """
    known = ~np.isnan(weeks)
    values = np.where(known, weeks, 0.0)
    of_weekday = known.sum(axis=0)
    days = of_weekday.sum(axis=0)
    means = values.sum(axis=0) / np.maximum(of_weekday, 1)
    squares = (np.where(known, weeks - means, 0.0) ** 2).sum(axis=(0, 1))
    freedom = np.maximum(of_weekday - 1, 0).sum(axis=0)
    by_weekday = (freedom >= _ENOUGH_FREEDOM) & (of_weekday[0] >= 2)
    mean = values.sum(axis=(0, 1)) / np.maximum(days, 1)
    all_squares = (np.where(known, weeks - mean, 0.0) ** 2).sum(axis=(0, 1))
    centre = np.where(by_weekday, means[0], mean)
    freedom = np.maximum(np.where(by_weekday, freedom, days - 1), 1)
    observations = np.maximum(np.where(by_weekday, of_weekday[0], days), 1)
    spread = np.sqrt(np.where(by_weekday, squares, all_squares) / freedom)
    error = np.sqrt(1 + 1 / observations)
    expected = np.exp(centre)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_past = special.stdtr(freedom, (centre - log) / (spread * error))
    roots = 2 * (np.sqrt(np.exp(log) + 3 / 8) - np.sqrt(expected + 3 / 8))
    by_chance = special.ndtr(-roots / error)
    enough = (days >= LEAST_PAST) & ~np.isnan(log)
    p = np.where(enough, np.fmax(by_past, by_chance), 1.0)
    return p, np.where(enough, expected, np.inf)
