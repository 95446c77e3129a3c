"""What the clients of one directory must agree on.

Not in the engine's module, which is loaded with the class of clients: a named tuple needs typing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._transport.http import Transport
    from deniable_shared.registry import Registry


class Settings(NamedTuple):
    """What an engine works with; clients of one directory must agree on it.

    Attributes:
        registry: the metrics and the budget.
        transport: carries the uploads.
        upload_delay_seconds: see `deniable.Client`, as are the next two.
        background: see there.
        clock: see there.
        remember_consent: see there.
        development: see there.
    """

    registry: Registry
    transport: Transport
    upload_delay_seconds: float
    background: bool
    clock: Callable[[], float]
    remember_consent: bool
    development: bool

    @property
    def relayed(self) -> bool:
        """Whether reports are dated and sent by periods, as they go through a relay."""
        return self.registry.relay is not None and not self.development
