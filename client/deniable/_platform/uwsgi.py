"""What uWSGI does differently: it forks without Python's hooks, and may keep threads waiting."""

from __future__ import annotations

import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Final

WORKERS_ALONE: Final = (
    "uWSGI is going to fork its workers from this process, and these send reports: flush there"
)
SWITCH_ON: Final = (
    "uWSGI lets no thread run between requests, so reports may be sent late or not at all: set "
    "enable-threads = true"
)
_SWITCHES: Final = ("enable-threads", "threads")


def forks_later() -> bool:
    """Whether this is the process that uWSGI forks its workers from.

    It does so in C. What another thread holds at that moment stays held in the workers: locks of
    modules that it imports, and the interpreter.
    """
    host = sys.modules.get("uwsgi")  # it is there before the application is loaded
    try:
        return host is not None and not (
            host.worker_id() or host.mule_id() or host.i_am_the_spooler()
        )
    except Exception:  # noqa: BLE001  some other module of this name
        return False


def stops_threads() -> bool:
    """Whether uWSGI holds the interpreter between requests."""
    options = getattr(sys.modules.get("uwsgi"), "opt", None)
    return isinstance(options, dict) and not any(name in options for name in _SWITCHES)
