"""The program that uses an SDK; the benchmark starts it in the SDK's own environment.

``python program.py SDK ACTION ENDPOINT DIRECTORY COUNT`` prints JSON lines, times by the monotonic
clock, which all processes of a machine share.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from adapters import ADAPTERS

FORK_SECONDS = 5.0
"""How long a forked child may take before it counts as hanging."""

FIRST_TRY_SECONDS = 1.0
"""How long an SDK gets for its first attempt to send, and the imports that it needs for that."""

BUSY_THREADS = 3
HUNG_SECONDS = 3.0
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def say(**figures: object) -> None:
    """Writes a line for the benchmark at once, so that no end of the process can lose it."""
    import json

    os.write(1, json.dumps(figures).encode() + b"\n")


def resident_bytes() -> int:
    """The memory that the process uses."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * _PAGE_BYTES


def start(make: Any, count: int) -> None:  # noqa: ARG001
    """Imports, sets up and records one event; measured in CPU time."""
    began = time.process_time()
    make().record(0)
    say(start_seconds=time.process_time() - began)
    os._exit(0)


def leave(make: Any, count: int) -> None:
    """Records and ends as the SDK's documentation asks."""
    sdk = make()
    for number in range(count):
        sdk.record(number)
    say(recorded_at=time.monotonic())
    sdk.close()


def terminate(make: Any, count: int) -> None:
    """Records and gets SIGTERM at once."""
    import signal

    sdk = make()
    for number in range(count):
        sdk.record(number)
    say(recorded_at=time.monotonic())
    os.kill(os.getpid(), signal.SIGTERM)


def abort(make: Any, count: int) -> None:
    """Records and ends at once, without any exit handlers."""
    sdk = make()
    for number in range(count):
        sdk.record(number)
    say(recorded_at=time.monotonic())
    os._exit(0)


def resume(make: Any, count: int) -> None:
    """The next run: records later events, waits until its input is closed, ends as documented."""
    sdk = make()
    for number in range(count, 2 * count):
        sdk.record(number)
    sys.stdin.read()
    say(recorded_at=time.monotonic())
    sdk.close()


def fork(make: Any, count: int) -> None:
    """Records in a forked child of a process that has recorded before."""
    sdk = make()
    sdk.record(0)
    child = os.fork()
    if child == 0:
        for number in range(1, count):
            sdk.record(number)
        sdk.close()
        sys.exit(0)
    hung = _wait([child], FORK_SECONDS)
    say(recorded_at=time.monotonic(), hung=hung)
    sdk.close()


def busy(make: Any, count: int) -> None:
    """Forks while other threads record, and so hold the locks that recording takes."""
    import threading

    sdk = make()
    again = getattr(sdk, "again", lambda: sdk.record(0))
    again()  # the first call may do more than the following ones
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            again()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(BUSY_THREADS)]
    for thread in threads:
        thread.start()
    children = []
    began = time.monotonic()
    for _ in range(count):
        time.sleep(0.005)
        child = os.fork()
        if child == 0:
            again()
            os._exit(0)
        children.append(child)
    took = time.monotonic() - began
    done.set()
    hung = _wait(children, HUNG_SECONDS)
    say(hung=hung, forks=count, fork_seconds=took)
    os._exit(0)


def burst(make: Any, count: int) -> None:
    """Measures each of many calls."""
    _burst(make, count, ())


def burst_word(make: Any, count: int) -> None:
    """Measures each of many calls that make reports of 1,024 bits; only for Deniable."""
    _burst(make, count, ("word",))


def _burst(make: Any, count: int, arguments: tuple[str, ...]) -> None:
    from array import array

    times = array("q", bytes(8 * count))
    bare = resident_bytes()
    sdk = make()
    again = getattr(sdk, "again", lambda: sdk.record(0))
    again(*arguments)
    time.sleep(FIRST_TRY_SECONDS)
    again(*arguments)
    ready = resident_bytes()
    for index in range(count):
        began = time.perf_counter_ns()
        again(*arguments)
        times[index] = time.perf_counter_ns() - began
    grown = resident_bytes() - ready
    ordered = sorted(times)
    say(
        p50=ordered[count // 2] / 1e3,
        p99=ordered[count * 99 // 100] / 1e3,
        ready_bytes=ready - bare,
        grown_bytes=grown,
    )
    os._exit(0)


def _wait(children: list[int], seconds: float) -> int:
    """Waits for children to end, and returns how many had to be killed."""
    import signal

    deadline = time.monotonic() + seconds
    alive = set(children)
    while alive and time.monotonic() < deadline:
        alive -= {child for child in alive if os.waitpid(child, os.WNOHANG)[0]}
        time.sleep(0.005)
    for child in alive:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return len(alive)


ACTIONS = {
    action.__name__: action
    for action in (start, leave, terminate, abort, resume, fork, busy, burst, burst_word)
}


def main() -> None:
    """Does the action that the arguments name."""
    name, action, endpoint, directory, count = sys.argv[1:]
    ACTIONS[action](lambda: ADAPTERS[name](endpoint, directory), int(count))


if __name__ == "__main__":
    main()
