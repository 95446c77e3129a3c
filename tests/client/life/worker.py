"""A real process that shares a device's directory with others: records, forks, uploads, is killed.

Reads one JSON object from its input. Prints one JSON line for each thing that it has done. What it
uploads it appends to a file, before it answers itself.
"""

from __future__ import annotations

import json
import os
import sys

import deniable
from deniable._storage import device

device.RECORD_WAIT_SECONDS = 60.0  # the machine may be busy


class Way:
    """Writes every upload down; answers 204, or nothing at all."""

    def __init__(self, job):
        self._path, self._lossy = job["uploads"], job["lossy"]

    def send(self, body, timeout_seconds):
        assert timeout_seconds > 0
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        line = {"body": body.hex(), "process": os.getpid(), "answered": not self._lossy}
        os.write(file, (json.dumps(line) + "\n").encode())
        os.close(file)
        if self._lossy:
            raise TimeoutError
        return deniable.Response(204)

    def close(self):
        pass


def say(*what):
    os.write(1, (json.dumps([os.getpid(), *what]) + "\n").encode())


def main():
    job = json.load(sys.stdin)
    client = deniable.Client(
        deniable.parse_registry(job["registry"]),
        directory=job["directory"],
        transport=Way(job),
        consent=True,
        background=False,
        clock=lambda: job["now"],
    )
    child = -1
    for number, (name, value, segment) in enumerate(job["items"]):
        if number == job["fork_at"]:
            child = os.fork()
        say("begins", name)
        say(name, client.record(name, value, segment=segment))
    client.flush(timeout_seconds=60.0)
    say("ends")
    if child == 0:
        client.close()
        os._exit(0)
    if child > 0:
        os.waitpid(child, 0)
    client.close()


if __name__ == "__main__":
    main()
