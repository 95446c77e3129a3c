"""How many devices it takes to find a string that nobody listed: a forecast, not a proof.

A string that ends in level e is found if its beginning stands out in every level before e, each
read from the reports of that level alone, and if it then passes a test on the reports of all levels
from e on. Of the false finds that are allowed, a string of l bits gets 2^-l: so a short one needs
less evidence. In a later level its beginning has been seen already, so that only the bits of that
level count, and that it is one of `BEGINNINGS_IN_SIGHT`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final

from deniable_shared import hashing, mechanism_choice
from deniable_shared.letters.levels import falling_shares, level_of
from deniable_shared.mechanisms import MAX_EPSILON, Trie
from deniable_shared.planning.detection import MOST_DEVICES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deniable_shared.letters import LetterCode
    from deniable_shared.registry import Metric

FORECAST_SHARES: Final = (0.01, 0.001)
"""The shares of devices for which a plan says how many devices are needed."""

FOUND: Final = 0.9
"""The probability with which so many devices find the string."""

FALSE_FINDS: Final = 0.05
"""The part of all strings shown that may be false."""

SHOWN: Final = 33
"""How many strings are assumed to be shown; twice as many need 5% fewer devices."""

BEGINNINGS_IN_SIGHT: Final = 100
"""Among how many beginnings in a level a common one is assumed to be."""

BEGINNINGS_KEPT: Final = 1_024
"""How many beginnings of a level are followed into the next one."""

_EPSILON_STEPS: Final = 2
"""Suggested epsilons are multiples of a half."""

_NORMAL: Final = NormalDist()
_Z: Final = -_NORMAL.inv_cdf(0.025)
_DEFAULT_TEXTS: Final = (
    "the",
    "search",
    "Größe",
    "天气预报",
    "नमस्ते",
    "dark-mode",
    "example.org",
    "opentelemetry-instrumentation",
    "9f86d081884c7d65",
)


@dataclass(frozen=True)
class Example:
    """What becomes of one string.

    Attributes:
        text: the string, as it would be recorded.
        bits: how many bits of its code are sent.
        level: in which level it ends, from 0.
        found_as: the text that can be found: all of it, or its beginning where it is cut off.
        whole: whether that is all of it.
        devices: how many devices find it in nine of ten cases, by the share of devices that hold
            it.
        least_share: the smallest share at which the planned devices find it; None if there is none.
    """

    text: str
    bits: int
    level: int
    found_as: str
    whole: bool
    devices: Mapping[float, int]
    least_share: float | None

    def as_dict(self) -> dict[str, Any]:
        """JSON data; levels are counted from 1, as in the table."""
        return {
            "text": self.text,
            "bits": self.bits,
            "level": self.level + 1,
            "found_as": self.found_as,
            "whole": self.whole,
            "devices": [
                {"share": share, "devices": devices} for share, devices in self.devices.items()
            ],
            "least_share": self.least_share,
        }


@dataclass(frozen=True)
class Remedy:
    """What would let the planned devices find more.

    Attributes:
        epsilon: the smallest that finds the example at the first of its shares; None if none does.
        levels: as many as the example needs, if the metric has more; otherwise None.
        devices_at_levels: how many devices would then be needed; None without `levels`.
        windows: over how many windows (weeks, if ``every = "week"``) reports have to be added up.
    """

    example: Example
    epsilon: float | None
    levels: int | None
    devices_at_levels: int | None
    windows: int


@dataclass(frozen=True)
class Suggestion:
    """The levels that a metric's model suggests, beside those that the metric has.

    Both are forecast for one string.

    Attributes:
        longest_bits: what nearly all strings need that the model was not trained on.
        levels: with that.
        share: of the devices that hold the string.
        bits: of the string; 90% of those strings need no more.
        devices: how many devices find it with the suggested levels.
        devices_now: the same with the metric's levels; None if these cut it off.
    """

    longest_bits: int
    levels: int
    share: float
    bits: int
    devices: int
    devices_now: int | None

    def as_dict(self) -> dict[str, Any]:
        """JSON data."""
        return asdict(self)


def suggestion(metric: Metric, share: float) -> Suggestion | None:
    """What the metric's model suggests; None if that is what the metric has, or if it says nothing.

    Args:
        metric: one that discovers.
        share: of the devices that hold a string.
    """
    code, mechanism = metric.spec.letters, metric.spec.mechanism
    assert code is not None
    assert isinstance(mechanism, Trie)
    left_out = code.model.left_out
    if left_out is None or code.levels == (levels := 1 + level_of(left_out.longest_bits)):
        return None
    bits = min(left_out.most, left_out.longest_bits)

    def devices(changed: Trie) -> int:
        return Forecast(changed, bits, level_of(bits), metric.minimum_devices).devices(share)

    return Suggestion(
        longest_bits=left_out.longest_bits,
        levels=levels,
        share=share,
        bits=bits,
        devices=devices(_with_levels(code, mechanism, levels)),
        devices_now=None if bits > code.bits else devices(mechanism),
    )


def default_texts(metric: Metric) -> Sequence[str]:
    """Strings that show how length and script decide; of another alphabet, strings of it."""
    code = metric.spec.letters
    assert code is not None
    characters = {"text": "", "hex": "0123456789abcdef", "digits": "0123456789"}.get(
        code.alphabet, code.alphabet
    )
    if not characters:
        return _DEFAULT_TEXTS
    assert code.longest is not None
    longest = (characters * code.longest)[: code.longest]
    return tuple(dict.fromkeys([longest[: (code.longest + 1) // 2], longest, longest + "?"]))


def example_of(
    metric: Metric, text: str, devices: int, shares: tuple[float, ...] = FORECAST_SHARES
) -> Example:
    """What becomes of a string, and how many devices find it; approximate.

    Args:
        metric: one that discovers.
        devices: how many report; at least 1.
        shares: of devices that hold it, for which it is said how many devices find it.
    """
    spec = metric.spec
    code, mechanism = spec.letters, spec.mechanism
    assert code is not None
    assert isinstance(mechanism, Trie)
    value = hashing.canonical(text)
    bits, length = code.encode(value)
    found_as, whole = code.decode(bits, length)
    level = len(code.pieces(value)) - 1
    needed, least_share = _figures(
        Forecast(mechanism, length, level, metric.minimum_devices), devices, shares
    )
    return Example(
        text=text,
        bits=length,
        level=level,
        found_as=found_as.decode("utf-8", "ignore"),
        whole=whole,
        devices=needed,
        least_share=least_share,
    )


@lru_cache(1024)  # strings with codes of the same length are alike
def _figures(
    forecast: Forecast, devices: int, shares: tuple[float, ...]
) -> tuple[Mapping[float, int], float | None]:
    needed = {share: forecast.devices(share) for share in shares}
    return needed, forecast.least_share(devices)


def remedy(metric: Metric, examples: Sequence[Example], devices: int) -> Remedy | None:
    """What to change so that the hardest example is found; None if all are.

    Args:
        metric: one that discovers.
        examples: of `example_of`, at least one, all for the same shares.
        devices: how many report in one window.
    """
    share, mechanism = next(iter(examples[0].devices)), metric.spec.mechanism
    code = metric.spec.letters
    assert code is not None
    assert isinstance(mechanism, Trie)
    hardest = max(examples, key=lambda example: example.devices[share])
    if hardest.devices[share] <= devices:
        return None

    def needed(changed: Trie) -> int:
        forecast = Forecast(changed, hardest.bits, hardest.level, metric.minimum_devices)
        return forecast.devices(share)

    steps = range(math.floor(mechanism.epsilon * _EPSILON_STEPS) + 1, MAX_EPSILON * _EPSILON_STEPS)
    epsilons = (Fraction(step, _EPSILON_STEPS) for step in steps)
    enough = (
        epsilon
        for epsilon in epsilons
        if needed(mechanism.at_epsilon(epsilon, mechanism_choice)) <= devices
    )
    epsilon = next(enough, None)
    levels = hardest.level + 1 if hardest.level + 1 < mechanism.levels else None
    return Remedy(
        example=hardest,
        epsilon=None if epsilon is None else float(epsilon),
        levels=levels,
        devices_at_levels=None if levels is None else needed(_with_levels(code, mechanism, levels)),
        windows=math.ceil(hardest.devices[share] / devices),
    )


def _with_levels(code: LetterCode, mechanism: Trie, levels: int) -> Trie:
    """The mechanism of a metric with so many levels, and as `LetterCode.level_shares` says."""
    left_out = code.model.left_out
    return Trie(
        levels=levels,
        rows=mechanism.rows,
        deeper_bits=mechanism.deeper_bits,
        first=mechanism.first,
        deeper=mechanism.deeper,
        shares=falling_shares(levels, level_of(left_out.half))
        if mechanism.shares and left_out is not None
        else (),
    )


@dataclass(frozen=True)
class Forecast:
    """How many devices it takes to find a string, and from which share on; approximate.

    Attributes:
        mechanism: with its levels.
        bits: of the string's code.
        level: in which it ends, from 0.
        minimum: below how many devices nothing is shown; None for no such rule.
    """

    mechanism: Trie
    bits: int
    level: int
    minimum: int | None

    def devices(self, share: float) -> int:
        """How many devices find it with the probability `FOUND`."""
        low, high = 0, 1
        while self._probability(share, high) < FOUND:
            low, high = high, 2 * high
            if high > MOST_DEVICES:
                return MOST_DEVICES
        return math.ceil(_bisected(lambda many: self._probability(share, many) >= FOUND, low, high))

    def least_share(self, devices: int) -> float | None:
        """The smallest share that so many devices find; None if not even 1 is."""
        if self._probability(1.0, devices) < FOUND:
            return None
        return _bisected(lambda share: self._probability(share, devices) >= FOUND, 0.0, 1.0)

    def _probability(self, share: float, devices: float) -> float:
        """That its beginnings are followed in each level before its end, and that it is shown."""
        mechanism, probability = self.mechanism, 1.0
        for level in range(self.level):
            part = float(mechanism.level_shares[level])
            error = math.sqrt(mechanism.support(level).variance(share, 1) / (devices * part))
            probability *= _NORMAL.cdf(share / error - _z_to_follow(mechanism, level))
        error = math.sqrt(mechanism.variance_of(self.level, share, 1) / devices)
        threshold = max(self._z_to_show() * error, (self.minimum or 0) / devices + _Z * error)
        return probability * _NORMAL.cdf((share - threshold) / error)

    def _z_to_show(self) -> float:
        """How many standard errors the test asks for."""
        mechanism = self.mechanism
        weight = 0.5
        if self.level:
            weight /= (mechanism.levels - 1) * BEGINNINGS_IN_SIGHT
        before = mechanism.first_bits + mechanism.deeper_bits * (self.level - 1)
        used = self.bits - before if self.level else self.bits
        return -_NORMAL.inv_cdf(FALSE_FINDS * SHOWN * weight * 2.0**-used)


def _z_to_follow(mechanism: Trie, level: int) -> float:
    """How many standard errors put a beginning among those that are followed.

    About half of all pieces are no text. The others compete with their noise.
    """
    rivals = 2.0 ** (mechanism.deeper_bits if level else mechanism.first_bits) / 2
    if level:
        rivals *= BEGINNINGS_IN_SIGHT
    return -_NORMAL.inv_cdf(min(0.5, BEGINNINGS_KEPT / rivals))


def _bisected(enough: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest number that is enough, to a ten-thousandth; `high` has to be."""
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high
