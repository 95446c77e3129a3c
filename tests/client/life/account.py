"""The account of all devices: what left them and what they say, beside what the documents promise.

For each device it keeps the books that are possible (`rules.Book`): usually one. Whatever is seen
leaves those that agree with it; if none is left, a promise was broken. After a kill or a power
failure there are as many as there were moments at which it may have struck.
"""

from __future__ import annotations

from collections import Counter

from tests.client.life import rules, upload_format
from tests.client.life.aggregator import ACCEPTED, FINAL
from tests.client.life.registries import ABSENCE, RELEASES, release
from tests.client.life.rules import NANO, Book

SPECS = {
    metric.spec.digest: metric.spec
    for number in range(RELEASES)
    for metric in release(number).metrics.values()
}
PRICES = {digest: rules.price(spec) for digest, spec in SPECS.items()}
MEMOIZED = frozenset(digest for digest, each in PRICES.items() if each.memoized)
ABSENCE_DIGESTS = frozenset(digest for digest, spec in SPECS.items() if spec.name in ABSENCE)


class BrokenPromiseError(AssertionError):
    """A promise was broken.

    Attributes:
        rule: one word for it.
    """

    def __init__(self, rule, problem):
        super().__init__(f"{rule}: {problem}")
        self.rule = rule


class Line:
    """What the account knows of one device.

    Attributes:
        books: that are possible now.
        passed: books that may be on the disk after a power failure.
        during: books that a kill during the present step may leave.
        in_round: whether something has left in the present step.
        sent_before: whether anything has left the device since its directory was made.
        gone: digest and day of reports that the user had deleted.
        uploaded: the latest report whose upload had a final answer and that was surely paid for.
        noted: the same, of those of which the spool will know even after a power failure.
        draft_lost_power: whether the power failed before anything was sent: then any part of the
            journal may be left, so it may be damaged.
        has_old_journal: whether the journal is an old copy, so that nothing may leave the device.
        seen: what the first look at this process's status told, or None.
    """

    def __init__(self, books):
        self.books = books
        self.passed, self.during = list(books), list(books)
        self.sent_before = self.has_old_journal = self.draft_lost_power = self.in_round = False
        self.uploaded = self.noted = 0
        self.gone = Counter()
        self.seen = None
        self.sent, self.refused = 0, Counter()
        self.outcomes = Counter()

    def copy(self):
        """The line of a device whose directory is a copy."""
        made = Line(list(self.books))
        made.sent_before = True
        made.uploaded, made.noted = self.uploaded, self.noted
        made.gone = Counter(self.gone)
        return made

    def begin(self):
        """A step begins."""
        self.during = list(self.books)
        self.in_round = False

    def end(self):
        """The step has ended, and the device lives."""
        self.passed = _different([*self.passed, *self.during, *self.books])

    def go(self, paths):
        """Each book goes on along a path of books."""
        self.during += [book for path in paths for book in path]
        self.books = _different([path[-1] for path in paths])

    def new_process(self):
        """Counts of a process begin anew."""
        self.seen = None
        self.sent, self.refused, self.outcomes = 0, Counter(), Counter()


