"""Forks by Python and in C while other threads hold locks or wait for the interpreter."""

from __future__ import annotations

import pytest

from tests.client.programs import stored

pytestmark = pytest.mark.service

HEAD = """
import ctypes, signal
FORKS = {"Python": os.fork, "C": ctypes.PyDLL(None).fork}
deniable._import_lock.FORK_WAIT_SECONDS = 0.1  # a fork waits for imports
def has_settled():
    return client._uploader._sleeps_until > 0  # the thread waits for a report to be due
def in_child(fork, act):
    child = fork()
    if child == 0:
        signal.alarm(30)  # ends a child that hangs
        try:
            act()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1]
"""
EVERY_LOCK = (
    HEAD
    + """
def locks_of(thing, seen):
    for each in vars(thing).values():
        if id(each) in seen:
            continue
        seen.add(id(each))
        if hasattr(each, "acquire"):
            yield each
        elif type(each).__module__.startswith("deniable.") and hasattr(each, "__dict__"):
            yield from locks_of(each, seen)
def hold_all():
    held, seen = 0, set()
    for thing in (deniable._import_lock, deniable._lifecycle, client._engine):
        for lock in locks_of(thing, seen):
            held += lock.acquire(blocking=False)
            while isinstance(lock, threading.Semaphore) and lock.acquire(blocking=False):
                pass
    say(held)
    os.write(held_all[1], b"x")
    threading.Event().wait()
def use_everything():
    say(client.record("late", True), client.record("unknown", True))
    say(client.status().pending, client.consent, client.remembered_consent)
    say(client.flush(timeout_seconds=60).problem.partition(":")[0])
    with deniable.Client(
        registry, endpoint=endpoint, key="k", directory=directory + "2", consent=True, clock=clock
    ) as another:
        say(another.record("theme", "dark"))
    say(client.forget())
    client.consent = False
    client.close()
    say("done")
client.record("theme", "dark")
while not has_settled():
    time.sleep(0.001)
held_all = os.pipe()
threading.Thread(target=hold_all, daemon=True).start()
os.read(held_all[0], 1)
say(in_child(FORKS["BY"], use_everything))
os._exit(0)  # the locks stay held
"""
)


@pytest.mark.parametrize("by", ["Python", "C"])
def test_a_child_can_do_everything_whatever_lock_a_thread_held_at_the_fork(run, by):
    (held,), *said, (status,) = run(EVERY_LOCK.replace("BY", by))
    assert held >= 7
    problem = "connection_refused" if by == "Python" else "no_thread"
    assert (status, said) == (
        0,
        [["recorded", "unknown_metric"], [2, True, None], [problem], ["recorded"], [2], ["done"]],
    )


WAITS_FOR_THE_INTERPRETER = (
    HEAD
    + """
gate = threading.Lock()
def pass_the_gate():
    with gate:
        pass
class Gated:
    def send(self, body, timeout_seconds):
        sending.set()
        pass_the_gate()
        return deniable.Response(204)
    def close(self):
        pass
sending = threading.Event()
client = deniable.Client(
    registry, transport=Gated(), directory=directory + "2", consent=True, clock=clock,
    upload_delay_seconds=0,
)
python = ctypes.PyDLL(None)  # keeps the interpreter while it calls
gate.acquire()
client.record("theme", "dark")
sending.wait()
def use():
    sys.setswitchinterval(0.005)
    say(client.record("late", True), client.status().last_error.partition(":")[0])
    say(client.flush().problem.partition(":")[0])
    client.close()
sys.setswitchinterval(1000)
def fork():
    gate.release()
    python.usleep(50_000)  # the thread is now waiting for the interpreter
    return python.fork()
say(in_child(fork, use))
sys.setswitchinterval(0.005)
client.flush()
say(client.status().sent)
"""
)


def test_a_child_forked_in_c_while_the_thread_waited_for_the_interpreter_does_not_hang(
    run, directory
):
    """Another thread there would hang with the first one; the parent sends what it stores."""
    said = run(WAITS_FOR_THE_INTERPRETER)
    assert said == [["recorded", "no_thread"], ["no_thread"], [0], [2]]
    assert stored(directory.with_name(directory.name + "2")) == (0, 2)


def test_a_child_forked_in_c_before_any_thread_ran_uploads_by_itself(run, collector):
    said = run(
        HEAD
        + """
client._uploader._background = False
client.record("theme", "dark")
say(in_child(FORKS["C"], lambda: say(client.flush().sent)))
""",
        collector.endpoint,
    )
    assert said == [[1], [0]]
