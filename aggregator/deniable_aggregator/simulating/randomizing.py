"""From held values to uploads, day by day: every report by the client's own randomizers.

They draw from a seed here, and only here: what a device draws from is its operating system, and
no option, variable or field of a registry can change that.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.simulating.draws import SECRET_BYTES, Batch, Recorded
from deniable_aggregator.simulating.relayed import by_arrival
from deniable_shared import wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from deniable_aggregator.asking.questions import Source
    from deniable_aggregator.simulating.draws import Population
    from deniable_aggregator.simulating.population import Deployment, Forgery, Value
    from deniable_shared.spec import Spec

BUFFER_BYTES: Final = 1 << 16
UPLOAD_BYTES: Final = 4 << 20
"""The most bytes of reports in one upload."""

UPLOADS: Final = 40
"""Into about so many the reports of a day are divided: a device sends one by itself, and an upload
that has a good part of a day's reports is one to look at."""

FEW_REPORTS: Final = 200
"""So many reports of a version and day are in one upload all the same."""

NO_SECRET: Final = bytes(SECRET_BYTES)
AHEAD: Final = 4
"""So many days are made for each process before the first of them is wanted."""


class Upload(NamedTuple):
    """One upload.

    Attributes:
        key: the name of the write key that it is sent with.
        body: its bytes.
        late: how many days after its reports' day it is sent.
        relayed: whether it goes through a relay, which takes a device's uploads of one report.
    """

    key: str
    body: bytes
    late: int = 0
    relayed: bool = False


def uploads(
    deployment: Deployment, days: Iterable[Sequence[Batch]], processes: int
) -> Iterator[list[Upload]]:
    """The uploads of each day's reports: those of a key have parts of all metrics and versions.

    The noise comes from the deployment's seed, so they are the same every time.

    Args:
        deployment: the calendar.
        days: what is recorded on each day.
        processes: how many work on it; with 1 it is done here.
    """
    if processes == 1:
        yield from (randomized(deployment, batches) for batches in days)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        # A terminal sends Ctrl-C to all processes. Workers inherit that it is blocked, from their
        # first moment on, and the parent ends them.
        unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            futures = _submitted(pool, deployment, days, AHEAD * processes)
            first = next(futures, None)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        try:
            if first is not None:
                yield first.result()
            for future in futures:
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _submitted(
    pool: ProcessPoolExecutor, deployment: Deployment, days: Iterable[Sequence[Batch]], ahead: int
) -> Iterator[Future[list[Upload]]]:
    """The days in their order, while some more are worked on."""
    waiting: list[Future[list[Upload]]] = []
    for batches in days:
        waiting.append(pool.submit(randomized, deployment, batches))
        if len(waiting) >= ahead:
            yield waiting.pop(0)
    yield from waiting


def randomized(deployment: Deployment, batches: Sequence[Batch]) -> list[Upload]:
    """The uploads of one day's reports."""
    parts: dict[tuple[str, int], list[wire.Part]] = {}
    relayed: list[Upload] = []
    late = deployment.late
    for batch in batches:
        purpose = "noise", batch.metric, batch.day, batch.key, batch.version, *(batch.way or ())
        source = deployment.generator(*purpose).bytes
        spec = deployment.registry(batch.version).metrics[batch.metric].spec
        made = reports(spec, batch, Randomness(source, BUFFER_BYTES))
        if batch.way is not None:
            relayed += _relayed(batch.key, spec, deployment.epoch(batch.day), made)
            continue
        by_delay = {0: made}
        if late is not None and late.is_due(batch.key, batch.day, deployment.days):
            one_in = round(1 / late.part)
            by_delay = {late.days: made[::one_in]}
            del made[::one_in]
            by_delay[0] = made
        epoch = deployment.epoch(batch.day)
        for delay, some in by_delay.items():
            parts.setdefault((batch.key, delay), []).extend(_parts(spec, epoch, some))
    return relayed + [
        upload(key, body, delay)
        for (key, delay), listed in parts.items()
        for body in _bodies(listed)
    ]


def _relayed(key: str, spec: Spec, epoch: int, made: Iterable[bytes]) -> Iterator[Upload]:
    """An upload of each report, as a device gives it to a relay."""
    for report in made:
        yield upload(key, [wire.Part(spec.digest, epoch, report)])._replace(relayed=True)


def reports(spec: Spec, batch: Batch, randomness: Randomness) -> list[bytes]:
    """The reports of a batch, in the order of its values.

    Args:
        spec: of the metric, in the batch's version.
        batch: what was recorded. Where it has no secrets, each device gets one that is drawn.
        randomness: what all of them draw from.
    """
    report = randomizer_for(spec, randomness).report
    secrets: Iterator[bytes] = iter(batch.secrets) if batch.secrets else repeat(NO_SECRET)
    if not batch.secrets and spec.mechanism.epsilon_permanent is not None:
        secrets = (randomness.take(SECRET_BYTES) for _ in range(batch.reports))
    made: list[bytes] = []
    for value, count in zip(batch.values, batch.counts, strict=True):
        item = encode(spec, value)
        made += [report(item, next(secrets)) for _ in range(count)]
    return made + [report(spec.encode(held), next(secrets)) for held in batch.numbers.tolist()]


