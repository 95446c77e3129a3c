"""Faults that are planted into the client, to show that the account notices each of them.

A fault is where it is planted, a function from what stands there to what shall stand there, and the
rules of which one must be found broken.
"""

from __future__ import annotations

import hashlib
import os
import random
import time
from typing import NamedTuple

from deniable._status import Outcome
from deniable._storage.contents import Mark
from deniable._storage.records import DEBIT, REPORT
from deniable._storage.spool import _REPORT
from deniable_shared import wire


class Fault(NamedTuple):
    """A fault.

    Attributes:
        place: a module, and the name of what is replaced in it, perhaps of a class.
        plant: makes the replacement of the original.
        rules: one of them must be broken.
    """

    place: tuple[str, str]
    plant: object
    rules: tuple[str, ...]


def _skip_some_debits(debit):
    def faulty(self, charge, period, epoch, limits, store=None):
        if charge.metric == "theme":
            store(_REPORT.pack(REPORT, 0, 0))
            return Outcome.RECORDED
        return debit(self, charge, period, epoch, limits, store)

    return faulty


def _draw_again(encode):
    def faulty(self):
        if self.tries:
            return wire.encode(
                wire.Upload(os.urandom(16), (wire.Part(self.digest, self.epoch, self.payload),))
            )
        return encode(self)

    return faulty


def _change_noise(_encode):
    def faulty(self):
        noise = bytes([self.payload[0] ^ 1]) + self.payload[1:] if self.tries else self.payload
        return wire.encode(
            wire.Upload(self.upload_id, (wire.Part(self.digest, self.epoch, noise),))
        )

    return faulty


def _same_id_for_copies(store):
    def faulty(self, plan, _upload_id, day, *rest):
        secret = self._storage.secret
        same = hashlib.sha256(secret + plan.spec.digest + str(day).encode()).digest()[:16]
        return store(self, plan, same, day, *rest)

    return faulty


def _time_in_id(add):
    def faulty(self, upload_id, *rest, **options):
        return add(self, int(time.time()).to_bytes(4, "big") + upload_id[4:], *rest, **options)

    return faulty


def _after_a_debit(change):
    def plant(debit):
        def faulty(self, charge, period, epoch, limits, store=None):
            def changed(_body):
                change(self)
                every = (charge.metric, charge.every)
                store(self._body(every, *self._entries[every]))

            return debit(self, charge, period, epoch, limits, changed)

        return faulty

    return plant


def _free_the_day(ledger):
    ledger._today = 0


def _go_back(debit):
    def faulty(self, charge, period, epoch, *rest):
        if epoch < self._latest:
            self._latest, self._today = epoch, 0
        return debit(self, charge, period, epoch, *rest)

    return faulty


def _forget_reports(apply):
    def faulty(self, body, tail, place):
        apply(self, body, b"" if body[0] == DEBIT else tail, place)

    return faulty


def _forget_debits(apply):
    def faulty(self, body):
        if body[0] != DEBIT or b"theme" not in body:
            apply(self, body)

    return faulty


def _time_in_padding(encode):
    def faulty(self):
        return encode(self)[:-4] + int(time.time()).to_bytes(4, "big")

    return faulty


def _keep_value(write):
    def faulty(self, plan, item, *rest):
        if isinstance(item, bytes):
            self._storage.directory.joinpath("latest").write_bytes(item)
        return write(self, plan, item, *rest)

    return faulty


def _charge_by_version(charge_for):
    return lambda spec: charge_for(spec)._replace(metric=f"{spec.name} {spec.digest[:3].hex()}")


