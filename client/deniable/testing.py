"""For tests of programs that use the client; not for the programs themselves.

`RecordingClient` replaces the client and keeps the true values that it was given, so that a test
can assert them. `InMemoryTransport` is passed to a real client and replaces the aggregator. With
pytest there is also the fixture ``deniable_recorder``: a new `RecordingClient` for each test.
"""

from __future__ import annotations

from deniable._testing.in_memory_transport import InMemoryTransport
from deniable._testing.recording_client import Call, Recorded, RecordingClient

__all__ = ["Call", "InMemoryTransport", "Recorded", "RecordingClient"]
