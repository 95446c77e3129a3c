"""Asks a store's estimates through Apache Superset, by its own API: `make test PART=superset`.

    python tools/try_superset.py STORE

runs in an environment of its own with apache-superset. STORE is an SQLite file, or the URL of a
database, such as postgresql+psycopg2://grafana:PASSWORD@db.example.org/deniable. It makes a
connection, a dataset of the table and a chart's query in a new, temporary Superset, and prints the
columns that Superset sees and the rows that the chart gets.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CONFIG = """
SECRET_KEY = "only for this trial, in a folder that is deleted"
SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db"
PREVENT_UNSAFE_DB_CONNECTIONS = False
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
FILTER_STATE_CACHE_CONFIG = EXPLORE_FORM_DATA_CACHE_CONFIG = {{"CACHE_TYPE": "SimpleCache"}}
"""


def main(store: str) -> None:
    """Asks a store."""
    url = store if "://" in store else f"sqlite:///{Path(store).resolve()}"
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "superset_config.py")
        config.write_text(CONFIG.format(folder=folder), encoding="utf-8")
        os.environ.update(SUPERSET_CONFIG_PATH=str(config), SUPERSET_HOME=folder)
        superset = str(Path(sys.executable).with_name("superset"))
        admin = ["--username=admin", "--password=admin", "--email=a@example.org"]
        names = ["--firstname=A", "--lastname=B"]
        for command in (["db", "upgrade"], ["fab", "create-admin", *admin, *names], ["init"]):
            done = subprocess.run([superset, *command], check=False, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"superset {command[0]} failed:\n{done.stderr[-2_000:]}")
        ask(url)


def ask(url: str) -> None:
    """Makes a dataset and a chart's query in the Superset of this process."""
    from superset.app import create_app  # type: ignore[import-not-found]

    http = create_app().test_client()

    def call(method: str, path: str, body: object) -> Any:
        answer = http.open(f"/api/v1/{path}", method=method, json=body, headers=headers)
        if answer.status_code >= 400:
            raise SystemExit(f"{path}: {answer.status_code} {answer.text[:500]}")
        return answer.get_json()

    headers: dict[str, str] = {}
    login = {"username": "admin", "password": "admin", "provider": "db", "refresh": True}
    headers["Authorization"] = f"Bearer {call('POST', 'security/login', login)['access_token']}"
    database = call("POST", "database/", {"database_name": "store", "sqlalchemy_uri": url})["id"]
    made = call("POST", "dataset/", {"database": database, "table_name": "estimates"})["id"]
    columns = call("GET", f"dataset/{made}", None)["result"]["columns"]
    print("columns:", {each["column_name"]: each["type"] for each in columns})
    query = {
        "granularity": "since",
        "time_range": "No filter",
        "columns": ["since"],
        "metrics": [
            {"expressionType": "SQL", "sqlExpression": f"MAX({name})", "label": name}
            for name in ("estimate", "low", "high")
        ],
        "filters": [
            {"col": "period", "op": "==", "val": "week"},
            {"col": "measure", "op": "==", "val": "share"},
        ],
        "series_columns": [],
        "orderby": [["since", True]],
        "row_limit": 1_000,
    }
    chart = {"datasource": {"id": made, "type": "table"}, "queries": [query], "force": True}
    (result,) = call("POST", "chart/data", chart)["result"]
    print("SQL:", result["query"])
    rows = result["data"]
    print(f"{len(rows)} rows, such as {rows[:2]}")
    if not rows or not all(row["low"] <= row["high"] for row in rows):
        raise SystemExit("the chart has no rows, or none with intervals")


if __name__ == "__main__":
    main(sys.argv[1])
