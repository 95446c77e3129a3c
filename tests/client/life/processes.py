"""Several real processes on one directory at the same time; one of them is killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.client.life import rules, upload_format
from tests.client.life.account import expect
from tests.client.life.registries import PICKED, text_of, value_of

PROCESSES = 3
WORKER = Path(__file__).with_name("worker.py")


class Said:
    """What the processes have said.

    Attributes:
        outcomes: pairs of a metric's name and the outcome of recording it.
        begun: names of metrics that somebody began to record, and did not say what became of it.
        uploads: of every process together, in order: the body, and whether the process surely
            knows that it was taken.
    """

    def __init__(self, lines, uploads):
        self.outcomes, open_names, ended = [], {}, set()
        for process, *what in lines:
            if what[0] == "begins":
                open_names[process] = what[1]
            elif what[0] == "ends":
                ended.add(process)
            else:
                open_names.pop(process, None)
                self.outcomes.append(tuple(what))
        self.begun = list(open_names.values())
        last = {each["process"]: number for number, each in enumerate(uploads)}
        self.uploads = [
            (
                bytes.fromhex(each["body"]),
                each["answered"] and (each["process"] in ended or last[each["process"]] != number),
            )
            for number, each in enumerate(uploads)
        ]


def run_together(device, names, random):
    """Has processes record at the same time what differs only in its values, and upload.

    Args:
        device: whose directory they share; its own process has ended.
        names: of the metrics that each of them records, in its own order.
        random: decides about values, orders, a fork and a kill.
    """
    uploads = device.world.folder / "uploads of processes"
    uploads.unlink(missing_ok=True)
    running = []
    for number in range(PROCESSES):
        mine = random.sample(names, len(names))
        items = [(name, *value_of(name, random)[:2]) for name in mine if name != "printing"]
        job = {
            "registry": text_of(device.release),
            "directory": str(device.directory),
            "now": device.clock(),
            "uploads": str(uploads),
            "lossy": number == 1,
            "fork_at": random.randrange(len(items)) if number == 2 else -1,
            "items": items,
        }
        process = subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        process.stdin.write(json.dumps(job).encode())
        process.stdin.close()
        running.append(process)
    victim, lines = running[0], []
    for _ in range(random.randrange(2 * len(names))):
        lines.append(victim.stdout.readline())
    victim.send_signal(signal.SIGKILL)
    for process in running:
        lines += process.stdout.read().splitlines()
        process.stdout.close()
        process.wait()
    expect("raised", [each.returncode for each in running[1:]] == [0, 0], "a process has failed")
    written = uploads.read_text(encoding="utf-8").splitlines() if uploads.exists() else []
    return Said(
        [json.loads(line) for line in lines if line], [json.loads(line) for line in written]
    )


def enter(account, device, said, moment):
    """Enters into the account what processes have said, in whatever order they did it."""
    line = account.lines[device.name]
    recorded = Counter(name for name, outcome in said.outcomes if outcome == "recorded")
    once = [count for name, count in recorded.items() if name != PICKED]
    expect("period", max(once, default=1) == 1, f"recorded: {recorded}")
    books = [rules.absence(book, moment)[-1] for book in line.books]
    for number, name in enumerate(said.begun):
        later = moment._replace(serial=moment.serial + 10 * (number + 1))
        books += [
            step
            for book in books
            for _, path in rules.record(book, name, later, True)
            for step in path
        ]
    for number, name in enumerate(recorded):
        later = moment._replace(serial=moment.serial + 10 * (number + 1 + len(said.begun)))
        books = [
            path[-1]
            for book in books
            for outcome, path in rules.record(book, name, later, True)
            if outcome == "recorded"
        ]
        expect("period", books, f"{name} was recorded, though it had been or cost too much")
    line.books = [book for book in books if _explains(book, said, moment)]
    expect("outcome", line.books, f"nothing explains {said.outcomes}")
    account.dropped_old(device, moment, surely=False)
    removed = set()
    for body, surely in said.uploads:
        upload = upload_format.decode(body)
        known = account.bodies.setdefault(upload.id, body)
        expect("retry", known == body, "an upload id came again with other bytes")
        if upload.id in removed:
            continue
        after = [
            (serial, changed if surely else rules.doubted(changed, serial))
            for book in line.books
            for serial, changed in rules.exchanged(book, upload, surely)
            if account.serials.get(upload.id, serial) == serial
        ]
        expect("period", after, "a process sent a report that was never made, or under two ids")
        if len(serials := {serial for serial, _ in after}) == 1:
            (account.serials[upload.id],) = serials
        line.books, line.sent_before = [changed for _, changed in after], True
        if surely:
            removed.add(upload.id)
        device.world.aggregator.taken.setdefault(upload.id, body)
    line.passed = list(line.books)


def _explains(book, said, moment):
    """Whether a book agrees with what was not recorded."""
    day_limit, life_limit = rules.limits(moment.registry)
    for name, outcome in said.outcomes:
        metric = moment.registry.metrics.get(name)
        if metric is None:
            if outcome != "unknown_metric":
                return False
            continue
        spec = metric.spec
        number = rules.period(spec.every, moment.day)
        if outcome == "already_reported":
            if book.reported.get((spec.name, spec.every), -1) < number:
                return False
        elif outcome == "over_budget":
            cost = rules.price(spec)
            if book.today + cost.each <= day_limit and book.lifetime + cost.each <= life_limit:
                return False
        elif outcome in ("storage_unavailable", "internal_error", "no_consent"):
            return False
    return True
