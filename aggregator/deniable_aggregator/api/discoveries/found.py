"""What was found, as an answer: what may be shown, what each string has behind it, and what not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, cast

from msgspec.structs import replace

from deniable_aggregator.answers.answer import Answer, AskedQuestion, Head
from deniable_aggregator.answers.common import DetectionNote, FakesNote, IntervalNote
from deniable_aggregator.answers.found import FoundNote, HiddenStrings, SmallestShare
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.estimation.shares.share_estimate import metric_versions
from deniable_aggregator.statistics.hashed.trie_shares import planted_strings
from deniable_aggregator.statistics.intervals import DEFAULT_LEVEL
from deniable_shared.planning.discovery import Forecast

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from deniable_aggregator.answers.common import Notice
    from deniable_aggregator.answers.found import Length
    from deniable_aggregator.api.discoveries.deny_list import DenyList
    from deniable_aggregator.api.discoveries.earlier import Earlier
    from deniable_aggregator.catalog import CatalogEntry
    from deniable_aggregator.discovery.findings import Find, Findings
    from deniable_aggregator.tallies.trie import TrieTally
    from deniable_shared.mechanisms import Trie

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
    counts: NDArray[np.int64],
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
        counts: int64, (cells,).
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
    window, missing = earlier.window(
        {each.text for each in every if each.whole},
        {each.text for each in every if not each.whole},
        tally,
        counts,
        deny,
    )
    return Answer(
        head=replace(
            head,
            kind="strings",
            reports=reports,
            versions=metric_versions([(entry.spec, reports)]),
            interval=IntervalNote(kind="picked", level=DEFAULT_LEVEL, meaning=INTERVAL),
            detection=DetectionNote(alpha, "few", DETECTION),
            fakes=FakesNote(FAKE_SHARE, FAKES),
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
            *(_string(each, earlier) for each in shown if each.whole),
            *(_string(each, earlier) for each in shown if not each.whole),
            *missing,
        ],
        notices=notices,
    )


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
