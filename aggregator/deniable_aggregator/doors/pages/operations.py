"""How the server is doing, for whoever runs it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answering.requests import store_unavailable
from deniable_aggregator.answers.words import REPORTING_SCOPES
from deniable_aggregator.doors.pages.rendering import address, page
from deniable_aggregator.doors.pages.visit import current_visit
from deniable_aggregator.keeping.clock import ProbeTimeoutError
from deniable_aggregator.telling.document import Badge, Column, Link, Table, text_table
from deniable_aggregator.telling.refusals import OTHER, REFUSALS
from deniable_aggregator.telling.wording import counted, key_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date

    from flask import Blueprint, Response

    from deniable_aggregator.answers.service import KeyUse, Machine, Operations
    from deniable_aggregator.keeping.keys import Key


MUCH_REFUSED: Final = 0.05
MUCH_OVERLOADED: Final = 0.01
"""Parts of all uploads; see docs/operations/monitoring.md."""

OK: Final = "ok"
CHECKS: Final = {
    "draining": "Work is accepted",
    "database": "The store can be written",
    "migrations": "The store is of this version",
    "disk": "Enough space is free",
    "fold": "Reports are counted in time",
    "clock": "The clock is believed",
    "pages": "The file of the store is whole",
    "content": "What was counted is undamaged",
}
_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")
_STEP: Final = 1000


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure, and whether it is fine.

    Attributes:
        label: what it is.
        text: the number, against its limit.
        badge: whether that is fine.
        advice: what to do where it is not; may be empty.
        part: how much of its limit is used, from 0 to 1; None where there is none.
    """

    label: str
    text: str
    badge: Badge
    advice: str = ""
    part: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationsView:
    """How the server is doing.

    Attributes:
        answer: whether all is well, in a few words.
        fine: whether it is.
        finding: what is wrong, in a sentence or two.
        checks: of readiness.
        uploads: what became of them since the server was started; empty as `machine`.
        refused: by reason, with what to do; None if none were.
        waiting: what waits, and what could not be counted; empty as `machine`.
        days: which days take reports.
        machine: figures of the whole server; empty for whoever does not administer it.
        keys: those of the application; None for whoever does not administer it.
    """

    answer: str
    fine: bool
    finding: str
    checks: Sequence[Figure]
    uploads: Sequence[Figure]
    refused: Table | None
    waiting: Sequence[Figure]
    days: str
    machine: Sequence[Figure]
    keys: Table | None


def operations_view(found: Operations) -> OperationsView:
    """What the page shows.

    Args:
        found: how the server is doing.
    """
    status = found.status
    checks = [
        _figure(CHECKS.get(name, name), "yes" if said == OK else said, fine=said == OK)
        for name, said in found.checks.items()
    ]
    uploads: list[Figure] = []
    waiting: list[Figure] = []
    machine: list[Figure] = []
    if found.machine is not None:
        uploads, waiting = list(_uploads(found)), list(_waiting(found))
        machine = list(_machine(found.machine))
    wrong = [each for each in (*checks, *uploads, *waiting, *machine) if each.badge.kind != "ok"]
    first = status.today - timedelta(status.accept_days)
    return OperationsView(
        answer="Something needs you." if wrong else "All is well.",
        fine=not wrong,
        finding=" ".join(f"{each.label}: {each.text}." for each in wrong),
        checks=checks,
        uploads=uploads,
        refused=None if found.machine is None else _refused(status.since_start.refused),
        waiting=waiting,
        days=f"Reports of {first} to {status.today} are taken; those of earlier days are refused.",
        machine=machine,
        keys=None if found.machine is None else _keys(found.keys, status.today),
    )


def _uploads(found: Operations) -> Iterator[Figure]:
    counts = found.status.since_start
    refused = sum(counts.refused.values())
    together = counts.accepted + counts.duplicate + refused
    yield _figure("Taken", f"{counts.accepted:,}")
    yield _figure("Sent twice, counted once", f"{counts.duplicate:,}")
    share = refused / together if together else 0.0
    yield _figure(
        "Refused",
        f"{refused:,}, {share:.1%} of all" if together else "0",
        fine=share <= MUCH_REFUSED,
        advice="More than 5% is much: see the reasons below.",
    )
    overloaded = counts.refused.get("overloaded", 0)
    if overloaded:
        part = overloaded / together
        yield _figure(
            "Refused as the server was busy",
            f"{overloaded:,}, {part:.1%} of all",
            fine=part <= MUCH_OVERLOADED,
            advice=REFUSALS["overloaded"].what_to_do,
        )
    yield _figure(
        "Refused without a valid key, of any application", f"{counts.refused_without_key:,}"
    )


def _waiting(found: Operations) -> Iterator[Figure]:
    inbox = found.status.inbox
    yield _figure(
        "Reports that wait to be shown",
        f"{in_bytes(inbox.bytes)} in {inbox.rows:,} rows",
    )
    yield _figure(
        "Rows that could not be counted",
        f"{inbox.rows_set_aside:,}",
        fine=not inbox.rows_set_aside,
        advice="deniable store set-aside list says why; then retry or discard them.",
    )


