"""In development a client may raise for mistakes; it never hands the value on by doing so."""

from __future__ import annotations

import traceback

import pytest

import deniable
from deniable import RecordError
from deniable_shared.mechanisms import Trie
from deniable_shared.registry import load

VALUE = "pomegranate"


def raised(client, metric, value):
    with pytest.raises(RecordError) as caught:
        client.record(metric, value)
    return caught.value


@pytest.fixture
def strict(make_client):
    return make_client(strict=True)


@pytest.mark.parametrize(
    ("metric", "value", "outcome", "words"),
    [
        (
            "theme",
            VALUE,
            "outside_domain",
            "theme must be one of its 3 registered values; the value passed",
        ),
        ("late", VALUE, "outside_domain", "late takes a bool"),
        ("thème", VALUE, "unknown_metric", "one of bygone, city, emoji, flight, heavy, late"),
        (VALUE, "theme", "unknown_metric", "not shown"),
        ("bygone", True, "expired", "bygone has expired"),
    ],
)
def test_a_mistake_raises_with_words_that_help(strict, metric, value, outcome, words):
    error = raised(strict, metric, value)
    assert error.outcome == outcome
    assert words in str(error)
    assert isinstance(error, deniable.DeniableError)
    assert strict.status().outcomes == {outcome: 1}


def test_the_error_of_an_unknown_metric_lists_at_most_twenty_names(make_client, registry):
    metrics = [f'[metrics.m{number:04}]\ntype = "boolean"\nepsilon = 1' for number in range(2_000)]
    head = 'registry = 1\napplication = "a"\n[budget]\nepsilon_per_day = 4\nepsilon_lifetime = 4\n'
    registry.write_text(head + "\n".join(metrics), encoding="utf-8")
    words = str(raised(make_client(strict=True), "theme", "dark"))
    assert "one of m0000, m0001, " in words
    assert "m0019, 1980 more, got" in words
    assert len(words) < 300


def test_a_closed_client_raises(strict):
    strict.close()
    assert raised(strict, "theme", "dark").outcome == "closed"


def test_storage_that_cannot_be_used_raises_and_says_why(make_client, tmp_path):
    (tmp_path / "file").touch()
    client = make_client(strict=True, directory=tmp_path / "file" / "device")
    error = raised(client, "theme", "dark")
    assert error.outcome == "storage_unavailable"
    assert "FileExistsError" in str(error)


class Hostile(str):
    """A value whose own methods raise an error that quotes it."""

    __slots__ = ()

    def __hash__(self):
        raise RuntimeError(VALUE)


def test_a_defect_raises_and_says_where(strict):
    error = raised(strict, "theme", Hostile(VALUE))
    assert error.outcome == "internal_error"
    assert "RuntimeError in Hostile.__hash__, line" in str(error)


def frames_of_the_client(error):
    """All that a crash reporter shows of the frames that are not the host program's."""
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    frames = [frame for frame in told.stack if frame.filename.startswith(deniable.__path__[0])]
    assert frames
    return "\n".join(str((frame.line, frame.locals)) for frame in frames)


@pytest.mark.parametrize(
    ("metric", "value"),
    [("theme", VALUE), ("late", VALUE + "\ud800"), (VALUE, VALUE), ("theme", Hostile(VALUE))],
)
def test_the_value_is_in_no_message_no_chain_and_no_frame_of_the_client(strict, metric, value):
    """What a crash reporter prints: the error, the errors that it is chained to, all variables."""
    error = raised(strict, metric, value)
    assert error.__context__ is None
    assert error.__cause__ is None
    assert VALUE not in frames_of_the_client(error)
    assert VALUE not in repr(error) + str(vars(error))
    assert VALUE not in (strict.status().last_error or "")


def test_a_defect_shows_neither_a_discovered_text_nor_its_pieces(
    make_client, registry, monkeypatch, caplog
):
    text = registry.read_text(encoding="utf-8")
    text += '[metrics.query]\ntype = "string"\nepsilon = 1.0\ndiscover = true\n'
    registry.write_text(text, encoding="utf-8")
    client = make_client(strict=True)
    pieces = load(registry).metrics["query"].spec.encode(VALUE)

    def defect(_mechanism, *arguments):
        raise ValueError(arguments)

    monkeypatch.setattr(Trie, "cell", defect)
    error = raised(client, "query", VALUE)
    assert error.outcome == "internal_error"
    told = frames_of_the_client(error) + str(error) + caplog.text + str(client.status())
    assert "ValueError" in told
    for secret in (VALUE, str(pieces), str(pieces[0])):
        assert secret not in told


def test_outcomes_that_are_no_mistake_of_the_programmer_do_not_raise(
    make_client, clock, monkeypatch
):
    client = make_client(strict=True, clock=clock)
    assert client.record("heavy", value=True) == "recorded"
    assert client.record("heavy", value=True) == "already_reported"
    assert client.record("theme", "dark") == "over_budget"
    client.consent = False
    assert client.record("theme", "dark") == "no_consent"
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    assert make_client(strict=True, clock=clock).record("theme", "dark") == "do_not_track"
