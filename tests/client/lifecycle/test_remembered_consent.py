"""The user's answer is kept in the directory, and holds until the user gives another one."""

from __future__ import annotations

import datetime
import json
import os
import stat

import pytest

import deniable
from deniable import Outcome, ParameterError, RememberedConsent
from deniable._storage import consent_file, device
from deniable._storage.device import DeviceStorage
from deniable._testing.memory_storage import MemoryStorage
from tests.client.conftest import DAY, pending_reports
from tests.client.disclosure.test_command import run as run_show
from tests.client.programs import secret_of
from tests.client.storage.test_busy import held
from tests.client.transports import Accepting

TODAY = datetime.date(2026, 12, 13)
"""The day of the clock's noon."""


@pytest.fixture
def remembering(make_client):
    def make(**options):
        return make_client(consent=False, remember_consent=True, **options)

    return make


@pytest.fixture
def agreed(remembering):
    """A client whose user has agreed, and one report that waits."""
    client = remembering()
    client.consent = True
    assert client.record("theme", "dark") is Outcome.RECORDED
    return client


def test_before_the_user_has_answered_nothing_is_written(remembering, directory):
    client = remembering()
    assert client.remembered_consent is None
    assert not client.consent
    assert client.record("theme", "dark") is Outcome.NO_CONSENT
    client.close()
    assert not directory.exists()


@pytest.mark.parametrize(("agreed", "line"), [(True, "agreed"), (False, "refused")])
def test_an_answer_is_remembered_with_its_day_and_nothing_else(
    remembering, directory, clock, agreed, line
):
    client = remembering()
    client.consent = agreed
    client.close()
    clock.forward(days=3)
    again = remembering()
    assert again.consent is agreed
    assert again.remembered_consent == RememberedConsent(agreed=agreed, since=TODAY)
    again.consent = agreed  # the same answer: its day stays
    assert again.remembered_consent.since == TODAY
    assert (directory / "consent").read_text("ascii") == f"{line} 2026-12-13\n"
    assert {path.name for path in directory.iterdir()} == {"application", "consent"}
    assert stat.S_IMODE((directory / "consent").stat().st_mode) == 0o600
    outcome = again.record("theme", "dark")
    assert outcome is (Outcome.RECORDED if agreed else Outcome.NO_CONSENT)


def test_a_refusal_is_remembered_and_an_agreement_replaces_it(agreed, remembering, clock):
    clock.forward(days=1)
    agreed.consent = False
    day = datetime.timedelta(days=1)
    assert agreed.remembered_consent == RememberedConsent(agreed=False, since=TODAY + day)
    agreed.close()
    again = remembering()
    assert (again.consent, again.status().pending) == (False, 0)
    again.consent = True
    again.close()
    assert remembering().remembered_consent == RememberedConsent(agreed=True, since=TODAY + day)


@pytest.mark.parametrize(
    "content",
    [b"", b"agreed", b"agreed 2026-13-01\n", b"agreed 2026-12-13 gladly\n", b"\xff\n", b"x" * 99],
    ids=["empty", "no day", "no such day", "another word", "no text", "long"],
)
def test_a_damaged_answer_is_no_consent(agreed, remembering, directory, content):
    agreed.close()
    (directory / "consent").write_bytes(content)
    client = remembering()
    assert client.remembered_consent is None
    assert client.record("late", value=True) is Outcome.NO_CONSENT
    client.consent = True
    assert client.remembered_consent == RememberedConsent(agreed=True, since=TODAY)


def test_a_refusal_in_another_process_ends_consent_before_anything_more_is_stored(
    agreed, remembering
):
    other = remembering(another_process=True)
    assert other.record("late", value=True) is Outcome.RECORDED
    agreed.consent = False
    assert other.record("emoji", "x") is Outcome.NO_CONSENT
    assert not other.consent
    assert agreed.status().pending == 0
    agreed.consent = True  # does not bring consent back in a process where it has ended
    assert other.record("emoji", "x") is Outcome.NO_CONSENT


def test_a_refusal_in_another_process_ends_consent_before_anything_more_is_sent(
    agreed, remembering, monkeypatch
):
    """Not even a report whose upload was about to begin leaves."""
    transport = Accepting()
    other = remembering(another_process=True, transport=transport)

    def refuse(_storage):
        agreed._storage.consent_file.write(
            consent_file.Answer(RememberedConsent(agreed=False, since=TODAY))
        )

    monkeypatch.setattr(DeviceStorage, "seal", refuse)
    assert other.flush().sent == 0
    assert transport.bodies == []
    assert not other.consent


def test_without_its_file_nobody_has_agreed(agreed, directory):
    (directory / "consent").unlink()
    assert agreed.record("late", value=True) is Outcome.NO_CONSENT


