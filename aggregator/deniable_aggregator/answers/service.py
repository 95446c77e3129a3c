"""How the server is doing, and problem documents."""

from __future__ import annotations

from datetime import date
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

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


class Inbox(Struct):
    """What waits to be counted.

    Attributes:
        rows: one per upload and metric.
        bytes: of the reports.
        reports: how many there are.
        rows_set_aside: rows that could not be counted.
    """

    rows: Count
    bytes: Count
    reports: Count
    rows_set_aside: Count


class Status(Struct):
    """How uploads and counting are doing, for one application.

    Attributes:
        application: its name.
        today: the server's day.
        accept_days: for how many days a day stays open for reports.
        since_start: what became of uploads.
        inbox: what waits to be counted.
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
