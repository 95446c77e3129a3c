"""What is found when an answer is compared with the truth; every finding belongs to a line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A printed interval, and what it should contain.

    Attributes:
        line: the line of the table that it belongs to.
        cluster: intervals with the same cluster depend on each other.
        name: which number it is.
        truth: what was recorded.
        estimate: as printed; nan if only the interval was.
        low: the lower end.
        high: the upper end.
        error: the standard error, as printed; nan if none was.
    """

    line: str
    cluster: str
    name: str
    truth: float
    estimate: float
    low: float
    high: float
    error: float = float("nan")

    @property
    def covers(self) -> bool:
        """Whether the truth is inside."""
        return self.low <= self.truth <= self.high


@dataclass(frozen=True)
class Finds:
    """What an answer declares found, such as values above zero.

    Attributes:
        line: the line of the table that it belongs to.
        name: of the question.
        found: how many were declared.
        false: how many of these are none.
        due: how many stand out so far that they must be declared.
        missed: how many of these were not.
        examples: some false or missed ones.
    """

    line: str
    name: str
    found: int
    false: int
    due: int = 0
    missed: int = 0
    examples: str = ""


@dataclass(frozen=True)
class Check:
    """Something that is right or wrong whatever the noise: a count, a sum, a warning.

    Attributes:
        line: the line of the table that it belongs to.
        right: whether it is.
        name: what was looked at, and how it is wrong.
    """

    line: str
    right: bool
    name: str


@dataclass(frozen=True)
class Refusal:
    """A question that the server did not answer.

    Attributes:
        line: the line of the table that waits for it.
        name: of the question.
        message: the server's.
    """

    line: str
    name: str
    message: str


Finding = Interval | Finds | Check | Refusal
