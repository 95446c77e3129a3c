"""The whole server at once: `make bench PART=whole`.

A server begins with a store of four weeks, of which half is to be closed, settled, rolled up and
estimated, while devices, an importer, analysts and a flood have at it. Beside them is an innocent
bystander: another application's device, and its analyst. Four times follow each other: everything
at once; then, once little is left to do, the bystander alone; the bystander beside lone uploads;
and batches beside questions, whose bytes are counted. On SQLite and, where it is installed,
PostgreSQL. Prints a table and writes build/whole.json; fails if anything but the flood was
refused.

Figures of processors and bytes, and ratios within a run, travel; times do not.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from unittest.mock import patch

from benchmarks.process_tree import DATABASE, MAIN, SERVER, ProcessTree, Used
from benchmarks.served import served
from benchmarks.storage import honest_reports
from benchmarks.whole_load import Answers, Client, run
from deniable_aggregator import Store
from deniable_aggregator.answers.words import SCOPES
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.fold import InboxFold
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.keeping.store import Sender
from deniable_shared import registry, wire
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_shared.spec import Spec

ROOT: Final = Path(__file__).parent.parent
OUTPUT: Final = ROOT / "build" / "whole.json"
BUSY, BYSTANDER = "busy", "bystander"
"""The two applications of the store."""

FLOOD: Final = "flood"

DAYS: Final = 28
ACCEPT_DAYS: Final = 14
ROLL_UP_DAYS: Final = 20
KEYS: Final = 3
REPORTS: Final = 300
"""Of a metric, day and key."""

SETTINGS: Final = {
    "accept_days": ACCEPT_DAYS,
    "roll_up_days": ROLL_UP_DAYS,
    "roll_up_by": "week",
    "fold_seconds": 5.0,
}
INGEST: Final = (MAIN, SERVER, DATABASE)
"""What takes uploads, without the processes of questions and estimates."""

BATCH_REPORTS: Final = 8_192
IDLE_LOOKS: Final = 25
"""As the server's own work pauses for four times as long as it took."""

LOOK_SECONDS: Final = 1.0
IDLE_CPU: Final = 0.1
"""A server that uses less of a core than this has nothing to do."""

MOST_SECONDS: Final = 300.0
REST_SECONDS: Final = 180.0
MB: Final = 1e6
VALUES: Final = json.dumps([f"value {number}" for number in range(16)])
METRICS: Final = f"""
[metrics.theme]
type = "category"
values = {VALUES}
complete = true
epsilon = 1.0
[metrics.late]
type = "boolean"
epsilon = 1.0
[metrics.wait]
type = "distribution"
range = [0, 100]
bins = 32
epsilon = 1.0
[metrics.city]
type = "string"
epsilon = 4.0
"""
ASKED: Final = ("theme", "late", "wait")
"""Of strings, only what a list names can be asked."""


class Tokens(NamedTuple):
    """Keys of an application: of devices, of who imports, and of analysts."""

    write: str
    batch: str
    read: str


def registry_of(application: str) -> registry.Registry:
    """The four metrics of an application."""
    budget = "[budget]\nepsilon_per_day = 16.0\nepsilon_lifetime = 400.0\n"
    return registry.parse(f'registry = 1\napplication = "{application}"\n{budget}{METRICS}')


def build(target: str | Path) -> dict[str, Tokens]:
    """Fills a store with four weeks of both applications."""
    today = epoch_at(time.time())
    batch = "batch" if "batch" in SCOPES else "write"
    tokens = {}
    with contextlib.closing(Store(target)) as store:
        for application in (BUSY, BYSTANDER):
            found = registry_of(application).metrics
            store.metrics.register(found.values(), today)
            made = [
                create_key(store, scope=scope, application=application, label=label, today=today)
                for label, scope in keys_of(batch)
            ]
            tokens[application] = Tokens(*made[:3])
            senders = [Sender(application, each.split("_")[2]) for each in (made[0], *made[3:])]
            for metric in found.values():
                _fill(store, metric.spec, senders, today)
        InboxFold(store, MetricCatalog(store)).fold(seconds=MOST_SECONDS)
    return tokens


def keys_of(batch: str) -> Iterator[tuple[str, str]]:
    """Labels and scopes of an application's keys: `Tokens`, then further ones of devices."""
    yield from (("devices", "write"), ("importer", batch), ("analyst", "read"))
    yield from ((f"build {number}", "write") for number in range(1, KEYS))


