"""Remote configuration: what a device may be told to do less of, and nothing else.

A document is JSON of at most 4 KiB::

    {"payload": "<base64>", "signature": "<base64>"}

The signature is Ed25519 over `CONTEXT` followed by the payload's bytes. These are JSON again::

    {"remote": 1, "application": "flightdeck", "serial": 7,
     "disable": ["theme"], "thin": {"emoji": 0.25}, "slow": 4}

The last three fields may be left out. A document that says anything else is refused as a whole:
there is no field for an epsilon, a budget, a domain, an endpoint or consent, and there never will
be.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.characters import NAME
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

PATH: Final = "/v1/remote"
MAX_DOCUMENT_BYTES: Final = 4_096
CONTEXT: Final = b"deniable remote configuration 1\n"
"""Precedes what is signed, so that a signature made for something else cannot be used here."""

ALL: Final = "all"
WHOLE: Final = 1 << 32
MAX_SERIAL: Final = 2**53 - 1
MAX_SLOW: Final = 1_000

_VERSION: Final = 1
_REQUIRED: Final = {"remote", "application", "serial"}
_FIELDS: Final = _REQUIRED | {"disable", "thin", "slow"}


@dataclass(frozen=True)
class RemoteConfiguration:
    """What devices of one application are told to do less of.

    Attributes:
        serial: numbers the configurations of an application; a device never goes back.
        disable: metrics that record nothing, or `ALL`.
        thin: by metric, the share of devices and periods that still record, an integer weight over
            2^32; at least 1.
        slow: what upload delays and back-off are multiplied with; in [1, 1000].
    """

    application: str
    serial: int
    disable: frozenset[str] | str = frozenset()
    thin: Mapping[str, int] = field(default_factory=dict)
    slow: float = 1.0

    def disables(self, metric: str) -> bool:
        """Whether a metric is to record nothing."""
        return self.disable == ALL or metric in self.disable


def seal(payload: bytes, signature: bytes) -> bytes:
    """The document of a payload and its signature."""
    parts = {"payload": payload, "signature": signature}
    return json.dumps({name: b64encode(part).decode() for name, part in parts.items()}).encode()


def unseal(document: bytes) -> tuple[bytes, bytes]:
    """The payload and the signature of a document; the signature is not verified here.

    Raises:
        ParameterError: if it is not a document, or too long.
    """
    if len(document) > MAX_DOCUMENT_BYTES:
        raise ParameterError("document", f"at most {MAX_DOCUMENT_BYTES} bytes", len(document))
    envelope = _object("document", document)
    if envelope.keys() != {"payload", "signature"}:
        raise ParameterError("document", "payload and signature", sorted(envelope))
    try:
        payload, signature = (
            b64decode(envelope[name].encode("ascii"), validate=True)
            for name in ("payload", "signature")
        )
    except (ValueError, AttributeError):
        raise ParameterError("document", "base64", "something else") from None
    return payload, signature


def parse(payload: bytes) -> RemoteConfiguration:
    """Reads a payload, whole or not at all.

    Raises:
        ParameterError: if there is a field that no configuration has, or one with a wrong value.
    """
    fields = _object("payload", payload)
    if not (fields.keys() >= _REQUIRED and fields.keys() <= _FIELDS):
        allowed = ", ".join(sorted(_FIELDS))
        raise ParameterError("payload", f"an object of {allowed}", sorted(fields))
    disable, thin = fields.setdefault("disable", []), fields.setdefault("thin", {})
    slow = fields.setdefault("slow", 1)
    rules: list[tuple[str, str, bool]] = [
        ("remote", "the number 1", _is_integer(fields["remote"], _VERSION)),
        ("application", f"matching {NAME}", _is_name(fields["application"])),
        ("serial", f"an integer in [1, {MAX_SERIAL}]", _is_integer(fields["serial"], MAX_SERIAL)),
        (
            "disable",
            "a list of metrics, or 'all'",
            disable == ALL or (isinstance(disable, list) and all(map(_is_name, disable))),
        ),
        (
            "thin",
            "an object of metrics and shares in (0, 1]",
            isinstance(thin, dict)
            and all(map(_is_name, thin))
            and all(_is_number(share) and 0 < share <= 1 for share in thin.values()),
        ),
        ("slow", f"a number in [1, {MAX_SLOW}]", _is_number(slow) and 1 <= slow <= MAX_SLOW),
    ]
    for name, constraint, is_kept in rules:
        if not is_kept:
            raise ParameterError(name, constraint, fields[name])
    return RemoteConfiguration(
        application=fields["application"],
        serial=fields["serial"],
        disable=ALL if disable == ALL else frozenset(disable),
        thin={metric: max(1, int(share * WHOLE)) for metric, share in thin.items()},
        slow=float(slow),
    )


def _is_name(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(NAME, value) is not None


def _is_integer(value: object, most: int) -> bool:
    return type(value) is int and 1 <= value <= most


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


def _object(name: str, text: bytes) -> dict[str, Any]:
    """A JSON object, in UTF-8, in which no name occurs twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            raise ValueError
        return members

    try:
        document = json.loads(text.decode("utf-8"), object_pairs_hook=unique)
    except (ValueError, RecursionError):
        raise ParameterError(name, "JSON", "something else") from None
    if not isinstance(document, dict):
        raise ParameterError(name, "a JSON object", type(document).__name__)
    return document
