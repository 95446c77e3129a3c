"""Questions to simulated servers: the answers must be what the model says."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.answering.estimation.inputs import read_reports
from deniable_aggregator.answers.dates import DayRange, day_of
from tests.simulation.model import Violation
from tests.simulation.node import ITEMS, TALLIES

if TYPE_CHECKING:
    from collections.abc import Collection

    from deniable_aggregator.answering.slice_cache import SliceTables
    from deniable_aggregator.answering.slices import SliceTable
    from tests.simulation.model import Slices
    from tests.simulation.node import Node

LAST_DAY = 10**6


def ask_store(node: Node, digest: bytes, expected: Slices, excluded: Collection[str]) -> None:
    """Asks the store itself.

    Args:
        node: a server of the store.
        digest: of the version.
        expected: what there is of it, of all keys.
        excluded: the keys that are left out.

    Raises:
        Violation: if an answer is another.
    """
    tally, tallies = TALLIES[digest], node.store.tallies
    counted = {place: cells for place, cells in expected.items() if place[1] not in excluded}
    total = tallies.total(tally, 0, LAST_DAY)
    _require(total.cells.tolist() == _sum(counted), "an answer is not what was counted")
    _require(total.reports == sum(_sum(counted)), "an answer has a wrong number of reports")
    slices = {(each.epoch, each.key): each.sum for each in tallies.slices(tally, 0, LAST_DAY)}
    found = {place: sum_.cells.tolist() for place, sum_ in slices.items() if sum_.reports}
    _require(found == counted, "slices are not what was counted")


def ask_tables(
    node: Node,
    tables: SliceTables,
    digest: bytes,
    days: tuple[int, int],
    expected: Slices,
    excluded: Collection[str],
    without: frozenset[str],
) -> None:
    """Asks a server that remembers what earlier questions have read.

    Args:
        node: the server.
        tables: what it remembers.
        digest: of the version.
        days: the first and the last one that the question is about.
        expected: what there is of the version, of all keys and days.
        excluded: the keys that an administrator has excluded.
        without: the keys that the question leaves out.

    Raises:
        Violation: if an answer is another.
    """
    entry = node.catalogue.find(digest)
    assert entry is not None
    since, until = days
    asked = {place: cells for place, cells in expected.items() if since <= place[0] <= until}
    left_out = {place: sum(cells) for place, cells in asked.items() if place[1] in without}
    left_out |= {place: sum(cells) for place, cells in asked.items() if place[1] in excluded}
    counted = {place: cells for place, cells in asked.items() if place not in left_out}
    period = DayRange(day_of(since), day_of(until))
    reported = read_reports(node.store, tables, [entry], period, without)
    found = {(each.epoch, each.key): each.reports for each in reported.left_out}
    _require(found == left_out, "what is left out is not what its keys have brought")
    table = reported.tables.get(digest)
    if table is None:
        _require(not counted, "an answer has no reports, and there are some")
    else:
        _compare(table, counted)


def _compare(table: SliceTable, counted: Slices) -> None:
    by_day, by_key = Counter[int](), Counter[str]()
    for (day, key), cells in counted.items():
        by_day[day] += sum(cells)
        by_key[key] += sum(cells)
    _require(table.reports_by_day == by_day, "a day has a wrong number of reports")
    _require(table.reports_by_key == by_key, "a key has a wrong number of reports")
    _require(table.total(ITEMS).tolist() == _sum(counted), "a remembered answer is wrong")
    found = {}
    for chunk in table.chunks(ITEMS):
        rows = zip(table.epochs[chunk.rows].tolist(), table.keys[chunk.rows].tolist(), strict=True)
        for (day, key), counters in zip(rows, chunk.counters.tolist(), strict=True):
            found[day, table.key_ids[key]] = counters
    _require(found == counted, "remembered slices are not what was counted")


def _sum(slices: Slices) -> list[int]:
    total: list[int] = np.sum(list(slices.values()), axis=0, dtype=int, initial=0).tolist()
    return total if slices else [0] * ITEMS


def _require(condition: object, message: str) -> None:
    if not condition:
        raise Violation(message)