FAULTS = {
    "a debit is skipped": Fault(
        ("deniable._storage.ledger", "Ledger.debit"), _skip_some_debits, ("spending", "period")
    ),
    "a day costs nothing": Fault(
        ("deniable._storage.ledger", "Ledger.debit"), _after_a_debit(_free_the_day), ("spending",)
    ),
    "the budget has no end": Fault(
        ("deniable._storage.ledger", "Ledger.debit"),
        lambda real: (
            lambda self, charge, period, epoch, _, store=None: real(
                self, charge, period, epoch, (1 << 60, 1 << 60), store
            )
        ),
        ("budget", "spending"),
    ),
    "the wrong day is charged after the clock goes back": Fault(
        ("deniable._storage.ledger", "Ledger.debit"), _go_back, ("spending", "budget", "outcome")
    ),
    "another version of a metric reports the period again": Fault(
        ("deniable._recording.metric_plan", "charge_for"),
        _charge_by_version,
        ("period", "outcome", "lost"),
    ),
    "a retry has another id": Fault(
        ("deniable._storage.stored_report", "StoredReport.encode_upload"), _draw_again, ("retry",)
    ),
    "a retry has other noise": Fault(
        ("deniable._storage.stored_report", "StoredReport.encode_upload"), _change_noise, ("retry",)
    ),
    "copies of a device use the same ids": Fault(
        ("deniable._recording.report_writer", "ReportWriter.store"),
        _same_id_for_copies,
        ("retry",),
    ),
    "opting out leaves the reports": Fault(
        ("deniable._storage.spool", "Spool.delete_everything"),
        lambda _: lambda _self: 0,
        ("lost", "consent"),
    ),
    "memoised answers are drawn anew": Fault(
        ("deniable.randomizers.permanent", "PermanentChoices.stream"),
        lambda real: (
            lambda self, _secret, purpose, length: real(self, os.urandom(32), purpose, length)
        ),
        ("memoised",),
    ),
    "a disabled metric reports": Fault(
        ("deniable._remote.configuration", "RemoteSettings.disables"),
        lambda _: lambda _self, _metric: False,
        ("outcome", "spending"),
    ),
    "an old journal is believed": Fault(
        ("deniable._storage.journal", "read_mark"),
        lambda real: lambda directory: real(directory) and Mark(0, 0, 0),
        ("old journal",),
    ),
    "a busy aggregator is taken for one that refuses": Fault(
        ("deniable._upload.delivery", "REFUSED"), lambda real: real | {503}, ("lost",)
    ),
    "dropped reports are not counted": Fault(
        ("deniable._event_log", "EventLog.count_dropped"), lambda _: lambda *_: None, ("lost",)
    ),
    "a period with a value is reported as one without, too": Fault(
        ("deniable._recording.absence", "AbsenceReporter._report_absence"),
        lambda real: (
            lambda self, metric, last, epoch: _absence_again(real, self, metric, last, epoch)
        ),
        ("spending", "lost"),
    ),
    "a value is kept on the disk": Fault(
        ("deniable._recording.report_writer", "ReportWriter.write"), _keep_value, ("clear",)
    ),
    "a time stands in the padding": Fault(
        ("deniable._storage.stored_report", "StoredReport.encode_upload"),
        _time_in_padding,
        ("wire",),
    ),
    "a time stands in the id": Fault(
        ("deniable._storage.spool", "Spool.add"), _time_in_id, ("wire",)
    ),
    "what was recorded is not read again": Fault(
        ("deniable._storage.spool", "Spool.apply"), _forget_reports, ("lost",)
    ),
    "a debit is not read again": Fault(
        ("deniable._storage.ledger", "Ledger.apply"), _forget_debits, ("spending", "period")
    ),
    "a new journal forgets what was reported": Fault(
        ("deniable._storage.ledger", "Ledger.bodies"),
        lambda real: lambda self: [each for each in real(self) if b"theme" not in each],
        ("period", "spending", "outcome"),
    ),
    "record raises": Fault(
        ("deniable._event_log", "EventLog.count_outcome"),
        lambda real: _raising_sometimes(real),
        ("raised",),
    ),
}


def _absence_again(real, self, metric, last, epoch):
    for key in [each for each in self._storage.ledger._entries if each[0] == "crash"]:
        del self._storage.ledger._entries[key]
    return real(self, metric, last, epoch)


def _raising_sometimes(real):
    def faulty(self, outcome):
        if random.random() < 0.02:
            raise ZeroDivisionError
        return real(self, outcome)

    return faulty
