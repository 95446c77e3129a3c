"""The deployment passes: day by day devices report, versions are released, somebody forges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from deniable_aggregator.simulating.draws import Recorded
from deniable_aggregator.simulating.relay import forged, uploads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deniable_aggregator.asking.questions import Source
    from deniable_aggregator.simulating.draws import Batch, Population
    from deniable_aggregator.simulating.population import Deployment
    from deniable_aggregator.simulating.relay import Upload


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
    """Lets all days pass; returns what was recorded, and arrived.

    Args:
        deployment: the calendar.
        population: what devices hold.
        destination: afterwards its clock stands at noon of the last day.
        processes: how many make reports.
        others: sends what other devices record on a day, and returns it.
        progress: called with each day that has passed.
    """
    recorded = Recorded()
    days = [population.day(day) for day in range(deployment.days)]
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
        forgery = deployment.forgery
        if forgery is not None:
            honest = sum(batch.reports for batch in days[day] if batch.metric == forgery.metric)
            sent = forged(deployment, day, honest)
            if sent is not None:
                batch, bodies = sent
                for body in bodies:
                    destination.send(body)
                recorded.add_forged(batch)
        recorded.add(days[day])
        recorded.add(others(day))
        progress(day)
    return recorded