def _machine(found: Machine) -> Iterator[Figure]:
    yield _figure(
        "Counting is behind by",
        f"{found.lag_seconds:,.0f} of at most {found.lag_limit:,.0f} seconds",
        fine=found.lag_seconds <= found.lag_limit,
        advice="The log says why counting fails; if it is slow, raise fold_seconds.",
        part=found.lag_seconds / found.lag_limit if found.lag_limit else None,
    )
    if found.free_bytes is not None:
        least = found.min_free_bytes
        yield _figure(
            "Free on the disk of the store",
            f"{in_bytes(found.free_bytes)}; uploads are refused below {in_bytes(least)}",
            fine=found.free_bytes >= 2 * least,
            advice="Free space, or lower min_free_bytes for a while.",
        )
    yield _figure("The store takes", in_bytes(found.store_bytes))
    yield _figure("Rows that wait, of all applications", f"{found.inbox_rows:,}")
    yield _figure(
        "Rows that could not be counted, of all applications",
        f"{found.rows_set_aside:,}",
        fine=not found.rows_set_aside,
        advice="deniable store set-aside list says why; then retry or discard them.",
    )
    yield _figure(
        "Uploads that wait for a commit",
        f"{found.queue_uploads:,} of at most {found.queue_limit:,}",
        fine=found.queue_uploads < found.queue_limit,
        advice=REFUSALS["overloaded"].what_to_do,
        part=found.queue_uploads / found.queue_limit,
    )
    yield _figure(
        "Commits that failed since the start",
        f"{found.commits_failed:,}",
        fine=not found.commits_failed,
        advice="The log has the words of the database.",
    )
    failed = ", ".join(f"{work} {times:,}" for work, times in found.background_failed.items())
    yield _figure(
        "Background work that failed since the start",
        failed or "0",
        fine=not failed,
        advice="It is tried again. The log says why it failed.",
    )
    questions = found.questions
    if questions is None:
        yield _figure("Questions are answered", "by the process that takes uploads")
        return
    yield _figure(
        "Questions being answered",
        f"{questions.running:,} now, {questions.waiting:,} wait, by "
        f"{counted(questions.processes, 'process', 'processes')} with "
        f"{in_bytes(questions.memory_bytes)} in memory",
    )
    yield _figure(
        "Question processes that were replaced",
        f"{questions.ended:,}",
        fine=not questions.ended,
        advice="A question took too long or too much memory; the log says which limit.",
    )


def _refused(refused: dict[str, int]) -> Table | None:
    rows = []
    for code, number in sorted(refused.items(), key=lambda each: (-each[1], each[0])):
        reason = REFUSALS.get(code, OTHER)
        fate = "lost" if reason.loses else "sent again"
        rows.append((code, f"{number:,}", reason.meaning, fate, reason.what_to_do))
    if not rows:
        return None
    return text_table(
        name="refused",
        caption="Refused since the start, by reason",
        columns=(
            Column(heading="reason", words=True),
            Column(heading="uploads"),
            Column(heading="what happened", words=True),
            Column(heading="the reports are", words=True),
            Column(heading="what to do", words=True),
        ),
        rows=rows,
    )


def _keys(keys: Sequence[KeyUse], day: date) -> Table:
    rows: list[Sequence[str]] = []
    for use in sorted(keys, key=lambda each: (not each.key.valid, each.key.scope, each.key.label)):
        key = use.key
        if key.excluded is not None:
            badge = Badge(f"excluded since {key.excluded}", "stopped")
        elif key.revoked is not None:
            badge = Badge(f"revoked {key.revoked}", "unknown")
        elif not key.valid:
            badge = Badge(f"ended {key.expires}", "unknown")
        elif use.refused_until == day:
            badge = Badge("has brought all that it may, for some hours", "suspicious")
        elif use.refused_until is not None:
            badge = Badge(f"valid, uploads refused until {use.refused_until}", "ok")
        else:
            badge = Badge(f"valid until {key.expires}" if key.expires else "valid", "ok")
        today = in_bytes(use.bytes_today) if key.scope in REPORTING_SCOPES else ""
        if use.bytes_released:
            today += f" of {in_bytes(use.bytes_released)}"
        act = ""
        if key.scope in REPORTING_SCOPES:
            name = "exclude" if key.excluded is None else "include"
            act = Link(f"{name}…", address("keys", key.id, name))
        used = "" if key.last_used is None else str(key.last_used)
        rows.append((key_in_words(key.id, key.label), key.scope, badge, used, today, act))
    return text_table(
        name="keys",
        caption="Keys of this application, without their tokens",
        columns=(
            Column(heading="key", words=True),
            Column(heading="for", words=True),
            Column(heading="state", words=True),
            Column(heading="last used"),
            Column(heading="brought today, of what it may by now"),
            Column(heading="change", words=True),
        ),
        rows=rows,
    )


def in_bytes(number: float) -> str:
    """A number of bytes in a unit that suits it, such as "1.2 GB".

    Args:
        number: at least 0.
    """
    unit = 0
    while number >= _STEP and unit < len(_UNITS) - 1:
        number, unit = number / _STEP, unit + 1
    return f"{number:,.0f} {_UNITS[unit]}" if unit == 0 else f"{number:.1f} {_UNITS[unit]}"


def _figure(
    label: str, text: str, *, fine: bool = True, advice: str = "", part: float | None = None
) -> Figure:
    badge = Badge("fine", "ok") if fine else Badge("look here", "suspicious")
    return Figure(label, text, badge, "" if fine else advice, part)


def add_operations(routes: Blueprint, operations: Callable[[Key], Operations]) -> None:
    """Adds ``/operations``.

    Args:
        routes: pages of the server's own process.
        operations: says how the server is doing, as far as the holder of a key may know.
    """

    def operations_page() -> Response:
        visit = current_visit()
        try:
            found = operations(visit.key)
        except ProbeTimeoutError:
            raise store_unavailable() from None
        return page("operations/operations.html.jinja", operations=operations_view(found))

    routes.add_url_rule("/operations", "operations", operations_page)
