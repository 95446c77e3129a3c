"""A store that takes uploads on a clock that the benchmark moves, and what the disk sees of it.

Uploads, folds and maintenance are those of a server, and so are the decisions when to fold. Only
HTTP, threads and the real clock are left out.
"""

from __future__ import annotations

import secrets
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from deniable_aggregator import Settings, Store
from deniable_aggregator.answering.maintenance import LOOK_SECONDS, Maintenance
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.clock import GuardedClock
from deniable_aggregator.keeping.fold import InboxFold
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.keeping.store import Sender
from deniable_shared import registry, wire
from deniable_shared.periods import SECONDS_PER_EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from deniable_shared.spec import Spec

APPLICATION: Final = "benchmark"
FIRST_DAY: Final = 20_000
HEAD: Final = f"""registry = 1
application = "{APPLICATION}"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 400.0
"""
SETTINGS: Final = Settings()
_UNPADDED_BYTES: Final = 33
"""A message without its parts, and without padding, which an attacker leaves out."""


class Cost(NamedTuple):
    """What a store has cost since it was empty.

    Attributes:
        accepted: bytes of uploads, without padding.
        stored: bytes that the store's file has grown by, its log copied into it.
        written: bytes that this process has written.
        folding: those of folding and settling among them, twice: what is written into the log is
            written into the file, too, at most once.
    """

    accepted: int
    stored: int
    written: int
    folding: int


class FilledStore:
    """A store in a temporary directory.

    Args:
        metrics: tables of a registry file.
        keys: how many write keys there are.

    Attributes:
        specs: the registered metrics by name.
        store: the store.
    """

    def __init__(self, metrics: str, *, keys: int = 1) -> None:
        self._directory = tempfile.TemporaryDirectory()
        self.path = Path(self._directory.name) / "store.db"
        self._now = 0.0
        self.store = Store(self.path)
        parsed = registry.parse(HEAD + metrics).metrics
        self.specs: dict[str, Spec] = {name: metric.spec for name, metric in parsed.items()}
        self.store.metrics.register(parsed.values(), FIRST_DAY)
        self._senders = [Sender(APPLICATION, self._key()) for _ in range(keys)]
        catalogue = MetricCatalog(self.store)
        self._fold = InboxFold(
            self.store,
            catalogue,
            batch_reports=SETTINGS.batch_reports,
            day=lambda: self.today,
            patience_seconds=SETTINGS.fold_seconds,
            monotonic=lambda: self._now,
        )
        clock = GuardedClock(self.store, self._clock, monotonic=lambda: self._now)
        self._maintenance = Maintenance(
            self.store, accept_days=SETTINGS.accept_days, clock=clock, catalogue=catalogue
        )
        settler = self._maintenance._settler
        settler.settle = partial(  # type: ignore[method-assign]
            self._count_writing, settler.settle
        )
        self._maintenance.run()
        self._accepted = self._folding = 0
        self._before = (self._size(), written_bytes())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.store.close()
        self._directory.cleanup()

    @property
    def today(self) -> int:
        """The day, in days since 1970-01-01."""
        return FIRST_DAY + int(self._now // SECONDS_PER_EPOCH)

    def send(self, *uploads: Sequence[wire.Part], key: int = 0) -> None:
        """Commits uploads together, each given as its parts."""
        made = [wire.Upload(secrets.token_bytes(wire.ID_BYTES), tuple(parts)) for parts in uploads]
        for upload in made:
            self._accepted += _UNPADDED_BYTES + sum(
                len(part.digest) + len(part.payload) + 11 for part in upload.parts
            )
        self.store.inbox.append(made, [self._senders[key]] * len(made))

    def wait(self, seconds: float) -> None:
        """Lets time pass: the background thread looks every few seconds for something to do."""
        end = self._now + seconds
        while self._now < end:
            self._now = min(end, self._now + LOOK_SECONDS)
            self._work()

    def wait_days(self, days: int) -> None:
        """Lets days pass, on each of which the background thread looks once."""
        for _ in range(days):
            self._now += SECONDS_PER_EPOCH
            self._work()

    def cost(self) -> Cost:
        """What the store has cost since it was empty."""
        size = self._size()
        return Cost(
            self._accepted,
            size - self._before[0],
            written_bytes() - self._before[1],
            2 * self._folding,
        )

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query of the file says."""
        with self.store._database.read() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(query)]

    def _work(self) -> None:
        if self._fold.is_worth_it():
            self._count_writing(self._fold.fold, seconds=600)
        self._maintenance.run()

    def _count_writing(self, work: Callable[..., Any], *args: Any, **options: Any) -> Any:
        before = written_bytes()
        done = work(*args, **options)
        self._folding += written_bytes() - before
        return done

    def _size(self) -> int:
        self.store._database.purge()  # copies the log into the file
        return self.path.stat().st_size

    def _key(self) -> str:
        token = create_key(
            self.store, scope="write", application=APPLICATION, label="", today=FIRST_DAY
        )
        return token.split("_")[2]

    def _clock(self) -> float:
        return FIRST_DAY * SECONDS_PER_EPOCH + self._now


def written_bytes() -> int:
    """How many bytes this process has written to disk, by Linux's count."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return int(dict(line.split(": ") for line in lines)["write_bytes"])
