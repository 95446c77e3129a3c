"""A device made up for a trial: the real client in a folder of its own, and what it sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable._client import Client
from deniable._transport.http import Response, Transport
from deniable_shared.wire import ACCEPTED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

    from deniable_shared.registry import Registry


class Courier:
    """Carries uploads and notes what was sent and answered; without a transport, sends nothing.

    Args:
        transport: to the server; None to acknowledge every upload without sending it.

    Attributes:
        transport: as given; may be set to None.
        body: the latest upload.
        answer: what the server answered to it, or what was raised; None before the first upload.
        public_endpoint: the server's address, for messages; see `deniable.Transport`.
    """

    def __init__(self, transport: Transport | None) -> None:
        self.transport = transport
        self.body = b""
        self.answer: Response | Exception | None = None
        self.public_endpoint = getattr(transport, "public_endpoint", None)

    def send(self, body: bytes, timeout_seconds: float) -> Response:
        """Delivers an upload, see `deniable.Transport`."""
        self.body = body
        if self.transport is None:
            return Response(ACCEPTED)
        try:
            self.answer = answer = self.transport.send(body, timeout_seconds)
        except Exception as error:
            self.answer = error
            raise
        return answer

    def close(self) -> None:
        """Closes the transport."""
        if self.transport is not None:
            self.transport.close()


class Device:
    """A client with a directory, a clock and a courier of its own.

    Args:
        registry: the metrics.
        directory: a folder that is not there yet.
        transport: see `Courier`.
        clock: seconds since 1970-01-01.
        shift_seconds: how far the device's own clock is ahead of the other.

    Attributes:
        client: the client.
        courier: what it sends with.
        shift_seconds: see above; may be set.
    """

    def __init__(
        self,
        registry: Registry,
        directory: Path,
        transport: Transport | None,
        clock: Callable[[], float],
        shift_seconds: float = 0.0,
    ) -> None:
        self.shift_seconds = shift_seconds
        self.courier = Courier(transport)
        self.client = Client(
            registry,
            directory=directory,
            transport=self.courier,
            consent=True,
            upload_delay_seconds=0.0,
            background=False,
            development=False,
            clock=lambda: clock() + self.shift_seconds,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
