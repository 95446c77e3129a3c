"""Health, operations, privacy, and excluding a key: the pages as a server makes them."""

from __future__ import annotations

import html
import re

import pytest

from deniable_aggregator.keeping.keys import create_key
from tests.aggregator.api.estimate_table.filled import write
from tests.aggregator.pages.visiting import FROM_OUR_PAGE, form_token
from tests.aggregator.service import APPLICATION, TODAY, serving, upload
from tests.aggregator.stored import key_administrator

LABEL = "partner <b>&"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A week of honest reports, and of a key that always says the same."""
    with serving(tmp_path_factory.mktemp("boards") / "store.db") as running:
        running.register()
        forger = create_key(
            running.store, scope="batch", application=APPLICATION, label=LABEL, today=TODAY - 9
        )
        for epoch in range(TODAY - 7, TODAY):
            running.clock.epoch = epoch
            running.send(upload(bytes([0, 1, 2] * 80), epoch=epoch))
            running.send(upload(bytes([1] * 400), epoch=epoch), key=forger)
        running.clock.epoch = TODAY
        running.running.inbox_fold.fold(seconds=60)
        running.forger = forger.split("_")[2]
        yield running


def page(service, path, key=None):
    service.http.delete_cookie("deniable_session")
    assert service.sign_in(key).status_code == 303
    answer = service.http.get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


def plain(text):
    """What people read."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def test_health_names_the_metric_the_days_and_the_key(service):
    text = plain(page(service, "/health"))
    assert "Not all of them. The reports of theme are not all those of honest devices." in text
    assert LABEL in text
    assert "Exclude this key" not in text  # a read key may not
    assert "Exclude this key" in plain(page(service, "/health", service.admin))


def test_health_of_one_metric_can_be_seen_without_a_key(service):
    text = plain(page(service, f"/health?metric=theme&without_key={service.forger}"))
    assert "No check of the reports fails on any of 7 days." in text


def test_only_an_administrator_excludes_a_key_and_the_act_is_recorded(service):
    place = f"/keys/{service.forger}/exclude?metric=theme"
    page(service, "/plan")
    assert service.http.get(place).status_code == 403
    asked = page(service, place, service.admin)
    assert "Its 2,800 reports are left out of all answers" in plain(asked)
    sent = {"form_token": form_token(service)}
    assert (
        service.http.post(place, data={"form_token": "other"}, headers=FROM_OUR_PAGE).status_code
        == 403
    )
    answer = service.http.post(place, data=sent, headers=FROM_OUR_PAGE)
    assert answer.status_code == 303
    done = plain(service.http.get(answer.location).text)
    assert "is excluded" in done
    (entry,) = service.store.audit.last(1)
    assert (entry.act, entry.actor) == ("key.exclude", service.admin.split("_")[2])
    health = plain(service.http.get("/health").text)
    assert "Yes, as far as checks can see." in health
    assert "2,800 reports of excluded keys, of any day, left out" in health
    again = service.http.post(place, data=sent, headers=FROM_OUR_PAGE)
    assert again.status_code == 409
    back = f"/keys/{service.forger}/include"
    assert service.http.post(back, data=sent, headers=FROM_OUR_PAGE).status_code == 303
    assert service.store.audit.last(1)[0].act == "key.include"


@pytest.mark.parametrize("place", ["/keys/nobody/exclude", "/keys/%00/exclude"])
def test_a_key_of_nobody_cannot_be_excluded(service, place):
    page(service, "/plan", service.admin)
    assert service.http.get(place).status_code == 404


def test_a_read_key_sees_readiness_and_neither_uploads_nor_keys(service):
    read, admin = (plain(page(service, "/operations", key)) for key in (None, service.admin))
    assert "Taken" not in read  # that something came is the operator's to know
    assert "Taken 14 fine" in admin
    assert LABEL not in read
    assert "The file of the store is whole yes" in read
    assert "What was counted is undamaged yes" in read
    assert "The whole server" not in read
    assert LABEL in admin
    for token in (service.read, service.admin, service.write):
        assert token not in admin


def test_privacy_says_what_each_metric_gives_away_and_the_head_of_the_audit_log(service):
    text = plain(page(service, "/privacy"))
    assert "asks for 3 metrics" in text
    assert "A device reports at most once a day: one of 3 values (light, dark and system)." in text
    assert "One report has epsilon 1: it makes even odds at most 73.11% sure." in text
    assert service.store.audit.last(1)[0].hash.hex() in text
    for command in ("check", "cost", "metrics history --compare", "audit"):
        assert f"deniable {command} metrics.toml" in text


def test_privacy_says_whether_all_metrics_together_single_out_a_device(service):
    text = plain(page(service, "/privacy"))
    assert "Can it single out a device?" in text
    assert "bits single out one of" in text
    assert "Devices are not counted: theme has" in text
    assert "theme 1.58 1.45 0.1779 1.58" in text
    assert "learn at most" in text


def test_every_test_that_privacy_names_exists(service, pytestconfig):
    named = set(re.findall(r"<code>(test_\w+)</code>", page(service, "/privacy")))
    sources = [each.read_text("utf-8") for each in (pytestconfig.rootpath / "tests").rglob("*.py")]
    assert len(named) >= 5
    for name in named:
        assert any(f"def {name}(" in source for source in sources), name


def test_a_day_that_an_excluded_key_alone_brought_is_left_out_in_the_grid(tmp_path):
    """The SQL table, which has no row of such a day, fills the grid."""
    with serving(tmp_path / "store.db") as running:
        running.register()
        alone = create_key(
            running.store, scope="batch", application=APPLICATION, label="alone", today=TODAY - 9
        )
        for epoch in range(TODAY - 7, TODAY):
            running.clock.epoch = epoch
            keys = {"key": alone} if epoch == TODAY - 4 else {}
            if epoch != TODAY - 2:  # a day without reports
                running.send(upload(bytes([0, 1, 2] * 80), epoch=epoch), **keys)
        running.clock.epoch = TODAY
        running.running.inbox_fold.fold(seconds=60)
        key_administrator(running.store).exclude(alone.split("_")[2])
        write(running.store)
        grid = page(running, "/health?since=-7d")
    cells = re.findall(r'class="unseen">([^<:]+)</span></(?:a|td)>', grid)
    assert cells.count("left out") == 1
    assert cells.count("no reports") == 1
