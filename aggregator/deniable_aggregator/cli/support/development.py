"""A server for development: its metrics registered, and keys made, before it starts."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from deniable_aggregator.asking.profiles import TOKEN
from deniable_aggregator.audit import COMMAND_LINE
from deniable_aggregator.cli.support.store_option import open_store, today
from deniable_aggregator.dates import format_day
from deniable_shared.addresses import is_this_machine
from deniable_shared.commands.ping import DEFAULT_SERVER
from deniable_shared.errors import ParameterError
from deniable_shared.registry import load

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_aggregator.config.settings import Settings

KEY_DAYS: Final = 30
"""For how many days the keys are valid. Every start makes new ones, and old ones stay valid."""

LABEL: Final = "development"


def prepare_development(settings: Settings, file: Path) -> str:
    """Registers the metrics of a file, makes a write and a read key, and says how to use them.

    Args:
        settings: the server's; with a store.
        file: a registry.

    Raises:
        ParameterError: if others than this machine could reach the server.
        RegistryError: if the file cannot be read, or has problems.
        StoreError: if the store cannot be used.
    """
    from deniable_aggregator.security.key_administration import KeyAdministrator

    if not is_this_machine(settings.host):
        raise ParameterError("host", "this machine's with --development", settings.host)
    registry = load(file)
    day = today()
    with open_store(settings.store, create=True) as store:
        store.metrics.register(registry.metrics.values(), day, COMMAND_LINE)
        keys = KeyAdministrator(store, actor=COMMAND_LINE, today=day)
        write, read = (
            keys.create(
                scope=scope,
                application=registry.application,
                label=LABEL,
                expires=day + KEY_DAYS,
            )
            for scope in ("write", "read")
        )
    variables = {
        "DENIABLE_ENDPOINT": settings.origin,
        "DENIABLE_KEY": write.token,
        TOKEN: read.token,
    }
    if settings.origin != DEFAULT_SERVER:
        variables["DENIABLE_SERVER"] = settings.origin
    exports = "\n".join(f"  export {name}={text}" for name, text in variables.items())
    shown = shlex.quote(str(file))
    pages = f"; pages are at {settings.origin}/" if settings.serves_pages else ""
    return f"""\
For developing {registry.application}. In another terminal:

{exports}

  deniable try {shown}   records and sends each metric once
  deniable metrics list       what has arrived

{TOKEN} is for you{pages}. The keys end on {format_day(day + KEY_DAYS)}.
After a change of {file} start this again.
"""
