"""What tests do as a relay does beneath the server: bring uploads of many devices in a group."""

from __future__ import annotations

import random
import secrets
from typing import TYPE_CHECKING

from deniable_aggregator.keeping.store import Relay, Sender
from deniable_shared import wire
from tests.aggregator.service import SPECS, TODAY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.spec import Spec
    from tests.aggregator.service import Service

RELAY = Relay(b"key 1 id", b"batch of a week.")
OTHER = RELAY._replace(batch=b"batch of another")


def bring(
    service: Service,
    number: int,
    *,
    relay: Relay | None = RELAY,
    epoch: int = TODAY - 1,
    key: str = "",
    payloads: Sequence[int] = range(3),
    spec: Spec = SPECS["theme"],
) -> None:
    """Uploads of devices whose answers are spread over some payloads, counted.

    Args:
        key: the id of their write key; left out for that of the service.
    """
    chance = random.Random(number)
    chosen = [bytes([payload]) for payload in payloads]
    uploads = [
        wire.Upload(
            secrets.token_bytes(16), (wire.Part(spec.digest, epoch, chance.choice(chosen)),)
        )
        for _ in range(number)
    ]
    sender = Sender("flightdeck", key or service.write.split("_")[2], relay)
    service.store.inbox.append(uploads, [sender] * number)
    service.count()
