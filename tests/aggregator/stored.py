"""What tests do with a store beneath the server: append, look into tables, fold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.keeping.audit import COMMAND_LINE, AuditAction, AuditRecord
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.fold import InboxFold
from deniable_aggregator.keeping.key_administration import KeyAdministrator
from deniable_aggregator.keeping.store import Sender, StoredKey
from deniable_shared import registry, wire
from tests.aggregator.service import REGISTRY, SPECS, TODAY, upload

if TYPE_CHECKING:
    from deniable_aggregator import Store
    from deniable_aggregator.keeping.store import Outcome, WaitingRow

THEME = SPECS["theme"].digest
TALLY = tally_for(SPECS["theme"])
KEY = "cafe"


def decoded(payload: bytes = b"\x00", **options: Any) -> wire.Upload:
    """An upload as the server hands it to the store."""
    return wire.decode(upload(payload, **options))


def append(
    store: Store, uploads: list[wire.Upload], key: str = KEY, application: str = "flightdeck"
) -> list[Outcome]:
    """Stores uploads that came with one key, which is added if the store has not got it."""
    if store.keys.find(key) is None:
        add_key(store, key)
    return store.inbox.append(uploads, [Sender(application, key)] * len(uploads))


def waiting(store: Store) -> list[WaitingRow]:
    """Rows of the inbox."""
    with store.inbox.claim(max_bytes=1_000_000, max_rows=1_000) as batch:
        return batch.rows


def register(store: Store) -> None:
    """Registers the metrics of `REGISTRY`, and adds `KEY`."""
    store.metrics.register(registry.parse(REGISTRY).metrics.values(), TODAY)
    if store.keys.find(KEY) is None:
        add_key(store, KEY)


def add_key(store: Store, key_id: str, application: str = "flightdeck") -> None:
    """Adds a write key under an id of the test's choice."""
    key = StoredKey(key_id, bytes(32), "write", application, "", TODAY, None)
    store.keys.add(key, AuditRecord(TODAY, COMMAND_LINE, AuditAction.KEY_CREATE, {"key": key_id}))


def key_administrator(store: Store, day: int = TODAY) -> KeyAdministrator:
    """Administers keys as somebody at the command line does."""
    return KeyAdministrator(store, actor=COMMAND_LINE, today=day)


def fold(store: Store) -> None:
    """Counts what waits."""
    InboxFold(store, MetricCatalog(store)).fold(seconds=60)


def settle(store: Store, epoch: int) -> bool:
    """Gives the tallies of a day their final form."""
    return store.tallies.settler(MetricCatalog(store).tally).settle(epoch)


def counted(store: Store, epoch: int = TODAY) -> list[int]:
    """What was counted of the metric theme on a day."""
    return store.tallies.total(TALLY, epoch, epoch).cells.tolist()


def rows(store: Store, query: str) -> list[tuple[Any, ...]]:
    """What a store's tables hold, asked past it."""
    with store._database.read() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(query)]


def execute(store: Store, statement: str) -> None:
    """Changes a store's tables past it."""
    with store._database.write() as connection:
        connection.exec_driver_sql(statement)
