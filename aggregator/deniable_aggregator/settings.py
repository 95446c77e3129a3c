"""What an operator may set; every default is the one that was measured or argued for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from deniable_shared.errors import ParameterError

MAX_SECONDS: Final = 10_000_000
"""Threads cannot wait for much longer: what they wait with overflows."""


@dataclass(frozen=True)
class Settings:
    """Limits of the aggregator.

    Attributes:
        accept_days: reports of a day are accepted until this many days later; in [0, 365]. Devices
            that were offline for longer lose theirs; upload ids are kept for exactly as long.
        max_body_bytes: the largest upload; at least 4,096.
        queue_bytes: uploads waiting for the disk; beyond it the server answers 429.
        queue_seconds: the longest wait for a commit, above 0; beyond it the server answers 429.
        enough_uploads: so many waiting uploads are committed at once; at least 1. Fewer wait for
            up to three milliseconds for others. `serve` sets it to three quarters of its threads,
            which was measured to be best: one group is on the disk while the next comes together.
        fold_seconds: how often waiting reports are counted, above 0. Reading counts first what is
            waiting, so this only decides how large the inbox grows in between.
        max_candidates: the longest candidate list of one question.
        max_candidates_bytes: the largest question.
    """

    accept_days: int = 14
    max_body_bytes: int = 8 << 20
    queue_bytes: int = 64 << 20
    queue_seconds: float = 5.0
    enough_uploads: int = 24
    fold_seconds: float = 10.0
    max_candidates: int = 5_000_000
    max_candidates_bytes: int = 256 << 20

    def __post_init__(self) -> None:
        if not 0 <= self.accept_days <= 365:
            raise ParameterError("accept_days", "in [0, 365]", self.accept_days)
        if not self.max_body_bytes >= 4_096:
            raise ParameterError("max_body_bytes", "at least 4096", self.max_body_bytes)
        if not self.queue_bytes >= self.max_body_bytes:
            raise ParameterError("queue_bytes", "at least max_body_bytes", self.queue_bytes)
        for name in ("queue_seconds", "fold_seconds"):
            if not 0 < getattr(self, name) <= MAX_SECONDS:
                raise ParameterError(
                    name, f"above 0 and at most {MAX_SECONDS:,}", getattr(self, name)
                )
        for name in ("enough_uploads", "max_candidates", "max_candidates_bytes"):
            if not getattr(self, name) >= 1:
                raise ParameterError(name, "at least 1", getattr(self, name))
