"""A signed export: one JSON file with all that is published, which everybody can check.

The file is JSON in ASCII with sorted keys and without spaces, and a newline at its end::

    {"public_key":"<base64>","publication":{...},"signature":"<base64>"}

The signature is Ed25519 over `CONTEXT` followed by the bytes of the object ``publication`` as they
stand in the file. A file that is not written exactly so is refused: for each export there is one
sequence of bytes.

The signature says who signed an export, and not that the publisher tells the truth. What a version
asks and what it gives away is in its canonical text, which the version's id is the digest of; so
the rest must agree with that text, and must not contradict itself. What devices held nobody can
check here.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from deniable_aggregator.answers.registry_history import (
    BrokenHistoryError,
    RegistryHistory,
    check_history,
    summary,
)
from deniable_aggregator.telling.publication.publication import (
    Name,
    Publication,
    PublishedVersion,
    published_version,
)
from deniable_shared import __version__
from deniable_shared.characters import visible, visible_constraint
from deniable_shared.errors import DeniableError, ParameterError
from deniable_shared.periods import EVERY, most_periods
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


CONTEXT: Final = b"deniable publication 1\n"
"""Precedes what is signed, so that a signature made for something else cannot be used here."""

KEY_BYTES: Final = 32
_PARTS: Final = {"public_key", "publication", "signature"}
_IN_BASE64: Final = ("public_key", "signature")


class ExportError(DeniableError):
    """An export cannot be trusted, or cannot be read. The message says why."""


class Export(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is published at once.

    Attributes:
        application: whose metrics these are.
        made_with: the version of Deniable that made it.
        metrics: one publication per metric.
        history: every version of a metric that was ever registered, in a chain of hashes.
    """

    application: Name
    made_with: str
    metrics: list[Publication]
    history: RegistryHistory


@dataclass(frozen=True)
class OpenedExport:
    """An export that was read, and whose signature fits.

    Attributes:
        export: what it says.
        public_key: the key that its signature was checked with, in base64: the file's own.
        document: the file.
    """

    export: Export
    public_key: str
    document: bytes


def compile_export(publications: Sequence[Publication], history: RegistryHistory) -> Export:
    """Puts publications of one application together.

    Args:
        publications: at least one, of different metrics.
        history: of the application's registry.

    Raises:
        ExportError: if they contradict each other.
    """
    export = Export(
        application=history.application,
        made_with=__version__,
        metrics=list(publications),
        history=history,
    )
    check_export(export)
    return export


def sign_export(export: Export, key: Ed25519PrivateKey) -> bytes:
    """The file of an export.

    Args:
        export: what is published.
        key: the publisher's, of ``deniable remote keygen``.
    """
    content = msgspec.to_builtins(export)
    signature = key.sign(CONTEXT + _canonical(content))
    public = key.public_key().public_bytes_raw()
    return _document(content, public, signature)


def open_export(document: bytes, public_key: str | None = None) -> OpenedExport:
    """Reads an export, and checks all of it that can be checked.

    That it has the only form that it can have, that its signature is that of its public key, that
    each version of a metric is the SHA-256 of its canonical text and was registered, that all that
    is said of a version follows from that text, and that no link of the history was changed.
    Without a public key this does not say who signed it.

    Args:
        document: the file.
        public_key: in base64, from somewhere else than the file: who must have signed it.

    Raises:
        ParameterError: if the public key is none.
        ExportError: if anything is not as it must be.
    """
    expected = None if public_key is None else _public_key(public_key)
    content, own_key, signature = _parts(document)
    if expected is not None and own_key != expected:
        raise ExportError(
            f"the export is signed by the key {b64encode(own_key).decode()} and not by the one "
            "that was given: it is not from the publisher whose key that is"
        )
    _verify(own_key, signature, CONTEXT + _canonical(content))
    try:
        export = msgspec.convert(content, Export)
    except msgspec.ValidationError as error:
        raise ExportError(_why_unread(content, error)) from None
    check_export(export)
    return OpenedExport(export, b64encode(own_key).decode(), document)


def check_export(export: Export) -> None:
    """Checks all of an export that can be checked without its signature.

    Args:
        export: of this version of Deniable.

    Raises:
        ExportError: saying what contradicts what.
    """
    names = [each.metric for each in export.metrics]
    if not names or len(set(names)) != len(names):
        raise ExportError("an export must hold at least one metric, and none of them twice")
    history = export.history
    if history.application != export.application:
        raise ExportError("the history is of another application than the export")
    try:
        check_history(history)
    except BrokenHistoryError as error:
        raise ExportError(
            f"the history of the registry is not as it was written: {visible(str(error))}"
        ) from None
    for each in export.metrics:
        if each.application != export.application:
            raise ExportError(f"{each.metric} is of another application than the export")
        specs = []
        for version in each.versions:
            spec = _check_version(each, version)
            _check_registered(each, version, spec, history)
            specs.append(spec)
        _check_whole(each, specs)
        _check_texts(each)


