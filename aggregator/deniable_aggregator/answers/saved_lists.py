"""Saved lists: values that analysts keep, to look for in metrics of strings."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final

from msgspec import Meta, Struct

from deniable_aggregator.answers.words import Count, Values

LIST_NAME: Final = "[a-z0-9][a-z0-9_-]{0,63}"
ListName = Annotated[str, Meta(pattern=f"^{LIST_NAME}$")]


class SavedListHead(Struct, kw_only=True):
    """A saved list, without its values.

    Attributes:
        name: of the list.
        saved: the day on which it got these values.
        values: how many there are.
    """

    name: ListName
    saved: date
    values: Count


class SavedLists(Struct, kw_only=True):
    """The saved lists of an application.

    Attributes:
        application: whose lists they are.
        lists: by name.
    """

    application: str
    lists: list[SavedListHead]


class SavedList(Struct, kw_only=True):
    """A saved list.

    Attributes:
        application: whose list it is.
        name: of the list.
        values: all different, in Unicode's form NFC.
    """

    application: str
    name: ListName
    values: list[str]


class SaveList(Struct, kw_only=True, forbid_unknown_fields=True):
    """Values to be saved as a list.

    Attributes:
        values: in Unicode's form NFC each is kept once.
    """

    values: Values
