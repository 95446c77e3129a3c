"""From recorded values to uploads: every report is made by the client's own randomizers."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_shared import wire
from field.registries import registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deniable_shared.spec import Spec
    from field.deployment import Deployment
    from field.recorded import Batch, Value

BUFFER_BYTES: Final = 1 << 16
UPLOAD_BYTES: Final = 4 << 20
"""An upload is not made larger, unless by a single part."""

NO_SECRET: Final = bytes(32)


class Upload(NamedTuple):
    """One upload of a relay.

    Attributes:
        key: the name of the write key that it is sent with.
        body: its bytes.
    """

    key: str
    body: bytes


def uploads(
    deployment: Deployment, days: Iterable[Sequence[Batch]], processes: int
) -> Iterator[list[Upload]]:
    """The uploads of each day: those of a key have parts of all metrics and versions.

    The noise comes from the deployment's seed, so that the trial is the same every time.

    Args:
        deployment: the calendar.
        days: what is recorded on each day.
        processes: how many work on it.
    """
    context = get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        yield from pool.map(randomized, *zip(*((deployment, each) for each in days), strict=True))


def randomized(deployment: Deployment, batches: Sequence[Batch]) -> list[Upload]:
    """The uploads of one day."""
    by_key: dict[str, list[list[wire.Part]]] = {}
    for batch in batches:
        purpose = "noise", batch.metric, batch.day, batch.key, batch.version
        randomness = Randomness(deployment.generator(*purpose).bytes, BUFFER_BYTES)
        spec = registry(batch.version, deployment.application).metrics[batch.metric].spec
        part = wire.Part(spec.digest, deployment.epoch(batch.day), payload(spec, batch, randomness))
        bodies = by_key.setdefault(batch.key, [[]])
        if sum(len(other.payload) for other in bodies[-1]) + len(part.payload) > UPLOAD_BYTES:
            bodies.append([])
        bodies[-1].append(part)
    return [upload(key, parts) for key, bodies in by_key.items() for parts in bodies if parts]


def payload(spec: Spec, batch: Batch, randomness: Randomness) -> bytes:
    """The reports of a batch, one after the other."""
    report = randomizer_for(spec, randomness).report
    secrets = iter(batch.secrets)
    made: list[bytes] = []
    for value, count in zip(batch.values, batch.counts, strict=True):
        item = encode(spec, value)
        made += [report(item, next(secrets, NO_SECRET)) for _ in range(count)]
    made += [report(spec.encode(each), next(secrets, NO_SECRET)) for each in batch.numbers.tolist()]
    return b"".join(made)


def encode(spec: Spec, value: Value) -> int | bytes | tuple[int, ...]:
    """A recorded value in the form that the mechanism takes."""
    if isinstance(value, tuple):
        if spec.type == "attributes":
            return spec.encode(dict(value))  # type: ignore[arg-type]  # records are pairs
        return spec.encode(*value)
    return spec.encode(value)


def upload(key: str, parts: Iterable[wire.Part]) -> Upload:
    """An upload of some parts."""
    return Upload(key, wire.encode(wire.Upload(os.urandom(wire.ID_BYTES), tuple(parts))))
