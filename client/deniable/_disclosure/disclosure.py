"""What a device has said, read from its directory and put into words for its owner.

Nothing in the directory is created or changed. A client that uses it meanwhile is not disturbed:
the directory's lock is held only while rows are fetched.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from deniable._disclosure import summary
from deniable._disclosure.explain import explain, explain_not_kept
from deniable._disclosure.read_only import fetch_rows, hold_lock
from deniable._status import DELTA_UNITS, NANO, RememberedConsent
from deniable._storage.consent_file import ConsentFile
from deniable_shared.periods import calendar_day, epoch_at
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from datetime import date

    from deniable._disclosure.phrases import Likelihood

_LEDGER, _SPOOL = "ledger.sqlite", "spool.sqlite"

_REPORTS: Final = """
SELECT digest, epoch, payload, 1 FROM report UNION ALL SELECT digest, epoch, payload, 0 FROM sent
"""
_SPECS: Final = "SELECT digest, description FROM spec ORDER BY rowid DESC"
"""The latest description comes first: it has the current budget."""

_ACCOUNT: Final = "SELECT period, today, spent FROM entry WHERE metric = '' ORDER BY spent DESC"
_DELTA: Final = "SELECT spent FROM entry WHERE metric = '*delta'"
_UNKNOWN_REPORT: Final = "Something that cannot be shown: what describes it is missing or damaged."

NO_DIRECTORY: Final = "there is no such directory"
UNREADABLE: Final = "the directory cannot be read"
NOTHING: Final = "nothing was ever recorded in this directory"
IN_USE: Final = "the directory is in use just now, and could not be read"
SPOOL_UNREADABLE: Final = "the stored answers cannot be read"
LEDGER_UNREADABLE: Final = "what was spent cannot be read"


@dataclass(frozen=True)
class DisclosedReport:
    """One report of this device, explained.

    Attributes:
        metric: the metric it belongs to; empty if unknown.
        day: the UTC day that it is counted for.
        sentence: what it says, and how likely the device was to say so; of a memoised report that
            was delivered, which is not kept, what it can have revealed.
        pending: True while it waits on this device; False once the aggregator has it.
        likelihoods: the probabilities as data; empty if unknown, or if the report is not kept.
        epsilon: its privacy loss, in nats; None if unknown.
    """

    metric: str
    day: date
    sentence: str
    pending: bool
    likelihoods: tuple[Likelihood, ...]
    epsilon: float | None


@dataclass(frozen=True)
class Disclosure:
    """All that a device has said, for its owner.

    Attributes:
        application: the application that asked; empty if unknown.
        reports: pending reports, and delivered ones of the last 30 days (2,000 at most), the latest
            day first.
        epsilon_today: nats spent in this UTC day; None if that cannot be read.
        epsilon_lifetime: nats ever spent by this device; None if that cannot be read.
        delta_lifetime: the sum of the deltas of all its reports: at most so probable is it that
            they reveal more than their epsilons; None if that cannot be read.
        limit_per_day: nats that one day may cost, by the application's registry; None if unknown.
        limit_lifetime: nats that the device's whole life may cost; None if unknown.
        pending: how many reports wait to be sent.
        consent: the user's answer and its day, if the application has it remembered.
        problem: what could not be read, in a few words; None if all could.
        sentence: all of it in a short paragraph, ready for a settings page.
    """

    application: str
    reports: tuple[DisclosedReport, ...]
    epsilon_today: float | None
    epsilon_lifetime: float | None
    delta_lifetime: float | None
    limit_per_day: float | None
    limit_lifetime: float | None
    pending: int
    consent: RememberedConsent | None
    problem: str | None
    sentence: str


def disclosure(
    directory: str | os.PathLike[str], *, clock: Callable[[], float] = time.time
) -> Disclosure:
    """What the device that keeps its reports in a directory has said.

    Never raises because of the directory's contents: `Disclosure.problem` says what is wrong.
    Creates and changes nothing.

    Args:
        directory: the one that was given to `Client`.
        clock: seconds since 1970-01-01.
    """
    path = Path(directory)
    try:
        names = {each.name for each in path.iterdir()}
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return _make_disclosure([], [], None, NO_DIRECTORY)
    except OSError:
        return _make_disclosure([], [], None, UNREADABLE)
    answer = ConsentFile(path, "", ()).read()
    consent = None if answer is None else answer.consent
    if names.isdisjoint((_LEDGER, _SPOOL)):
        return _make_disclosure([], [], None, NOTHING, consent)
    reports: list[Any] = []
    specs: list[Any] = []
    spent = problem = None
    try:
        with hold_lock(path):
            try:
                reports, specs = fetch_rows(path / _SPOOL, _REPORTS, _SPECS)
            except (sqlite3.Error, OSError, ValueError):
                problem = SPOOL_UNREADABLE
            account, delta = fetch_rows(path / _LEDGER, _ACCOUNT, _DELTA)
        spent = _spent(account, delta, epoch_at(clock()))
    except BlockingIOError:
        problem = IN_USE
    except (sqlite3.Error, OSError, LookupError, ValueError, TypeError):
        problem = LEDGER_UNREADABLE if problem is None else f"{problem}, and {LEDGER_UNREADABLE}"
    return _make_disclosure(reports, specs, spent, problem, consent)


def in_memory(
    spool: sqlite3.Connection, ledger: sqlite3.Connection, clock: Callable[[], float]
) -> Disclosure:
    """What a device without a directory has said; only tests have such devices.

    Args:
        spool: a database with the schema of `deniable._storage.spool`.
        ledger: a database with the schema of `deniable._storage.ledger`.
        clock: seconds since 1970-01-01.
    """
    reports, specs = (spool.execute(query).fetchall() for query in (_REPORTS, _SPECS))
    account, delta = (ledger.execute(query).fetchall() for query in (_ACCOUNT, _DELTA))
    spent = _spent(account, delta, epoch_at(clock()))
    return _make_disclosure(reports, specs, spent, None)


def _spent(account: list[Any], delta: list[Any], epoch: int) -> _Spent:
    latest, today, lifetime = account[0]
    if min(today, lifetime) < 0:
        raise ValueError(f"today and lifetime must be 0 or more, got {today}, {lifetime}")
    deltas = sum(row[0] for row in delta) / DELTA_UNITS
    return _Spent((0 if epoch > latest else today) / NANO, lifetime / NANO, deltas)


class _Spent(NamedTuple):
    """What the ledger says: epsilon of this day and of the device's life, delta of its life."""

    today: float
    lifetime: float
    delta: float


