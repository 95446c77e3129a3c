"""What a device has said, read from its directory and put into words for its owner.

Nothing in the directory is created or changed. A client that uses it meanwhile is not disturbed:
the directory's lock is held only while rows are fetched.
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable._disclosure import summary
from deniable._disclosure.explain import explain, explain_not_kept
from deniable._disclosure.read_only import hold_lock, read_contents
from deniable._status import DELTA_UNITS, NANO, RememberedConsent
from deniable._storage.consent_file import ConsentFile
from deniable._storage.directory import StorageError
from deniable_shared.periods import calendar_day, epoch_at
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from datetime import date

    from deniable._disclosure.phrases import Likelihood
    from deniable._storage.ledger import Ledger
    from deniable._storage.spool import Spool

_UNKNOWN_REPORT: Final = "Something that cannot be shown: what describes it is missing or damaged."

_MAY_CHANGE: Final = (
    " Until that is over another value may take its place; who reads this directory all the time "
    "sees each of them, which no budget counts."
)

NO_DIRECTORY: Final = "there is no such directory"
UNREADABLE: Final = "the directory cannot be read"
NOTHING: Final = "nothing was ever recorded in this directory"
IN_USE: Final = "the directory is in use just now, and could not be read"
DAMAGED: Final = "what was stored is damaged, and not all of it can be read"


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
        epsilon_lifetime: nats ever spent by this device; None if that cannot be read. It bounds
            what all answers tell together unless something that is remembered has changed.
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
        next(path.iterdir(), None)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return _make_disclosure(None, None, NO_DIRECTORY)
    except OSError:
        return _make_disclosure(None, None, UNREADABLE)
    answer = ConsentFile(path, "", ()).read()
    consent = None if answer is None else answer.consent
    try:
        with hold_lock(path):
            contents = read_contents(path)
    except BlockingIOError:
        return _make_disclosure(None, None, IN_USE, consent)
    except (StorageError, OSError):
        return _make_disclosure(None, None, DAMAGED, consent)
    if contents is None:
        return _make_disclosure(None, None, NOTHING, consent)
    spent = problem = None
    if contents.problem is None:
        spent = _spent(contents.ledger, epoch_at(clock()))
    else:
        problem = DAMAGED
    return _make_disclosure(contents.spool, spent, problem, consent, contents.ledger.limits)


def in_memory(spool: Spool, ledger: Ledger, clock: Callable[[], float]) -> Disclosure:
    """What a device without a directory has said; only tests have such devices.

    Args:
        spool: the device's, as is the next one.
        ledger: see there.
        clock: seconds since 1970-01-01.
    """
    return _make_disclosure(spool, _spent(ledger, epoch_at(clock())), None, None, ledger.limits)


def _spent(ledger: Ledger, epoch: int) -> _Spent:
    today, lifetime = ledger.spending(epoch)
    # After a clock was wrong a whole day counts as spent: at most what a day allows.
    most = lifetime if ledger.limits is None else ledger.limits[0]
    return _Spent(min(today, most) / NANO, lifetime / NANO, ledger.delta_spent() / DELTA_UNITS)


class _Spent(NamedTuple):
    """What the ledger says: epsilon of this day and of the device's life, delta of its life."""

    today: float
    lifetime: float
    delta: float


class _KnownSpec(NamedTuple):
    """A metric's spec as the directory describes it."""

    spec: Spec
    epsilon: float


def _make_disclosure(
    spool: Spool | None,
    spent: _Spent | None,
    problem: str | None,
    consent: RememberedConsent | None = None,
    limits: tuple[int, int] | None = None,
) -> Disclosure:
    known, said = {}, []
    if spool is not None:
        for digest, description in spool.described.items():
            with contextlib.suppress(Exception):  # a damaged description of any kind is skipped
                known[digest] = _parse_spec(digest, description)
        for waits, reports in ((True, spool.reports()), (False, spool.sent)):
            for each in reports:
                report = _explain_row(known.get(each.digest), each.epoch, each.payload, waits)
                said.append(report)
    said.sort(key=lambda each: (-each.day.toordinal(), not each.pending, each.metric))
    today, lifetime, deltas = spent or (None, None, None)
    day, life = (None, None) if limits is None else (limit / NANO for limit in limits)
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
    spec = Spec.from_canonical(json.loads(description))
    if spec.digest != digest:
        raise ValueError("description must have the digest that it is stored under")
    return _KnownSpec(spec, spec.mechanism.epsilon)


def _explain_row(
    known: _KnownSpec | None, epoch: int, report: bytes | None, waits: bool
) -> DisclosedReport:
    day = calendar_day(max(epoch, 0))
    if known is not None and report is None and known.spec.mechanism.epsilon_permanent is not None:
        sentence = explain_not_kept(known.spec.mechanism)
        return DisclosedReport(known.spec.name, day, sentence, waits, (), known.epsilon)
    if known is None or report is None:
        return DisclosedReport("", day, _UNKNOWN_REPORT, waits, (), None)
    try:
        sentence, likelihoods = explain(known.spec, report)
    except (LookupError, ValueError):
        sentence, likelihoods = _UNKNOWN_REPORT, ()
    if waits and known.spec.picks:
        sentence += _MAY_CHANGE
    return DisclosedReport(known.spec.name, day, sentence, waits, likelihoods, known.epsilon)
