"""The SQL of the documents and the dashboards of Grafana, asked of real stores."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import secrets
import sqlite3
from datetime import date, timedelta
from pathlib import Path

import psycopg
import pytest

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator import Store
from deniable_aggregator.keeping.store.schema import estimates, metadata
from deniable_shared import registry, wire
from tests.aggregator.api.estimate_table.filled import ACCEPT_DAYS, day, write
from tests.aggregator.service import REGISTRY, TODAY
from tests.aggregator.stored import KEY, add_key, append, fold

DOCS = Path(__file__).parents[2] / "docs"
SQL = (DOCS / "analysis" / "getting-numbers-out.md").read_text(encoding="utf-8")
COLUMNS = (DOCS / "reference" / "columns.md").read_text(encoding="utf-8")
QUERIES = [text for text in re.findall(r"(?ms)^```sql\n(.*?)^```$", SQL) if "ATTACH" not in text]
ATTACH = next(text for text in re.findall(r"(?ms)^```sql\n(.*?)^```$", SQL) if "ATTACH" in text)
FIRST, LAST = TODAY - 43, TODAY - ACCEPT_DAYS - 1
FROM, TO = day(FIRST - 1), day(TODAY)
SECRET = bytes(32)
NUMBERS = """
[metrics.startup_seconds]
type = "distribution"
range = [0.0, 8.0]
bins = 4
epsilon = 1.0
"""


def fill(target):
    """Two metrics; of theme, most devices become dark, and one day's reports are forged."""
    metrics = registry.parse(REGISTRY + NUMBERS).metrics
    with contextlib.closing(Store(target)) as store:
        store.metrics.register([each for name, each in metrics.items() if name != "emoji"], TODAY)
        add_key(store, KEY)
        for epoch in range(FIRST, LAST + 1):
            themes = ("light", "dark", "system") if epoch < LAST - 10 else ("dark",)
            append(store, [reports(metrics["theme"].spec, epoch, themes)])
            append(store, [reports(metrics["startup_seconds"].spec, epoch, (0.5, 1.5, 3.0))])
        fold(store)
        store.inbox.close_epochs(TODAY - ACCEPT_DAYS)
        write(store)
        with store._database.write() as connection:
            forged = f"UPDATE estimates SET suspicious = (1 = 1) WHERE since = '{day(LAST - 2)}'"
            connection.exec_driver_sql(forged)


def reports(spec, epoch, values):
    """An upload of 120 devices that hold these values in turn."""
    report = randomizer_for(spec, Randomness()).report
    payload = b"".join(
        report(spec.encode(value), SECRET)
        for value in itertools.islice(itertools.cycle(values), 120)
    )
    part = wire.Part(spec.digest, epoch, payload)
    return wire.Upload(secrets.token_bytes(wire.ID_BYTES), (part,))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    target = tmp_path_factory.mktemp("sql") / "deniable.db"
    fill(target)
    return target


@pytest.fixture
def ask_file(file):
    """Asks the file as other programs open it."""
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        yield lambda query: rows(connection.execute(query))


@pytest.fixture(scope="module")
def server(postgresql):
    target = postgresql.fresh_schema()
    fill(target)
    return target


@pytest.fixture
def ask_server(server):
    with psycopg.connect(server) as connection:
        yield lambda query: rows(connection.execute(query))


