"""An asyncio service that answers lines of text, and records which format was asked for.

::

    python -m examples.asyncio_service 8080
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import deniable


def telemetry() -> deniable.Client:
    """Makes the client, whose own thread uploads, so that the loop never waits for uploads."""
    return deniable.Client(
        Path(__file__).with_name("metrics.toml"),
        directory=Path(os.environ["FLIGHTDECK_STATE"], "telemetry"),
        consent=os.environ.get("FLIGHTDECK_TELEMETRY") == "on",
    )


async def serve(client: deniable.Client, port: int, stop: asyncio.Event) -> None:
    """Answers until `stop` is set, and then sends the stored reports."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            # Waits neither for the network nor for the disk, so it may run in the loop.
            outcome = client.record("export", line.decode(errors="replace").strip())
            writer.write(f"{outcome}\n".encode())
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", port):
        await stop.wait()
    # This waits for the network, so it must not run in the loop.
    await asyncio.to_thread(client.flush, timeout_seconds=2.0)


async def main(port: int) -> None:
    """Serves until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with telemetry() as client:
        await serve(client, port, stop)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
