"""The pictures of the documentation are those that are drawn today."""

from __future__ import annotations

import pytest

from deniable_aggregator.media.pictures.svg import svg
from tests.aggregator.media.pictures.documented import FOLDER, PICTURES


@pytest.mark.parametrize("name", PICTURES)
def test_a_documented_picture_is_what_is_drawn(name):
    """If not, look at it after `python -m tests.aggregator.media.pictures.documented`."""
    assert (FOLDER / name).read_text(encoding="utf-8") == svg(PICTURES[name]())
    assert f"({name})" in (FOLDER / "pictures.md").read_text(encoding="utf-8")
