"""What a process remembers of an engine that was dropped, for the next one of its directory."""

from __future__ import annotations


class EngineHistory:
    """What must not begin anew when a host makes and drops a client for each request.

    Otherwise every request would erase traces, which waits for the disk, ask an aggregator that
    has asked for silence, and log the same problem. All times are of the monotonic clock.

    Args:
        sender: the hash of the transport, which tells endpoints and keys apart.

    Attributes:
        sender: as given.
        erase_at: when traces have to be erased again.
        silent_until: when the aggregator may be asked again.
        silenced_at: when `silent_until` was set.
        failures: how many uploads have failed in a row.
        key_refusals: how many of them because of the write key.
        logged_at: when each kind of problem was logged.
    """

    def __init__(self, sender: int) -> None:
        self.sender = sender
        self.erase_at = self.silent_until = self.silenced_at = 0.0
        self.failures = self.key_refusals = 0
        self.logged_at: dict[str, float] = {}