def _fill(store: Store, spec: Spec, senders: list[Sender], today: int) -> None:
    reports = honest_reports(spec, REPORTS).tobytes()
    for day in range(today - DAYS, today):
        part = wire.Part(spec.digest, day, reports)
        uploads = [wire.Upload(secrets.token_bytes(wire.ID_BYTES), (part,)) for _ in senders]
        store.inbox.append(uploads, senders)


def payloads(application: str, reports: int) -> tuple[tuple[bytes, bytes], ...]:
    """What uploads bring: of each metric so many honest reports."""
    specs = [metric.spec for metric in registry_of(application).metrics.values()]
    return tuple((spec.digest, honest_reports(spec, reports).tobytes()) for spec in specs)


def clients_of(tokens: dict[str, Tokens]) -> tuple[list[Client], list[Client], list[Client]]:
    """The bystander's two clients, those of lone uploads, and all others."""
    busy, quiet = tokens[BUSY], tokens[BYSTANDER]
    return (
        [
            Client("bystander", "uploads", quiet.write, payloads(BYSTANDER, 1), pause=0.05),
            Client("bystander asks", "questions", quiet.read, metrics=ASKED, pause=1.0),
        ],
        [Client("lone", "uploads", busy.write, payloads(BUSY, 1), connections=32)],
        [
            Client("batched", "uploads", busy.batch, payloads(BUSY, BATCH_REPORTS), pause=0.05),
            Client("questions", "questions", busy.read, metrics=ASKED, connections=2),
            Client(FLOOD, "flood", busy.write, connections=4),
        ],
    )


def measure(
    target: str, tokens: dict[str, Tokens], seconds: float, database: int
) -> dict[str, Any]:
    """All four times of one store.

    Args:
        target: the store.
        tokens: of its two applications.
        seconds: of each time.
        database: the first process of PostgreSQL; 0 if there is none.
    """
    quiet, lone, others = clients_of(tokens)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(served(target, core=None, **SETTINGS))
        trees = [stack.enter_context(ProcessTree(server.process.pid))]
        trees += [stack.enter_context(ProcessTree(database))] if database else []

        def used(*kinds: str) -> Used:
            found = [tree.used(kinds) for tree in trees]
            return Used(
                sum(each.cpu_seconds for each in found),
                sum(each.read_bytes for each in found),
                sum(each.written_bytes for each in found),
            )

        everything = run(server.url, [*quiet, *lone, *others], seconds)
        drained = await_fold(target)
        await_rest(used)
        at_rest = run(server.url, quiet, seconds)
        before = used(*INGEST)
        beside = run(server.url, [*quiet, *lone], seconds)
        uploads = used(*INGEST).since(before)
        before = used()
        batches = run(server.url, [each for each in others if each.kind != FLOOD], seconds)
        await_fold(target)
        written = used().since(before)
        memory = {kind: round(each) for tree in trees for kind, each in tree.most_mib.items()}
    accepted = batches["batched"].sent_bytes
    number = beside["lone"].accepted + beside["bystander"].accepted
    times = everything, at_rest, beside, batches
    return {
        "refused": dict(sum((refusals(each) for each in times), Counter())),
        "everything": told(everything),
        "at_rest": told(at_rest),
        "beside_lone_uploads": told(beside),
        "p99_ratio": ratios(everything, at_rest),
        "cpu_us_an_upload": round(uploads.cpu_seconds / number * 1e6),
        "written_bytes_a_lone_upload": round(uploads.written_bytes / number),
        "batches_and_questions": told(batches),
        "written_over_accepted": round(written.written_bytes / accepted, 2),
        "read_over_accepted": round(written.read_bytes / accepted, 2),
        "drain_seconds": round(drained, 1),
        "memory_mib": dict(sorted(memory.items())),
    }


def told(found: dict[str, Answers]) -> dict[str, Any]:
    """Figures of each kind of client."""
    return {kind: answers.figures() for kind, answers in found.items()}


def refusals(found: dict[str, Answers]) -> Counter[str]:
    """What was refused, by whose it was; a flood is there to be."""
    return Counter(
        {
            f"{kind}: {what}": number
            for kind, answers in found.items()
            if kind != FLOOD
            for what, number in answers.refused.items()
        }
    )


