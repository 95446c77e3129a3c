"""Found strings in the formats of the long table."""

from __future__ import annotations

import pytest

from deniable_aggregator.media.row_formats import FORMATS
from tests.aggregator.discovered import PATH, ask, discovering, found
from tests.aggregator.media.reading import read_back
from tests.aggregator.service import problem

pytestmark = [pytest.mark.one_store, pytest.mark.service]


def test_a_result_is_a_table_once_it_is_there(tmp_path):
    with discovering(tmp_path / "store.db", processes=True) as service:
        number = ask(service).get_json()["id"]
        result = found(service)
        tables = [read_back(service.ask(f"{PATH}/{number}.{name}").data, name) for name in FORMATS]
        assert all(table == tables[0] for table in tables)
        whole = [(row["value"], row["estimate"]) for row in tables[0] if row["whole"]]
        assert whole == [
            (each["value"], each["estimate"]) for each in result["numbers"] if each.get("whole")
        ]
        assert whole
        problem(service.ask(f"{PATH}/{number}.xlsx"), 404, "not_found")
