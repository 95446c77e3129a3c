"""Answers of every kind, made up at random within their types."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from msgspec import inspect

from deniable_aggregator.answers.common import MetricVersion
from deniable_aggregator.answers.discoveries import FoundStrings
from deniable_aggregator.answers.estimates import Distribution, Mean, SegmentShares, Shares
from deniable_aggregator.answers.integrity import Health
from deniable_aggregator.answers.trends import Change, Series

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = [Shares, SegmentShares, Mean, Distribution, Series, Change, FoundStrings, Health]
VERSIONS = ["0a" * 32, "b1" * 32]


class MadeUp:
    """Makes up answers.

    Args:
        seed: the same answers for the same seed.
        texts: where texts are taken from.
        numbers: where numbers are taken from.
    """

    def __init__(self, seed: int, texts: Sequence[str], numbers: Sequence[float]) -> None:
        self._random = random.Random(seed)
        self._texts = texts
        self._numbers = numbers

    def answer(self, kind: type) -> Any:
        return self._of(inspect.type_info(kind))

    def _of(self, kind: inspect.Type) -> Any:
        drawn = self._random
        match kind:
            case inspect.StructType():
                fields = [each for each in kind.fields if each.required or drawn.random() < 0.7]
                return kind.cls(**{each.name: self._of(each.type) for each in fields})
            case inspect.UnionType():
                return self._of(drawn.choice(kind.types))
            case inspect.Metadata():
                return self._of(kind.type)
            case inspect.ListType(item_type=inspect.StructType(cls=cls) as version) if (
                cls is MetricVersion
            ):
                made = [self._of(version) for _ in VERSIONS]
                return list(map(_with_id, made, VERSIONS))
            case inspect.ListType():
                return [self._of(kind.item_type) for _ in range(drawn.randrange(3))]
            case inspect.TupleType():
                return tuple(map(self._of, kind.item_types))
            case inspect.LiteralType():
                return drawn.choice(kind.values)
            case inspect.StrType():
                return drawn.choice(VERSIONS if kind.pattern else self._texts)
            case inspect.DictType():
                return {"name": drawn.choice(["grr", "oue"])}
            case inspect.FloatType():
                return drawn.choice(self._numbers)
            case inspect.IntType():
                return drawn.randrange(2**53)
            case inspect.BoolType():
                return drawn.random() < 0.5
            case inspect.DateType():
                return date(2026, 1, 1) + timedelta(drawn.randrange(400))
        assert isinstance(kind, inspect.NoneType)
        return None


def _with_id(version: MetricVersion, name: str) -> MetricVersion:
    version.version = name
    return version
