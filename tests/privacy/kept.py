"""A device's permanent randomness in a walk: each label's is drawn once, however often it is used.

`Kept` stands in for `deniable._randomness.keyed_randomness`, so that all reports of one device are
followed together: what is memoised is the same in every one of them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from deniable.randomizers import randomizer_for
from deniable.randomizers.permanent import CLASS_LABEL
from deniable_shared.device_classes import CLASSES, groups_of_classes
from deniable_shared.exact_bounds import SCALE
from tests.privacy.conformance import secret_of, seeded
from tests.privacy.walking import distribution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from deniable.randomizers.permanent import Keyed
    from deniable_shared.spec import Spec
    from tests.privacy.walking import BitwiseWalk

SECRET = b"s" * 32
STRATA = 16
"""Alpha is one of so many points: exact for values whose rests are multiples of 1/16 of a step."""


class Kept:
    """Makes the permanent randomness of (secret, label, length), for one secret."""

    def __init__(self, walk: BitwiseWalk, spec: Spec) -> None:
        self._walk = walk
        self._drawn: dict[tuple[bytes, int], int] = {}
        self._class = DrawnClass(walk, spec)

    def __call__(self, secret: bytes, label: bytes, length: int) -> Label | DrawnClass:
        assert secret == SECRET
        assert length > 0
        return self._class if label == CLASS_LABEL else Label(self._walk, self._drawn, label)


class DrawnClass:
    """A uniform class, followed once for each group, as classes of a group send the same.

    That they do is `test_classes_of_one_group_send_the_same_reports`.
    """

    def __init__(self, walk: BitwiseWalk, spec: Spec) -> None:
        self._walk = walk
        self._groups = groups_of_classes(spec.digest, spec.mechanism.permanent_groups)

    def uniform_below(self, bound: int) -> int:
        assert bound == CLASSES
        sizes = Counter(self._groups)
        group = self._walk.weighted([sizes[group] for group in range(len(sizes))])
        return self._groups.index(group)


def drawn_by(walk: BitwiseWalk, spec: Spec) -> Keyed:
    """Permanent randomness that the walk draws anew at each use, and the class of a device."""
    return lambda _, label, __: DrawnClass(walk, spec) if label == CLASS_LABEL else walk


class Label:
    """What is drawn for one label: one thing after the other, the same whenever it begins anew."""

    def __init__(
        self, walk: BitwiseWalk, drawn: dict[tuple[bytes, int], int], label: bytes
    ) -> None:
        self._walk = walk
        self._drawn = drawn
        self._label = label
        self._count = 0

    def bernoulli(self, weight: int) -> bool:
        if self._label.endswith(b"alpha\x00"):  # one word is compared with different weights
            part = SCALE // STRATA
            assert weight % part == 0
            return self._once(lambda: self._walk.uniform_below(STRATA)) * part < weight
        return bool(self._once(lambda: self._walk.bernoulli(weight)))

    def uniform_below(self, bound: int) -> int:
        return self._once(lambda: self._walk.uniform_below(bound))

    def one_of(self, own: int, other: int) -> int:
        return self._once(lambda: self._walk.one_of(own, other))

    def bits(self, count: int, weight: int) -> int:
        return self._once(lambda: self._walk.bits(count, weight) & (1 << count) - 1)

    def _once(self, draw: Callable[[], int]) -> int:
        place = self._label, self._count
        self._count += 1
        if place not in self._drawn:
            self._drawn[place] = draw()
        return self._drawn[place]


class OverDevices:
    """For the conformance of mechanisms with permanent answers: devices differ in them."""

    @classmethod
    def channel(cls, spec: Spec, value: object) -> dict[bytes, Fraction]:
        """Over what is permanent as well, which a keyed hash makes look uniform."""
        item = spec.encode(value)
        return distribution(
            lambda walk: randomizer_for(spec, walk, drawn_by(walk, spec)).report(item, SECRET)
        )

    def sampled(self, spec: Spec, value: object, samples: int) -> dict[bytes, int]:
        """By the shipped keyed hash."""
        randomizer, item = randomizer_for(spec, seeded("sampler")), spec.encode(value)
        counts: dict[bytes, int] = {}
        for device in range(samples):
            report = randomizer.report(item, secret_of(device))
            counts[report] = counts.get(report, 0) + 1
        return counts


def history_channel(spec: Spec, values: Sequence[object]) -> dict[tuple[bytes, ...], Fraction]:
    """P(reports | values), exactly, of one device over both rounds of the shipped code.

    Args:
        spec: a metric whose mechanism memoises, or belongs to a group for good.
        values: what the device records, period by period.
    """

    def run(walk: BitwiseWalk) -> tuple[bytes, ...]:
        device = randomizer_for(spec, walk, Kept(walk, spec))
        return tuple(device.report(spec.encode(value), SECRET) for value in values)

    return distribution(run)


def worst_ratio(channels: Sequence[dict[tuple[bytes, ...], Fraction]]) -> Fraction:
    """The largest ratio between the probabilities of the same reports in any two channels."""
    reports = set().union(*channels)
    assert all(report in channel for channel in channels for report in reports)
    return max(
        max(channel[report] for channel in channels) / min(channel[report] for channel in channels)
        for report in reports
    )
