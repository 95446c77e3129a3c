"""What a run found, and what was known before it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

import msgspec
import numpy as np
from msgspec.structs import replace

from deniable_aggregator.answering.discoveries.scripts import other_scripts
from deniable_aggregator.answering.estimation.shares import metric_versions
from deniable_aggregator.answers.answer import Answer, AskedQuestion, Head
from deniable_aggregator.answers.common import (
    DetectionNote,
    FakesNote,
    IntervalNote,
    Notice,
    ordered_notices,
)
from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.answers.measured import (
    EarlierWindow,
    FoundNote,
    HiddenStrings,
    Length,
    Measured,
    SmallestShare,
)
from deniable_aggregator.counting.statistics.intervals import (
    DEFAULT_LEVEL,
    z_for_alpha,
    z_for_level,
)
from deniable_aggregator.counting.statistics.ranks import rank_ranges
from deniable_aggregator.counting.statistics.trie_estimates import planted_strings
from deniable_aggregator.telling.precision import with_one_precision
from deniable_shared.letters.alphabets import TEXT
from deniable_shared.planning.discovery import Forecast

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Literal, Self

    from numpy.typing import NDArray

    from deniable_aggregator.answering.discoveries.questions import DenyList
    from deniable_aggregator.answering.discovery.texts import Find, Findings
    from deniable_aggregator.answering.estimation.inputs import MetricReports
    from deniable_aggregator.counting.tallies.trie import TrieTally
    from deniable_aggregator.keeping.catalog import CatalogEntry
    from deniable_aggregator.keeping.store import Store, StoredDiscovery
    from deniable_shared.mechanisms import Trie


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
        by_digest = store.tallies.volumes([entry.tally], stored.since, stored.until)
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
        counts: NDArray[np.integer],
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


def _limits(tally: TrieTally, counts: NDArray[np.integer], texts: Sequence[str]) -> list[float]:
    """The largest share that each string can have, all of them together at `GONE_ALPHA`."""
    if not texts:
        return []
    found = tally.shares(counts, texts)
    z = z_for_alpha(2 * GONE_ALPHA / len(texts))  # one-sided
    limits = found.share + z * np.sqrt(found.variance)
    return [float(each) for each in limits]


FAKE_SHARE: Final = 0.01

INTERVAL: Final = (
    "approximately 95%, about all devices like these: they allow for the strings being shown "
    "because their reports stand out. Of a prefix only the lower end counts: more strings may "
    "begin so than were added up. docs/discovery.md says how often both were right"
)
DETECTION: Final = (
    "of the whole strings shown, and of the prefixes, at most 5% are expected to be held by no "
    "device (Benjamini-Hochberg over all strings that there can be, shorter codes at lower "
    "thresholds). A prefix is right where a string that some device holds begins with it"
)
LEAST_RANKED: Final = 2
"""Fewer strings have no ranks."""

RANKS: Final = (
    "the rank of a string among the whole strings that are shown, 1 for the most popular, or "
    "between which ranks it lies; with probability 0.95 this is right of all of them at once, as "
    "far as intervals are (Bonferroni)"
)
"""What ranks of found strings are."""

FAKES: Final = (
    "if this share of the reports were forged, they could have planted so many strings of their "
    "choice, each with the share that is given, and hundreds that they cannot choose. No test can "
    "tell these from true ones, and no interval allows for them; where many reports are alike, the "
    "checks of reports fail"
)


def found_strings(
    head: Head,
    asked: AskedQuestion,
    notices: list[Notice],
    entry: CatalogEntry,
    tally: TrieTally,
    counts: NDArray[np.integer],
    findings: Findings,
    deny: DenyList,
    earlier: Earlier,
    *,
    alpha: float,
    hints: int,
) -> Answer:
    """The answer.

    Args:
        head: where it comes from.
        asked: the question.
        notices: what to know before the numbers.
        entry: the version of the metric.
        tally: counts its reports.
        counts: integers, (cells,).
        findings: what the decoder has found.
        deny: strings that must not be shown.
        earlier: what was found in the days before.
        alpha: the level of the test.
        hints: how many hints there were.
    """
    reports, trie = tally.reports(counts), cast("Trie", entry.spec.mechanism)
    minimum = entry.registration.minimum_devices or 0
    allowed = [each for each in findings.finds if not deny.denies(each.text, whole=each.whole)]
    surely = [each for each in allowed if each.low * reports >= minimum]
    shown = sorted(surely, key=lambda each: -each.share)
    smallest = list(_smallest(entry, reports))
    planted = min((each.share for each in shown), default=smallest[0].share or 1.0)
    every = findings.finds
    strings = [_string(each, earlier) for each in shown]
    if entry.spec.letters is not None and entry.spec.letters.alphabet == TEXT:
        notices = ordered_notices(notices, other_scripts(strings))
    window, missing = earlier.window(
        {each.text for each in every if each.whole},
        {each.text for each in every if not each.whole},
        tally,
        counts,
        deny,
    )
    answer = Answer(
        head=replace(
            head,
            kind="strings",
            reports=reports,
            versions=metric_versions([(entry.spec, reports)]),
            interval=IntervalNote(kind="picked", level=DEFAULT_LEVEL, meaning=INTERVAL),
            detection=DetectionNote(alpha, "few", DETECTION),
            fakes=FakesNote(FAKE_SHARE, FAKES),
            meanings={"rank": RANKS} if sum(each.whole for each in shown) > 1 else {},
            found=FoundNote(
                hints=hints,
                hidden=HiddenStrings(
                    minimum_devices=minimum,
                    below_minimum=len(allowed) - len(surely),
                    denied=len(findings.finds) - len(allowed),
                ),
                smallest=smallest,
                planted=planted,
                planted_strings=planted_strings(trie, reports, planted),
                earlier=window,
            ),
        ),
        question=asked,
        numbers=[
            *_ranked([each for each in strings if each.whole], DEFAULT_LEVEL),
            *(each for each in strings if not each.whole),
            *missing,
        ],
        notices=notices,
    )
    return with_one_precision(answer)


def still_shown(answer: Answer, deny: DenyList, minimum: int) -> Answer:
    """A stored answer without strings that must not be shown any more.

    Args:
        answer: what was found.
        deny: strings that must not be shown now.
        minimum: so many devices a string must surely have now.
    """
    found, strings = answer.head.found, [*answer.strings, *answer.prefixes]
    assert found is not None
    allowed = [
        each for each in strings if not deny.denies(each.value or "", whole=bool(each.whole))
    ]
    enough = [each for each in allowed if each.ends[0] * answer.head.reports >= minimum]
    earlier = found.earlier
    missing = [
        each
        for each in answer.missing
        if earlier is not None
        and (each.before or 0.0) * earlier.reports >= minimum
        # It may have been a prefix.
        and not deny.denies(each.value or "", whole=False)
    ]
    hidden = HiddenStrings(
        minimum_devices=max(minimum, found.hidden.minimum_devices),
        below_minimum=found.hidden.below_minimum + len(allowed) - len(enough),
        denied=found.hidden.denied + len(strings) - len(allowed),
    )
    head = replace(answer.head, found=replace(found, hidden=hidden))
    return replace(answer, head=head, numbers=[*enough, *missing])


def _string(find: Find, earlier: Earlier) -> Measured:
    return Measured(
        measure="share",
        value=find.text,
        whole=find.whole,
        estimate=find.share,
        low=find.low,
        high=find.high,
        told=True,
        score=find.z,
        p_value=find.p_value,
        bits=find.bits,
        hinted=find.hinted,
        seen=earlier.seen(find.text, whole=find.whole),
    )


def _ranked(strings: Sequence[Measured], level: float) -> list[Measured]:
    """Whole strings with their ranks among those that are shown, right of all at once."""
    if len(strings) < LEAST_RANKED:
        return list(strings)
    wider = z_for_alpha((1 - level) / len(strings)) / z_for_level(level)
    ends = np.array([(each.estimate or 0.0, *each.ends) for each in strings])
    share, low, high = ends.T
    first, last = rank_ranges(share - wider * (share - low), share + wider * (high - share))
    return [
        replace(each, rank_first=one, rank_last=other)
        for each, one, other in zip(strings, first.tolist(), last.tolist(), strict=True)
    ]


def _smallest(entry: CatalogEntry, reports: int) -> Iterable[SmallestShare]:
    """The smallest shares that would be found of short, medium and long strings."""
    code, trie = entry.spec.letters, cast("Trie", entry.spec.mechanism)
    assert code is not None
    last = code.levels - 1
    levels: dict[int, Length] = {last: "long", (last + 1) // 2: "medium", 0: "short"}
    for level, length in sorted(levels.items()):
        bits = min(trie.first_bits + level * trie.deeper_bits, code.bits)
        minimum = entry.registration.minimum_devices
        share = Forecast(trie, bits, level, minimum).least_share(reports)
        devices = None if share is None else math.ceil(share * reports)
        yield SmallestShare(length=length, bits=bits, share=share, devices=devices)