def rows(cursor):
    names = [each[0] for each in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def has_intervals(found):
    """Whether every estimate is in its interval; a quantile that reports cannot place has none."""
    return all(
        row["estimate"] is None or row["low"] <= row["estimate"] <= row["high"] for row in found
    )


def checked(query, found):
    """What each recipe must find, whatever the database."""
    assert found, query
    if "before" in found[0]:
        assert {"dark"} <= {row["value"] for row in found}
        assert all(row["low"] <= row["after"] - row["before"] <= row["high"] for row in found)
    elif "low" in found[0]:
        assert has_intervals(found)


def test_every_column_is_described():
    (besides,) = re.findall(r"(?s)\| in SQL \|.*?\n\n", SQL)
    first_cells = "\n".join(re.findall(r"(?m)^\| (.*?) \|", besides))
    long_table = re.findall(r"(?m)^\| `(\w+)` \|.*\| yes \|$", COLUMNS)
    described = {*re.findall(r"`(\w+)`", first_cells), *long_table}
    assert described == {each.name for each in estimates.c}


def test_there_are_as_many_recipes_as_these_tests_expect():
    assert len(QUERIES) == 3


@pytest.mark.parametrize("number", range(3))
def test_recipes_run_in_sqlite(number, ask_file):
    checked(QUERIES[number], ask_file(QUERIES[number]))


@pytest.mark.parametrize("number", range(3))
def test_recipes_run_in_postgresql(number, ask_server):
    checked(QUERIES[number], ask_server(QUERIES[number]))


def test_recipes_run_in_duckdb_on_the_file(file):
    duckdb = pytest.importorskip("duckdb")
    with contextlib.closing(duckdb.connect()) as connection:
        installed = (
            "SELECT installed FROM duckdb_extensions() WHERE extension_name = 'sqlite_scanner'"
        )
        if connection.execute(installed).fetchone() != (True,):
            pytest.skip("DuckDB's extension sqlite is not installed")
        for statement in ATTACH.replace("deniable.db", str(file)).split(";")[:-1]:
            connection.execute(statement)
        for query in QUERIES:
            checked(query, rows(connection.execute(query)))
        (kind,) = connection.execute("SELECT typeof(since) FROM estimates LIMIT 1").fetchone()
        assert kind == "DATE"


def dashboard(kind):
    path = DOCS / "operations" / "deploy" / f"grafana-{kind}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def expanded(query, **variables):
    """A query as Grafana sends it: variables in quotes, macros replaced."""
    for name, text in {"application": "flightdeck", "period": "week", **variables}.items():
        query = query.replace(f"${{{name}:sqlstring}}", "'" + text.replace("'", "''") + "'")
    between = f"BETWEEN '{FROM}T00:00:00Z' AND '{TO}T00:00:00Z'"
    query = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 {between}", query)
    for name, moment in (("$__from", FROM), ("$__to", TO)):
        query = query.replace(name, str((moment - date(1970, 1, 1)) // timedelta(1) * 86_400_000))
    assert "$" not in query, query
    return query


def sql_of(target):
    return target.get("rawSql") or target["queryText"]


# Names of fixtures do not say to pytest that this kind needs a server.
KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.service)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_query_of_a_grafana_dashboard_has_rows_and_bands(kind, request):
    ask = request.getfixturevalue({"sqlite": "ask_file", "postgresql": "ask_server"}[kind])
    board = dashboard(kind)
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"]) == 5
    for panel in board["panels"]:
        (target,) = panel["targets"]  # one query a panel
        assert target["datasource"] == panel["datasource"]
        metric = "startup_seconds" if panel["id"] in (2, 3) else "theme"
        found = ask(expanded(sql_of(target), metric=metric, value="dark"))
        assert found, panel["title"]
        if panel["type"] == "timeseries":
            times = [row["time"] for row in found]
            assert times == sorted(times)
            assert len(set(times)) == len(times) > 3
        if "low" in found[0] and panel["type"] == "timeseries":
            assert has_intervals(found)
            overrides = {o["matcher"]["options"]: o for o in panel["fieldConfig"]["overrides"]}
            filled = {p["id"]: p["value"] for p in overrides["high"]["properties"]}
            assert filled["custom.fillBelowTo"] == "low"


@pytest.mark.parametrize("kind", KINDS)
def test_a_grafana_dashboard_offers_what_there_is_and_marks_suspicious_periods(kind, request):
    ask = request.getfixturevalue({"sqlite": "ask_file", "postgresql": "ask_server"}[kind])
    board = dashboard(kind)
    offered = {
        variable["name"]: [
            next(iter(row.values())) for row in ask(expanded(variable["query"], metric="theme"))
        ]
        for variable in board["templating"]["list"]
        if variable["type"] == "query"
    }
    assert offered["application"] == ["flightdeck"]
    assert offered["metric"] == ["startup_seconds", "theme"]
    assert offered["value"][0] == "dark"
    assert sorted(offered["value"]) == ["dark", "light", "system"]
    (annotation,) = board["annotations"]["list"]
    marks = ask(expanded(sql_of(annotation["target"]), metric="theme", period="day"))
    assert [row["text"] for row in marks] == ["suspicious reports"]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_dashboards_name_no_table_but_those_that_a_reader_may_read(kind):
    text = json.dumps(dashboard(kind))
    hidden = {*metadata.tables} - {"estimates", "metrics", "keys"}
    assert not [name for name in hidden if re.search(rf"(FROM|JOIN) {name}\b", text)]
