"""What a server must bear: odd signs, acts that meet, questions from whoever has some key."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta

import pytest

from deniable_aggregator import Store
from deniable_aggregator.answering.estimation.inputs import read_reports
from deniable_aggregator.answering.integrity import examiner as examiner_module
from deniable_aggregator.answering.integrity.examiner import Examiner
from deniable_aggregator.answering.slice_cache import SliceTables
from deniable_aggregator.answers.dates import FIRST_DAY, LAST_DAY, DayRange
from deniable_aggregator.keeping.audit import COMMAND_LINE, AuditAction, AuditRecord
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.key_verifier import KeyVerifier
from deniable_aggregator.keeping.keys import READ_BURST, READS_PER_SECOND, create_key
from deniable_aggregator.keeping.store import StoreUnavailableError
from deniable_aggregator.keeping.store.sqlite import READERS
from deniable_shared import registry
from tests.aggregator.service import REGISTRY, TODAY, bearer, problem, upload
from tests.aggregator.stored import (
    TALLY,
    THEME,
    append,
    decoded,
    execute,
    fold,
    key_administrator,
    register,
)

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
        record = AuditRecord(
            TODAY, COMMAND_LINE, AuditAction.REMOTE_PUBLISH, {"application": application}
        )
        store.remote.replace(application, "{}", lambda _: None, record)

    for number in range(ROUNDS):
        at_once(servers, lambda store, name=f"app{number}": publish(store, name))
        assert servers[0].remote.find(f"app{number}") == "{}"
    assert len(list(servers[0].audit.entries())) == ROUNDS


def test_a_description_may_hold_any_sign_that_can_be_seen_and_no_other(service):
    answer = service.register(REGISTRY.replace("Which colour", "Which\\u00e9\\U0001f512 "))
    assert answer.status_code == 200, answer.get_json()
    theme = service.ask("/v1/metrics").get_json()["metrics"][-1]
    assert theme["description"] == "Whiché\N{LOCK}  theme is active"
    for hidden in (r"\u0000", r"\u001b", r"\u202e"):
        answer = service.register(REGISTRY.replace("Which colour", f"Which{hidden}"))
        found = problem(answer, 422, "registry_refused")["problems"]
        assert [each.startswith("metrics.toml: metrics.theme.description") for each in found]


def test_what_cannot_be_the_id_of_a_key_is_no_such_key(service):
    for key_id in ("%00", "a%00", "%EF%BF%BF", "'--", "%25", "x" * 5_000):
        answer = service.http.post(f"/v1/keys/{key_id}/revoke", headers=bearer(service.admin))
        assert answer.get_json()["code"] == "no_such_key", key_id


def made_up(number):
    return f"deniable_write_{number:012x}_{'A' * 43}"


@pytest.mark.one_store
def test_a_flood_of_made_up_tokens_is_refused_without_asking_the_store(target):
    store = Store(target)
    verifier = KeyVerifier(store, monotonic=lambda: 0.0)
    token = create_key(store, scope="write", application="flightdeck", label="", today=TODAY)
    assert all(verifier.verify(made_up(number)) is None for number in range(READ_BURST))
    store.close()
    assert all(verifier.verify(made_up(number)) is None for number in range(100))
    assert verifier.is_surely_unknown(made_up(0))
    assert not verifier.is_surely_unknown(token)
    with pytest.raises(StoreUnavailableError):
        verifier.verify(token)


@pytest.mark.one_store
def test_a_flood_of_a_known_keys_id_or_of_ended_tokens_is_refused_without_asking_the_store(target):
    store = Store(target)
    verifier = KeyVerifier(store, monotonic=lambda: 0.0)
    token = create_key(store, scope="write", application="flightdeck", label="", today=TODAY)
    key_id = token.split("_")[2]
    key_administrator(store).revoke(key_id)
    assert verifier.verify(token) is None
    store.close()
    assert verifier.verify(token) is None
    assert verifier.verify(made_up(int(key_id, 16))) is None


@pytest.mark.one_store
def test_a_new_key_is_known_soon_also_during_a_flood(target):
    store = Store(target)
    now = [0.0]
    verifier = KeyVerifier(store, monotonic=lambda: now[0])
    for number in range(READ_BURST // 2):
        token = create_key(store, scope="write", application="flightdeck", label="", today=TODAY)
        assert verifier.verify(token) is not None
        assert verifier.verify(made_up(number)) is None
    token = create_key(store, scope="write", application="flightdeck", label="", today=TODAY)
    now[0] += 1 / READS_PER_SECOND
    assert not verifier.is_surely_unknown(token)
    assert verifier.verify(token) is not None
    store.close()


@pytest.mark.one_store
def test_keys_and_metrics_are_found_while_analysts_read_as_much_as_they_may(target):
    """Ingest asks for them, and must not wait for answers that read gigabytes."""
    store = Store(target)
    register(store)
    token = create_key(store, scope="write", application="flightdeck", label="", today=TODAY)
    with contextlib.ExitStack() as reading:
        for _ in range(READERS):
            reading.enter_context(store._database.read())
        assert KeyVerifier(store).verify(token) is not None
        assert len(MetricCatalog(store).for_application("flightdeck")) == 3
        store.check_schema()
    store.close()


@pytest.mark.one_store
def test_what_a_server_knows_of_metrics_is_not_read_again(target):
    """Thousands of metrics of one application would make every question of others wait."""
    store = Store(target)
    register(store)
    catalogue = MetricCatalog(store)
    execute(store, "UPDATE metrics SET spec = '{}'")
    assert len(catalogue.for_application("flightdeck")) == 3
    # A metric that another process changes is read again, without decoding what is known.
    changed = registry.parse(REGISTRY.replace("ui@example.org", "new@example.org"))
    store.metrics.register(changed.metrics.values(), TODAY)
    owners = [each.registration.owners for each in catalogue.for_application("flightdeck")]
    assert ("new@example.org",) in owners
    assert MetricCatalog(store).for_application("flightdeck") == ()
    store.close()


@pytest.mark.one_store
def test_readiness_tells_nobody_where_the_store_is(service):
    execute(service.store, "UPDATE alembic_version SET version_num = '9999'")
    said = service.http.get("/readyz").get_data(as_text=True)
    assert "9999" in said
    assert not any(part in said for part in (service.store.name, "127.0.0.1", "@", ".db"))


@pytest.mark.one_store
def test_what_there_is_no_memory_for_at_once_is_counted_one_by_one(service, monkeypatch):
    """And what there is none for alone stops nothing else."""
    tally = service.running.inbox_fold._catalogue.find(THEME).tally
    check = tally.check

    def of_little_memory(payload):
        if len(payload) > 1:
            raise MemoryError
        check(payload)

    for payload in (b"\x01", b"\x02", b"\x01\x01", b"\x01"):
        service.send(upload(payload))
    service.send(upload(b"\x01", metric="late"))
    monkeypatch.setattr(tally, "check", of_little_memory)
    service.running.inbox_fold.fold(seconds=60)
    assert service.counts() == [0, 2, 1]
    assert service.counts("late") == [0, 1]
    assert service.status()["inbox"]["rows_set_aside"] == 1


@pytest.mark.one_store
def test_checks_that_are_remembered_take_bounded_memory(target, monkeypatch):
    """Every report of today makes worthless what was found of today before."""
    store = Store(target)
    register(store)
    entry = MetricCatalog(store).find(THEME)
    examiner = Examiner()
    days = range(TODAY, TODAY + 4)

    def examined():
        append(store, [decoded(epoch=day) for day in days])
        fold(store)
        reported = read_reports(store, SliceTables(store), [entry], DayRange(FIRST_DAY, LAST_DAY))
        return len(examiner.examine(reported, most_cells=1_000).days)

    assert [examined() for _ in range(3)] == [4, 4, 4]
    assert len(examiner._known) == 4
    monkeypatch.setattr(examiner_module, "REMEMBERED_SLICES", 6)
    assert examined() == 4
    assert sum(day.slices for _, day in examiner._known.values()) <= 6
    store.close()


def test_every_answer_says_how_many_reports_an_exclusion_leaves_out(service):
    days = [date(2024, 10, 4) + timedelta(each) for each in (-7, 0)]
    poisoned = service.key("batch")
    for offset in (-7, 0):
        service.send(upload(b"\x01" * 5, epoch=TODAY + offset))
        service.send(upload(b"\x02" * 3, epoch=TODAY + offset), key=poisoned)
    service.counts()
    key_administrator(service.store).exclude(poisoned.split("_")[2])
    listed = {each["name"]: each for each in service.ask("/v1/metrics").get_json()["metrics"]}
    assert (listed["theme"]["reports"], listed["theme"]["excluded_reports"]) == (10, 6)
    assert listed["late"]["excluded_reports"] == 0
    for question in ("estimate", "health", "series", f"change?before={days[0]}&after={days[1]}"):
        answer = service.ask(f"/v1/metrics/theme/{question}").get_json()
        assert answer["head"]["excluded_reports"] == 6, answer


def test_slices_that_nobody_reads_to_their_end_hold_nothing(target):
    store = Store(target)
    register(store)
    for day in range(5):
        append(store, [decoded(epoch=TODAY - day)])
    fold(store)
    slices = store.tallies.slices(TALLY, 0, TODAY)
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
