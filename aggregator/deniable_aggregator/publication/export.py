"""A signed export: one JSON file with all that is published, which everybody can check.

The file is JSON in ASCII with sorted keys and without spaces, and a newline at its end::

    {"public_key":"<base64>","publication":{...},"signature":"<base64>"}

The signature is Ed25519 over `CONTEXT` followed by the bytes of the object ``publication`` as they
stand in the file. A file that is not written exactly so is refused: for each export there is one
sequence of bytes.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from deniable_aggregator.answers.registry_history import RegistryHistory  # noqa: TC001  msgspec
from deniable_aggregator.publication.checking import ExportError, check_export
from deniable_aggregator.publication.publication import Name, Publication  # noqa: TC001  msgspec
from deniable_shared import __version__
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

CONTEXT: Final = b"deniable publication 1\n"
"""Precedes what is signed, so that a signature made for something else cannot be used here."""

KEY_BYTES: Final = 32
_PARTS: Final = {"public_key", "publication", "signature"}
_IN_BASE64: Final = ("public_key", "signature")


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
