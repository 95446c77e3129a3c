"""What answers tell browsers: not to guess a type, and the pages of which origins may send uploads.

Cross-origin requests: WHATWG Fetch, section 3.3. Nothing but uploads is for pages of other origins,
so no other path has these headers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from flask import Flask, Response

NO_SNIFFING: Final = ("x-content-type-options", "nosniff")
"""On every answer: a browser takes it for what its Content-Type says, and never for a script."""

ANY_ORIGIN: Final = "*"
UPLOAD_HEADERS: Final = "authorization, content-type"
READABLE_HEADERS: Final = "retry-after"
PREFLIGHT_SECONDS: Final = 7_200
"""For how long a browser need not ask again; Chromium takes no more."""


class UploadOrigins:
    """The origins whose pages may send uploads.

    Args:
        setting: origins with commas between them, ``*`` for all, or nothing for none.
    """

    def __init__(self, setting: str) -> None:
        self._any = setting == ANY_ORIGIN
        self._allowed = frozenset(filter(None, setting.split(",")))

    def __bool__(self) -> bool:
        """Whether any page may send uploads."""
        return bool(self._allowed)

    def answer_headers(self, origin: str) -> list[tuple[str, str]]:
        """What an answer to an upload says about who may read it.

        Cookies are never allowed: the key alone says who sends.

        Args:
            origin: the request's header of that name, or nothing.
        """
        if not self._allowed:
            return []
        if self._any:
            return _readable_by(ANY_ORIGIN)
        # Caches must not give the answer for one origin to another.
        varies = [("vary", "Origin")]
        return varies + _readable_by(origin) if origin in self._allowed else varies

    def preflight_headers(self, origin: str) -> list[tuple[str, str]]:
        """The answer to a browser that asks whether a page may send an upload.

        Args:
            origin: the request's header of that name, or nothing.
        """
        said = self.answer_headers(origin)
        if not any(name == _ALLOWED for name, _ in said):
            return said
        return [
            *said,
            ("access-control-allow-methods", "POST"),
            ("access-control-allow-headers", UPLOAD_HEADERS),
            ("access-control-max-age", str(PREFLIGHT_SECONDS)),
        ]


_ALLOWED: Final = "access-control-allow-origin"


def _readable_by(origin: str) -> list[tuple[str, str]]:
    return [(_ALLOWED, origin), ("access-control-expose-headers", READABLE_HEADERS)]


def forbid_sniffing(app: Flask) -> None:
    """Puts `NO_SNIFFING` on every answer of an application, problems included."""

    def add(response: Response) -> Response:
        response.headers.set(*NO_SNIFFING)
        return response

    app.after_request(add)