class _KnownSpec(NamedTuple):
    """A metric's spec as the directory describes it."""

    spec: Spec
    epsilon: float
    limits: tuple[float, float]


def _make_disclosure(
    reports: list[Any],
    specs: list[Any],
    spent: _Spent | None,
    problem: str | None,
    consent: RememberedConsent | None = None,
) -> Disclosure:
    known = {}
    for digest, description in specs:
        with contextlib.suppress(Exception):  # a damaged description of any kind is skipped
            known[digest] = _parse_spec(digest, description)
    said = [_explain_row(known.get(digest), *columns) for digest, *columns in reports]
    said.sort(key=lambda each: (-each.day.toordinal(), not each.pending, each.metric))
    today, lifetime, deltas = spent or (None, None, None)
    day, life = next((each.limits for each in known.values()), (None, None))
    pending = sum(each.pending for each in said)
    application = next((each.spec.application for each in known.values()), "")
    return Disclosure(
        application=application,
        reports=tuple(said),
        epsilon_today=today,
        epsilon_lifetime=lifetime,
        delta_lifetime=deltas,
        limit_per_day=day,
        limit_lifetime=life,
        pending=pending,
        consent=consent,
        problem=problem,
        sentence=summary.paragraph(
            application,
            sent=len(said) - pending,
            pending=pending,
            mechanisms=[each.spec.mechanism for each in known.values()],
            lifetime=lifetime,
            delta=deltas,
            consent=consent,
            problem=problem,
        ),
    )


def _parse_spec(digest: bytes, description: str) -> _KnownSpec:
    data = json.loads(description)
    spec = Spec.from_canonical(data["spec"])
    if spec.digest != digest:
        raise ValueError("description must have the digest that it is stored under")
    day, life = (float(limit) / NANO for limit in data["limits"])
    return _KnownSpec(spec, spec.mechanism.epsilon, (day, life))


def _explain_row(
    known: _KnownSpec | None, epoch: object, report: object, pending: object
) -> DisclosedReport:
    day = calendar_day(epoch if isinstance(epoch, int) and epoch >= 0 else 0)
    waits = bool(pending)
    if known is not None and report is None and known.spec.mechanism.epsilon_permanent is not None:
        sentence = explain_not_kept(known.spec.mechanism)
        return DisclosedReport(known.spec.name, day, sentence, waits, (), known.epsilon)
    if known is None or not isinstance(report, bytes):
        return DisclosedReport("", day, _UNKNOWN_REPORT, waits, (), None)
    try:
        sentence, likelihoods = explain(known.spec, report)
    except (LookupError, ValueError):
        sentence, likelihoods = _UNKNOWN_REPORT, ()
    return DisclosedReport(known.spec.name, day, sentence, waits, likelihoods, known.epsilon)
