"""What all reports of one permanent answer repeat, beneath the fresh noise of each.

No epsilon bounds how well they can be told to be of one device, see `review.matching`.
"""

from __future__ import annotations

from deniable_shared.frozen import frozen


@frozen
class RepeatedBits:
    """Permanent bits, to each of which every report adds fresh noise.

    Attributes:
        bits: how many there are.
        permanent: probability that one of them is 1, over all values of a device.
        if_one: probability of a 1 in a report if it is 1.
        if_zero: the same if it is 0.
    """

    bits: int
    permanent: float
    if_one: float
    if_zero: float

    @classmethod
    def of_items(
        cls, bits: int, *, own: int, own_one: float, other_one: float, if_one: float, if_zero: float
    ) -> RepeatedBits:
        """Bits of which some are about what the device holds.

        Args:
            bits: how many there are.
            own: how many of them are about the device's value; any are equally likely.
            own_one: probability that such a bit is 1.
            other_one: probability that one of the others is.
            if_one: probability of a 1 in a report if the permanent bit is 1.
            if_zero: the same if it is 0.
        """
        return cls(bits, (own * own_one + (bits - own) * other_one) / bits, if_one, if_zero)


@frozen
class RepeatedItem:
    """A permanent answer among several items, all equally likely, which a report may replace.

    Attributes:
        size: how many items there are.
        kept: probability that a report is the permanent answer; all others are equally likely.
    """

    size: int
    kept: float
