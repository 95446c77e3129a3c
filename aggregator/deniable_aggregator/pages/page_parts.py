"""What pages are made with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.asking.source import Source
    from deniable_aggregator.pages.session_cookie import SessionCookie
    from deniable_aggregator.parts import Parts
    from deniable_aggregator.security.sessions import SessionKeeper


@dataclass(frozen=True, kw_only=True)
class PageParts:
    """What pages are made with.

    Attributes:
        parts: the store, and what is made over it.
        source_of: answers questions about an application's metrics.
        sessions: knows who has signed in.
        cookie: what a browser keeps of a session.
    """

    parts: Parts
    source_of: Callable[[str], Source]
    sessions: SessionKeeper
    cookie: SessionCookie
