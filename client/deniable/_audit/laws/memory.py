"""Whether a randomizer remembers anything from one report to the next.

Laws are found for one report at a time, so they say nothing of a device whose later reports depend
on what it drew for earlier ones. Therefore no report may change what its randomizer holds.
"""

from __future__ import annotations

import hashlib
import sys
from inspect import ismodule
from typing import TYPE_CHECKING, Any, Final

from deniable._audit.domains import domain_of, spread
from deniable._audit.failure import AuditFailure, code_under_audit
from deniable._randomness import Randomness
from deniable.randomizers.base import randomizer_for
from deniable.randomizers.permanent import PermanentChoices
from deniable_shared.mechanisms.base import Mechanism

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_shared.spec import Spec

ROUNDS: Final = 64
"""So many times each of `VALUES` values is reported."""

VALUES: Final = 4

CLASS_CACHE: Final = frozenset({"_secret", "_group"})
"""Of permanent choices: the class of a device, which its secret decides, is looked up once."""

_REAL: Final = hashlib.shake_256(b"a secret").digest(32)
_PLAIN: Final = frozenset({bool, bytes, float, int, str, type(None)})
_SHIPPED: Final = "deniable.randomizers."


def check_memory(spec: Spec) -> None:
    """Checks that reports change nothing that the randomizer of a metric holds.

    Args:
        spec: the metric.

    Raises:
        AuditFailure: if one does, with what it changes.
    """
    domain = domain_of(spec)
    items = [domain.item_at(index) for index in spread(domain.size, VALUES)]
    with code_under_audit():
        device = randomizer_for(spec, Randomness(_Bytes().take, 64))
        before = memory_of(device)
        for item in items * ROUNDS:
            device.report(item, _REAL)
            after = memory_of(device)
            if after != before:
                names = sorted(
                    name
                    for name in {*before, *after}
                    if name not in before or name not in after or before[name] != after[name]
                )
                raise AuditFailure(
                    f"a report changes {names[0]}, so that later reports can depend on it"
                )


def memory_of(device: object) -> dict[str, Any]:
    """All that a randomizer, those inside, their classes and modules hold, by its name."""
    name = type(device).__name__
    held = {f"{name}.{part}": each for part, each in vars(device).items()}
    return dict(_memory({**held, name: device}, set()))


def _memory(held: dict[str, Any], seen: set[int]) -> Iterator[tuple[str, Any]]:
    for name, value in held.items():
        if isinstance(value, Randomness | Mechanism) or id(value) in seen:
            continue
        if isinstance(value, list | tuple) and not set(map(type, value)) <= _PLAIN:
            parts: dict[Any, Any] = dict(enumerate(value))
        elif isinstance(value, dict):
            parts = value
        elif type(value).__module__.startswith(_SHIPPED):
            parts = _attributes(value)
        else:
            yield name, tuple(value) if isinstance(value, list | tuple) else repr(value)
            continue
        seen.add(id(value))
        if not parts:
            yield name, "empty"
        yield from _memory({f"{name}.{part}": each for part, each in parts.items()}, seen)


def _attributes(value: object) -> dict[str, Any]:
    """The attributes of an object of a randomizer, and those of its classes and their modules."""
    found: dict[str, Any] = {}
    for kind in type(value).__mro__:
        if kind.__module__.startswith(_SHIPPED):
            found |= vars(sys.modules[kind.__module__]) | vars(kind)
    found |= vars(value)
    cached = CLASS_CACHE if type(value) is PermanentChoices else ()
    return {
        key: each
        for key, each in found.items()
        if key not in cached and not (key.startswith("__") or callable(each) or ismodule(each))
    }


class _Bytes:
    """Given bytes of which many are the lowest and the highest, so that rare choices come, too."""

    def __init__(self) -> None:
        self._blocks = 0

    def take(self, count: int) -> bytes:
        """The next bytes."""
        self._blocks += 1
        made = bytearray(hashlib.shake_256(self._blocks.to_bytes(4, "big")).digest(count))
        for place in range(0, count - 4, 4):
            if made[place] % 4 < 2:  # half of all words
                made[place : place + 4] = (b"\x00\xff"[made[place] % 4 :][:1]) * 4
        return bytes(made)