def ratios(busy: dict[str, Answers], rest: dict[str, Answers]) -> dict[str, float]:
    """How much longer the bystander's slowest hundredth took, by what it does."""
    now, before = told(busy), told(rest)
    return {
        kind: round(now[kind]["p99_ms"] / before[kind]["p99_ms"], 2)
        for kind in ("bystander", "bystander asks")
        if before[kind]["p99_ms"]
    }


def await_fold(target: str) -> float:
    """Waits until no commit's reports wait to be folded; returns for how many seconds."""
    start = time.monotonic()
    with contextlib.closing(Store(target, read_only=True)) as store:
        while store.inbox.size()[0] and time.monotonic() < start + MOST_SECONDS:
            time.sleep(LOOK_SECONDS / 4)
    return time.monotonic() - start


def await_rest(used: Callable[[], Used]) -> None:
    """Waits until days are closed, rolled up and estimated: nothing uses a processor any more."""
    end = time.monotonic() + REST_SECONDS
    quiet = 0
    while quiet < IDLE_LOOKS and time.monotonic() < end:
        before = used()
        time.sleep(LOOK_SECONDS)
        quiet = quiet + 1 if used().since(before).cpu_seconds < IDLE_CPU * LOOK_SECONDS else 0


@contextlib.contextmanager
def targets(folder: Path) -> Iterator[dict[str, tuple[str, int]]]:
    """Where to store, each with the first process of its database server, or 0."""
    found = {"SQLite": (str(folder / "store.db"), 0)}
    from tests.postgresql import Postgresql, binaries

    if binaries() is None:
        yield found
        return
    with patch("tests.in_memory.folder", return_value=None):  # bytes are counted on disks alone
        database = Postgresql()
    try:
        assert database._process is not None
        yield {**found, "PostgreSQL": (database.fresh_schema(), database._process.pid)}
    finally:
        database.remove()


ROWS: Final = (
    ("lone uploads a second, beside all else", "everything.lone.per_second"),
    ("batched, MB/s, beside all else", "everything.batched.mb_per_second"),
    ("processor an upload, server and database, µs", "cpu_us_an_upload"),
    ("bystander's upload alone: p50, ms", "at_rest.bystander.p50_ms"),
    ("p99, ms", "at_rest.bystander.p99_ms"),
    ("beside all else: p50, ms", "everything.bystander.p50_ms"),
    ("p99, ms", "everything.bystander.p99_ms"),
    ("bystander's question alone: p50, ms", "at_rest.bystander asks.p50_ms"),
    ("beside all else: p50, ms", "everything.bystander asks.p50_ms"),
    ("p99, ms", "everything.bystander asks.p99_ms"),
    ("bytes written a byte accepted, of batches beside questions", "written_over_accepted"),
    ("bytes read", "read_over_accepted"),
    ("bytes written a lone upload", "written_bytes_a_lone_upload"),
    ("drained after, s", "drain_seconds"),
    ("memory by process, MiB", "memory_mib"),
    ("refused, but of the flood", "refused"),
)


def markdown(found: dict[str, Any]) -> Iterator[str]:
    """The table of docs/appendix/figures.md, for this version."""
    yield f"| | {' | '.join(found)} |"
    yield "|---" * (1 + len(found)) + "|"
    for name, path in ROWS:
        cells = []
        for figures in found.values():
            value: Any = figures
            for step in path.split("."):
                value = value[step]
            if isinstance(value, dict):
                value = (
                    ", ".join(f"{kind.rpartition('.')[2]} {n}" for kind, n in value.items())
                    or "none"
                )
            cells.append(f"{value:,}" if isinstance(value, int | float) else value)
        yield f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Prints the table and writes all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each of the four times")
    parser.add_argument("--only", choices=("SQLite", "PostgreSQL"))
    given = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, targets(Path(folder)) as places:
        for kind, (target, database) in places.items():
            if given.only in (None, kind):
                found[kind] = measure(target, build(target), given.seconds, database)
    OUTPUT.parent.mkdir(exist_ok=True)
    load = round(os.getloadavg()[0], 1)
    OUTPUT.write_text(json.dumps({"seconds": given.seconds, "load": load, **found}, indent=4))
    print("\n".join(markdown(found)))
    print(f"\nEverything else is in {OUTPUT.relative_to(ROOT)}.")
    if refused := {
        kind: figures["refused"] for kind, figures in found.items() if figures["refused"]
    }:
        sys.exit(f"Requests were refused, so these figures are of less than the load: {refused}")


if __name__ == "__main__":
    main()
