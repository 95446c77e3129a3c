"""Every planted fault is noticed, by what the document says, and a program without one is not."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from tests.privacy.faults.catalog import FAULTS
from tests.privacy.faults.document import PATH, SMALL_EVERY
from tests.privacy.faults.planting import ROOT, SHIPPED
from tests.repetitions import full_or_small

EVERY = full_or_small(1, SMALL_EVERY)


def test_every_fault_still_has_a_place_in_the_source_and_a_line_in_the_document():
    lines = PATH.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ") and "`test_" in line]
    assert len(rows) == len(FAULTS) >= 30
    for fault, line in zip(FAULTS, rows, strict=True):
        package = fault.file.partition("/")[0]
        text = (SHIPPED[package] / fault.file).read_text(encoding="utf-8")
        assert text.count(fault.before) == 1, fault.title
        assert fault.tests
        assert line.startswith(f"| {fault.title} | ")


@pytest.mark.slow
@pytest.mark.audit("client", "shared", "tests/client", "tests/privacy", "tests/shared")
def test_every_planted_fault_is_noticed_and_the_document_says_by_what():
    """In a process of its own, as this one has imported what is planted into."""
    command = [sys.executable, "-m", "tests.privacy.faults", "--json", "--every", str(EVERY)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)
    assert found["missed"] == []
    assert found["without a fault"] == []
    assert done.returncode == 0
    lines = set(map(without_quotations, PATH.read_text(encoding="utf-8").splitlines()))
    assert len(found["rows"]) == len(FAULTS[::EVERY])
    assert {without_quotations(row) for row in found["rows"].values()} <= lines


def without_quotations(line):
    """The line but for what an audit said, which may come to say it better."""
    return re.sub("\u201c.*\u201d", "", line)
