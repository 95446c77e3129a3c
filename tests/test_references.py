"""References name every option, outcome and key; the map every folder."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import deniable
from deniable._status import Dropped
from deniable_aggregator.keeping.audit import AuditAction

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGES = (
    "aggregator/deniable_aggregator",
    "analysis/deniable_analysis",
    "client/deniable",
    "shared/deniable_shared",
)
CLIENT = (DOCS / "client/reference.md").read_text(encoding="utf-8")
FAILURES = (DOCS / "client/failures.md").read_text(encoding="utf-8")
HTTP = (DOCS / "reference/http-api.md").read_text(encoding="utf-8")
OPENAPI = json.loads((DOCS / "reference/openapi.json").read_text(encoding="utf-8"))
ACTS = ("revoke", "exclude", "include")


def first_column(text, heading):
    """The code in the first cells of the tables under a heading."""
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| (.+?) \|", section)
    return [code for cell in rows for code in re.findall(r"`([^`]+)`", cell)]


def test_every_key_of_an_answer_that_is_named_exists():
    schemas = OPENAPI["components"]["schemas"].values()
    known = {name for schema in schemas for name in schema.get("properties", ())}
    section = HTTP.partition("## Answers")[2].partition("## Problems")[0]
    assert set(re.findall(r"(?<!/)`([a-z]\w+)`", section)) <= known | set(ACTS)


def test_the_client_reference_has_every_option_with_its_default():
    parameters = inspect.signature(deniable.Client).parameters
    assert first_column(CLIENT, "Client(registry, ...)") == list(parameters)
    options = CLIENT.partition("## Client(registry, ...)")[2].partition("\n## ")[0]
    shown = dict(re.findall(r"(?m)^\| `(\w+)` \| `?(.*?)`? \|", options))
    for name in ("consent", "remember_consent", "background", "strict", "upload_delay_seconds"):
        assert float(eval(shown[name])) == float(parameters[name].default)


def test_the_client_reference_has_every_outcome():
    listed = first_column(CLIENT, "record(metric, value, *, segment=None)")
    assert set(deniable.Outcome) <= set(listed)


def test_every_reason_for_dropping_a_report_is_named():
    named = re.findall(r"`(\w+)`", FAILURES.partition("## What is dropped")[2])
    assert set(Dropped) <= set(named)


def test_every_act_of_administrators_is_in_the_table():
    keys = (DOCS / "operations/keys.md").read_text(encoding="utf-8")
    assert set(AuditAction) == set(first_column(keys, "The audit log"))


def section(name):
    return CONTRIBUTING.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def test_the_map_has_every_folder_and_only_what_exists():
    named = set(re.findall(r"`([\w/]+/|\w+\.py)`", section("The map")))
    places = [ROOT, *(ROOT / package for package in PACKAGES)]
    assert [name for name in named if not any((place / name).exists() for place in places)] == []
    folders = {
        f"{path.parent.name}/" for p in PACKAGES for path in (ROOT / p).glob("*/__init__.py")
    }
    assert folders <= named


def test_every_path_that_contributors_are_sent_to_exists():
    rows = [row.split(" | ")[1] for row in section("Where to go").splitlines() if " | " in row]
    paths = [path for row in rows for path in re.findall(r"`([\w.-]+/[^`]+)`", row)]
    assert len(paths) > 10
    places = (ROOT, ROOT / "aggregator/deniable_aggregator")
    assert [path for path in paths if not any((place / path).exists() for place in places)] == []
    for path in re.findall(r"`(tests/[\w/.]+)`", CONTRIBUTING):
        assert (ROOT / path).exists(), path
