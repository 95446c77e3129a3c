"""The steps by which an upload is admitted, whichever door it comes through.

A door says how a body is read, where one may wait, and how a commit is waited for. In the server's
event loop these are awaited; a door that only calls functions is walked through by `at_once`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from deniable_aggregator.http.authorization import unknown_key
from deniable_aggregator.http.problems import ProblemError, body_cut_off
from deniable_aggregator.ingest.receiver import NO_APPLICATION, OUTCOME_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from deniable_aggregator.ingest.receiver import UploadReceiver
    from deniable_aggregator.security.keys import Key
    from deniable_aggregator.store import Outcome
    from deniable_shared.wire import Upload

MAX_QUICK_BYTES: Final = 256 << 10
"""Larger bodies are checked aside, as other requests would have to wait for them."""

Result = TypeVar("Result")


class Door:
    """A request with an upload, whose thread waits for whatever takes long.

    Args:
        receiver: checks uploads, and counts their outcomes.
        header: returns a header by its name in lower case; empty if there is none.
        length: the announced length of the body in bytes; None if there is none.

    Attributes:
        whole: whether a body without an announced length is surely whole.
    """

    whole = True

    def __init__(
        self, receiver: UploadReceiver, header: Callable[[str], str], length: int | None
    ) -> None:
        self.receiver = receiver
        self.header = header
        self.length = length

    async def aside(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Calls a function that may take long, where nobody else waits for it."""
        return function(*arguments)

    async def read(self) -> bytes | None:
        """The body, or None if it is longer than the limit.

        Raises:
            ProblemError: if it does not arrive, or not in time, or there is no room for it.
        """
        raise NotImplementedError

    async def store(self, upload: Upload, key: Key) -> Outcome:
        """What has become of an upload that was checked; it is durable then.

        Raises:
            ProblemError: if it was not stored.
        """
        return self.receiver.store(upload, key)


async def admit(door: Door) -> None:
    """Takes an upload; it is durable when this returns.

    Args:
        door: which it comes through.

    Raises:
        ProblemError: if the upload is refused; nothing was stored, and the refusal was counted.
        StoreUnavailableError: if the store cannot be read.
    """
    receiver, application = door.receiver, NO_APPLICATION
    try:
        authorization = door.header("authorization")
        key = receiver.cached_key(authorization)
        if key is None:
            if receiver.lacks_valid_key(authorization):
                raise unknown_key()
            key = await door.aside(receiver.authenticate, authorization)
        application = key.application
        check = partial(
            receiver.check_headers,
            key,
            content_type=door.header("content-type"),
            content_encoding=door.header("content-encoding"),
            length=door.length,
        )
        if receiver.limiter_waits:
            await door.aside(check)
        else:
            check()
        body = await door.read()
        if body is None:
            raise receiver.too_large()
        upload = await _checked(door, application, body)
        outcome = await door.store(upload, key)
    except ProblemError as problem:
        receiver.record_outcome(application, problem.code)
        raise
    receiver.record_outcome(application, OUTCOME_NAMES[outcome])


async def _checked(door: Door, application: str, body: bytes) -> Upload:
    receiver = door.receiver
    try:
        if len(body) > MAX_QUICK_BYTES:
            return await door.aside(receiver.decode_and_check, application, body)
        upload = receiver.decode(body)
        if receiver.metrics_are_cached(upload):
            receiver.check(application, upload)
        else:
            await door.aside(receiver.check, application, upload)
    except ProblemError as problem:
        if door.length is None and not door.whole and problem.code == "malformed_upload":
            raise body_cut_off() from None
        raise
    return upload


def at_once(steps: Coroutine[Any, Any, Result]) -> Result:
    """Walks through steps that wait for nothing, without an event loop.

    Args:
        steps: with a door each of whose functions returns without waiting.
    """
    try:
        steps.send(None)
    except StopIteration as ended:
        result: Result = ended.value
        return result
    raise RuntimeError("steps must wait for nothing")
