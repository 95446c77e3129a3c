"""Addresses of pages, made from texts of others without letting these act."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlencode, urlsplit

Parameter = str | int | float | list[str] | tuple[str, ...] | None
"""Of an address: None and an empty text are left out, each of several is given by itself."""


def address(*path: str, **query: Parameter) -> str:
    """The address of a page: ``address("metric", "theme", since="-28d")``.

    Args:
        *path: its parts, without slashes; none for the overview.
        **query: its parameters.
    """
    plain = "/" + "/".join(quote(part, safe="") for part in path)
    return changed(plain, **query)


def changed(place: str, **query: Parameter) -> str:
    """An address with other parameters, and those of its own that are not named.

    Args:
        place: a path with or without parameters.
        **query: parameters; those that are None or empty are taken away.
    """
    parts = urlsplit(place)
    pairs = [
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if name not in query
    ]
    for name, value in query.items():
        several = value if isinstance(value, list | tuple) else [value]
        pairs += [(name, str(each)) for each in several if each is not None and each != ""]
    said = f"?{urlencode(pairs)}" if pairs else ""
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"{parts.path}{said}{fragment}"
