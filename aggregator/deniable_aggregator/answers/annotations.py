"""Annotations: what happened on a day, such as a release, drawn in all series."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final

from msgspec import Meta, Struct

MOST_LETTERS: Final = 60
MOST_ANNOTATIONS: Final = 500
"""Of an application: enough for a release a week in nine years."""


class Annotation(Struct, frozen=True):
    """What happened on a day.

    Attributes:
        day: when it happened.
        text: what it was, such as "Version 3.2".
    """

    day: date
    text: str


class Annotations(Struct, kw_only=True):
    """The annotations of an application.

    Attributes:
        application: whose they are.
        annotations: the newest day first.
    """

    application: str
    annotations: list[Annotation]


class Annotate(Struct, kw_only=True, forbid_unknown_fields=True):
    """What is to be said of a day, in place of what was said of it.

    Attributes:
        text: a line without control characters.
    """

    text: Annotated[str, Meta(min_length=1, max_length=MOST_LETTERS)]
