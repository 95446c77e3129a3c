"""Questions about unlisted strings, and lists of strings that no answer shows."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from deniable_aggregator.answering.reader import (
    AskedMetric,
    MetricReader,
    days_rolled_up,
    no_reports,
)
from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answering.rolled_slices import (
    DaysRolledUpError,
    RolledSums,
    read_rolled,
    without_keys,
)
from deniable_aggregator.answers.dates import FIRST_DAY, LAST_DAY, epoch_of
from deniable_aggregator.answers.discoveries import DiscoveryQuery  # noqa: TC001  msgspec reads it
from deniable_aggregator.keeping.store import NewDiscovery, StoredDiscovery, StoredKey
from deniable_shared import __version__
from deniable_shared.characters import without_refused
from deniable_shared.errors import ParameterError
from deniable_shared.value_lists import notices, read_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from deniable_aggregator.answers.discoveries import DiscoveryLists
    from deniable_aggregator.keeping.catalog import CatalogEntry
    from deniable_aggregator.keeping.parts import Parts


_WILD: Final = frozenset("*?")

_UNSEEN: Final = re.compile("[\u200c\u200d\ufe00-\ufe0f\U000e0020-\U000e007f\U000e0100-\U000e01ef]")
"""Joiners, variation selectors and tags: allowed in texts, and not seen in most."""


def read_deny_list(path: str) -> Sequence[str]:
    """The lines of a deny list.

    Args:
        path: of a UTF-8 file; empty for no list.

    Raises:
        ParameterError: if it cannot be read.
    """
    if not path:
        return ()
    try:
        return read_list(Path(path).read_bytes())
    except (OSError, ParameterError) as error:
        raise ParameterError("deny_list", "a UTF-8 file that can be read", path) from error


def deny_list_notices(path: str) -> Iterator[str]:
    """What an operator should know of a deny list: a sentence for each thing.

    Args:
        path: see `read_deny_list`.
    """
    try:
        lines = read_deny_list(path)
    except ParameterError as error:
        yield f"{error}. Without it no string is shown."
    else:
        for notice in notices(line.strip() for line in lines):
            yield f"deny_list: {notice}"


class DenyList:
    """Tells which strings must not be shown.

    A line is a whole string; * in it stands for any characters, also none, and ? for one. Upper and
    lower case do not matter, nor do the compatible forms of letters (NFKC), white space around them
    and characters that cannot be seen.

    Args:
        lines: words and patterns.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        folded = {_folded(line) for line in lines}
        self._words = sorted(line for line in folded if not _WILD & set(line))
        self._patterns = [
            (line, max(re.split(r"[*?]", line), key=len)) for line in folded.difference(self._words)
        ]
        """Each with the longest text in it, which most strings do not have."""

    def denies(self, text: str, *, whole: bool) -> bool:
        """Whether a string must not be shown.

        Args:
            text: a string, or the first letters of longer ones.
            whole: which of the two; a prefix is denied, too, where a denied string begins with it.
        """
        text = _folded(text)
        place = bisect_left(self._words, text)
        if place < len(self._words):
            word = self._words[place]
            if word == text or (not whole and word.startswith(text)):
                return True
        return any(
            (needed in text and _matches(line if whole else f"{line}*", text))
            or (not whole and _begins(line, text))
            for line, needed in self._patterns
        )


def _begins(pattern: str, prefix: str) -> bool:
    """Whether what fits a pattern can begin with a prefix, before the pattern's first *.

    After that anything would do: "*ing" could fit what any prefix goes on with.
    """
    start = pattern.partition("*")[0][: len(prefix)]
    return len(start) == len(prefix) and _matches(start, prefix)


def _matches(pattern: str, text: str) -> bool:
    """Whether a pattern fits a whole text, in time at most proportional to both lengths."""
    place = at = 0
    star, resumed = -1, 0
    while at < len(text):
        if place < len(pattern) and pattern[place] == "*":
            star, resumed = place, at
            place += 1
        elif place < len(pattern) and pattern[place] in ("?", text[at]):
            place, at = place + 1, at + 1
        elif star >= 0:
            place, resumed = star + 1, resumed + 1
            at = resumed
        else:
            return False
    return not pattern[place:].strip("*")


def _folded(text: str) -> str:
    seen = _UNSEEN.sub("", without_refused(text))
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold()).strip()


METHOD: Final = 2
"""Another number whenever the same reports may give another result."""


class AskedDiscovery(msgspec.Struct, frozen=True):
    """A question as it is stored: its lists only as a hash.

    Attributes:
        query: the days, keys and version.
        lists: SHA-256 of the lists, in hex.
    """

    query: DiscoveryQuery
    lists: str


@dataclass(frozen=True)
class _Found:
    """What there is of a version over the days of a question.

    Attributes:
        entry: the version.
        reports: how many reports each key brought on each day, without keys that are left out.
        rolled: the days that became one: their ids, days and reports.
        keys: the ids of all keys that brought reports, those that are left out, too.
    """

    entry: CatalogEntry
    reports: Mapping[tuple[int, str], int]
    rolled: Sequence[tuple[int, int, int, int]]
    keys: frozenset[str]

    @property
    def days(self) -> tuple[int, int] | None:
        """The first and the last day with reports."""
        days = {day for day, _ in self.reports}
        days.update(*(each[1:3] for each in self.rolled))
        return (min(days), max(days)) if days else None


