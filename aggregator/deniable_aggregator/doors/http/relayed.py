"""Parts of batches that a relay brings: opened, checked one by one, and stored in a few commits.

``POST /v1/relayed``. What is inside an envelope meets the same checks and quotas as an upload that
a device sends itself. What a device would drop is dropped, and what it would send again the relay
brings again, with a later batch.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from flask import Response, request
from werkzeug.exceptions import HTTPException

from deniable_aggregator.answering.requests import (
    ProblemError,
    authenticate,
    body_cut_off,
    store_unavailable,
)
from deniable_aggregator.answering.responses import json_response
from deniable_aggregator.answers.service import RelayedPart
from deniable_aggregator.doors.http.operation import Body, Operations, operation
from deniable_aggregator.doors.http.uploads import OUTCOME_NAMES
from deniable_aggregator.keeping.relay_keys import RelayKeysError
from deniable_aggregator.keeping.store import Outcome, Relay, Sender, StoreUnavailableError
from deniable_shared import wire
from deniable_shared.errors import SealError, TooManyPartsError, WireError
from deniable_shared.sealing import (
    BATCH_ID_BYTES,
    HEADER_BYTES,
    KEY_ID_BYTES,
    MAX_PART_BYTES,
    PART_CONTENT_TYPE,
    RELAYED_PATH,
    Part,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.doors.http.uploads import UploadReceiver
    from deniable_aggregator.keeping.key_quotas import Charge
    from deniable_aggregator.keeping.key_verifier import KeyVerifier
    from deniable_aggregator.keeping.keys import Key
    from deniable_aggregator.keeping.relay_keys import RelayKeys
    from deniable_aggregator.keeping.store import Store
    from deniable_shared.sealing import Opener

UNOPENED: Final = "unopened"
"""What becomes of an envelope that does not open, or shows the tag of another upload: nobody's
device made it, or its key was retired."""

CLOSED: Final = "epoch_closed"
"""Of an upload whose day was closed."""

UNKNOWN_RELAY_KEY: Final = "unknown_relay_key"
"""Of an envelope to a key of which this server knows nothing: another server may have it."""

RETRY_SECONDS: Final = 600
TURN_ENVELOPES: Final = 16
"""Between so many envelopes other threads have a turn: opening one keeps the interpreter."""

COMMIT_ENVELOPES: Final = 500
"""So many are stored in one commit, for which uploads of devices wait."""


class _Checked(NamedTuple):
    """An upload that may be stored.

    Attributes:
        charge: what to give back if it is not stored.
    """

    upload: wire.Upload
    sender: Sender
    charge: Charge


class _Brought:
    """A part while it is taken.

    Args:
        application: the relay's.
        part: what it brought.
        opener: opens envelopes.
        known: the ids of all keys that there are or were.

    Attributes:
        crowd: the id of the batch together with its size, so that no crowd grows by an id that a
            relay gives twice.
        counts: how many uploads had each outcome.
        dropped: how many will never be stored, by the code of the problem.
        again: places of envelopes that may be stored later.
    """

    def __init__(
        self, application: str, part: Part, opener: Opener, known: frozenset[bytes]
    ) -> None:
        self.application, self.part, self.opener, self.known = application, part, opener, known
        named = part.batch + part.size.to_bytes(4)
        self.crowd = hashlib.blake2b(named, digest_size=BATCH_ID_BYTES).digest()
        self.offered = frozenset(part.offered)
        self.counts: Counter[Outcome] = Counter()
        self.dropped: Counter[str] = Counter()
        self.again: list[int] = []


class RelayedReceiver:
    """Takes parts of batches.

    Args:
        receiver: checks the uploads inside, and counts their outcomes.
        verifier: verifies the write keys inside.
        store: takes them.
        keys: open envelopes.
    """

    def __init__(
        self, receiver: UploadReceiver, verifier: KeyVerifier, store: Store, keys: RelayKeys
    ) -> None:
        self._receiver = receiver
        self._verifier = verifier
        self._store = store
        self._keys = keys

    def check_headers(self, key: Key, *, content_type: str, content_encoding: str) -> None:
        """As of `UploadReceiver`, for the key of a relay."""
        self._receiver.check_headers(
            key, content_type=content_type, content_encoding=content_encoding, length=None
        )

    def take(self, key: Key, body: bytes) -> RelayedPart:
        """Stores what is inside a part, each upload once; all are durable when this returns.

        Args:
            key: the relay's.
            body: the part.

        Returns:
            What has become of each envelope.

        Raises:
            ProblemError: if the part is to be brought again. What was stored of it counts once.
        """
        try:
            part = Part.decode(body)
        except WireError as error:
            raise ProblemError("malformed_upload", f"{error}.") from None
        opener, known = self._opener(key.application)
        # Tags are hashes of random ids: which uploads a quota refuses is chance.
        in_tag_order = sorted(
            range(len(part.envelopes)),
            key=lambda place: part.envelopes[place][1 + KEY_ID_BYTES : HEADER_BYTES],
        )
        brought = _Brought(key.application, part, opener, known)
        for first in range(0, len(in_tag_order), COMMIT_ENVELOPES):
            self._take_some(brought, in_tag_order[first : first + COMMIT_ENVELOPES])
        stored, duplicates = (
            brought.counts.pop(outcome, 0) for outcome in (Outcome.STORED, Outcome.DUPLICATE)
        )
        if closed := brought.counts.pop(Outcome.CLOSED, 0):
            brought.dropped[CLOSED] += closed
        return RelayedPart(
            stored=stored,
            duplicates=duplicates,
            dropped=dict(sorted(brought.dropped.items())),
            again=sorted(brought.again),
        )

    def _take_some(self, brought: _Brought, places: Sequence[int]) -> None:
        """Opens some envelopes, and stores what is inside in one commit."""
        checked: list[_Checked] = []
        skipped: dict[int, _SkippedError] = {}
        try:
            for turn, place in enumerate(places):
                if turn % TURN_ENVELOPES == 0:
                    time.sleep(0)
                try:
                    checked.append(self._check(brought, place))
                except _SkippedError as error:
                    skipped[place] = error
            outcomes = self._append(checked)
        except BaseException:
            for each in checked:
                self._receiver.give_back(each.charge)
            raise
        for each, outcome in zip(checked, outcomes, strict=True):
            if outcome is not Outcome.STORED:
                self._receiver.give_back(each.charge)
        brought.counts.update(outcomes)
        names = Counter(OUTCOME_NAMES.get(outcome, CLOSED) for outcome in outcomes)
        for place, skip in skipped.items():
            names[skip.code] += 1
            if skip.is_final:
                brought.dropped[skip.code] += 1
            else:
                brought.again.append(place)
        for name, number in names.items():
            self._receiver.record_outcome(brought.application, name, number)

    def _opener(self, application: str) -> tuple[Opener, frozenset[bytes]]:
        try:
            opener, known = self._keys.opener()
        except RelayKeysError:
            known = frozenset()
        if not known:
            self._receiver.record_outcome(application, "no_relay_keys")
            raise ProblemError(
                "no_relay_keys",
                "Bring this part again later. The operator makes a key with deniable relay-key "
                "create, or gives this server the file of another.",
                headers={"Retry-After": str(RETRY_SECONDS)},
            )
        return opener, known

    def _check(self, brought: _Brought, place: int) -> _Checked:
        """Opens an envelope, and checks what is inside as if its device had sent it.

        Raises:
            _SkippedError: if it cannot be stored, or not now.
        """
        envelope = brought.part.envelopes[place]
        key_id = envelope[1 : 1 + KEY_ID_BYTES]
        if len(envelope) > HEADER_BYTES and key_id not in brought.known:
            raise _SkippedError(UNKNOWN_RELAY_KEY, is_final=False)
        try:
            opened = brought.opener.open(envelope)
        except SealError:
            raise _SkippedError(UNOPENED, is_final=True) from None
        except TooManyPartsError:
            raise _SkippedError("upload_too_large", is_final=True) from None
        except WireError:
            raise _SkippedError("malformed_upload", is_final=True) from None
        try:
            key = self._verifier.cached(opened.write_key) or authenticate(
                self._verifier, f"Bearer {opened.write_key}", "write"
            )
            if key.application != brought.application:
                raise ProblemError("wrong_scope", "A relay serves one application.")
            reports = self._receiver.check(key, opened.upload, relayed=True)
            charge = self._receiver.take(key, opened.upload, reports)
        except ProblemError as problem:
            final = problem.status in wire.REFUSED
            raise _SkippedError(problem.code, is_final=final) from None
        # What was offered before was seen in another crowd.
        hides = place not in brought.offered
        relay = Relay(key_id, brought.crowd) if hides else None
        return _Checked(opened.upload, Sender(key.application, key.id, relay), charge)

    def _append(self, checked: list[_Checked]) -> list[Outcome]:
        if not checked:
            return []
        try:
            return self._store.inbox.append(
                [each.upload for each in checked], [each.sender for each in checked]
            )
        except StoreUnavailableError:
            raise store_unavailable() from None


class _SkippedError(Exception):
    """An envelope whose upload is not stored.

    Args:
        code: of the problem.
        is_final: whether it never will be.
    """

    def __init__(self, code: str, *, is_final: bool) -> None:
        super().__init__(code)
        self.code = code
        self.is_final = is_final


@operation(
    "POST",
    RELAYED_PATH,
    RelayedPart,
    scopes=("relay",),
    body=Body(bytes, PART_CONTENT_TYPE),
    problems=(
        "malformed_upload",
        "unsupported_media_type",
        "no_relay_keys",
        "rate_limited",
        "storage_full",
    ),
)
def bring_relayed(receiver: RelayedReceiver, key: Key) -> Response:
    """Stores the uploads of a part of a relay's batch, each once; durable when this is answered."""
    receiver.check_headers(
        key,
        content_type=request.headers.get("Content-Type", ""),
        content_encoding=request.headers.get("Content-Encoding", ""),
    )
    request.max_content_length = MAX_PART_BYTES
    announced = request.content_length
    try:
        body = request.get_data(cache=False)
    except HTTPException as error:
        if error.code != 400:  # of a body that was cut off
            raise
        raise body_cut_off() from None
    if announced is not None and len(body) < announced:
        raise body_cut_off()
    return json_response(receiver.take(key, body))


def blueprint(receiver: RelayedReceiver, verifier: KeyVerifier) -> Operations:
    """The route."""
    routes = Operations("relayed", verifier)
    routes.add(bring_relayed, receiver)
    return routes
