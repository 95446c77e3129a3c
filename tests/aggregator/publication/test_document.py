"""docs/reviewer/publishing.md shows what is printed, and its program checks an export."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature

from deniable_aggregator.media.publication import markdown_text
from deniable_aggregator.telling.publication.publish import publish
from deniable_aggregator.telling.publication.selection import Policy
from deniable_shared.mechanisms import ORACLES
from tests.aggregator.publication import exported
from tests.aggregator.publication.test_publishing import source
from tests.privacy.specs import category

DOCUMENT = Path(__file__).parents[3] / "docs" / "reviewer" / "publishing.md"
TEXT = DOCUMENT.read_text("utf-8")


def printed() -> str:
    """Of a metric whose six values are held by 10,000, 6,000, 3,000, 600, 300 and 100 devices."""
    spec = category("light dark system sepia night blue", ORACLES["grr"].for_epsilon(6, 2))
    return markdown_text([publish(source(spec=spec), "theme", policy=Policy(1_000))])


def test_the_table_is_the_one_that_is_printed():
    blocks = re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", TEXT)
    (shown,) = (text for language, text in blocks if not language)
    assert shown in printed()


def test_its_program_accepts_an_export_and_no_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"(?ms)^```python\n(.*?)^```$", TEXT)
    program = compile(code, str(DOCUMENT), "exec")
    file = tmp_path / "export.json"
    file.write_bytes(exported.document())
    exec(program, {})
    file.write_bytes(exported.document().replace(b'"reports":15000', b'"reports":15001'))
    with pytest.raises(InvalidSignature):
        exec(program, {})
