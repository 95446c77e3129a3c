"""What the documents promise of a device, as a book that is kept beside it.

`Book` is what one device may have on its disk: what it spent, which periods it has reported, which
reports wait. Functions take a book and say what may follow. They know the registry and the
documents, and nothing of the client's code.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import NamedTuple

NANO = 10**9
DELTA_UNITS = 10**12
MAX_AGE_DAYS, MAX_MEMOIZED_AGE_DAYS = 30, 14
MAX_RUNS = 8
_DAY_ZERO = date(1970, 1, 1)


class Report(NamedTuple):
    """A report that was made and is kept on the device.

    Attributes:
        serial: the number of its making; a copy of the directory has the same report.
        name: of its metric.
        digest: of the metric's version.
        day: the UTC day that it carries.
        upload_id: the id of its upload, once it was seen; else None.
        tried: whether it was seen to be sent.
    """

    serial: int
    name: str
    digest: bytes
    day: int
    upload_id: bytes | None = None
    tried: bool = False


@dataclass
class Book:
    """What may be on the disk of a device.

    Attributes:
        latest: the latest UTC day that something was charged to.
        today: nano-nats that count as charged to that day.
        runs: the days that were ever charged, as first and last days of at most `MAX_RUNS` runs.
        ahead: the first day on which `latest` was seen to lie after tomorrow, or None.
        lifetime: nano-nats ever charged.
        delta: the sum of all deltas, in units of 10^-12.
        last_serial: of the latest report that was paid for.
        reported: by metric and kind of period, the latest period that was reported.
        paid: by metric and kind of period, for which version permanent answers are paid, and what.
        enrolled: by metric that counts absence, the last day on which the device was at work.
        checked: the process and day in which absence was last looked for.
        thinned: by version and period, whether the device sits it out.
        pending: reports that wait, by serial.
        maybe: reports that wait or were lost or deleted, by serial.
        left: ids of the reports that have left the device, by secret and version.
        secret: stands for the device's secret, which a copy of the directory shares.
        made: how many reports were made and stored.
    """

    latest: int = 0
    today: int = 0
    runs: tuple = ()
    ahead: int | None = None
    lifetime: int = 0
    delta: int = 0
    last_serial: int = 0
    reported: dict = field(default_factory=dict)
    paid: dict = field(default_factory=dict)
    enrolled: dict = field(default_factory=dict)
    checked: tuple = ()
    thinned: dict = field(default_factory=dict)
    pending: dict = field(default_factory=dict)
    maybe: dict = field(default_factory=dict)
    left: dict = field(default_factory=dict)
    secret: object = None
    made: int = 0

    def changed(self, **values):
        """A copy with other values, whose tables can be changed until its key is asked for."""
        kept = {name: getattr(self, name) for name in self.__dataclass_fields__}
        made = Book(**{**kept, **values})
        for name in _TABLES - values.keys():
            setattr(made, name, dict(getattr(self, name)))
        return made

    @functools.cached_property
    def key(self):
        """Equal for equal books."""
        return tuple(
            frozenset(getattr(self, name).items()) if name in _TABLES else getattr(self, name)
            for name in self.__dataclass_fields__
        )


_TABLES = {"reported", "paid", "enrolled", "thinned", "pending", "maybe", "left"}


class Price(NamedTuple):
    """What reports of a version cost, in nano-nats, each amount rounded up.

    Attributes:
        each: of a report.
        total: most that all reports of one secret cost; None if there is no such bound.
        delta: of a report, in units of 10^-12.
        memoized: whether answers are memoised.
    """

    each: int
    total: int | None
    delta: int
    memoized: bool


_prices: dict[bytes, Price] = {}


def price(spec):
    """What a version of a metric costs."""
    known = _prices.get(spec.digest)
    if known is None:
        known = _prices[spec.digest] = _price(spec)
    return known


def _price(spec):
    mechanism = spec.mechanism
    total = mechanism.epsilon_total
    return Price(
        math.ceil(Fraction(mechanism.epsilon) * NANO),
        None if total is None else math.ceil(Fraction(total) * NANO),
        math.ceil(Fraction(mechanism.delta) * DELTA_UNITS),
        mechanism.epsilon_permanent is not None,
    )


class Moment(NamedTuple):
    """When and where something happens.

    Attributes:
        day: UTC, by the device's clock.
        process: numbers processes and withdrawals of consent.
        serial: numbers the reports that are made; a report of absence gets the serial itself, the
            next one of them one more, and the report of a value two more.
        registry: of the release that runs.
        disabled: metrics that the remote configuration in force disables.
        thinned: those that it has fewer devices report.
    """

    day: int
    process: object
    serial: int
    registry: object
    disabled: frozenset
    thinned: frozenset


def limits(registry):
    """What a day and a life may cost, in nano-nats."""
    budget = registry.budget
    return round(budget.epsilon_per_day * NANO), round(budget.epsilon_lifetime * NANO)


def period(every, day):
    """The number of the period of a day: weeks begin on Monday, months are calendar months."""
    if every == "day":
        return day
    if every == "week":
        return (day + 3) // 7
    if every == "month":
        then = date.fromordinal(_DAY_ZERO.toordinal() + day)
        return then.year * 12 + then.month
    return 0


def last_day(every, day):
    """The last day of the period of a day."""
    number = period(every, day)
    while period(every, day + 1) == number:
        day += 1
    return day


def record(book, name, moment, listed):
    """What may become of a value: pairs of the outcome and the books on the way to the last one.

    Args:
        book: before.
        name: the metric's.
        moment: when and where.
        listed: whether the metric has a place for the value.
    """
    metric = moment.registry.metrics.get(name)
    if metric is None:
        return [("unknown_metric", [book])]
    if metric.expires is not None and moment.day > (metric.expires - _DAY_ZERO).days:
        return [("expired", [book])]
    if not listed:
        return [("outside_domain", absence(book, moment))]
    if name in moment.disabled:
        return [("disabled", [book])]
    before = absence(book, moment)
    book = before[-1]
    spec = metric.spec
    number = period(spec.every, moment.day)
    waits = spec.reports_absence or spec.pick == "random"
    day = last_day(spec.every, moment.day) if waits else moment.day
    found = []
    if spec.reports_absence:
        last = book.enrolled.get((spec.name, spec.every))
        is_enrolled = last is not None and period(spec.every, last) == number
        if not (is_enrolled and _is_paid(book, spec, number)):  # whatever the reason
            return [(each, before) for each in ("over_budget", "thinned", "already_reported")]
        outcome, after = _written(book, spec, number, day, moment.serial + 2)
        return [(outcome, [*before, *after])]
    started = begun(book, moment.day, moment.registry)
    if not _is_within(_after_debit(started[-1], spec, moment.day, 0), moment.registry):
        # Where more than one reason holds, the client may give any of them.
        found.append(("over_budget", [*before, *started]))
    if name in moment.thinned and book.thinned.get((spec.digest, number)) is not False:
        sits_out = book.changed()
        sits_out.thinned[spec.digest, number] = True
        found.append(("thinned", [*before, sits_out]))
    outcome, after = _report(
        book, spec, number, day, moment.day, moment.serial + 2, moment.registry
    )
    known = book.thinned.get((spec.digest, number))
    if not (name in moment.thinned and known and outcome != "already_reported"):
        if name in moment.thinned and outcome != "already_reported":
            after = [each.changed() for each in after]
            for each in after:
                each.thinned[spec.digest, number] = False
        found.append((outcome, [*before, *after]))
    if spec.pick == "random" and outcome == "already_reported":
        # Another value of the period, which may take the place of the one that waits.
        found.append(("recorded", [*before, *after]))
    return found


def absence(book, moment):
    """What a device does first in each day: the books on the way, from the given one."""
    checked = moment.process, moment.day
    if book.checked == checked:
        return [book]
    absent = [m for m in moment.registry.metrics.values() if m.spec.reports_absence]
    books = begun(book, moment.day, moment.registry) if absent else [book]
    enrolled = dict(books[-1].enrolled)
    serial = moment.serial
    for metric in moment.registry.metrics.values():
        spec = metric.spec
        if spec.absent is None or spec.every == "once":
            continue
        key = spec.name, spec.every
        last = enrolled.get(key)
        if spec.name in moment.disabled:
            enrolled.pop(key, None)
        elif last != moment.day or not _is_paid(books[-1], spec, period(spec.every, last)):
            today = period(spec.every, moment.day)
            if last is not None:
                number, day = period(spec.every, last), last_day(spec.every, last)
                is_recent = number < today and day >= moment.day - MAX_AGE_DAYS
                if is_recent and _is_paid(books[-1], spec, number):
                    books += _written(books[-1], spec, number, day, serial)[1]
            was_here = last is not None and period(spec.every, last) == today
            paid_before = was_here and _is_paid(books[-1], spec, today)
            if paid_before or _paid(books, spec, today, moment):
                enrolled[key] = moment.day
            elif last is not None and last <= moment.day:
                enrolled.pop(key)
        serial += 1
    books.append(books[-1].changed(enrolled=enrolled, checked=checked))
    return books


def begun(book, day, registry):
    """The books on the way when the device begins a day, or notes that its clock goes back.

    A day that was ever charged is silent when it comes again, and so is the first one after it.

    Args:
        book: before.
        day: by the device's clock.
        registry: has the budget, all of which counts as spent on a silent day.
    """
    again = any(first <= day <= last for first, last in book.runs)
    if day > book.latest or not book.runs:
        silent = any(last > book.latest and first <= day for first, last in book.runs)
    elif again:
        return [book]
    elif book.latest <= day + 1:
        return [book, book.changed(runs=_runs_with(book.runs, day), ahead=None)]
    elif book.ahead is None or day < book.ahead:
        return [book, book.changed(runs=_runs_with(book.runs, day), ahead=day)]
    else:
        silent = True
    found = [book]
    if day < book.latest and book.runs:
        dropped = book.changed()
        for kept in (dropped.pending, dropped.maybe):
            for serial, report in list(kept.items()):
                if report.day > day + 1:
                    del kept[serial]
        found.append(dropped)
    after = found[-1].changed(
        latest=day,
        today=limits(registry)[0] if silent else 0,
        runs=_runs_with(book.runs, day),
        ahead=None,
    )
    if silent:
        after.enrolled = {}
        for name, every in after.reported:
            if every != "once":
                after.reported[name, every] = period(every, day)
    return [*found, after]


def _runs_with(runs, day):
    days = sorted({*runs, (day, day)})
    while True:
        gaps = [later[0] - first[1] for first, later in itertools.pairwise(days)]
        if not gaps or (min(gaps) > 1 and len(days) <= MAX_RUNS):
            return tuple(days)
        at = gaps.index(min(gaps))
        days[at : at + 2] = [(days[at][0], max(days[at][1], days[at + 1][1]))]


def _is_reported_ahead(book, every, number):
    return every != "once" and any(
        period(every, first) <= number <= period(every, last)
        for first, last in book.runs
        if first > book.latest
    )


def _paid_key(spec):
    """Each version of a metric that counts absence pays for itself."""
    return f"{spec.name}:paid:{spec.digest.hex()}", spec.every


def _is_paid(book, spec, number):
    return book.reported.get(_paid_key(spec), -1) >= number


def _paid(books, spec, number, moment):
    """Whether a period is paid for now; the book after that is added."""
    key = _paid_key(spec)
    if _is_reported_ahead(books[-1], spec.every, number):
        return False
    if books[-1].reported.get(key, -1) >= number:
        last = books[-1].enrolled.get((spec.name, spec.every))
        return last is not None and last < moment.day
    debited = _after_debit(books[-1], spec, moment.day, books[-1].last_serial)
    if not _is_within(debited, moment.registry):
        return False
    debited.reported[key] = number
    books.append(debited)
    return True


def _written(book, spec, number, day, serial):
    """The outcome, and the books after a report of a period that was paid for before."""
    key = spec.name, spec.every
    if book.reported.get(key, -1) >= number:
        return "already_reported", [book]
    marked = book.changed(last_serial=serial)
    marked.reported[key] = number
    stored = marked.changed(made=marked.made + 1)
    stored.pending[serial] = Report(serial, spec.name, spec.digest, day)
    return "recorded", [marked, stored]


def _after_debit(book, spec, charged_on, serial):
    """The book after the cost of a report was charged, whatever the budget is."""
    key = spec.name, spec.every
    cost, total, delta, _ = price(spec)
    paid_for, paid = book.paid.get(key, (None, 0))
    if total is not None:
        paid = paid if paid_for == spec.digest else 0
        cost = min(cost, max(0, total - paid))
    later = charged_on > book.latest
    after = book.changed(
        latest=charged_on if later else book.latest,
        today=(0 if later else book.today) + cost,
        lifetime=book.lifetime + cost,
        delta=book.delta + delta,
        last_serial=serial,
    )
    if total is not None:
        after.paid[key] = spec.digest, paid + cost
    return after


def _is_within(book, registry):
    day_limit, life_limit = limits(registry)
    return book.today <= day_limit and book.lifetime <= life_limit


def _report(book, spec, number, day, charged_on, serial, registry):
    """The outcome, and the books after the day was begun, and after debit and report together."""
    key = spec.name, spec.every
    started = begun(book, charged_on, registry)
    book = started[-1]
    if book.reported.get(key, -1) >= number or _is_reported_ahead(book, spec.every, number):
        return "already_reported", started
    debited = _after_debit(book, spec, charged_on, serial)
    if not _is_within(debited, registry):
        return "over_budget", started
    debited.reported[key] = number
    debited.pending[serial] = Report(serial, spec.name, spec.digest, day)
    debited.made += 1
    return "recorded", [*started, debited]


def too_old(book, moment, memoized, absence_digests):
    """The book after old reports were dropped, which a flush does first."""
    after = book.changed()
    for kept in (after.pending, after.maybe):
        for serial, report in list(kept.items()):
            age = moment.day - report.day
            if report.digest in memoized:
                gone = sure = age > MAX_MEMOIZED_AGE_DAYS
            else:
                gone = age > MAX_AGE_DAYS
                sure = report.tried or report.digest in absence_digests
            if gone:
                del kept[serial]
                if not sure:
                    after.maybe[serial] = report
    return after


def withdrawn(book, secret):
    """The books before and after the user withdraws consent: reports and secret go together.

    Args:
        book: before.
        secret: stands for the new one.
    """
    emptied = book.changed(pending={}, maybe={})
    return [book, emptied.changed(paid={}, enrolled={}, thinned={}, secret=secret)]


def forgotten(book):
    """The books before and after the user has reports deleted."""
    return [book, book.changed(pending={}, maybe={})]


def exchanged(book, upload, removed):
    """The reports that an upload may have been of, each as its serial and the book after it.

    One that was seen under the id of the upload is it; none, if the device cannot have had any.

    Args:
        book: before.
        upload: what was sent.
        removed: whether the answer was final.
    """
    alike = [
        each
        for each in (*book.pending.values(), *book.maybe.values())
        if (each.digest, each.day) == (upload.digest, upload.day)
    ]
    seen = [each for each in alike if each.upload_id == upload.id]
    return [
        (each.serial, _after_exchange(book, each, upload, removed))
        for each in seen or [each for each in alike if each.upload_id is None]
    ]


def _after_exchange(book, report, upload, removed):
    after = book.changed()
    del (after.pending if report.serial in after.pending else after.maybe)[report.serial]
    version = book.secret, upload.digest
    after.left[version] = after.left.get(version, frozenset()) | {upload.id}
    if not removed:
        after.pending[report.serial] = report._replace(upload_id=upload.id, tried=True)
    return after


def doubted(book, serial):
    """The book when it is not known whether a report that was sent still waits."""
    after = book.changed()
    after.maybe[serial] = after.pending.pop(serial)
    return after


def cost_of_what_left(book, prices):
    """What the reports cost that have left the device, by the number of uploads alone."""
    total = 0
    for (_, digest), uploads in book.left.items():
        count, each, most = len(uploads), prices[digest].each, prices[digest].total
        total += count * each if most is None else min(count * each, most)
    return total


def after_power_failure(earlier, latest):
    """The book of a device whose journal ends where it ended at an earlier moment.

    Args:
        earlier: the book at that moment.
        latest: the one when the power failed.
    """
    return earlier.changed(left=dict(latest.left), checked=())
