"""The model: which uploads were sent and how they were answered, and so what a store must hold."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tests.simulation.contents import Place, Slice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.keeping.store import Sender
    from deniable_shared.wire import Upload
    from tests.simulation.contents import Contents

Slices: TypeAlias = dict[tuple[int, str], list[int]]

STORED, DUPLICATE, CLOSED = "stored", "duplicate", "closed"
UNHEARD = "unheard"
"""The sender got no answer, or one that leaves open whether the upload was stored."""


BATCH_REPORTS = 4


class Violation(AssertionError):  # noqa: N818  not an error of the program's
    """The program has broken a rule of the model."""


@dataclass(eq=False)
class Sent:
    """One upload.

    Attributes:
        number: the item that it reports in all its parts, and that no other upload reports.
        upload: its content, the same at every attempt.
        sender: who brings it.
        poison: whether it cannot be counted and must be set aside.
        stored: whether it is in the store, as far as the model knows.
        acknowledged: whether its sender was told that it is stored.
        lost_sight: whether tallies of all its days may have been deleted meanwhile.
    """

    number: int
    upload: Upload
    sender: Sender
    poison: bool = False
    stored: bool = False
    acknowledged: bool = False
    lost_sight: bool = False

    def days(self) -> list[int]:
        return [part.epoch for part in self.upload.parts]

    def places(self) -> Counter[Place]:
        """How many reports it has for each place."""
        found: Counter[Place] = Counter()
        for part in self.upload.parts:
            place = Place(part.digest, part.epoch, self.sender.key_id, self.number)
            found[place] += len(part.payload)
        return found


class Memory(NamedTuple):
    """What a store held when it was backed up.

    Attributes:
        contents: all of it.
        uploads: of each upload, by number: stored, acknowledged, lost_sight.
        closed_days: days that were seen to be closed.
    """

    contents: Contents
    uploads: Mapping[int, tuple[bool, bool, bool]]
    closed_days: frozenset[int]


@dataclass
class Model:
    """What all senders and administrators together know.

    Attributes:
        sent: every upload that was ever made.
        closing_before: days before this one may be closed.
        forgotten_before: tallies of days before this one may have been deleted.
        closed_days: days that were seen to be closed.
        answers: the answers of the current step, by number of the upload.
        excluded: keys whose reports are left out of estimates.
        before: what the store held at the last comparison.
        latest_day: the latest day by any clock.
    """

    sent: list[Sent] = field(default_factory=list)
    closing_before: int = 0
    forgotten_before: int = 0
    closed_days: set[int] = field(default_factory=set)
    answers: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    excluded: set[str] = field(default_factory=set)
    before: Contents | None = None
    latest_day: int = 0

    def heard(self, sent: Sent, answer: str) -> None:
        """Records an answer to an upload, or that there was none."""
        self.answers[sent.number].append(answer)
        if answer in (STORED, DUPLICATE):
            sent.acknowledged = True

    def remember(self, contents: Contents) -> Memory:
        """What is in the store at this moment, of which a backup is made."""
        uploads = {
            sent.number: (sent.stored, sent.acknowledged, sent.lost_sight) for sent in self.sent
        }
        return Memory(contents, uploads, frozenset(self.closed_days))

    def go_back(self, memory: Memory) -> None:
        """Forgets what came after a backup: it is lost, unless its sender sends it again."""
        for sent in self.sent:
            known = memory.uploads.get(sent.number, (False, False, False))
            sent.stored, sent.acknowledged, sent.lost_sight = known
        self.closed_days = set(memory.closed_days)
        self.excluded = set(memory.contents.excluded)
        self.before = memory.contents
        self.answers.clear()

    def compare(self, found: Contents) -> None:
        """Compares a store with what was sent and answered since the last call.

        Raises:
            Violation: if they contradict each other.
        """
        there = found.everything()
        for sent in self.sent:
            self._compare(sent, there)
        _require(not +there, f"there are reports that nobody sent: {_few(there)}")
        _require(not found.miscounted, f"the store contradicts itself: {found.miscounted[:3]}")
        good = {sent.number for sent in self.sent if not sent.poison}
        misplaced = [place for place in found.aside if place.cell in good]
        _require(not misplaced, f"good reports were set aside: {misplaced[:3]}")
        bad = [place for place in found.counted if place.cell not in good]
        _require(not bad, f"reports were counted that cannot be: {bad[:3]}")
        reopened = self.closed_days - found.closed_days
        _require(not reopened, f"days {sorted(reopened)} were closed, and are open again")
        early = {day for day in found.closed_days if day >= self.closing_before}
        _require(not early, f"days {sorted(early)} were closed too early")
        self.closed_days = found.closed_days
        self.answers.clear()
        self._compare_groups(found)
        self._compare_shown(found)
        self.before = found

    def _compare_groups(self, found: Contents) -> None:
        """Compares how many relayed uploads hide each other: each counts once, in its batch."""
        groups: Counter[tuple[Slice, bytes]] = Counter()
        relayed: Counter[Slice] = Counter()
        unknown: set[Slice] = set()
        for sent in self.sent:
            slices = {(part.digest, part.epoch, sent.sender.key_id) for part in sent.upload.parts}
            if sent.lost_sight:
                unknown |= slices
            elif sent.stored and sent.sender.relay is not None:
                for slice_ in slices:
                    if slice_[1] in found.closed_days:
                        relayed[slice_] += 1
                    else:
                        groups[slice_, sent.sender.relay.batch] += 1

        for slice_ in {*relayed, *found.relayed}:
            if slice_[1] >= self.forgotten_before and slice_ not in unknown:
                there = found.relayed[slice_]
                _require(there == relayed[slice_], f"{there} of {relayed[slice_]} were relayed")
        for slice_, batch in {*groups, *found.groups}:
            if slice_[1] >= self.forgotten_before and slice_ not in unknown:
                there, expected = found.groups[slice_, batch], groups[slice_, batch]
                _require(there == expected, f"a group has {there} uploads, and not {expected}")

    def _compare_shown(self, found: Contents) -> None:
        """Compares what is shown with what was: batches, or what waited when a day began."""
        _require(found.shown_day <= self.latest_day, "a day has begun before it did")
        before = self.before
        day_began = before is None or found.shown_day > before.shown_day
        shown = Counter[Slice]() if before is None else before.shown()
        for slice_, reports in found.shown().items():
            more = reports - shown[slice_]
            if more <= 0 or day_began or (before is not None and slice_ in before.due):
                continue
            _require(more >= BATCH_REPORTS, f"{more} reports of a slice are shown by themselves")
            _require(slice_ in found.full, "a batch is shown before the next one is full")

    def _compare(self, sent: Sent, there: Counter[Place]) -> None:
        """Compares one upload, and removes its reports from `there`."""
        answers = Counter(self.answers.get(sent.number, []))
        times = set()
        for place, reports in sent.places().items():
            here = there.pop(place, 0)
            count, rest = divmod(here, reports)
            _require(not rest, f"{_name(sent)}: {here} of {reports} reports are there")
            _require(count <= 1, f"{_name(sent)} is counted {count} times")
            if place.epoch >= self.forgotten_before:
                times.add(count)
            else:
                may = sent.stored or sent.lost_sight or answers
                _require(may or not count, f"{_name(sent)} is there, and nobody had sent it")
        _require(len(times) <= 1, f"{_name(sent)} is there in part")
        _require(answers[STORED] <= 1, f"{_name(sent)} was accepted as new more than once")
        if not sent.lost_sight:
            _require(
                not (sent.stored and answers[STORED]), f"{_name(sent)} was accepted as new again"
            )
        before = sent.stored
        if times:
            sent.stored, sent.lost_sight = bool(times.pop()), False
        elif answers:
            sent.stored = sent.stored or bool(answers[STORED] + answers[DUPLICATE])
            sent.lost_sight = sent.lost_sight or not sent.stored
        if sent.lost_sight:
            return
        _require(sent.stored or not before, f"{_name(sent)} was there, and is gone")
        _require(
            sent.stored or not sent.acknowledged,
            f"{_name(sent)} was acknowledged, and is not there",
        )
        _require(
            before or not sent.stored or bool(answers[STORED] + answers[UNHEARD]),
            f"{_name(sent)} is there, and its sender was told otherwise: {dict(answers)}",
        )
        if answers[CLOSED]:
            _require(
                min(sent.days()) < self.closing_before,
                f"{_name(sent)} was refused as of a closed day, which it is not",
            )
        if answers[STORED]:
            closed = self.closed_days & set(sent.days())
            _require(not closed, f"{_name(sent)} was accepted into closed days {sorted(closed)}")

    def expected_slices(self, found: Contents, digest: bytes, cells: int) -> Slices:
        """The tallies that answers must be made of, also of excluded keys.

        Returns:
            By day and key, the sum of each item.
        """
        slices: defaultdict[tuple[int, str], list[int]] = defaultdict(lambda: [0] * cells)
        for place, times in found.counted.items():
            if place.digest == digest and place.cell < cells:
                slices[place.epoch, place.key][place.cell] += times
        return dict(slices)


def _name(sent: Sent) -> str:
    days = ", ".join(str(day) for day in sent.days())
    return f"upload {sent.number} (days {days}, key {sent.sender.key_id})"


def _few(places: Counter[Place]) -> list[tuple[Place, int]]:
    return list((+places).items())[:3]


def _require(condition: object, message: str) -> None:
    if not condition:
        raise Violation(message)