@pytest.mark.service
def test_what_a_dead_process_owed_is_deleted_at_the_next_start(
    agreed, remembering, directory, monkeypatch
):
    """Another process holds the lock, so this one can only note that the user has refused."""
    monkeypatch.setattr(device, "REOPEN_SECONDS", 0.0)
    secret = secret_of(directory)
    with held(directory), monkeypatch.context() as patch:
        patch.setattr("deniable._consent.DELETE_WAIT_SECONDS", 0.0)
        patch.setattr(type(agreed._consent).delete_owed_now, "__defaults__", (0.0,))
        agreed.consent = False
    assert (directory / "consent").read_text("ascii") == "refused 2026-12-13 deleting\n"
    client = remembering(another_process=True)  # as if the first had been killed
    assert client.remembered_consent == RememberedConsent(agreed=False, since=TODAY)
    assert pending_reports(client) == []
    assert secret_of(directory) != secret
    assert (directory / "consent").read_text("ascii") == "refused 2026-12-13\n"


def test_what_is_owed_is_not_forgotten_when_the_user_agrees_again(
    agreed, remembering, directory, monkeypatch
):
    def fail(*_):
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(DeviceStorage, "wipe", fail)
        agreed.consent = False
        agreed.consent = True
    assert (directory / "consent").read_text("ascii") == "agreed 2026-12-13 deleting\n"
    monkeypatch.setattr(device, "REOPEN_SECONDS", 0.0)
    client = remembering(another_process=True)
    assert client.status().pending == 0
    assert client.record("late", value=True) is Outcome.RECORDED
    assert (directory / "consent").read_text("ascii") == "agreed 2026-12-13\n"


def test_on_a_full_disk_a_refusal_leaves_no_agreement(agreed, remembering, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(consent_file, "write_durably", full)
        agreed.consent = False
    assert "consent_not_remembered" in agreed.status().last_error
    assert agreed.status().pending == 0
    agreed.close()
    client = remembering()
    assert (client.consent, client.remembered_consent) == (False, None)


def test_an_answer_of_which_the_disk_took_a_part_is_not_taken_for_written(
    remembering, directory, monkeypatch
):
    client, write = remembering(), os.write
    monkeypatch.setattr(os, "write", lambda file, content: write(file, content[:10]))
    client.consent = True
    monkeypatch.undo()
    assert "No space left" in client.status().last_error
    assert client.consent  # in this process
    assert not (directory / "consent").exists()


def test_an_agreement_that_cannot_be_written_holds_in_this_process(remembering, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    client = remembering()
    with monkeypatch.context() as patch:
        patch.setattr(consent_file, "write_durably", full)
        client.consent = True
    assert client.record("theme", "dark") is Outcome.RECORDED
    assert client.remembered_consent is None


def test_do_not_track_is_no_answer_of_the_user(agreed, remembering, monkeypatch):
    agreed.close()
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    client = remembering()
    assert client.record("late", value=True) is Outcome.DO_NOT_TRACK
    client.consent = True
    assert client.remembered_consent == RememberedConsent(agreed=True, since=TODAY)
    client.close()
    monkeypatch.delenv("DO_NOT_TRACK")
    assert remembering().consent


def test_consent_is_either_given_or_remembered(make_client):
    with pytest.raises(ParameterError, match="consent must be left out with remember_consent"):
        make_client(consent=True, remember_consent=True)


def test_forgetting_keeps_the_answer(agreed, remembering):
    assert agreed.forget() == 1
    agreed.close()
    assert remembering().consent


def test_reports_of_an_earlier_run_are_sent_after_the_next_start(agreed, remembering, clock):
    agreed.close()
    clock.now += 2 * DAY
    client = remembering(transport=Accepting())
    assert client.flush().sent == 1


def test_a_test_client_keeps_the_answer_in_memory(registry):
    class InMemory(deniable.Client):
        _storage_type = MemoryStorage

    client = InMemory(
        registry,
        directory=os.devnull,
        transport=Accepting(),
        remember_consent=True,
        background=False,
    )
    assert client.remembered_consent is None
    client.consent = True
    assert client.record("theme", "dark") is Outcome.RECORDED
    assert client.remembered_consent.agreed


def test_the_user_is_told_the_answer_and_its_day(agreed, remembering, directory, capsys):
    def show(*arguments):
        return run_show(capsys, "--directory", *arguments)

    assert agreed.disclosure().sentence.startswith("You agreed to this on 13 December 2026. ")
    agreed.close()
    assert "You agreed to this on 13 December 2026." in show(directory)[1]
    place = directory.parent / "refused"
    client = remembering(directory=place)
    client.consent = False
    assert client.disclosure().consent == RememberedConsent(agreed=False, since=TODAY)
    assert "You said no on 13 December 2026." in show(place)[2]
    assert json.loads(show(place, "--json")[1])["consent"] == {
        "agreed": False,
        "since": "2026-12-13",
    }