def _why_unread(content: Any, error: Exception) -> str:
    """Why an export is none of this version of Deniable."""
    made_with = content.get("made_with") if isinstance(content, dict) else None
    if isinstance(made_with, str) and made_with != __version__:
        return (
            f"the export was made with version {visible(made_with)} of Deniable, and this is "
            f"{__version__}: {visible(str(error))}"
        )
    return f"the export is not valid: {visible(str(error))}"


def _parts(document: bytes) -> tuple[Any, bytes, bytes]:
    """What is published, the public key and the signature."""
    try:
        whole = json.loads(document.decode("utf-8-sig"))
        if not isinstance(whole, dict) or whole.keys() != _PARTS:
            raise ExportError(f"the export must be an object of {', '.join(sorted(_PARTS))}")
        key, signature = (b64decode(whole[name], validate=True) for name in _IN_BASE64)
        json.dumps(whole, ensure_ascii=False).encode()  # refuses halves of characters
        same = document == _document(whole["publication"], key, signature)
    except (ValueError, TypeError, RecursionError):
        raise ExportError("the file must be an export of deniable publish") from None
    if not same:
        raise ExportError(
            "the file was reformatted or edited after it was signed; get the original"
        )
    return whole["publication"], key, signature


def _document(content: Any, public_key: bytes, signature: bytes) -> bytes:
    signed = {
        "public_key": b64encode(public_key).decode(),
        "publication": content,
        "signature": b64encode(signature).decode(),
    }
    return _canonical(signed) + b"\n"


def _canonical(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _verify(public_key: bytes, signature: bytes, signed: bytes) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, signed)
    except (InvalidSignature, ValueError):
        raise ExportError("the signature does not fit: the export was changed after it") from None


def _public_key(text: str) -> bytes:
    try:
        key = b64decode(text, validate=True)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ParameterError("public key", f"{KEY_BYTES} bytes in base64", text)
    return key


def _check_version(made: Publication, version: PublishedVersion) -> Spec:
    """A version is what its text says; the spec that it describes."""
    name = f"version {version.version} of {made.metric}"
    if hashlib.sha256(version.canonical.encode()).hexdigest() != version.version:
        raise ExportError(f"{name} is not the SHA-256 of its text")
    try:
        spec = Spec.from_canonical_text(version.canonical)
    except ParameterError:
        raise ExportError(f"{name} is none that this version of Deniable knows") from None
    if (spec.application, spec.name) != (made.application, made.metric):
        raise ExportError(f"version {version.version} is not one of {made.metric}")
    follows = published_version(spec, version.reports)
    for field in version.__struct_fields__:
        _agree(f"{field} of {name}", getattr(version, field), getattr(follows, field))
    return spec


def _check_registered(
    made: Publication, version: PublishedVersion, spec: Spec, history: RegistryHistory
) -> None:
    """A version was registered, and the history says the same of it as its text."""
    name = f"version {version.version} of {made.metric}"
    entries = [each for each in history.entries if each.version == version.version]
    if not any(each.metric == made.metric and each.act == "registered" for each in entries):
        raise ExportError(
            f"{name} is not in the history of the registry: nothing says that it was ever "
            "registered"
        )
    follows = summary(spec)
    for entry in entries:
        _agree(f"metric of entry {entry.sequence} of the history", entry.metric, made.metric)
        _agree(f"summary of entry {entry.sequence} of the history", entry.summary, follows)


def _check_whole(made: Publication, specs: Iterable[Spec]) -> None:
    """Type, period and numbers of reports of a metric follow from its versions and its days."""
    ids = [each.version for each in made.versions]
    if len(set(ids)) != len(ids):
        raise ExportError(f"{made.metric} has a version twice")
    for spec in specs:
        _agree(f"type of {made.metric}", made.type, spec.value_type)
    shortest = min((each.every for each in made.versions), key=EVERY.index)
    _agree(f"every of {made.metric}", made.every, shortest)
    _agree(f"reports of {made.metric}", made.reports, sum(each.reports for each in made.versions))
    if made.since > made.until:
        raise ExportError(
            f"the days of {made.metric} must begin before they end, got {made.since} to "
            f"{made.until}"
        )
    most = most_periods(made.every, (made.until - made.since).days + 1)
    if not 1 <= made.periods <= most:
        raise ExportError(
            f"periods of {made.metric} must be 1 to {most:,} in these days, got {made.periods:,}"
        )
    for row in made.rows:
        if row.of_reports is not None and row.of_reports > made.reports:
            raise ExportError(
                f"a share of {made.metric} must be of at most its {made.reports:,} reports, got "
                f"one of {row.of_reports:,}"
            )


def _check_texts(made: Publication) -> None:
    """No text acts on a terminal or reads as another: no registry would have taken it."""
    for text in (made.description, made.segment or "", *(row.label for row in made.rows)):
        constraint = visible_constraint(text)
        if constraint is not None:
            raise ExportError(
                f"a text of {made.metric} must be {constraint}, got '{visible(text)}'"
            )


def _agree(what: str, stated: Any, follows: Any) -> None:
    if stated != follows:
        raise ExportError(
            f"{what} must be {follows!r}, which follows from its versions, got "
            f"{visible(repr(stated))}"
        )
