"""Which question is worked on next, so that applications and their keys have equal shares.

One question has the turn; it gives it up at a yield point, see `counting.yield_points`. What counts
is the time of a processor, half of a question's first half second: of the applications with
questions the one that has used least has the turn, of its keys again the one that has used least,
and so on to the questions of a key. Whoever has asked nothing for a while does not catch up: it
precedes the others by `CREDIT_SECONDS` at most, as start-time fair queueing would have it (Goyal,
Vin and Cheng 1996), but for this credit.

A question that comes with less use begins at once, beside the one that had the turn, which waits
from its next yield point on.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from deniable_aggregator.counting.yield_points import yielding_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.doors.server.wsgi_call import Asker

SLICE_SECONDS: Final = 0.03
"""Who has the turn keeps it until it has used so much more than the next one."""

CREDIT_SECONDS: Final = 0.25
"""By so much, at most, an application or a key that has asked nothing precedes those that asked."""

SHORT_SECONDS: Final = 0.5
SHORT_PART: Final = 0.5
"""Of the beginning of a question such a part counts, so that short ones are answered soon."""

MOST_RUNNING: Final = 4
"""At a time, where pieces overlap: as many as may read an SQLite store."""

MOST_BEGUN: Final = 16
"""Each that has begun keeps its arrays in memory while others have the turn."""

MOST_BEGUN_OF_KEY: Final = 4

LOOK_SECONDS: Final = 0.1
"""After so much time of a processor, and each second while it waits, a question looks whether
somebody still waits for its answer."""

LONGEST_WAIT_SECONDS: Final = 1.0


class AbandonedError(BaseException):
    """Nobody waits for the answer any longer. Not an `Exception`, which others would answer."""


class Work(Protocol):
    """What answers one question."""

    def run(self) -> None:
        """Answers it; called once, in a thread of its own."""

    def is_awaited(self) -> bool:
        """Whether somebody still waits for the answer."""


SomeWork = TypeVar("SomeWork", bound=Work)


class _Share:
    """What an application, a key or a question has used of a processor, and has to do now."""

    __slots__ = ("begun", "questions", "reached", "spent")

    def __init__(self) -> None:
        self.spent = self.reached = 0.0
        self.questions = self.begun = 0


@dataclass(eq=False)
class Turn(Generic[SomeWork]):
    """One question.

    Attributes:
        work: answers it.
        number: in the order of arrival.
        shares: of its application, of its key, and its own.
        used: seconds of a processor, up to its last yield point.
        thread: the system's number of its thread; 0 before it has begun.
        clock: what its thread had used by its last yield point.
        begun: whether it has ever had the turn.
        running: whether it has begun and does not wait.
        looked: what it had used when it looked last whether somebody waits.
        wake: set when a question that waits gets the turn.
    """

    work: SomeWork
    number: int
    shares: tuple[_Share, ...]
    used: float = 0.0
    thread: int = 0
    clock: float = 0.0
    begun: bool = False
    running: bool = False
    looked: float = 0.0
    wake: threading.Event = field(default_factory=threading.Event)

    @property
    def order(self) -> tuple[float, ...]:
        """Whose is smaller has the turn sooner."""
        return (*(share.spent for share in self.shares), self.number)

    def precedes(self, other: Turn[SomeWork], by: float) -> bool:
        """Whether it has used less, by more than some seconds, where the two first differ."""
        own, others = next(
            pair for pair in zip(self.shares, other.shares, strict=True) if pair[0] is not pair[1]
        )
        return others.spent - own.spent > by


class Turns(Generic[SomeWork]):
    """The questions of one process.

    Args:
        on_use: called at each yield point with a question; raises what ends it.
        cpu_clock: what the current thread has used of a processor, in seconds.

    Attributes:
        lock: held while anything here changes.
        questions: those that have not ended.
    """

    def __init__(
        self,
        on_use: Callable[[Turn[SomeWork]], None] = lambda _: None,
        cpu_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self.lock = threading.Lock()
        self.questions: list[Turn[SomeWork]] = []
        self._on_use = on_use
        self._cpu_clock = cpu_clock
        self._holder: Turn[SomeWork] | None = None
        self._seen: tuple[Turn[SomeWork], float] | None = None
        self._number = self._begun = 0
        self._used = 0.0  # by all, since somebody looked whose turn it is
        self._all = _Share()
        self._shares: dict[tuple[str, ...], _Share] = {}

    def add(self, asker: Asker, work: SomeWork) -> None:
        """A question has come; it begins at once if it is its turn.

        Args:
            asker: whose share it takes from.
            work: answers it.
        """
        with self.lock:
            self._number += 1
            names = (asker.application,), (asker.application, asker.key)
            shares = [self._shares.setdefault(name, _Share()) for name in names]
            turn = Turn(work, self._number, (*shares, _Share()))
            self._begin_shares(turn)
            self.questions.append(turn)
            if self._holder is None:
                self._give(self._next())
            elif (
                sum(each.running for each in self.questions) < MOST_RUNNING
                and self._may_begin(turn)
                and turn.precedes(self._holder, SLICE_SECONDS)
            ):
                self._give(turn)

    def look(self, clock_of: Callable[[int], float]) -> None:
        """Gives the turn to the next if whoever has it has used nothing since the last look.

        It waits for the store, or for a lock; should another question that waits hold that, this
        lets it get on. Called from time to time.

        Args:
            clock_of: what a thread has used of a processor, in seconds.
        """
        with self.lock:
            holder = self._holder
            if holder is None:
                return
            seen, self._seen = self._seen, (holder, clock_of(holder.thread))
            if seen != self._seen:
                return
            waiting = [turn for turn in self.questions if not turn.running]
            begun = [turn for turn in waiting if turn.begun]
            if not begun and len(self.questions) - len(waiting) < MOST_RUNNING:
                begun = [turn for turn in waiting if self._may_begin(turn)]
            if begun:
                self._give(min(begun, key=_order))

    def _begin_shares(self, turn: Turn[SomeWork]) -> None:
        """Keeps shares that have been without questions from catching up."""
        self._reach(turn)
        parents = (self._all, *turn.shares)
        credit_of = (CREDIT_SECONDS, CREDIT_SECONDS, 0.0)
        for parent, share, credit in zip(parents, turn.shares, credit_of, strict=False):
            if not share.questions:
                share.spent = max(share.spent, parent.reached - credit)
            share.questions += 1

    def _reach(self, turn: Turn[SomeWork]) -> None:
        """Notes how far all shares with questions have come, which a new one may not be behind."""
        for level, parent in enumerate((self._all, *turn.shares[:2])):
            above = turn.shares[:level]
            spent = (
                other.shares[level].spent
                for other in self.questions
                if other.shares[:level] == above
            )
            parent.reached = max(parent.reached, min(spent, default=0.0))

    def _may_begin(self, turn: Turn[SomeWork]) -> bool:
        application, key, _ = turn.shares
        has_room = key.begun < MOST_BEGUN_OF_KEY
        return turn.begun or (has_room and (self._begun < MOST_BEGUN or not application.begun))

    def _next(self) -> Turn[SomeWork] | None:
        """Whose turn it is, of all questions."""
        return min(filter(self._may_begin, self.questions), key=_order, default=None)

    def _give(self, turn: Turn[SomeWork] | None) -> None:
        self._holder = turn
        if turn is None:
            return
        if turn.running:
            return
        turn.running = True
        if turn.begun:
            turn.wake.set()
            return
        turn.begun = True
        self._begun += 1
        for share in turn.shares:
            share.begun += 1
        name = f"deniable-question-{turn.number}"
        threading.Thread(target=self._work, args=(turn,), name=name, daemon=True).start()

    def _work(self, turn: Turn[SomeWork]) -> None:
        turn.thread, turn.clock = threading.get_native_id(), self._cpu_clock()
        try:
            with yielding_by(lambda may_wait: self._at_point(turn, may_wait)):
                turn.work.run()
        except AbandonedError:
            pass
        finally:
            self._end(turn)

    def _end(self, turn: Turn[SomeWork]) -> None:
        with self.lock:
            self._charge(turn)
            self._reach(turn)
            self.questions.remove(turn)
            self._begun -= 1
            for share in turn.shares:
                share.begun -= 1
                share.questions -= 1
            if self._holder is turn:
                self._give(self._next())

    def _charge(self, turn: Turn[SomeWork]) -> None:
        clock = self._cpu_clock()
        piece = clock - turn.clock
        turn.clock = clock
        counted = piece * (SHORT_PART if turn.used < SHORT_SECONDS else 1.0)
        turn.used += piece
        self._used += piece
        for share in turn.shares:
            share.spent += counted

    def _at_point(self, turn: Turn[SomeWork], may_wait: bool) -> None:
        with self.lock:
            self._charge(turn)
            waits = may_wait and self._gives_up(turn)
        while waits and not turn.wake.wait(LONGEST_WAIT_SECONDS):
            self._require_awaited(turn)
        if waits:
            turn.wake.clear()
        self._on_use(turn)
        if turn.used - turn.looked > LOOK_SECONDS:
            turn.looked = turn.used
            self._require_awaited(turn)

    def _gives_up(self, turn: Turn[SomeWork]) -> bool:
        """Whether a question waits from now on, and gives its turn to another."""
        holder = self._holder
        if self._used >= SLICE_SECONDS:
            self._used = 0.0
            first = self._next()
            if holder and first and first is not holder and first.precedes(holder, SLICE_SECONDS):
                self._give(first)
        if self._holder is turn:
            return False
        turn.running = False
        return True

    @staticmethod
    def _require_awaited(turn: Turn[SomeWork]) -> None:
        if not turn.work.is_awaited():
            raise AbandonedError


def _order(turn: Turn[Any]) -> tuple[float, ...]:
    return turn.order
