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
    def faulty(self, charge, period, epoch, limits):
        if charge.metric == "theme":
            return Outcome.RECORDED
        return debit(self, charge, period, epoch, limits)

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


def _same_id_for_copies(add):
    def faulty(self, _upload_id, digest, epoch, *rest, **options):
        place = self._path.with_name("secret")
        secret = place.read_bytes()
        same = hashlib.sha256(secret + digest + str(epoch).encode()).digest()[:16]
        return add(self, same, digest, epoch, *rest, **options)

    return faulty


def _time_in_id(add):
    def faulty(self, upload_id, *rest, **options):
        return add(self, int(time.time()).to_bytes(4, "big") + upload_id[4:], *rest, **options)

    return faulty


def _time_in_padding(encode):
    def faulty(self):
        return encode(self)[:-4] + int(time.time()).to_bytes(4, "big")

    return faulty


def _keep_value(write):
    def faulty(self, plan, item, number, epoch, day, since):
        if isinstance(item, bytes):
            self._storage.directory.joinpath("latest").write_bytes(item)
        return write(self, plan, item, number, epoch, day, since)

    return faulty


def _charge_by_version(charge_for):
    return lambda spec: charge_for(spec)._replace(metric=f"{spec.name} {spec.digest[:3].hex()}")


FAULTS = {
    "a debit is skipped": Fault(
        ("deniable._storage.ledger", "Ledger.debit"), _skip_some_debits, ("spending", "period")
    ),
    "a day costs nothing": Fault(
        ("deniable._storage.ledger", "_account_after"),
        lambda real: lambda account, cost, epoch: (*real(account, 0, epoch)[:2], account[2] + cost),
        ("spending",),
    ),
    "the budget has no end": Fault(
        ("deniable._storage.ledger", "_is_within"), lambda _: lambda *_: True, ("budget",)
    ),
    "the wrong day is charged after the clock goes back": Fault(
        ("deniable._storage.ledger", "_account_after"),
        lambda _: (
            lambda account, cost, epoch: (
                epoch,
                (account[1] if epoch == account[0] else 0) + cost,
                account[2] + cost,
            )
        ),
        ("spending", "budget"),
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
        ("deniable._storage.spool", "Spool.add"), _same_id_for_copies, ("retry",)
    ),
    "opting out leaves the reports": Fault(
        ("deniable._storage.spool", "Spool.delete_everything"),
        lambda _: lambda _self, _reason=None: 0,
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
    "an old ledger is believed": Fault(
        ("deniable._storage.spool", "Spool.spent_at_last_upload"),
        lambda _: lambda _self: 0,
        ("old ledger",),
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
    "record raises": Fault(
        ("deniable._event_log", "EventLog.count_outcome"),
        lambda real: _raising_sometimes(real),
        ("raised",),
    ),
}


def _absence_again(real, self, metric, last, epoch):
    self._storage.ledger._connection.execute("DELETE FROM entry WHERE metric = 'crash'")
    return real(self, metric, last, epoch)


def _raising_sometimes(real):
    def faulty(self, outcome):
        if random.random() < 0.02:
            raise ZeroDivisionError
        return real(self, outcome)

    return faulty