class DiscoveryAsker:
    """Makes questions that can be stored, and tells whether their results still hold.

    Args:
        parts: the store, and what is made over it; its settings name the server's deny list.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._store = parts.store
        self._settings = parts.settings
        self._reader = MetricReader(parts.store, parts.catalogue)

    def ask(
        self, application: str, name: str, query: DiscoveryQuery, lists: DiscoveryLists
    ) -> NewDiscovery:
        """A question that can be stored.

        Args:
            application: whose metric it is.
            name: of the metric.
            query: the days, keys and version.
            lists: hints, and strings that are not to be shown.

        Raises:
            ProblemError: if there is no such metric, it finds no strings or has no reports.
        """
        encoded = msgspec.json.encode(lists)
        asked = AskedDiscovery(query, hashlib.sha256(encoded).hexdigest())
        denied = self.deny_list()
        tag, since, until = self._now(application, name, asked, denied)
        return NewDiscovery(
            tag,
            application,
            name,
            since,
            until,
            self._parts.today,
            msgspec.json.encode(asked).decode(),
            msgspec.json.encode({"hints": lists.hints, "deny": [*lists.deny, *denied]}),
        )

    def is_current(self, stored: StoredDiscovery) -> bool:
        """Whether nothing has changed since a question was asked that its result depends on.

        Args:
            stored: the question.
        """
        asked = msgspec.json.decode(stored.question, type=AskedDiscovery)
        try:
            tag, _, _ = self._now(stored.application, stored.metric, asked, self.deny_list())
        except ProblemError:  # a key, version or report that it was about is gone
            return False
        return tag == stored.tag

    def minimum_devices(self, application: str, name: str) -> int:
        """How many devices a string of a metric must surely have to be shown.

        Args:
            application: whose metric it is.
            name: of the metric.
        """
        entries = self._reader.asked_metric(application, name).entries
        return max(each.registration.minimum_devices or 0 for each in entries)

    def deny_list(self) -> Sequence[str]:
        """The lines of the server's deny list.

        Raises:
            ProblemError: if it cannot be read.
        """
        try:
            return read_deny_list(self._settings.deny_list)
        except ParameterError:
            raise ProblemError(
                "question_unanswered",
                "The server's deny_list cannot be read, and without it no string is shown. Its "
                "operator finds the setting in deniable config show.",
            ) from None

    def _now(
        self, application: str, name: str, asked: AskedDiscovery, denied: Sequence[str]
    ) -> tuple[bytes, int, int]:
        """The tag of a question as things are now, and the first and last day that it is about."""
        query = asked.query
        metric = self._reader.asked_metric(application, name, query.without_key, query.version)
        entries = require_discoverable(metric)
        keys = {key.id: key for key in self._store.keys.all()}
        days = epoch_of(query.since or FIRST_DAY), epoch_of(query.until or LAST_DAY)
        found = self._read(metric, entries, keys, days)
        spans = [each.days for each in found if each.days is not None]
        if not spans:
            raise no_reports(name)
        since, until = min(each[0] for each in spans), max(each[1] for each in spans)
        earlier = self._store.discoveries.before(application, name, since)
        today, open_days = self._parts.today, self._settings.accept_days
        depends_on = (
            METHOD,
            __version__,
            application,
            name,
            msgspec.json.encode(asked),
            hashlib.sha256("\n".join(denied).encode()).hexdigest(),
            None if until < today - open_days else (today, open_days),
            [_described(each.entry) for each in found],
            [(sorted(each.reports.items()), each.rolled) for each in found],
            sorted(
                (key.id, key.label, key.excluded is not None)
                for key in keys.values()
                if any(key.id in each.keys for each in found)
            ),
            sorted(metric.without),
            None if earlier is None else earlier.number,
            sorted(self._store.tallies.first_days([e.spec.digest for e in entries]).items()),
        )
        return hashlib.sha256(repr(depends_on).encode()).digest(), since, until

    def _read(
        self,
        metric: AskedMetric,
        entries: Sequence[CatalogEntry],
        keys: Mapping[str, StoredKey],
        days: tuple[int, int],
    ) -> list[_Found]:
        left_out = metric.without | {key.id for key in keys.values() if key.excluded is not None}
        counted = self._store.tallies.volumes([each.tally for each in entries], *days)
        found = []
        for entry in entries:
            reports = {
                (epoch, key): volume.reports
                for epoch, of_keys in counted.get(entry.spec.digest, {}).items()
                for key, volume in of_keys.items()
            }
            rolled = self._rolled(entry, days)
            kept = without_keys(rolled, left_out).periods
            found.append(
                _Found(
                    entry,
                    {slice_: reports[slice_] for slice_ in reports if slice_[1] not in left_out},
                    [(each.stored.id, *each.days, each.stored.reports) for each in kept],
                    frozenset(key for _, key in reports).union(
                        *(each.summary.keys for each in rolled)
                    ),
                )
            )
        return found

    def _rolled(self, entry: CatalogEntry, days: tuple[int, int]) -> list[RolledSums]:
        try:
            rolled = read_rolled(self._store, entry.spec.digest, *days)
            return [each for each in rolled if each.is_within(*days)]
        except DaysRolledUpError as error:
            raise days_rolled_up(error) from None


def require_discoverable(metric: AskedMetric) -> list[CatalogEntry]:
    """Those versions of a metric in which unlisted strings can be found.

    Args:
        metric: the metric.

    Raises:
        ProblemError: if there are none, saying what a registry needs.
    """
    entries = [entry for entry in metric.entries if entry.spec.letters is not None]
    if not entries:
        raise ProblemError(
            "estimate_refused",
            f"{metric.name} cannot find strings that nobody listed. In metrics.toml a metric can "
            'with type = "string" and discover = true; register it, and let devices report under '
            "the new version.",
        )
    return entries


def _described(entry: CatalogEntry) -> tuple[Any, ...]:
    registration = entry.registration
    return (
        entry.spec.digest,
        registration.description,
        registration.registered,
        registration.minimum_devices,
    )
