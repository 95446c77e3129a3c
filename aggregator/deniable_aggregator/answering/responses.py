"""Responses: answers in the wanted format, and for how long a client may keep them.

Answers that a client may keep: what tells whether one is still right, and for how long.

The tag of an answer (RFC 9110, section 8.8.3) is a hash of all that the answer depends on. It is
worked out from the stamps of the days, so a question whose answer the client has costs no estimate.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import msgspec
from flask import Response, request

from deniable_aggregator.answering.integrity.volumes import DAYS_BEFORE
from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answers.dates import DayRange, epoch_of
from deniable_aggregator.answers.extras import MissingExtraError
from deniable_aggregator.answers.questions import SeriesQuery, ValueLists
from deniable_aggregator.media.row_formats import FORMATS, encode, require_format
from deniable_shared import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deniable_aggregator.answering.reader import AskedMetric
    from deniable_aggregator.answers.row import Row
    from deniable_aggregator.keeping.store import Store


MEDIA_TYPE: Final = "application/json"


def json_response(
    answer: msgspec.Struct, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """The HTTP response that carries an answer.

    Args:
        answer: one of `deniable_aggregator.answers`.
        status: the HTTP status.
        headers: further headers.
    """
    return Response(msgspec.json.encode(answer), status, headers, content_type=MEDIA_TYPE)


def table_response(
    rows: Iterable[Row], name: str, file_name: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The HTTP response that carries rows, which are encoded while they are sent.

    Args:
        rows: of the long table.
        name: of the format.
        file_name: what a browser calls the file, without its ending.
        headers: further headers.
    """
    pieces = encode(rows, name)
    # What fails before is answered with a problem document. Of no rows there may be no piece.
    first = next(pieces, b"")
    response = Response(
        chain((first,), pieces), headers=headers, content_type=FORMATS[name].content_type
    )
    response.headers.set("Content-Disposition", "attachment", filename=f"{file_name}.{name}")
    return response


OTHER_NAMES: Final = {"application/x-ndjson": "jsonl", "application/x-parquet": "parquet"}
"""Media types that programs also ask for."""

VARY: Final = "Authorization, Accept, Accept-Encoding"
"""The same address is another question with the key of another application, and another answer in
another format."""


def asked_format(ending: str = "") -> str | None:
    """The format that the current request wants, by its address or else by ``Accept``.

    Args:
        ending: what the address ends with after a dot; empty for nothing.

    Returns:
        One of `FORMATS`, or None for JSON.

    Raises:
        ProblemError: if there is no such format, or it needs a package that is not installed.
    """
    if ending:
        if ending not in FORMATS:
            raise ProblemError("not_found", f"There is no format .{ending[:20]}. {_CHOICE}")
        missing = _missing(ending)
        if missing:
            raise ProblemError("not_acceptable", f"On the server, {missing}. {_CHOICE}")
        return ending
    wanted = request.accept_mimetypes
    if not wanted:
        return None
    offered = {MEDIA_TYPE: None, **{each.media_type: name for name, each in FORMATS.items()}}
    offered.update(OTHER_NAMES)
    there = {kind: name for kind, name in offered.items() if name is None or not _missing(name)}
    best = wanted.best_match(there)
    if best is not None:
        return there[best]
    other = wanted.best_match(offered)
    why = f"On the server, {_missing(offered[other] or '')}. " if other is not None else ""
    raise ProblemError("not_acceptable", why + _CHOICE)


def _missing(name: str) -> str:
    """What a format needs and is not installed; empty if all is there."""
    try:
        require_format(name)
    except MissingExtraError as error:
        return str(error)
    return ""


_CHOICE: Final = (
    f"Ask for {', '.join(f'.{name}' for name in FORMATS)} at the end of the path, or by Accept for "
    f"{', '.join(each.media_type for each in FORMATS.values())} or {MEDIA_TYPE}."
)


KEPT_SECONDS: Final = 60
"""So long a client need not ask again about closed days.

They change where an administrator excludes a key, retries reports that were set aside, or deletes
old days: an answer that is kept may be so many seconds behind.
"""

_TAG_BYTES: Final = 16


class Validity(NamedTuple):
    """How long an answer stays right.

    Attributes:
        tag: the same as long as nothing has changed that the answer depends on.
        closed: whether all its days are closed for reports.
    """

    tag: str
    closed: bool

    def headers(self) -> dict[str, str]:
        """The headers of the answer."""
        kept = f"max-age={KEPT_SECONDS}" if self.closed else "no-cache"
        return {
            "ETag": f'"{self.tag}"',
            "Cache-Control": f"private, {kept}",
            "Vary": VARY,
        }


def validity_of(
    store: Store,
    asked: AskedMetric,
    ranges: Sequence[DayRange],
    question: tuple[msgspec.Struct, ValueLists],
    *,
    today: int,
    accept_days: int,
    part_reports: int,
) -> Validity:
    """How long the answer to a question stays right.

    Args:
        store: the store.
        asked: the metric.
        ranges: the days.
        question: how to answer, and the values that it is about.
        today: the server's day, in days since 1970-01-01.
        accept_days: for how many days a day stays open for reports.
        part_reports: how many reports a part of them needs.
    """
    digests = [entry.spec.digest for entry in asked.entries]
    last = max(epoch_of(days.until) for days in ranges)
    closed = last < today - accept_days
    # What is usual follows from the days before.
    spans = [(max(epoch_of(days.since) - DAYS_BEFORE, 0), epoch_of(days.until)) for days in ranges]
    depends_on = (
        __version__,
        asked.application,
        asked.name,
        type(question[0]).__name__,
        msgspec.json.encode(question),
        part_reports,
        # Answers about other days say which of them are still open.
        None if closed else (today, accept_days),
        [
            (each.spec.digest, each.description, each.registered, sorted(each.renamed.items()))
            for each in (entry.registration for entry in asked.entries)
        ],
        [
            (key.id, key.label, key.excluded, key.refused_since, key.refused_until)
            for key in store.keys.all()
            if key.application == asked.application
        ],
        sorted(store.tallies.first_days(digests, asked.without).items()),
        [past[:-1] for past in store.key_pasts.read(digests)],
        store.rolled.stamp(digests),
        # Only series say what happened when.
        store.annotations.all(asked.application) if isinstance(question[0], SeriesQuery) else (),
        [
            sorted(store.tallies.stamps(digest, since, until).items())
            for digest in digests
            for since, until in spans
        ],
    )
    tag = hashlib.blake2b(repr(depends_on).encode(), digest_size=_TAG_BYTES).hexdigest()
    return Validity(tag, closed)


MOST_KEPT: Final = 128
MOST_VALUES: Final = 2_000
"""Answers about more values are not kept, as they take megabytes each."""

Answer = TypeVar("Answer")


class KeptAnswers:
    """The answers that were asked for last; whoever gets one must not change it. Thread-safe.

    The tag of an answer says all that it depends on: one that has become wrong is never found
    again, and goes when others come.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

    def answer(
        self, validity: Callable[[], Validity], lists: ValueLists, work_out: Callable[[], Answer]
    ) -> Answer:
        """The answer to a question.

        Args:
            validity: works out its tag.
            lists: the values that the question is about.
            work_out: works out the answer.
        """
        if lists.candidates and len(lists.candidates) > MOST_VALUES:
            return work_out()
        tag = validity().tag
        with self._lock:
            if tag in self._kept:
                self._kept.move_to_end(tag)
                kept: Answer = self._kept[tag]
                return kept
        found = work_out()
        if validity().tag != tag:  # reports came meanwhile, or a key was left out
            return found
        with self._lock:
            self._kept[tag] = found
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return found
