"""Programs of many kinds that can have Deniable inside: each runs with it and without it.

A program calls `begin`, `event` and `end`, which do nothing without Deniable, and says what it sees
by `say`. Each number of an event is a metric of its own.
"""

from __future__ import annotations

from typing import NamedTuple

EVENTS = 12

HEAD = """\
import os
import sys

PART, REGISTRY, DIRECTORY, ENDPOINT, SCRATCH = sys.argv[1:6]
ARGUMENTS = sys.argv[1:6]


def say(*what):
    os.write(1, " ".join(map(str, what)).encode() + b"\\n")


if PART == "with":
    import deniable
    from deniable import _lifecycle
    from deniable._storage import device

    # The machine may be busy.
    device.RECORD_WAIT_SECONDS = _lifecycle.STORAGE_SECONDS = 60.0

    def begin():
        global client
        client = deniable.Client(
            REGISTRY, endpoint=ENDPOINT, key="k", directory=DIRECTORY, consent=True,
            upload_delay_seconds=0,
        )

    def event(number):
        outcome = client.record(f"event_{number}", True)
        if outcome not in ("recorded", "waiting"):  # its own thread may wait for the disk
            say(number, outcome, client.status().last_error)

    def end():
        client.close()
else:

    def begin():
        pass

    def event(number):
        pass

    def end():
        pass


def look():
    import gc, signal, threading, warnings
    places = [os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")
              if os.path.lexists(f"/proc/self/fd/{n}")]
    ours = [each.split(":")[0] for each in places if not each.startswith("/proc/")]
    say("files", sorted(ours))
    say("threads", sorted(each.name for each in threading.enumerate()))
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD, signal.SIGPIPE)
    handlers = map(signal.getsignal, numbers)
    say("signals", [getattr(each, "__name__", each) for each in handlers])
    mask = os.umask(0)
    os.umask(mask)
    say("process", oct(mask), os.getcwd(), sorted(os.environ), gc.isenabled())
    say("hooks", sys.excepthook is sys.__excepthook__, len(warnings.filters), sys.gettrace())


"""


class Host(NamedTuple):
    """A program.

    Attributes:
        code: its source, after `HEAD`.
        events: how many reports it makes.
        options: of the interpreter.
        status: with which it exits.
    """

    code: str
    events: int
    options: tuple[str, ...] = ()
    status: int = 0


SCRIPT = """
begin()
event(0)
event(1)
end()
look()
"""

HOSTS = {
    "a script": Host(SCRIPT, 2),
    "a script in development mode whose warnings are errors": Host(
        SCRIPT, 2, ("-X", "dev", "-W", "error")
    ),
    "a script that ends by an exception": Host("begin()\nevent(0)\nprint(1 / 0)\n", 1, status=1),
    "a script that leaves by its own status": Host("begin()\nevent(0)\nsys.exit(7)\n", 1, status=7),
    "a script that ends without a word": Host("begin()\nevent(0)\nos._exit(3)\n", 1, status=3),
    "an exit handler": Host(
        "import atexit\natexit.register(lambda: (event(1), say('at exit')))\nbegin()\nevent(0)\n", 2
    ),
    "threads": Host(
        """
import threading
begin()
threads = [threading.Thread(target=event, args=(n,)) for n in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
end()
look()
""",
        8,
    ),
    "an event loop": Host(
        """
import asyncio

async def main():
    begin()
    event(0)
    await asyncio.gather(*(asyncio.to_thread(event, n) for n in range(1, 5)))
    end()

asyncio.run(main())
look()
""",
        5,
    ),
    "signal handlers": Host(
        """
import signal
begin()
left = iter(range(1, 6))
signal.signal(signal.SIGALRM, lambda *_: event(next(left)))
event(0)
for _ in range(5):
    os.kill(os.getpid(), signal.SIGALRM)
try:
    os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    say("interrupted")
end()
look()
""",
        6,
    ),
    "a fork": Host(
        """
begin()
event(0)
child = os.fork()
if child == 0:
    event(1)
    end()
    look()
    os._exit(5)
say(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
event(2)
end()
look()
""",
        3,
    ),
    "a fork in C": Host(
        """
import ctypes, threading
begin()
event(0)
for thread in threading.enumerate():
    if thread is not threading.current_thread():
        thread.join()  # beside a thread of Python, such a fork is not safe
child = ctypes.PyDLL(None).fork()
if child == 0:
    event(1)
    os._exit(5)
say(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
event(2)
end()
look()
""",
        3,
    ),
    "a daemon": Host(
        """
begin()
event(0)
ends = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        os.umask(0)
        event(1)
        end()
        os.write(ends[1], b"done")
    os._exit(0)
os.wait()
say(os.read(ends[0], 4))
end()
""",
        2,
    ),
    "a program that becomes another": Host(
        """
begin()
if not os.path.exists(SCRATCH):
    open(SCRATCH, "w").close()
    event(0)
    os.execv(sys.executable, [sys.executable, __file__, *ARGUMENTS])
event(1)
end()
look()
""",
        2,
    ),
    "a program that starts others": Host(
        """
import subprocess
begin()
if not os.path.exists(SCRATCH):
    open(SCRATCH, "w").close()
    event(0)
    started = subprocess.run([sys.executable, __file__, *ARGUMENTS], capture_output=True)
    say(started.returncode, started.stdout, started.stderr)
else:
    event(1)
end()
""",
        2,
    ),
    "a folder that is deleted": Host(
        """
import tempfile
begin()
gone = tempfile.mkdtemp()
os.chdir(gone)
os.rmdir(gone)
event(0)
os.chdir("/")
end()
look()
""",
        1,
    ),
    "subinterpreters": Host(
        """
try:
    import _xxsubinterpreters as subinterpreters
except ImportError:
    subinterpreters = None
text = open(__file__).read().partition("def look")[0]
begin()
event(0)
for number in (1, 2):
    start = f"import sys; sys.argv = {sys.argv!r}; sys.path[:] = {sys.path!r}\\n"
    code = f"{start}{text}\\nbegin()\\nevent({number})\\nend()\\nsay('inside')"
    if subinterpreters is None:
        event(number)
        say("inside")
    else:
        made = subinterpreters.create(isolated=False)
        subinterpreters.run_string(made, code)
        subinterpreters.destroy(made)
end()
look()
""",
        3,
    ),
} | {
    f"multiprocessing by {method}": Host(
        f"""
import multiprocessing

def work(number):
    begin()
    event(number)
    end()
    return number

if __name__ == "__main__":
    context = multiprocessing.get_context("{method}")
    begin()
    event(0)
    with context.Pool(2) as pool:
        say(pool.map(work, range(1, 5), chunksize=1))
    end()
""",
        5,
    )
    for method in ("fork", "spawn", "forkserver")
}
"""By what they are. Web servers, Celery, Django and PyInstaller have their programs in
`tests.end_to_end.recipes`, uWSGI in `tests.client.lifecycle.test_prefork`."""

SMALL_MATRIX = (
    "a script in development mode whose warnings are errors",
    "a script that ends by an exception",
    "threads",
    "a fork",
    "a daemon",
    "multiprocessing by fork",
    "subinterpreters",
)
"""What CI runs."""