class Account:
    """The account of all devices.

    Attributes:
        bodies: of every upload that was seen, by its id.
        serials: of the reports that they carried, by the id.
        answers: of the memoised metric whose value never changes, by secret and version.
    """

    def __init__(self):
        self.lines = {}
        self.bodies = {}
        self.serials = {}
        self.answers = {}
        self.broken = None

    def begin(self, device):
        self.lines[device.name].begin()

    def settle(self):
        """Raises what was found while the client was at work, which catches all exceptions."""
        if self.broken is not None:
            raise self.broken

    def prepared(self, device, moment):
        """Absence was reported, as before every upload."""
        line = self.lines[device.name]
        line.go([rules.absence(book, moment) for book in line.books])

    def dropped_old(self, device, moment, *, surely):
        """Old reports were dropped, as at the beginning of an upload.

        Args:
            device: whose.
            moment: when.
            surely: whether it was, for otherwise the client may be waiting for the aggregator.
        """
        line = self.lines[device.name]
        paths = []
        for book in line.books:
            paths.append([book, rules.too_old(book, moment, MEMOIZED, ABSENCE_DIGESTS)])
            if not surely:
                paths.append([book])
        line.go(paths)

    def recorded(self, device, name, moment, listed, outcome):
        """A call of `record` has returned."""
        line = self.lines[device.name]
        line.outcomes[outcome] += 1
        if not device.agreed:
            expect("outcome", outcome == "no_consent", f"{outcome} without consent")
            return
        expected = [
            each for book in line.books for each in rules.record(book, name, moment, listed)
        ]
        paths = [path for said, path in expected if said == outcome]
        if not paths:
            said = sorted({each for each, _ in expected})
            rules_of = {
                "already_reported": "period",
                "over_budget": "budget",
                "thinned": "thinning",
            }
            rule = rules_of.get(said[0], "outcome") if outcome == "recorded" else "outcome"
            raise BrokenPromiseError(rule, f"{name} was {outcome}, expected {said}")
        line.go(paths)

    def interrupted(self, device, name, moment, listed):
        """A call of `record` did not return, or nobody heard what it returned."""
        line = self.lines[device.name]
        for book in line.books:
            for _, path in rules.record(book, name, moment, listed):
                line.during += path

    def withdrawn(self, device, secret):
        """The user has withdrawn consent."""
        line = self.lines[device.name]
        self._delete(line, [rules.withdrawn(book, secret) for book in line.books])
        if not device.is_dead:
            line.passed = list(line.books)

    def forgotten(self, device):
        """The user had reports deleted."""
        line = self.lines[device.name]
        self._delete(line, [rules.forgotten(book) for book in line.books])
        if not device.is_dead:
            line.passed = list(line.books)

    def erased(self, device):
        """An upload round has ended in which something was sent: a new journal was synced."""
        line = self.lines[device.name]
        line.passed, line.noted = list(line.books), line.uploaded

    def died(self, device, *, power):
        """The process was killed, or the power failed, in the middle of a step."""
        line = self.lines[device.name]
        line.books = _different([*line.during, *line.books])
        if power:
            line.books = [
                rules.after_power_failure(earlier, latest)
                for latest in line.books
                for earlier in _different([*line.passed, *line.books])
            ]
            if not line.sent_before:
                line.draft_lost_power = True
                line.books.append(Book(secret=device.new_token()))
            line.books = _different(line.books)
            line.passed, line.uploaded = [], line.noted
        line.passed = _different([*line.passed, *line.books])

    def exchange(self, device, body, answer):
        """An upload has left a device; asks for the answer, and returns it."""
        try:
            return self._exchange(device, body, answer)
        except BrokenPromiseError as error:
            self.broken = self.broken or error
            raise
        except AssertionError as error:
            self.broken = self.broken or BrokenPromiseError("wire", str(error))
            raise

    def _exchange(self, device, body, answer):
        line = self.lines[device.name]
        expect(
            "old journal", not line.has_old_journal, "a device with an old journal sent a report"
        )
        upload = upload_format.decode(body)
        expect("wire", upload.digest in SPECS, "an upload of an unknown version")
        known = self.bodies.setdefault(upload.id, body)
        # A copy of a disk goes on with the same report, and may pick another value.
        same = known == body or SPECS[upload.digest].pick == "random"
        expect("retry", same, "an upload id came again with other bytes")
        failure = status = None
        try:
            status = answer(upload, body)
        except OSError as error:
            failure = error
        final = status == ACCEPTED or status in FINAL
        after = []
        for book in line.books:
            for serial, changed in rules.exchanged(book, upload, final):
                if self.serials.get(upload.id, serial) == serial:
                    after.append((serial, book, changed))
        if not after:
            self._explain(line, upload)
        serials = {serial for serial, _, _ in after}
        if len(serials) == 1:
            (serial,) = serials
            others = [each for each, known in self.serials.items() if known == serial]
            expect("retry", others in ([], [upload.id]), "a report was sent under two ids")
            self.serials[upload.id] = serial
        if final and upload.digest not in MEMOIZED:
            line.uploaded = max(line.uploaded, min(serials))
        line.sent_before = True
        before = _different([book for _, book, _ in after])
        line.books = _different([book for _, _, book in after])
        # Before the first upload of a round all is synced; what uploads change, at its end.
        line.passed = _different([*line.passed, *before]) if line.in_round else list(before)
        line.in_round = True
        line.during = [*before, *line.books]
        secrets = {book.secret for book in line.books}
        if SPECS[upload.digest].name == "city" and len(secrets) == 1:
            version = secrets.pop(), upload.digest
            self.answers.setdefault(version, {})[upload.id] = upload.payload
        line.sent += status == ACCEPTED
        if status in FINAL:
            line.refused[f"refused_{status}"] += 1
        if failure is not None:
            raise failure
        return status

    def look(self, device, status, moment):
        """Compares what the client says of itself."""
        line = self.lines[device.name]
        expect("storage", status.pending is not None, status.last_error)
        expect("sent", status.sent == line.sent, f"{status.sent} sent, {line.sent} acknowledged")
        refused = {each: n for each, n in status.dropped.items() if each.startswith("refused")}
        expect("lost", refused == dict(line.refused), f"{refused}, the aggregator {line.refused}")
        sound = line.draft_lost_power or "damaged" not in status.dropped
        expect("lost", sound, "the journal was damaged")
        agree = [book for book in line.books if _agrees_on_spending(book, status, moment)]
        if not agree:
            said = status.epsilon_left_lifetime, status.epsilon_left_today, status.delta_lifetime
            raise BrokenPromiseError(
                "spending", f"{said}, expected {[_left(b, moment) for b in line.books]}"
            )
        counted = [book for book in agree if _agrees_on_pending(book, status.pending)]
        if not counted:
            sizes = [(len(book.pending), len(book.maybe)) for book in agree]
            raise BrokenPromiseError(
                "lost", f"{status.pending} pending, expected (surely, perhaps) {sizes}"
            )
        line.books = _different([_resolved(book, status.pending) for book in counted])
        if len(line.books) == 1:
            self._add_up(line, status)

    def check(self, device):
        """What holds at the end of every day, from the uploads alone."""
        line = self.lines[device.name]
        kept = [
            book for book in line.books if rules.cost_of_what_left(book, PRICES) <= book.lifetime
        ]
        costs = [(rules.cost_of_what_left(book, PRICES), book.lifetime) for book in line.books]
        expect("spending", kept, f"left the device and spent: {costs}")
        line.books = kept

    def read(self, device, disclosure):
        """Compares what the directory tells its owner, even when the budget is used up."""
        line = self.lines[device.name]
        if disclosure.epsilon_lifetime is None:
            expect("spending", any(book.lifetime == 0 for book in line.books), disclosure.problem)
            return
        spent = round(disclosure.epsilon_lifetime * NANO)
        agree = [book for book in line.books if book.lifetime == spent]
        lifetimes = [book.lifetime for book in line.books]
        expect("spending", agree, f"{spent} nano-nats were spent, expected {lifetimes}")
        line.books = agree

    def end(self):
        """What holds in the end: memoised answers repeat, ids are random."""
        for answers in self.answers.values():
            counts = Counter(answers.values())
            often = max(counts.values())
            different = len(answers) - often
            expect("memoised", different <= most_different(len(answers)), f"answers were {counts}")
        if len(self.bodies) > 100:
            for place in range(16):
                values = {upload_id[place] for upload_id in self.bodies}
                expect("wire", len(values) > 40, f"byte {place} of the ids takes {values}")

    def summary(self):
        """How much has happened, in a line."""
        names = Counter(
            SPECS[upload_format.decode(body).digest].name for body in self.bodies.values()
        )
        return f"{len(self.bodies)} reports of {len(names)} metrics"

    def _add_up(self, line, status):
        """Made = delivered + pending + dropped, in each process."""
        (book,) = line.books
        dropped = sum(status.dropped.values())
        balance = book.made - status.sent - status.pending - dropped
        if line.seen is None:
            line.seen = balance
        expect("lost", balance == line.seen, f"{balance - line.seen} reports are not accounted for")

    def _delete(self, line, paths):
        for book in line.books:
            for report in (*book.pending.values(), *book.maybe.values()):
                line.gone[report.digest, report.day] += 1
        line.go(paths)

    def _explain(self, line, upload):
        name = SPECS[upload.digest].name
        for book in line.books:
            for report in (*book.pending.values(), *book.maybe.values()):
                if (report.digest, report.day) == (upload.digest, upload.day):
                    raise BrokenPromiseError("retry", f"a report of {name} was sent under two ids")
        if line.gone[upload.digest, upload.day]:
            raise BrokenPromiseError(
                "consent", f"a report of {name} was sent that had been deleted"
            )
        raise BrokenPromiseError(
            "period", f"a report of {name} was sent that was never made, or twice"
        )


