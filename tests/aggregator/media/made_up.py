"""Answers to every question, made up at random within their types."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, get_args

from msgspec import inspect
from msgspec.structs import replace

from deniable_aggregator.answers.answer import Answer, AskedQuestion, Check, Period, QuestionName
from deniable_aggregator.answers.common import MetricVersion
from deniable_aggregator.answers.measured import Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

QUESTIONS: tuple[QuestionName, ...] = get_args(QuestionName)
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

    def answer(self, question: QuestionName) -> Answer:
        """An answer with as many periods as the question has."""
        answer: Answer = self._of(inspect.type_info(Answer))
        periods = {"change": 2, "series": self._random.randrange(1, 4)}.get(question, 1)
        answer.question = AskedQuestion(name=question)
        answer.head.versions = [replace(self._a(MetricVersion), version=each) for each in VERSIONS]
        answer.head.periods = [self._a(Period) for _ in range(periods)]
        answer.numbers = [self._in_one_of(periods) for _ in range(self._random.randrange(6))]
        answer.checks = [
            replace(self._a(Check), period=periods - 1, before=0)
            for _ in range(self._random.randrange(4))
        ]
        return answer

    def _in_one_of(self, periods: int) -> Measured:
        return replace(self._a(Measured), period=self._random.randrange(periods))

    def _a(self, cls: type) -> Any:
        return self._of(inspect.type_info(cls))

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
            case inspect.ListType():
                return [self._of(kind.item_type) for _ in range(drawn.randrange(3))]
            case inspect.VarTupleType():
                return tuple(self._of(kind.item_type) for _ in range(drawn.randrange(3)))
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
