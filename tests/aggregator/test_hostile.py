"""What a server must bear: odd signs, acts that meet, questions from whoever has some key."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from deniable_aggregator import Store
from deniable_aggregator.audit import COMMAND_LINE, Act, Record
from deniable_aggregator.store import StoreUnavailableError
from deniable_shared import registry
from tests.aggregator.service import REGISTRY, TODAY, bearer
from tests.aggregator.stored import THEME, append, decoded, fold, register

SERVERS = 4
ROUNDS = 5


@pytest.fixture
def servers(target):
    """Several servers' connections to one store."""
    stores = [Store(target) for _ in range(SERVERS)]
    yield stores
    for store in stores:
        store.close()


def at_once(stores, act):
    """What an act comes to that all servers do in the same moment."""
    barrier = threading.Barrier(SERVERS)

    def together(store):
        barrier.wait()
        return act(store)

    with ThreadPoolExecutor(SERVERS) as pool:
        return list(pool.map(together, stores))


def test_several_servers_may_register_the_same_new_metrics_at_once(servers):
    for number in range(ROUNDS):
        text = REGISTRY.replace("values = [", f'values = ["new{number}", ')
        metrics = list(registry.parse(text).metrics.values())
        new = at_once(servers, lambda store, them=metrics: store.metrics.register(them, TODAY))
        # The other two metrics of the file do not change with the rounds.
        assert sum(map(len, new)) == (3 if number == 0 else 1)


def test_several_servers_may_publish_the_first_remote_configuration_at_once(servers):
    def publish(store, application):
        record = Record(TODAY, COMMAND_LINE, Act.REMOTE_PUBLISH, {"application": application})
        store.remote.replace(application, "{}", lambda _: None, record)

    for number in range(ROUNDS):
        at_once(servers, lambda store, name=f"app{number}": publish(store, name))
        assert servers[0].remote.find(f"app{number}") == "{}"
    assert len(list(servers[0].audit.entries())) == ROUNDS


def test_a_description_may_hold_any_sign_that_toml_can_write(service):
    answer = service.register(REGISTRY.replace("Which colour", "Which\\u0000\\u00e9\\U0001f512 "))
    assert answer.status_code == 200, answer.get_json()
    theme = service.ask("/v1/metrics").get_json()["metrics"][-1]
    assert theme["description"] == "Which\N{REPLACEMENT CHARACTER}é\N{LOCK}  theme is active"


@pytest.mark.parametrize("key_id", ["%00", "a%00", "%EF%BF%BF", "'--", "%25", "x" * 5_000])
def test_what_cannot_be_the_id_of_a_key_is_no_such_key(service, key_id):
    answer = service.http.post(f"/v1/keys/{key_id}/revoke", headers=bearer(service.admin))
    assert answer.get_json()["code"] == "no_such_key"


def test_slices_that_nobody_reads_to_their_end_hold_nothing(target):
    store = Store(target)
    register(store)
    for day in range(5):
        append(store, [decoded(epoch=TODAY - day)])
    fold(store)
    slices = store.tallies.slices(THEME, 3, 0, TODAY)
    next(slices)
    slices.close()
    store.inbox.close_epochs(TODAY + 1)
    store.close()


def test_days_are_not_said_to_be_closed_where_their_keys_cannot_be_deleted(postgresql):
    """PostgreSQL only warns a role that may not write a table anew."""
    url = postgresql.fresh_database()
    owner = Store(url)
    register(owner)
    append(owner, [decoded()])
    with postgresql.connect(url) as connection:
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
        connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO guest")
    host = url.partition("@")[2]
    guest = Store(f"postgresql://guest:guest@{host}")
    with pytest.raises(StoreUnavailableError, match="let this role own"):
        guest.inbox.close_epochs(TODAY + 1)
    guest.close()
    owner.inbox.close_epochs(TODAY + 1)
    owner.close()
