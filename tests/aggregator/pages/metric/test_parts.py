"""The page of a metric splits, explains and compares parts of the reports."""

from __future__ import annotations

import re
from html import unescape

import pytest

from deniable_aggregator.keeping.keys import create_key
from tests.aggregator.service import APPLICATION, TODAY, serving, upload

pytestmark = pytest.mark.one_store

PAGE = "/metric/theme?period=own&since=2024-09-28&until=2024-10-04&compare=before"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Two weeks of two keys, of which store becomes dark."""
    with serving(tmp_path_factory.mktemp("parts") / "store.db") as running:
        assert running.register().status_code == 200
        keys = {
            label: create_key(
                running.store, scope="batch", application=APPLICATION, label=label, today=TODAY
            )
            for label in ("store", "web")
        }
        for before in range(13, -1, -1):
            for label, dark in {"store": 100 + 200 * (before < 7), "web": 100}.items():
                body = b"\0" * (400 - dark) + b"\1" * dark + b"\2" * 100
                sent = running.send(upload(body, epoch=TODAY - before), key=keys[label])
                assert sent.status_code == 204
        running.running.inbox_fold.fold(seconds=60)
        running.sign_in()
        yield running


def words(service, path, status=200):
    answer = service.ask(path)
    assert answer.status_code == status, answer.text
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


def test_what_explains_a_clear_change_stands_on_the_page_by_itself(service):
    shown = words(service, PAGE)
    assert re.search(
        r"points come from key store \(\w+\.\.\), whose share of reports stayed", shown
    )
    assert "What explains it" in shown
    assert "What explains it" not in words(service, f"{PAGE}&why=none")


def test_each_key_has_its_numbers_where_the_page_is_split(service):
    shown = words(service, f"{PAGE}&split=key")
    assert shown.count("By key, each from its own reports alone") == 2
    assert "By key" not in words(service, PAGE)
    refused = words(service, f"{PAGE}&split=weekday", status=400)
    assert "split must be one of key, got 'weekday'" in refused


def test_two_keys_are_compared_by_their_labels_and_as_a_file(service):
    shown = words(service, f"{PAGE}&one=key:store&other=key:web")
    assert re.search(r"Clear differences: .* dark is \d+(\.\d)?% in key store|dark is \d+", shown)
    file = PAGE.replace("theme?", "theme/export.csv?question=compare&")
    rows = service.ask(f"{file}&one=key:store&other=key:web").text.splitlines()
    assert sum("difference in share" in row for row in rows) == 3
    half = words(service, f"{PAGE}&one=key:store")
    assert "Clear differences" not in half, "the other is chosen next"
    same = words(service, f"{PAGE}&one=key:store&other=key:store", status=400)
    assert "other must be another key" in same
