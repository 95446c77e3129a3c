"""A signed export has one form, and nothing of it can be changed unseen."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from msgspec.structs import replace

from deniable_aggregator.answers.registry_history import chain_entry
from deniable_aggregator.telling.publication.export import (
    CONTEXT,
    ExportError,
    compile_export,
    open_export,
    sign_export,
)
from deniable_shared.errors import ParameterError
from tests.aggregator.publication import exported
from tests.aggregator.publication.exported import KEY, OTHER_KEY, PUBLIC_KEY


@pytest.fixture(scope="module")
def export():
    return exported.export()


@pytest.fixture(scope="module")
def document(export):
    return sign_export(export, KEY)


def test_an_export_is_read_as_it_was_made(export, document):
    for key in (None, PUBLIC_KEY):
        opened = open_export(document, key)
        assert (opened.export, opened.public_key) == (export, PUBLIC_KEY)
    assert sign_export(export, KEY) == document


def test_the_signature_is_over_the_bytes_that_stand_in_the_file(document):
    signed = document.partition(b'"publication":')[2].rpartition(b',"signature":')[0]
    signature = b64decode(json.loads(document)["signature"])
    key = Ed25519PublicKey.from_public_bytes(b64decode(PUBLIC_KEY))
    key.verify(signature, CONTEXT + signed)
    assert document.isascii()


def test_nothing_finer_than_a_day_and_nobody_is_in_it(document):
    text = document.decode()
    assert re.search(r"\d\d:\d\d", text) is None
    assert "example.org" not in text
    assert not any(word in text for word in ("owners", '"key"', 'label":"partner'))


def test_an_export_of_somebody_else_is_refused(document):
    with pytest.raises(ExportError, match="not from the publisher whose key that is"):
        open_export(document, OTHER_KEY)


@pytest.mark.parametrize("key", ["", "abc", PUBLIC_KEY[:-4], "ä" * 44])
def test_what_is_no_public_key_is_refused(document, key):
    with pytest.raises(ParameterError, match="public key must be 32 bytes in base64"):
        open_export(document, key)


def altered(document, change):
    """The same file with a change of what is published, in its one form."""
    whole = json.loads(document)
    change(whole)
    return json.dumps(whole, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def set_share(whole):
    whole["publication"]["metrics"][0]["rows"][0]["number"]["estimate"] = 0.99


def drop_note(whole):
    whole["publication"]["metrics"][0]["notes"].pop()


def swap_key(whole):
    whole["public_key"] = OTHER_KEY


def forge_signature(whole):
    whole["signature"] = b64encode(bytes(64)).decode()


@pytest.mark.parametrize("change", [set_share, drop_note, swap_key, forge_signature])
def test_a_changed_export_is_refused(document, change):
    with pytest.raises(ExportError, match="signature does not fit"):
        open_export(altered(document, change))


@pytest.mark.parametrize(
    "form",
    [
        lambda text: text[:-1],
        lambda text: text + b" ",
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: json.dumps(json.loads(text), indent=2, ensure_ascii=False).encode(),
        lambda text: text.replace(b'{"public', b'{ "public'),
        lambda text: text.replace(b'"public_key"', b'"signature":"","public_key"'),
    ],
)
def test_a_file_that_was_reformatted_is_refused_and_it_is_said_so(document, form):
    with pytest.raises(ExportError, match="was reformatted or edited after it was signed"):
        open_export(form(document))


@pytest.mark.parametrize(
    "form",
    [
        lambda text: text.replace(b'"epsilon_total":null', b'"epsilon_total":NaN'),
        lambda _text: b"[]\n",
        lambda _text: b'{"a":1}\n',
        lambda _text: b"\xff\xfe",
        lambda _text: b"[" * 100_000,
        lambda _text: b'{"public_key":"","publication":{},"signature":"\\ud800"}\n',
    ],
)
def test_what_is_no_export_is_refused(document, form):
    with pytest.raises(ExportError):
        open_export(form(document))


def signed_with(export, **changes):
    """What a publisher signs who does not say the truth."""
    return sign_export(replace(export, **changes), KEY)


def test_a_version_must_be_the_digest_of_its_text(export):
    first, second = export.metrics
    version = replace(first.versions[0], canonical=first.versions[0].canonical + " ")
    wrong = replace(first, versions=[version])
    with pytest.raises(ExportError, match="is not the SHA-256 of its text"):
        open_export(signed_with(export, metrics=[wrong, second]))
    strange = replace(first, versions=second.versions)
    with pytest.raises(ExportError, match="is not one of theme"):
        open_export(signed_with(export, metrics=[strange]))


def test_the_history_must_be_a_chain_of_the_same_application(export):
    history = export.history
    entries = [history.entries[0], history.entries[2]]
    cut = replace(history, entries=entries)
    with pytest.raises(ExportError, match="history of the registry is not as it was written"):
        open_export(signed_with(export, history=cut))
    with pytest.raises(ExportError, match="of another application"):
        open_export(signed_with(export, history=replace(history, application="other")))


def test_each_version_must_be_in_the_history(export):
    entries = export.history.entries[:1]
    history = replace(export.history, entries=entries, head=entries[-1].hash)
    with pytest.raises(ExportError, match="nothing says that it was ever registered"):
        open_export(signed_with(export, history=history))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (("level",), 1),
        (("level",), 1e-300),
        (("versions",), []),
        (("rows", 0, "number", "low"), 2),
        (("rows", 0, "number", "step"), -1),
        (("rows", 0, "reports", "high"), -1e9),
        (("rows", 0, "measure"), "truth"),
        (("since",), "2026-01-05T12:00:00"),
        (("every",), "second"),
        (("rows", 0, "surprise"), 1),
        (("rows", 0, "presence"), 37),
    ],
)
def test_numbers_that_cannot_be_are_refused_whoever_signs_them(document, field, value):
    with pytest.raises(ExportError, match="the export is not valid: "):
        open_export(signed(document, field, value))


def signed(document, field, value):
    """The file that a publisher signs who states something else of the first metric."""
    content = json.loads(document)["publication"]
    *way, last = ("metrics", 0, *field)
    inner = content
    for step in way:
        inner = inner[step]
    inner[last] = value
    return signed_content(content)


def signed_content(content):
    """The file with a signature that fits, whatever stands in it."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    signature = b64encode(KEY.sign(CONTEXT + text)).decode()
    whole = {"public_key": PUBLIC_KEY, "publication": content, "signature": signature}
    return json.dumps(whole, sort_keys=True, separators=(",", ":")).encode() + b"\n"


