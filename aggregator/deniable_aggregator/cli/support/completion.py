"""Completion of what only the server knows: metrics, their values, segments, keys and versions.

A shell waits for it at each press of the tabulator key, so it takes at most half a second, prints
nothing and fails in silence. It does without httpx, whose import alone would be felt.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from deniable_aggregator.cli.support.server_options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import click
    from click.shell_completion import CompletionItem

    from deniable_aggregator.answers.metrics import MetricDetails

SECONDS: Final = 0.5
"""The longest that a shell waits."""

_SHORT: Final = 12
_MOST_BYTES: Final = 4 << 20

Kind = TypeVar("Kind")


def complete_metric(
    context: click.Context, _parameter: click.Parameter, current: str
) -> list[CompletionItem]:
    """The metrics of the server, each with its description."""
    from deniable_aggregator.answers.administration import Metrics

    answer = _ask(context, "/v1/metrics", Metrics)
    described = {} if answer is None else {each.name: each.description for each in answer.metrics}
    return _items(described.items(), current)


def complete_value(
    context: click.Context, _parameter: click.Parameter, current: str
) -> list[CompletionItem]:
    """The values of the metric; after a comma the next of several."""
    given, comma, last = current.rpartition(",")
    values = dict.fromkeys(value for each in _versions(context) for value in _values(each))
    for value in given.split(","):
        values.pop(value, None)
    return _items(((f"{given}{comma}{value}", "") for value in values), f"{given}{comma}{last}")


def complete_segment(
    context: click.Context, _parameter: click.Parameter, current: str
) -> list[CompletionItem]:
    """The segments of the metric."""
    found = {
        value: each.segments.name
        for each in _versions(context)
        if each.segments
        for value in each.segments.values
    }
    return _items(found.items(), current)


def complete_version(
    context: click.Context, _parameter: click.Parameter, current: str
) -> list[CompletionItem]:
    """The versions of the metric, the newest first."""
    found = {each.version[:_SHORT]: f"since {each.registered}" for each in _versions(context)}
    return _items(found.items(), current)


def complete_key(
    context: click.Context, _parameter: click.Parameter, current: str
) -> list[CompletionItem]:
    """The keys that brought reports of the metric, by their labels."""
    details = _details(context)
    keys = [] if details is None else details.keys
    named = {each.label or each.key: f"{each.reports:,} reports" for each in keys}
    return _items(named.items(), current)


def _items(words: Any, current: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from deniable_shared.characters import visible

    # A word that a terminal would not show as it is cannot be completed as it is.
    return [
        CompletionItem(word, help=visible(meaning))
        for word, meaning in words
        if word.startswith(current) and word == visible(word)
    ]


def _values(version: Any) -> Iterator[str]:
    yield from version.values
    for each in version.attributes or ():
        values = ["true"] if each.type == "boolean" else each.values
        yield from (f"{each.name}={value}" for value in values)


def _versions(context: click.Context) -> list[Any]:
    details = _details(context)
    return [] if details is None else details.versions


def _details(context: click.Context) -> MetricDetails | None:
    from urllib.parse import quote

    from deniable_aggregator.answers.metrics import MetricDetails

    # click reads no arguments where the value of an option is missing, and leaves them unread.
    metric = context.params.get("metric") or next(iter(context.args), None)
    if not metric:
        return None
    return _ask(context, f"/v1/metrics/{quote(metric, safe='')}", MetricDetails)


def _ask(context: click.Context, path: str, kind: type[Kind]) -> Kind | None:
    """What a server answers in time; None if it does not, or there is no token."""
    found: list[bytes] = []
    options = {name: context.params.get(name) for name in OPTIONS}
    # A name may take the system long to look up, whatever the time-out of the connection is.
    asking = threading.Thread(target=_quietly, args=(lambda: _get(options, path), found.append))
    asking.daemon = True
    asking.start()
    asking.join(SECONDS)
    try:
        return msgspec.json.decode(found[0], type=kind) if found else None
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
