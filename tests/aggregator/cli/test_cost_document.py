"""The example of docs/reviewer/account.md is what the command prints."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from tests import command_line

FOLDER = Path(__file__).parents[3] / "docs" / "reviewer"
TEXT = (FOLDER / "account.md").read_text(encoding="utf-8")
printed = partial(command_line.printed, "cost", columns=100)


@pytest.fixture
def registry(tmp_path):
    file = tmp_path / "metrics.toml"
    (toml,) = re.findall(r"(?ms)^```toml\n(.*?)^```$", TEXT)
    file.write_text(toml)
    return file


def test_the_document_shows_what_is_printed_and_drawn(registry, tmp_path):
    """But for the line on rounding, whose digits may differ between libraries."""
    shown = re.search(r"(?ms)^\$ deniable cost metrics.toml\n(.*?)^About ", TEXT)
    picture = tmp_path / "account.svg"
    assert printed(registry, "--picture", picture).startswith(shown[1])
    words = re.compile(r"<text[^>]*>([^<]*)<")
    drawn, kept = (each.read_text("utf-8") for each in (picture, FOLDER / "account.svg"))
    assert words.findall(drawn) == words.findall(kept)


@pytest.mark.slow
def test_the_document_says_what_a_shuffler_would_be_worth(registry):
    lines = printed(registry, "--shuffled", 100_000).splitlines()
    (together,) = (line.split() for line in lines if line.startswith("together"))
    words = " ".join(TEXT.split())
    assert f"the year above costs epsilon {together[-1]} instead of {together[-2]}" in words