@pytest.mark.parametrize(
    ("field", "value", "wrong"),
    [
        (("versions", 0, "epsilon"), 0.01, "epsilon of version"),
        (("versions", 0, "epsilon_permanent"), 0.01, "epsilon_permanent of version"),
        (("versions", 0, "epsilon_total"), 0.01, "epsilon_total of version"),
        (("versions", 0, "delta"), 1e-9, "delta of version"),
        (("versions", 0, "title"), "perfect noise", "title of version"),
        (("versions", 0, "every"), "month", "every of version"),
        (("versions", 0, "gives_away"), "Nothing.", "gives_away of version"),
        (("versions", 0, "canonical"), "{}", "is not the SHA-256 of its text"),
        (("versions", 0, "reports"), 14_000, "reports of theme must be 14000"),
        (("type"), "boolean", "type of theme must be 'category'"),
        (("every"), "month", "every of theme must be 'day'"),
        (("reports"), 20_000, "reports of theme must be 15000"),
        (("periods"), 0, "periods of theme must be 1 to 1 in these days, got 0"),
        (("periods"), 2, "periods of theme must be 1 to 1 in these days, got 2"),
        (("until"), "2026-01-04", "must begin before they end, got 2026-01-05 to 2026-01-04"),
        (("rows", 0, "of_reports"), 15_001, "at most its 15,000 reports, got one of 15,001"),
        (("rows", 0, "label"), "li\u202eght", r"invisible characters .* got 'li<U\+202E>ght'"),
        (("segment"), "channel=\x1b[2J", r"characters .* got 'channel=<U\+001B>"),
        (("description"), "a\nb", "a text of theme must be without control"),
    ],
)
def test_what_contradicts_the_text_of_a_version_or_itself_is_refused_whoever_signs_it(
    document, field, value, wrong
):
    field = (field,) if isinstance(field, str) else field
    with pytest.raises(ExportError, match=wrong):
        open_export(signed(document, field, value))


def test_a_version_is_not_counted_twice(export):
    first = export.metrics[0]
    half = replace(first.versions[0], reports=first.reports // 2)
    twice = replace(first, versions=[half, half])
    with pytest.raises(ExportError, match="theme has a version twice"):
        open_export(signed_with(export, metrics=[twice]))


@pytest.mark.parametrize(
    ("field", "value"),
    [("summary", "category by grr, epsilon 0.01, every day"), ("metric", "plugin")],
)
def test_the_history_must_say_the_same_as_the_text_of_a_version(export, field, value):
    entries = []
    for entry in export.history.entries:
        if entry.metric == "theme" and entry.act == "limits changed":
            entry = replace(entry, **{field: value})
        entries.append(chain_entry("flightdeck", entries[-1] if entries else None, entry))
    history = replace(export.history, entries=entries, head=entries[-1].hash)
    with pytest.raises(ExportError, match=f"{field} of entry 3 of the history must be "):
        open_export(signed_with(export, history=history))


def test_another_version_of_deniable_is_blamed_only_if_it_made_the_export(document):
    content = json.loads(document)["publication"]
    content["surprise"] = 1
    with pytest.raises(ExportError, match=r"the export is not valid: .*surprise"):
        open_export(signed_content(content))
    content["made_with"] = "9.9"
    with pytest.raises(ExportError, match=r"made with version 9\.9 of Deniable, and this is "):
        open_export(signed_content(content))
    with pytest.raises(ExportError, match="the export is not valid"):
        open_export(signed_content([]))


def test_names_that_could_be_paths_are_refused(export):
    first = replace(export.metrics[0], metric="../theme")
    with pytest.raises(ExportError):
        open_export(signed_with(export, metrics=[first]))


def test_an_export_holds_each_metric_once(export):
    with pytest.raises(ExportError, match="none of them twice"):
        compile_export([export.metrics[0]] * 2, export.history)
    with pytest.raises(ExportError, match="at least one metric"):
        compile_export([], export.history)
