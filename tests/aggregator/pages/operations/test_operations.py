"""The page about the server: every number says whether it is fine, and to whom it is shown."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from msgspec.structs import replace

from deniable_aggregator.answering.requests import CODES
from deniable_aggregator.answers.service import Inbox, Machine, Operations, Status, UploadCounts
from deniable_aggregator.doors.http.relayed import UNKNOWN_RELAY_KEY, UNOPENED
from deniable_aggregator.doors.pages.operations import in_bytes, operations_view
from deniable_aggregator.telling.refusals import REFUSALS

MACHINE = Machine(
    lag_seconds=3.0,
    lag_limit=900.0,
    free_bytes=50_000_000_000,
    min_free_bytes=256_000_000,
    store_bytes=7_000_000,
    inbox_rows=5,
    rows_set_aside=0,
    queue_uploads=0,
    queue_limit=512,
    commits_failed=0,
    background_failed={},
    questions=None,
)
FINE = Operations(
    status=Status(
        "flightdeck",
        today=date(2026, 3, 8),
        accept_days=14,
        since_start=UploadCounts(accepted=990, duplicate=3, refused={}, refused_without_key=2),
        inbox=Inbox(rows=5, bytes=1_200, rows_set_aside=0),
    ),
    checks={"database": "ok", "disk": "ok"},
    key_bytes_per_day=4_000_000_000,
    keys=[],
    machine=MACHINE,
)


def refusing(**refused):
    counts = replace(FINE.status.since_start, refused=refused)
    return replace(FINE, status=replace(FINE.status, since_start=counts))


def test_a_server_without_trouble_is_said_to_be_well():
    view = operations_view(FINE)
    assert (view.answer, view.finding) == ("All is well.", "")
    assert (
        view.days
        == "Reports of 2026-02-22 to 2026-03-08 are taken; those of earlier days are refused."
    )


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (replace(FINE, checks={"disk": "12 bytes are free"}), "12 bytes are free"),
        (replace(FINE, machine=replace(MACHINE, lag_seconds=901.0)), "901 of at most 900 seconds"),
        (replace(FINE, machine=replace(MACHINE, free_bytes=300_000_000)), "300.0 MB"),
        (replace(FINE, machine=replace(MACHINE, rows_set_aside=2)), "could not be counted"),
        (replace(FINE, machine=replace(MACHINE, commits_failed=1)), "Commits that failed"),
        (replace(FINE, machine=replace(MACHINE, background_failed={"merge": 4})), "merge 4"),
        (refusing(unknown_digest=60), "Refused: 60, 5.7% of all"),
        (refusing(overloaded=20), "20, 2.0% of all"),
    ],
)
def test_what_is_wrong_is_said_at_the_top(trouble, said):
    view = operations_view(trouble)
    assert not view.fine
    assert said in view.finding


def test_refusals_come_with_what_to_do_the_most_frequent_first():
    table = operations_view(refusing(epoch_closed=2, unknown_digest=7, of_tomorrow=1)).refused
    assert [row.cells[0] for row in table.rows] == ["unknown_digest", "epoch_closed", "of_tomorrow"]
    assert tuple(table.rows[0].cells[3:]) == (
        "sent again",
        "register the metrics.toml that ships with it",
    )
    assert table.rows[1].cells[3] == "lost"


def test_every_reason_that_operators_read_about_is_known_to_the_page():
    assert REFUSALS.keys() <= CODES.keys() | {UNOPENED, UNKNOWN_RELAY_KEY}
    text = Path("docs/operations/monitoring.md").read_text(encoding="utf-8")
    documented = re.findall(
        r"`(\w+)`", text[text.index("| outcome |") : text.index("## The clock")]
    )
    assert {each for each in documented if each in CODES} <= REFUSALS.keys()


def test_whoever_only_reads_sees_neither_figures_of_the_whole_server_nor_that_something_came():
    view = operations_view(replace(refusing(overloaded=20), machine=None))
    assert (list(view.machine), view.keys) == ([], None)
    assert (list(view.uploads), list(view.waiting), view.refused) == ([], [], None)


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1_200, "1.2 kB"), (4.2e13, "42.0 TB")]
)
def test_bytes_are_said_in_a_unit_that_suits_them(number, text):
    assert in_bytes(number) == text
