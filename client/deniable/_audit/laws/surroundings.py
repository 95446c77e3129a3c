"""Whether a randomizer looks at something else than its value's law: a clock, or one value of many.

Laws are found for some numbers of a range and some strings of all, so no randomizer may ask which
one it has: numbers are calculated with, strings are hashed. And what is read from the system, such
as the time, would be the same while the laws are found, and another on a device.
"""

from __future__ import annotations

import dis
import sys
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from deniable._audit.domains import domain_of
from deniable._audit.failure import AuditFailure, code_under_audit
from deniable._randomness import Randomness
from deniable.randomizers.base import randomizer_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_shared.spec import Spec

REPORTS: Final = 32
"""A randomizer may choose its path by chance, so each value is reported so often."""

VALUES: Final = 8
_SHIPPED: Final = "deniable.randomizers."
_PURE: Final = frozenset(
    {"__future__", "_bisect", "bisect", "builtins", "collections", "dataclasses", "deniable"}
    | {"deniable_shared", "functools", "hashlib", "itertools", "math", "typing"}
)
"""Packages in whose functions there is no clock, no environment and no other randomness."""


class WatchedNumber(int):
    """A number that may be calculated with, and not be compared or taken apart."""

    def _refuse(self, *_: object) -> NoReturn:
        raise AuditFailure("a randomizer asks which number it has, instead of calculating with it")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __bool__ = _refuse
    __mod__ = __and__ = __or__ = __xor__ = __str__ = __repr__ = __format__ = _refuse


class WatchedText(bytes):
    """A string that may be hashed, and not be compared or taken apart."""

    def _refuse(self, *_: object) -> NoReturn:
        raise AuditFailure("a randomizer asks which string it has, instead of hashing it")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __len__ = _refuse
    __contains__ = __getitem__ = __iter__ = __str__ = __repr__ = _refuse
    startswith = endswith = find = index = count = decode = hex = split = _refuse  # type: ignore[assignment]


def check_surroundings(spec: Spec) -> None:
    """Checks that the randomizer of a metric depends on its value alone, and treats all alike.

    Args:
        spec: the metric.

    Raises:
        AuditFailure: if it reads something else, or asks for one of many values.
    """
    kinds: dict[str, type] = {"number": WatchedNumber}
    if spec.letters is None:
        kinds["string"] = WatchedText
    kind = kinds.get(spec.type)
    if kind is not None:
        domain = domain_of(spec)
        with code_under_audit():
            device = randomizer_for(spec, Randomness())
            for index in range(min(domain.size, VALUES)):
                value = kind(domain.item_at(index))
                for _ in range(REPORTS):
                    device.report(value, bytes(32))
    foreign = _foreign()
    if foreign:
        raise AuditFailure(f"randomizers may read more than their value: {foreign[0]}")


@lru_cache(maxsize=1)
def _foreign() -> list[str]:
    """What modules of randomizers use that is of no pure package: ``smp uses time``."""
    modules = [module for name, module in sys.modules.items() if name.startswith(_SHIPPED)]
    return sorted(
        f"{module.__name__.removeprefix(_SHIPPED)} uses {name}"
        for module in modules
        for name in _used(module)
        if name.partition(".")[0] not in _PURE
    )


def _used(module: ModuleType) -> Iterator[str]:
    """The modules that a module, its classes and their functions use."""
    # Loaders and test runners put names of their own into a module.
    own = {name: each for name, each in vars(module).items() if name.isidentifier()}
    held = [each for name, each in own.items() if not name.startswith("__")]
    held += [each for kind in held if isinstance(kind, type) for each in vars(kind).values()]
    for each in held:
        if isinstance(each, ModuleType):
            yield each.__name__
        elif isinstance(each, property):
            yield from _imported(each.fget)
        else:
            yield from _imported(each)
            name = getattr(each, "__module__", None)
            if callable(each) and isinstance(name, str):
                yield name


def _imported(function: Any) -> Iterator[str]:
    """What a function imports when it is called."""
    code = function.__code__ if isinstance(function, FunctionType) else function
    if not isinstance(code, CodeType):
        return
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            yield str(instruction.argval)
    for constant in code.co_consts:
        yield from _imported(constant)
