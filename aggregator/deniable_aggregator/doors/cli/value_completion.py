"""Completion of what only the server knows: metrics, their values, segments, keys and versions.

A shell waits for it at each press of the tabulator key, so it takes at most half a second, prints
nothing and fails in silence. It does without httpx, whose import alone would be felt.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from deniable_aggregator.doors.cli.server_options import OPTIONS

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.answers.words import Known
    from deniable_aggregator.asking.questions import Question

SECONDS: Final = 0.5
"""The longest that a shell waits."""

_MOST_BYTES: Final = 4 << 20

Answer = TypeVar("Answer")


Completer = Callable[["click.Context", "click.Parameter", str], "list[CompletionItem]"]


def complete_metric(
    context: click.Context, _parameter: click.Parameter, current: str
) -> list[CompletionItem]:
    """The metrics of the server, each with its description."""
    from deniable_aggregator.asking.questions import METRICS

    answer = _ask(context, METRICS)
    described = {} if answer is None else {each.name: each.description for each in answer.metrics}
    return _items(described, current)


def complete(known: Known) -> Completer:
    """What completes words of a kind.

    Args:
        known: of what a server knows such words; of several values, after a comma, the next one.
    """
    if known == "metrics":
        return complete_metric

    def completed(
        context: click.Context, _parameter: click.Parameter, current: str
    ) -> list[CompletionItem]:
        from deniable_aggregator.telling.value_tables import known_words

        details = _details(context)
        known_here = [] if details is None else known_words(known, details)
        words = {each.typed: each.label for each in known_here}
        if known != "values":
            return _items(words, current)
        given, comma, last = current.rpartition(",")
        others = words.keys() - given.split(",")
        following = {f"{given}{comma}{word}": words[word] for word in words if word in others}
        return _items(following, f"{given}{comma}{last}")

    return completed


def _items(words: Mapping[str, str], current: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from deniable_shared.characters import visible

    # A word that a terminal would not show as it is cannot be completed as it is.
    return [
        CompletionItem(word, help=visible(meaning))
        for word, meaning in words.items()
        if word.startswith(current) and word == visible(word)
    ]


def _details(context: click.Context) -> MetricDetails | None:
    from deniable_aggregator.asking.questions import METRIC

    # click reads no arguments where the value of an option is missing, and leaves them unread.
    metric = context.params.get("metric") or next(iter(context.args), None)
    if not metric:
        return None
    return _ask(context, METRIC.of(metric))


def _ask(context: click.Context, question: Question[None, Answer]) -> Answer | None:
    """What a server answers in time; None if it does not, or there is no token."""
    found: list[bytes] = []
    options = {name: context.params.get(name) for name in OPTIONS}
    path = question.address()
    # A name may take the system long to look up, whatever the time-out of the connection is.
    asking = threading.Thread(target=_quietly, args=(lambda: _get(options, path), found.append))
    asking.daemon = True
    asking.start()
    asking.join(SECONDS)
    try:
        return msgspec.json.decode(found[0], type=question.answer) if found else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _quietly(get: Callable[[], bytes | None], keep: Callable[[bytes], None]) -> None:
    try:
        answer = get()
    except Exception:  # noqa: BLE001  a shell that completes a word shows no errors
        return
    if answer is not None:
        keep(answer)


def _get(options: dict[str, Any], path: str) -> bytes | None:
    from http.client import HTTPConnection, HTTPSConnection
    from urllib.parse import urlsplit

    from deniable_aggregator.asking.profiles import find_access, token_in

    token_file = options.pop("token_file")
    given = token_in(token_file) if token_file else options.pop("token", None)
    access = find_access(options.get("profile"), options.get("server"), given)
    if access.token is None:
        return None
    parts = urlsplit(access.server)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(str(parts.hostname), parts.port, timeout=SECONDS)
    headers = {"Authorization": f"Bearer {access.token.reveal()}"}
    connection.request("GET", f"{parts.path}{path}", headers=headers)
    answer = connection.getresponse()
    content = answer.read(_MOST_BYTES + 1)
    return content if answer.status == 200 and len(content) <= _MOST_BYTES else None