def forged(
    deployment: Deployment, forgery: Forgery, day: int, honest: int
) -> tuple[Batch, list[Upload]] | None:
    """What a forger sends on a day, and how much it is; None if nothing.

    Args:
        deployment: the calendar.
        forgery: one of its forgeries.
        day: on which it is sent.
        honest: how many reports the metric has on that day.
    """
    count = round(forgery.part * honest)
    if day not in forgery.days or not count:
        return None
    version = max(v for v in deployment.versions if deployment.releases[v - 1] <= day)
    spec = deployment.registry(version).metrics[forgery.metric].spec
    made = _forgeries(deployment, forgery, spec, day, count)
    batch = Batch(forgery.metric, day, forgery.key, version, ("forged",), (len(made),))
    together = forgery.kind == "upload"
    parts = list(_parts(spec, deployment.epoch(day), made, together=together))
    bodies: Iterable[Sequence[wire.Part]] = [parts] if together else _bodies(parts)
    return batch, [upload(forgery.key, body) for body in bodies]


def _forgeries(
    deployment: Deployment, forgery: Forgery, spec: Spec, day: int, count: int
) -> list[bytes]:
    if forgery.kind == "naive":
        randomness = Randomness(deployment.generator("forger").bytes)
        report = randomizer_for(spec, randomness).report
        return [report(encode(spec, forgery.value), NO_SECRET)] * count
    randomness = Randomness(deployment.generator("forger", day).bytes, BUFFER_BYTES)
    report, item = randomizer_for(spec, randomness).report, encode(spec, forgery.value)
    return [report(item, randomness.take(SECRET_BYTES)) for _ in range(count)]


def encode(spec: Spec, value: Value | float) -> Any:
    """A held value in the form that the mechanism takes."""
    if isinstance(value, tuple):
        if spec.type == "attributes":
            return spec.encode(dict(value))  # type: ignore[arg-type]  # records are pairs
        if spec.type == "set":
            return spec.encode(value)
        return spec.encode(*value)
    return spec.encode(value)


def upload(key: str, parts: Iterable[wire.Part], late: int = 0) -> Upload:
    """An upload of some parts."""
    return Upload(key, wire.encode(wire.Upload(os.urandom(wire.ID_BYTES), tuple(parts))), late)


def _parts(
    spec: Spec, epoch: int, made: Sequence[bytes], *, together: bool = False
) -> Iterator[wire.Part]:
    """Reports of a day as parts, each for an upload of its own; together as few as possible."""
    most = max(UPLOAD_BYTES // spec.mechanism.report_bytes, 1)
    if not together:
        most = min(most, max(FEW_REPORTS, -(-len(made) // UPLOADS)))
    for start in range(0, len(made), most):
        yield wire.Part(spec.digest, epoch, b"".join(made[start : start + most]))


def _bodies(parts: Iterable[wire.Part]) -> list[list[wire.Part]]:
    """Parts in groups that fit into an upload each, with one of a version and day in each."""
    bodies: list[list[wire.Part]] = []
    sizes: list[int] = []
    places: Counter[tuple[bytes, int]] = Counter()
    for part in parts:
        place = places[part.digest, part.epoch]
        while place < len(bodies) and (
            sizes[place] + len(part.payload) > UPLOAD_BYTES or len(bodies[place]) == wire.MAX_PARTS
        ):
            place += 1
        if place == len(bodies):
            bodies.append([])
            sizes.append(0)
        bodies[place].append(part)
        sizes[place] += len(part.payload)
        places[part.digest, part.epoch] = place + 1
    return bodies


class Destination(Protocol):
    """Where uploads go: a store, or a server."""

    def set_day(self, day: int) -> None:
        """Makes it noon of a day; days come in their order."""

    def register(self, version: int) -> None:
        """Registers what a version of the application ships."""

    def send(self, upload: Upload) -> None:
        """Brings an upload, which is accepted when this returns."""


class Answering(Destination, Protocol):
    """A destination that answers questions when the last day is over."""

    def source(self) -> Source:
        """Answers questions about all that was sent."""


def let_pass(
    deployment: Deployment,
    population: Population,
    destination: Destination,
    *,
    processes: int = 1,
    others: Callable[[int], Iterable[Batch]] = lambda _: (),
    progress: Callable[[int], None] = lambda _: None,
) -> Recorded:
    """Lets all days pass, and those in which a relay has reports of them; returns what arrived.

    Args:
        deployment: the calendar.
        population: what devices hold.
        destination: afterwards its clock stands at noon of the last day.
        processes: how many make reports.
        others: sends what other devices record on a day, and returns it.
        progress: called with each day that has passed.
    """
    recorded = Recorded()
    days = by_arrival(deployment, map(population.day, range(deployment.days)))
    later: list[tuple[int, Upload]] = []
    for day, made in enumerate(uploads(deployment, days, processes)):
        destination.set_day(day)
        for version in deployment.versions:
            if deployment.releases[version - 1] == day:
                destination.register(version)
        later += [(day + upload.late, upload) for upload in made]
        for due, upload in later:
            if due == day:
                destination.send(upload)
        later = [(due, upload) for due, upload in later if due > day]
        for forgery in deployment.forgeries:
            honest = sum(batch.reports for batch in days[day] if batch.metric == forgery.metric)
            sent = forged(deployment, forgery, day, honest)
            if sent is not None:
                batch, bodies = sent
                for body in bodies:
                    destination.send(body)
                recorded.add_forged(batch)
        recorded.add(days[day])
        if day < deployment.days:
            recorded.add(others(day))
            progress(day)
    return recorded
