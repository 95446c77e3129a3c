"""What all randomizers have in common, and which mechanism has which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from deniable import _randomness
from deniable.randomizers.permanent import PermanentChoices
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._randomness import Randomness
    from deniable.randomizers.permanent import Keyed
    from deniable_shared.mechanisms import Mechanism
    from deniable_shared.spec import Spec

    MakeRandomizer = Callable[[Any, "RandomSources"], "Randomizer"]

_Make = TypeVar("_Make", bound="MakeRandomizer")

RANDOMIZERS: dict[type[Mechanism], MakeRandomizer] = {}
"""What makes the randomizer of each mechanism; filled by `randomizes`."""


class Randomizer(Protocol):
    """Turns one value into one report."""

    def report(self, item: Any, secret: bytes) -> bytes:
        """Randomizes a value.

        Args:
            item: what `Spec.encode` made of the value: an index, several, or the bytes of a string.
            secret: the device's secret, 32 bytes; mechanisms that memoise derive their permanent
                choices from it, the others do not look at it.

        Returns:
            A report of exactly the mechanism's ``report_bytes``.
        """


class RandomSources:
    """Where the randomizers of one metric draw from.

    Args:
        randomness: where every fresh random choice comes from.
        digest: of the metric's spec; permanent choices depend on it.
        salt: seed of the metric's hash family, 32 bits.
        keyed: makes the permanent randomness of (secret, label, length); tests enumerate it.
    """

    __slots__ = ("_digest", "_keyed", "randomness", "salt")

    def __init__(
        self,
        randomness: Randomness,
        digest: bytes = b"",
        salt: int = 0,
        keyed: Keyed = _randomness.keyed_randomness,
    ) -> None:
        self.randomness = randomness
        self.salt = salt
        self._digest = digest
        self._keyed = keyed

    def permanent(self, mechanism: Mechanism) -> PermanentChoices:
        """The permanent choices of devices under a mechanism."""
        return PermanentChoices(mechanism, self._digest, self._keyed)


def randomizes(*mechanisms: type[Mechanism]) -> Callable[[_Make], _Make]:
    """Registers what makes the randomizer of mechanisms: called with one, and `RandomSources`."""

    def register(make: _Make) -> _Make:
        RANDOMIZERS.update(dict.fromkeys(mechanisms, make))
        return make

    return register


def make_randomizer(mechanism: Mechanism, sources: RandomSources) -> Randomizer:
    """The randomizer of a mechanism.

    Raises:
        ParameterError: if none is registered for its very class: a report that another mechanism's
            randomizer made would have another epsilon.
    """
    make = RANDOMIZERS.get(type(mechanism))
    if make is None:
        raise ParameterError("mechanism", "one with a registered randomizer", mechanism.name)
    return make(mechanism, sources)


def randomizer_for(
    spec: Spec, randomness: Randomness, keyed: Keyed = _randomness.keyed_randomness
) -> Randomizer:
    """The randomizer of a metric.

    Args:
        spec: the metric.
        randomness: see `RandomSources`.
        keyed: see `RandomSources`.

    Raises:
        ParameterError: if no randomizer is registered for its mechanism.
    """
    return make_randomizer(spec.mechanism, RandomSources(randomness, spec.digest, spec.salt, keyed))
