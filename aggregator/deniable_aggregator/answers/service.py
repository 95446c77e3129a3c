"""What a server says of itself, and how it is doing."""

from __future__ import annotations

from datetime import date
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from deniable_aggregator.answers.administration import Key
from deniable_aggregator.answers.words import Count


class UploadCounts(Struct):
    """What became of uploads since the server was started.

    Attributes:
        accepted: stored.
        duplicate: stored before.
        refused: how many were refused, by problem code.
        refused_without_key: refused from senders without a valid key, of whatever application.
    """

    accepted: Count
    duplicate: Count
    refused: dict[str, Count]
    refused_without_key: Count


class RelayedPart(Struct):
    """What has become of a part of a relay's batch.

    Attributes:
        stored: how many uploads were stored.
        duplicates: how many had been stored before.
        dropped: how many never will be, by problem code; ``unopened`` are envelopes that no key of
            this server opens.
        again: the indices of those to bring again with a later batch, ascending.
    """

    stored: Count
    duplicates: Count
    dropped: dict[str, Count]
    again: list[Count]


class Inbox(Struct):
    """What waits to be shown.

    Attributes:
        rows: in which it waits.
        bytes: of the reports.
        rows_set_aside: rows that could not be counted.
    """

    rows: Count
    bytes: Count
    rows_set_aside: Count


class Status(Struct):
    """How uploads and counting are doing, for one application.

    Attributes:
        application: its name.
        today: the server's day.
        accept_days: for how many days a day stays open for reports.
        since_start: what became of uploads.
        inbox: what waits to be shown.
    """

    application: str
    today: date
    accept_days: Count
    since_start: UploadCounts
    inbox: Inbox


class Alive(Struct):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Ready(Struct):
    """The server can do its work.

    Attributes:
        status: always ok; a server that cannot answers with a problem.
        checks: what was looked at, each ok or what is wrong with it.
    """

    status: Literal["ok"]
    checks: dict[str, str]


class Problem(Struct, kw_only=True):
    """A problem document (RFC 9457).

    Attributes:
        type: a URN with the code.
        title: what kind of problem it is.
        status: the HTTP status.
        detail: what was wrong, and what to do next.
        code: stable; clients may depend on it.
        problems: of a refused registry, one line each.
        checks: of a server that is not ready, as of `Ready`.
        version: the id of a version of a metric that is not registered.
        max_bytes: how large an upload may be.
        accept_days: for how many days a day stays open for reports.
        excluded_reports: of days without reports, how many are left out because their keys are
            excluded.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str
    problems: list[str] | UnsetType = UNSET
    checks: dict[str, str] | UnsetType = UNSET
    version: str | UnsetType = UNSET
    max_bytes: Count | UnsetType = UNSET
    accept_days: Count | UnsetType = UNSET
    excluded_reports: Count | UnsetType = UNSET


class KeyUse(Struct, kw_only=True):
    """A key, and what it has brought today.

    Attributes:
        key: without its token.
        bytes_today: what its uploads of today take, as far as the store knows; 0 if that is not
            counted.
        bytes_released: how much that may be by now; 0 for no limit, or a key that brings none.
        refused_since: the first of the last days in a row on which uploads were refused as it had
            brought all that it may, or null.
        refused_until: the last of these days.
    """

    key: Key
    bytes_today: Count
    bytes_released: Count
    refused_since: date | None
    refused_until: date | None


class QuestionProcesses(Struct, kw_only=True):
    """The processes that answer questions.

    Attributes:
        processes: how many there should be.
        running: how many questions they have not answered yet.
        waiting: how many wait until a process is ready.
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
