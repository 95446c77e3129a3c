"""How the server is doing, for whoever runs it."""

from __future__ import annotations

from msgspec import Struct

from deniable_aggregator.answers.administration import Key
from deniable_aggregator.answers.service import Status
from deniable_aggregator.answers.words import Count


class KeyUse(Struct, kw_only=True):
    """A key, and what it has brought today.

    Attributes:
        key: without its token.
        bytes_today: what its uploads of today take, as far as the store knows; 0 if that is not
            counted.
    """

    key: Key
    bytes_today: Count


class QuestionProcesses(Struct, kw_only=True):
    """The processes that answer questions.

    Attributes:
        processes: how many there should be.
        running: how many questions are being answered.
        waiting: how many wait for a process.
        ended: how many processes have ended and were replaced.
        memory_bytes: what they have in memory together.
        memory_limit: what one of them may have.
    """

    processes: Count
    running: Count
    waiting: Count
    ended: Count
    memory_bytes: Count
    memory_limit: Count


class Machine(Struct, kw_only=True):
    """What the server does for all applications together.

    Attributes:
        lag_seconds: since when reports should have been added to the sums.
        lag_limit: the server is not ready if that is longer.
        free_bytes: on the disk with the store's file; null where that is another machine's.
        min_free_bytes: uploads are refused if less are free.
        store_bytes: what the store takes on disk.
        inbox_rows: rows that wait to be counted.
        rows_set_aside: rows that could not be counted.
        queue_uploads: uploads that wait for a commit.
        queue_limit: uploads are refused if more would wait.
        commits_failed: how many commits have failed since the server was started.
        background_failed: how often background work has failed, by what it was.
        questions: the processes that answer them; null if the server does so itself.
    """

    lag_seconds: float
    lag_limit: float
    free_bytes: Count | None
    min_free_bytes: Count
    store_bytes: Count
    inbox_rows: Count
    rows_set_aside: Count
    queue_uploads: Count
    queue_limit: Count
    commits_failed: Count
    background_failed: dict[str, Count]
    questions: QuestionProcesses | None


class Operations(Struct, kw_only=True):
    """How the server is doing.

    Attributes:
        status: of the application's uploads.
        checks: of readiness, by name: ok, or what is wrong.
        key_bytes_per_day: what a key may bring a day; 0 for no limit.
        keys: of the application; none for whoever may not administer it.
        machine: what is of all applications; null for whoever may not administer one.
    """

    status: Status
    checks: dict[str, str]
    key_bytes_per_day: Count
    keys: list[KeyUse]
    machine: Machine | None
