"""One device of the simulation: a disk, a clock that may be wrong, and an application at work."""

from __future__ import annotations

import contextlib
import threading

import deniable
from tests.client.life import processes
from tests.client.life.account import BrokenPromiseError, Line, expect
from tests.client.life.aggregator import Way
from tests.client.life.disk import Disk
from tests.client.life.registries import DISABLED, THINNED, release
from tests.client.life.rules import Book, Moment

DAY_SECONDS = 86_400
DOCUMENTS = {1: (), 2: ("thin",), 3: ("thin", "disable"), 4: ("disable",), 5: ()}
"""What remote configurations do, by serial number."""


class Device:
    """A device with one application.

    Args:
        name: tells it from others.
        folder: for its disk; an empty one.
        world: see `run.World`.
        notes: the block within which writes are noted.

    Attributes:
        agreed: whether the user agrees; the application keeps the answer.
        offset: by how many seconds its clock is wrong.
        client: while a process runs, else None.
    """

    def __init__(self, name, folder, world):
        self.name, self.world, self.account = name, world, world.account
        self.directory = folder / "state" / "telemetry"
        self.directory.parent.mkdir(parents=True)
        self.disk = Disk(folder)
        world.notes.add(self.disk)
        self.release, self.agreed, self.offset = 0, True, 0.0
        self.client = None
        self._process = self._withdrawals = 0
        self._serial_in_force = None
        self._backup = self._old_journal = None
        self.account.lines[name] = Line([Book(secret=self.new_token())])

    # What the client and its transport ask.

    def clock(self):
        return self.world.now + self.offset

    @property
    def is_dead(self):
        return self.disk.stopped is not None

    def pass_time(self, seconds):
        self.world.pass_time(seconds)

    def new_token(self):
        """Stands for a secret that nobody else has."""
        return self.name, self.world.next_serial()

    @property
    def day(self):
        return int(self.clock() // DAY_SECONDS)

    def moment(self):
        """When and where the next thing happens."""
        doing = DOCUMENTS.get(self._serial_in_force, ())
        return Moment(
            self.day,
            (self.name, self._process, self._withdrawals),
            self.world.next_serial(),
            release(self.release),
            frozenset(DISABLED) if "disable" in doing else frozenset(),
            frozenset(THINNED) if "thin" in doing else frozenset(),
        )

    # What happens to it.

    def start(self):
        """The application starts; if the user has refused, it says so again."""
        if self.client is not None:
            return
        self._process += 1
        self.account.lines[self.name].new_process()
        with self._step():
            self.client = self._new_client(consent=self.agreed)
            self._look_at_serial()
            if self.agreed:
                self.account.prepared(self, self.moment())
            else:
                self._withdraw()

    def close(self):
        if self.client is not None:
            with self._step():
                self.client.close()
                if not self.is_dead:
                    self.client = None

    def record(self, name, value, segment, listed):
        if self.client is None:
            return
        moment = self.moment()
        with self._step():
            outcome = self.client.record(name, value, segment=segment)
            if self.is_dead:
                self.account.interrupted(self, name, moment, listed)
            else:
                self.account.recorded(self, name, moment, listed, outcome.value)

    def flush(self):
        if self.client is None:
            return
        with self._step():
            if self.agreed:
                self.account.prepared(self, self.moment())
                self.account.dropped_old(self, self.moment(), surely=True)
            result = self.client.flush(timeout_seconds=30.0)
            if not self.is_dead:
                expect(
                    "raised", self.client.status().outcomes.get("internal_error") is None, result
                )
                if self.agreed:
                    self.account.erased(self)

    def upload_due(self):
        """What the client's thread would do by itself at this moment."""
        if self.client is None or not self.agreed:
            return
        line = self.account.lines[self.name]
        before = line.sent
        with self._step():
            self.account.prepared(self, self.moment())
            self.account.dropped_old(self, self.moment(), surely=False)
            _one_round(self.client)
            if not self.is_dead and line.sent > before:
                self.account.erased(self)

    def agree(self, agreed):
        self.agreed = agreed
        if self.client is None:
            return
        with self._step():
            if agreed:
                self.client.consent = True
                self.account.prepared(self, self.moment())
            else:
                self._withdraw()

    def forget(self):
        if self.client is None:
            return
        with self._step():
            self.client.forget()
            self.account.forgotten(self)

    def share(self, names):
        """Several real processes use the directory at the same time; one is killed."""
        if not self.agreed:
            return
        while self.client is None:
            self.start()  # tells which remote configuration is in force
        self.close()
        if self.client is not None or self.is_dead:
            return
        self.disk.go_on()
        self._process += 1
        moment = self.moment()
        self.world.next_serial(100)
        said = processes.run_together(self, names, self.world.random)
        processes.enter(self.account, self, said, moment)
        self.disk.adopt()
        self.start()

    def update(self, number):
        """The application is replaced by another release, and starts again."""
        self.close()
        self.release = number
        self.start()

    def lose_disk(self):
        """The directory is deleted while nobody uses it: a new device."""
        self.close()
        self.disk.restore({self.directory.parent: None})
        self._old_journal = None
        self.account.lines[self.name] = Line([Book(secret=self.new_token())])

    def back_up(self):
        """Somebody copies the whole disk."""
        self.close()
        self._backup = self.disk.contents(), self.account.lines[self.name].copy()

    def restore(self):
        """Somebody puts the old copy of the whole disk back."""
        if self._backup is not None:
            self.close()
            contents, line = self._backup
            self._old_journal = None
            self.disk.restore(contents)
            self.account.lines[self.name] = line.copy()

    def become_copy_of(self, other):
        """The disk of another device is copied to this one."""
        other.close()
        self.disk.restore(other.disk.contents(), other.disk.folder)
        self.account.lines[self.name] = self.account.lines[other.name].copy()
        self.release, self.agreed, self.offset = other.release, other.agreed, other.offset

    def back_up_journal(self):
        """Somebody copies the journal alone."""
        self.close()
        journal = {
            path: data for path, data in self.disk.contents().items() if path.name == "journal"
        }
        serial = max(book.last_serial for book in self.account.lines[self.name].books)
        self._old_journal = journal, serial

    def restore_journal(self):
        """Somebody puts it back after a report was uploaded that it has not paid for.

        Then the device must stop, until somebody deletes the directory.
        """
        journal, serial = self._old_journal or ({}, 0)
        self._old_journal = None
        line = self.account.lines[self.name]
        if not journal or line.uploaded <= serial:
            return
        self.close()
        others = {
            path: data for path, data in self.disk.contents().items() if path.name != "journal"
        }
        self.disk.restore(journal | others)
        line.has_old_journal = True
        client = self._new_client(consent=True)
        outcome = client.record("theme", "dark")
        expect("old journal", outcome == "storage_unavailable", f"{outcome} with an old journal")
        client.flush()
        client.close()
        self.account.settle()
        self.lose_disk()

    # What dies, and how.

    def die(self, *, power):
        """The process is killed now, unless it died during the last step; or the power fails."""
        if self.client is None and not power:
            return
        self.account.begin(self)
        self.disk.stop_now()
        self._bury(power)

    def stop_at(self, steps, *, power):
        """The process will be killed, or the power fail, after so many more writes to the disk."""
        self.disk.stop_at(steps)
        self._power = power

    _power = False

    def _bury(self, power):
        client, self.client = self.client, None
        if client is not None:
            with self.disk.paused():
                client.close()
        self.account.died(self, power=power)
        self.disk.restart(self.world.random if power else None)

    @contextlib.contextmanager
    def _step(self):
        """One thing that happens, in the midst of which the device may die."""
        self.account.begin(self)
        try:
            yield
        except BrokenPromiseError:
            if not self.is_dead:
                raise
        except Exception as error:
            raise BrokenPromiseError("raised", repr(error)) from error
        self.account.settle()
        if self.is_dead:
            self._bury(self._power)
            return
        self.account.lines[self.name].end()
        self._look()

    def _new_client(self, *, consent):
        return deniable.Client(
            release(self.release),
            directory=self.directory,
            transport=Way(self.world.aggregator, self, self.account),
            consent=consent,
            background=False,
            clock=self.clock,
        )

    def _look(self):
        if self.client is not None:
            status = self.client.status()
            self._serial_in_force = status.remote_serial
            self.account.look(self, status, self.moment())
            self.world.words.append(f"{status} {self.client!r}")

    def _look_at_serial(self):
        self._serial_in_force = self.client.status().remote_serial

    def _withdraw(self):
        self.client.consent = False
        self._withdrawals += 1
        self.account.withdrawn(self, self.new_token())


def _one_round(client):
    """A round of the upload thread, in this thread."""
    uploader, me = client._uploader, threading.current_thread()
    uploader._thread, uploader._background = me, True
    try:
        uploader._round(me, flushing=False)
    finally:
        uploader._thread, uploader._background = None, False
