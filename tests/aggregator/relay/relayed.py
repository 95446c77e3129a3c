"""Envelopes that nobody can open, a relay's file, and an aggregator that counts each tag once."""

from __future__ import annotations

import hashlib
import os
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deniable_aggregator import Settings
from deniable_aggregator.asking.connection import ServerAnswer
from deniable_aggregator.asking.credentials import AskingError, Token
from deniable_aggregator.doors.relay.envelopes import EnvelopeStore
from deniable_aggregator.doors.relay.rounds import Rounds
from deniable_aggregator.doors.relay.settings import RelaySettings, first_day
from deniable_shared.periods import SECONDS_PER_EPOCH
from deniable_shared.sealing import (
    RELAYED_PATH,
    X25519,
    Answer,
    Part,
    PublicKey,
    envelope_bytes,
    read_header,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MONDAY = 20_003
"""A Monday, in days since 1970-01-01."""

KEY = PublicKey(X25519, bytes(range(32)))
LENGTH = min(envelope_bytes(X25519))


def tag_of(number: int) -> bytes:
    return hashlib.blake2b(number.to_bytes(8), digest_size=16).digest()


def envelope(tag: bytes, *, key: PublicKey = KEY, length: int = LENGTH) -> bytes:
    """What looks like an envelope, with other bytes at each call, as devices seal anew."""
    head = b"\x01" + key.id + tag
    return head + os.urandom(length - len(head))


def envelopes(count: int, seed: int = 0) -> dict[bytes, bytes]:
    """As many different ones, by their tags."""
    source = random.Random(seed)
    tags = [source.randbytes(16) for _ in range(count)]
    return {tag: envelope(tag) for tag in tags}


def settings(path: Path, **changed) -> RelaySettings:
    given = {
        "path": path,
        "aggregator": "http://127.0.0.1:1",
        "token": Token("relay"),
        "keys": (KEY,),
        "every": "week",
        "least": 10,
        "most_bytes": 1 << 30,
        "server": Settings(),
    }
    return RelaySettings(**{**given, **changed})


@dataclass
class Clock:
    """Seconds since 1970, which the test moves."""

    day: float = MONDAY

    def __call__(self) -> float:
        return self.day * SECONDS_PER_EPOCH


@dataclass
class Gateway:
    """An aggregator that knows every tag that it has stored.

    Attributes:
        stored: how often each tag was counted.
        parts: all that came.
        away: raises instead of answering.
        after: called with each part when it is stored, before it is answered.
        verdicts: by tags, "again" or a code for which it is dropped.
    """

    stored: Counter[bytes] = field(default_factory=Counter)
    parts: list[Part] = field(default_factory=list)
    away: str = ""
    after: Callable[[Part], object] = lambda _: None
    verdicts: dict[bytes, str] = field(default_factory=dict)
    document: bytes | None = None

    def request(self, _method, path, *, content=b"", content_type=""):
        del content_type
        if self.away:
            raise AskingError("it does not answer", self.away)
        if path != RELAYED_PATH:
            if self.document is None:
                raise AskingError("there is none", "not_found")
            return ServerAnswer(self.document)
        part = Part.decode(content)
        tags = [read_header(each).tag for each in part.envelopes]
        stored = duplicates = 0
        dropped: Counter[str] = Counter()
        again = []
        for index, tag in enumerate(tags):
            verdict = self.verdicts.get(tag)
            if tag in self.stored:
                duplicates += 1
            elif verdict == "again":
                again.append(index)
            elif verdict:
                dropped[verdict] += 1
            else:
                self.stored[tag] += 1
                stored += 1
        self.parts.append(part)
        self.after(part)
        return ServerAnswer(Answer(stored, duplicates, dropped, tuple(again)).encode())

    @property
    def bytes_seen(self) -> list[bytes]:
        """All that it was told, but for the ids of batches."""
        return [part._replace(batch=bytes(16)).encode() for part in self.parts]


class Relay:
    """A relay without its server, on a clock that the test moves."""

    def __init__(self, path: Path, **changed) -> None:
        self.settings = settings(path, **changed)
        self.clock = Clock()
        self.gateway = Gateway()
        self.open()

    def open(self) -> None:
        day = first_day(self.settings.every, int(self.clock.day))
        self.store = EnvelopeStore(self.settings.path, day)
        self.rounds = Rounds(
            self.store, self.gateway, self.settings, clock=self.clock, monotonic=self.clock
        )

    def look(self) -> None:
        """Does all that is due."""
        while self.rounds.look():
            pass

    def pass_days(self, days: float) -> None:
        self.clock.day += days
        self.look()

    def close(self) -> None:
        self.store.close()
