"""The pages of docs/reference that are made from code are those that the code makes today."""

from __future__ import annotations

import pytest

from deniable_aggregator.http.problems import CODES
from deniable_aggregator.tables.row import COLUMNS
from tools.reference.pages import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_says(name):
    assert (FOLDER / name).read_text("utf-8") == PAGES[name](), "python -m tools.reference"


def test_every_column_and_code_is_in_them():
    columns, requests = (PAGES[name]() for name in ("columns.md", "requests.md"))
    assert [name for name in COLUMNS if f"| `{name}` | " not in columns] == []
    assert [
        code for code, (status, _) in CODES.items() if f"| `{code}` | {status} | " not in requests
    ] == []