def most_different(count):
    """How many of so many memoised reports may differ from their permanent answer."""
    return 3 + count // 4


def expect(rule, kept, problem):
    """Raises `BrokenPromiseError` unless a rule is kept."""
    if not kept:
        raise BrokenPromiseError(rule, problem)


def _left(book, moment):
    day_limit, life_limit = rules.limits(moment.registry)
    today = 0 if moment.day > book.latest else book.today
    life = life_limit - book.lifetime
    return max(0, life) / NANO, max(0, min(day_limit - today, life)) / NANO, book.delta


def _agrees_on_spending(book, status, moment):
    life, today, delta = _left(book, moment)
    return (
        abs(status.epsilon_left_lifetime - life) < 0.4 / NANO
        and abs(status.epsilon_left_today - today) < 0.4 / NANO
        and round(status.delta_lifetime * rules.DELTA_UNITS) == delta
    )


def _agrees_on_pending(book, count):
    return len(book.pending) <= count <= len(book.pending) + len(book.maybe)


def _resolved(book, count):
    if not book.maybe:
        return book
    if count == len(book.pending):
        return book.changed(maybe={})
    if count == len(book.pending) + len(book.maybe):
        return book.changed(pending={**book.maybe, **book.pending}, maybe={})
    return book


def _different(books):
    found = {}
    for book in books:
        found.setdefault(book.key, book)
    return list(found.values())
