"""The true values that a client for tests keeps."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple, SupportsFloat

from deniable._recording.recorder import Recorder
from deniable._status import Outcome
from deniable_shared.errors import RecordError

if TYPE_CHECKING:
    from typing import Any

Value = (
    bool
    | float
    | str
    | SupportsFloat
    | Mapping[str, bool | str]
    | AbstractSet[str]
    | list[str]
    | tuple[str, ...]
)
KeptValue = Value | tuple[Value, str]


class Recorded(NamedTuple):
    """A value that a real client would have randomized and stored.

    Attributes:
        metric: its name.
        value: the true value; if a segment was given, a pair of value and segment.
    """

    metric: str
    value: KeptValue


class Call(NamedTuple):
    """One call of `record`, with its outcome.

    Attributes:
        metric: as it was given.
        value: as it was given; if a segment was given, a pair of value and segment.
        outcome: what a real client would have returned.
    """

    metric: str
    value: KeptValue
    outcome: Outcome


class Records:
    """What was recorded, by one client or by several.

    Attributes:
        recorded: what would have been reported, in order.
        calls: every call of `record` before a client was closed, in order, with its outcome.
        closed: whether to keep no more.
    """

    def __init__(self) -> None:
        self.closed = False
        self.recorded: list[Recorded] = []
        self.calls: list[Call] = []

    def add(self, metric: str, value: KeptValue, outcome: Outcome) -> None:
        """Keeps a call."""
        if self.closed:
            return
        self.calls.append(Call(metric, value, outcome))
        if outcome is Outcome.RECORDED:
            self.recorded.append(Recorded(metric, value))


class RecordingRecorder(Recorder):
    """A recorder that keeps what is recorded.

    Args:
        recorder: what does the work; its parts become those of this one.
        records: where true values are kept.
    """

    def __init__(self, recorder: Recorder, records: Records) -> None:
        vars(self).update(vars(recorder))
        self._records = records

    def record(
        self, metric: Any, value: Any, segment: Any = None, *, agreed: bool
    ) -> tuple[Outcome, float | None]:
        """Records a value, see `Recorder.record`, and keeps it."""
        # What it is now: a program may change a mapping or a set later.
        given = dict(value) if isinstance(value, Mapping) else value
        given = given.copy() if isinstance(given, set | list) else given
        kept = given if segment is None else (given, segment)
        try:
            outcome, wake = super().record(metric, value, segment, agreed=agreed)
        except RecordError as error:
            self._records.add(metric, kept, Outcome(error.outcome))
            raise
        self._records.add(metric, kept, outcome)
        return outcome, wake
