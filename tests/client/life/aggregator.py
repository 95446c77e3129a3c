"""An aggregator that is up, slow, down, refusing, or loses its answers; and the way to it."""

from __future__ import annotations

from deniable import Response

ACCEPTED = 204
FINAL = (400, 410, 413, 415, 422)

MOODS = {
    "up": 30,
    "slow": 4,
    "down": 6,
    "timeout": 2,
    "lossy": 6,
    "busy": 4,
    "wrong key": 4,
    "unregistered": 6,
    "refusing": 1,
}
"""How an aggregator may be, with how often it is so."""

SLOW_SECONDS = 4.0


class Aggregator:
    """What accepts uploads, or does not.

    Attributes:
        mood: one of `MOODS`.
        registered: digests of the versions that it takes; others have to wait.
        document: the remote configuration that it hands out, or None.
        taken: the body of every upload that was stored, by its id.
    """

    def __init__(self):
        self.mood = "up"
        self.registered = set()
        self.document = None
        self.taken = {}

    def answer(self, upload, body, wait):
        """Takes an upload or not; returns a status, or raises if the device gets no answer.

        Args:
            upload: as it was decoded.
            body: its bytes.
            wait: lets so many seconds pass.
        """
        mood = self.mood
        if mood == "down":
            raise ConnectionRefusedError
        if mood == "busy":
            return 503
        if mood == "wrong key":
            return 401
        if mood == "refusing":
            return 422
        if mood == "timeout":
            wait(10.0)
            raise TimeoutError
        if mood == "slow":
            wait(SLOW_SECONDS)
        if mood == "unregistered" or upload.digest not in self.registered:
            return 409
        self.taken.setdefault(upload.id, body)
        if mood == "lossy":
            raise TimeoutError
        return ACCEPTED


class Way:
    """The transport of one device: whatever it carries is entered in the account.

    Args:
        aggregator: at its other end.
        device: whose way it is; it says whether it is still alive, and lets time pass.
        account: see `Account.exchanged`.
    """

    def __init__(self, aggregator, device, account):
        self._aggregator, self._device, self._account = aggregator, device, account

    def send(self, body, timeout_seconds):
        """Carries an upload, unless the device has died before."""
        assert timeout_seconds > 0
        if self._device.is_dead:
            raise ConnectionAbortedError
        return Response(self._account.exchange(self._device, body, self._answer))

    def _answer(self, upload, body):
        return self._aggregator.answer(upload, body, self._device.pass_time)

    def fetch(self, _path, _timeout_seconds, _limit_bytes):
        """Carries the remote configuration."""
        if self._device.is_dead:
            raise ConnectionAbortedError
        document = self._aggregator.document
        return (404, b"") if document is None else (200, document)

    def close(self):
        pass
