"""Timing a block or a function, and recording how many seconds it took."""

from __future__ import annotations

import time
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    _Function = TypeVar("_Function", bound=Callable[..., Any])

_COROUTINE: Final = 0x80
_GENERATORS: Final = 0x20 | 0x100 | 0x200
"""Flags of a function's code, as `inspect` has them, which takes long to import."""


class Timer:
    """Records how many seconds a block took, or each call of a function.

    Made by `Client.timer`. What ends by an exception is not recorded, because it would take the
    place of the period's report; an exit of the program with status 0 is no failure. The time is
    kept nowhere.

    One timer measures one block at a time: let every ``with`` have its own. Each call of a
    decorated function is measured by itself, also in several threads or tasks at once.
    """

    __slots__ = ("_metric", "_record", "_segment", "_started")

    def __init__(self, record: Callable[..., object], metric: str, segment: str | None) -> None:
        self._record = record
        self._metric = metric
        self._segment = segment
        self._started: list[float] = []  # more than one if a block contains itself

    def __enter__(self) -> None:
        self._started.append(time.perf_counter())

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        started = self._started
        if error is not None and not _is_success(error):
            started.pop()
            return
        # Not in a variable, which tools that show those of every frame would find.
        self._record(self._metric, time.perf_counter() - started.pop(), segment=self._segment)

    def __call__(self, function: _Function) -> _Function:
        """The function, each call of which is measured; a coroutine function until it has returned.

        Raises:
            ParameterError: if it is no function, but a class for example, or makes a generator,
                which would be timed only until it begins.
        """
        allowed = callable(function) and not isinstance(function, type)
        flags = _code_flags(function) if allowed else _GENERATORS
        if flags & _GENERATORS:
            raise ParameterError("function", "a function that makes no generator", function)
        record, metric, segment = self._record, self._metric, self._segment
        timed: Callable[..., Any]
        if flags & _COROUTINE:

            @wraps(function)
            async def timed(*args: object, **options: object) -> object:
                with Timer(record, metric, segment):
                    return await function(*args, **options)

        else:

            @wraps(function)
            def timed(*args: object, **options: object) -> object:
                with Timer(record, metric, segment):
                    return function(*args, **options)

        return timed  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"Timer({self._metric!r})"


def _is_success(error: BaseException) -> bool:
    return isinstance(error, SystemExit) and error.code in (None, 0)


def _code_flags(function: Callable[..., Any]) -> int:
    """The flags of a function's code; of a partial, of what it calls; 0 without code of Python."""
    while isinstance(function, partial):
        function = function.func
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    flags: int = getattr(code, "co_flags", 0)
    return flags
