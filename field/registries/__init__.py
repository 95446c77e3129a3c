"""The registries of the three versions of the simulated application."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deniable_shared.registry import parse

if TYPE_CHECKING:
    from deniable_shared.registry import Registry

FOLDER: Final = Path(__file__).parent
_TABLE: Final = re.compile(r"^\[(?:metrics\.(\w+))?[^\]]*\]", re.MULTILINE)


def registry_text(version: int, application: str) -> str:
    """The registry that a version of the application ships.

    The file of version 1 is whole; those of later versions have the metrics that they declare
    differently from the version before.

    Args:
        version: from 1.
        application: the name to put into it.
    """
    tables = _tables("1.toml")
    for later in range(2, version + 1):
        tables.update((name, table) for name, table in _tables(f"{later}.toml").items() if name)
    return "".join(tables.values()).replace('"field"', f'"{application}"')


@cache
def registry(version: int, application: str) -> Registry:
    """The same, read by the parser that client and server share."""
    return parse(registry_text(version, application))


def _tables(file: str) -> dict[str, str]:
    """The text of each metric's tables, by its name; under "" what is not of a metric."""
    text = (FOLDER / file).read_text(encoding="utf-8")
    tables: dict[str, str] = {}
    name, start = "", 0
    for heading in [*_TABLE.finditer(text), None]:
        end = heading.start() if heading else len(text)
        tables[name] = tables.get(name, "") + text[start:end]
        name, start = (heading[1] or "") if heading else "", end
    return tables
