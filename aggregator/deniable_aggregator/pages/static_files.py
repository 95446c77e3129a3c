"""Style, script and icon: their addresses change with their content, so browsers keep them."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from typing import Final

from flask import Response

from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.media.html import stylesheet

PATH: Final = "/static"
STYLE: Final = "page.css"
"""What pages have beside the style that they share with reports; both are served as one."""

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def _load() -> dict[str, tuple[str, bytes]]:
    """Address and content by name."""
    found = {}
    for file in files(__package__).joinpath("static").iterdir():
        stem, _, suffix = file.name.rpartition(".")
        if suffix in _TYPES:
            content = file.read_bytes()
            if file.name == STYLE:
                content = stylesheet("style.css").encode() + content
            digest = sha256(content).hexdigest()[:12]
            found[file.name] = (f"{PATH}/{stem}-{digest}.{suffix}", content)
    return found


_FILES: Final = _load()
_BY_ADDRESS: Final = dict(_FILES.values())


def address_of(name: str) -> str:
    """Where a file of ``static/`` is served.

    Args:
        name: of the file.
    """
    return _FILES[name][0]


def static_file(name: str) -> Response:
    """One of the files.

    Raises:
        ProblemError: ``not_found``.
    """
    content = _BY_ADDRESS.get(f"{PATH}/{name}")
    if content is None:
        raise ProblemError("not_found", "Reload the page: its style and script have changed.")
    return Response(
        content,
        headers={"Cache-Control": "public, max-age=31536000, immutable"},
        content_type=_TYPES[name.rpartition(".")[2]],
    )
