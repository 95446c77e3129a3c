"""The two ways to a project: a server, and the file of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.asking.http_source import HttpSource
from deniable_aggregator.asking.profiles import find_access, require_token
from deniable_analysis.project import Project

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path


def connect(
    profile: str | None = None, *, server: str | None = None, token: str | None = None
) -> Project:
    """The metrics of a server. It is asked with the first question.

    What is not given here is found in the named profile, then in the variables DENIABLE_SERVER,
    DENIABLE_TOKEN and DENIABLE_TOKEN_FILE, then in the profile that DENIABLE_PROFILE names or that
    is called default, in ``~/.config/deniable/profiles.toml``.

    Args:
        profile: the name of a profile.
        server: the aggregator's address, such as ``https://telemetry.example.org``.
        token: a key of scope read. Better from a file: a notebook is easily shared with it.

    Raises:
        AskingError: if there is no token, no such profile, or a file that others may read.
        ParameterError: if the server is no address, or the token no token.
    """
    access = find_access(profile, server, token)
    return Project(HttpSource(access.server, require_token(access)))


def open(  # noqa: A001  it is called da.open
    store: str | Path, application: str | None = None, *, today: date | str | None = None
) -> Project:
    """The metrics in the file of a store, such as a backup, or in a database.

    Nothing is written, in the store or beside it. Answers are those of a server that has this
    store. It needs ``deniable[aggregator]``.

    Args:
        store: the path of a store or of its backup, or a ``postgresql://`` URL.
        application: whose metrics; left out if the store has those of one application.
        today: the day that it is taken to be, for an old backup; left out for today.

    Raises:
        AskingError: if the store has no such application, or several and none is named.
        StoreError: if it is not a store, or cannot be read.
        ParameterError: if today is not a day.
    """
    from deniable_analysis.store_source import open_source

    return Project(open_source(store, application, today))
