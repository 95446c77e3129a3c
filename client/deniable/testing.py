"""For tests of programs that use the client; not for the programs themselves.

`capture` keeps the true values that any client of the process records within a block, so that a
test can assert them. `RecordingClient` replaces one client and does the same; with pytest there is
also the fixture ``deniable_recorder``, a new `RecordingClient` for each test. `InMemoryTransport`
is passed to a real client and replaces the aggregator.
"""

from __future__ import annotations

from deniable._testing.capturing import Captured, capture
from deniable._testing.in_memory_transport import InMemoryTransport
from deniable._testing.recorded import Call, Recorded
from deniable._testing.recording_client import RecordingClient

__all__ = ["Call", "Captured", "InMemoryTransport", "Recorded", "RecordingClient", "capture"]
