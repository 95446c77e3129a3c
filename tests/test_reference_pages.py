"""The pages of docs/reference that are made from code are those that the code makes today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deniable._upload import problem_table
from deniable_aggregator.answering.requests import CODES
from deniable_aggregator.answers.columns import COLUMNS
from tools.reference.pages import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_says(name):
    assert (FOLDER / name).read_text("utf-8") == PAGES[name](), "python -m tools.reference"


def test_every_column_code_and_word_is_in_them():
    columns, requests, uploads, _ = (page() for page in PAGES.values())
    words = re.findall(r'Problem\(\s*"(\w+)"', Path(problem_table.__file__).read_text("utf-8"))
    assert len(words) > 25
    assert [word for word in words if f"| `{word}` | " not in uploads] == []
    assert [name for name in COLUMNS if f"| `{name}` | " not in columns] == []
    assert [
        code for code, (status, _) in CODES.items() if f"| `{code}` | {status} | " not in requests
    ] == []
