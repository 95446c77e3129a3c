"""What pages are made with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.asking.source import Source
    from deniable_aggregator.pages.session_cookie import SessionCookie
    from deniable_aggregator.security.key_verifier import KeyVerifier
    from deniable_aggregator.security.sessions import SessionKeeper


@dataclass(frozen=True, kw_only=True)
class PageParts:
    """What pages are made with.

    Attributes:
        source_of: answers questions about an application's metrics.
        verifier: verifies tokens.
        sessions: knows who has signed in.
        cookie: what a browser keeps of a session.
        clock: seconds since 1970.
        longest_form: how many bytes a form with a list of values may have.
        weekly: whether the table of estimates has weeks.
    """

    source_of: Callable[[str], Source]
    verifier: KeyVerifier
    sessions: SessionKeeper
    cookie: SessionCookie
    clock: Callable[[], float]
    longest_form: int
    weekly: bool
