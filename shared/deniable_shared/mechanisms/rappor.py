"""RAPPOR: strings in Bloom filters, with a permanent and an instantaneous randomized response."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Self

from deniable_shared.device_classes import CLASSES
from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, ceil_divide, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import Mechanism, Support, SupportMechanism, require_integer
from deniable_shared.mechanisms.oracles.unary import SymmetricUnaryEncoding
from deniable_shared.mechanisms.resemblance import RepeatedBits
from deniable_shared.mechanisms.second_round import SecondRound
from deniable_shared.mechanisms.sketch import sketches

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_shared.mechanisms.request import MechanismChoice, MechanismRequest

MAX_BITS: Final = 4_096
MAX_HASHES: Final = 8

DEFAULT_BITS: Final = 128
DEFAULT_HASHES: Final = 2
DEFAULT_COHORTS: Final = CLASSES


@frozen
class Rappor(SupportMechanism):
    """RAPPOR (Erlingsson, Pihur and Korolova, CCS 2014, section 2), in full.

    A device belongs to one cohort for good, which follows from its class. Its value sets h bits of
    a Bloom filter. The permanent response flips each bit with probability f / 2, memoised per
    value: it is derived from a keyed hash of a device secret and the value. Each report then sends
    a 1 with probability q where the permanent bit is set and p where it is not. With a = f / 2::

        p* = P(1 | bit not set) = (1 - a) p + a q
        q* = P(1 | bit set)     = (1 - a) q + a p
        epsilon            = h ln(q* (1 - p*) / (p* (1 - q*)))    one report
        epsilon_permanent  = 2 h ln((1 - a) / a)                  all reports of one value

    Both are attained by values whose filters are disjoint. The report is the cohort in two bytes,
    big-endian, and the bits, the first in the highest place of the first byte.

    Attributes:
        bits: size of the Bloom filter k, a multiple of 8 in [8, 4096].
        hashes: hash functions h, in [1, 8].
        cohorts: number of cohorts m, in [1, 64].
        flip: weight of f / 2, over 2^32; in [1, 2^31 - 1].
        p: weight of reporting an unset permanent bit as 1, over 2^32; in [0, 2^32 - 1].
        q: weight of reporting a set permanent bit as 1, over 2^32; above p, at most 2^32.
    """

    name: ClassVar[str] = "rappor"
    title: ClassVar[str] = "RAPPOR"
    types: ClassVar[frozenset[str]] = frozenset({"string"})
    memoized: ClassVar[bool] = True
    bits: int
    hashes: int
    cohorts: int
    flip: int
    p: int
    q: int

    def __post_init__(self) -> None:
        require_integer("rappor bits", self.bits, 8, MAX_BITS)
        require_integer("rappor hashes", self.hashes, 1, MAX_HASHES)
        require_integer("rappor cohorts", self.cohorts, 1, CLASSES)
        require_integer("rappor flip", self.flip, 1, SCALE // 2 - 1)
        require_integer("rappor p", self.p, 0, SCALE - 1)
        require_integer("rappor q", self.q, self.p + 1, SCALE)
        if self.bits % 8:
            raise ParameterError("rappor bits", "a multiple of 8", self.bits)

    @classmethod
    def for_epsilons(
        cls,
        epsilon: Fraction,
        epsilon_permanent: Fraction,
        *,
        bits: int = DEFAULT_BITS,
        hashes: int = DEFAULT_HASHES,
        cohorts: int = DEFAULT_COHORTS,
    ) -> Self:
        """The symmetric mechanism (p = 1 - q) that exceeds neither epsilon.

        f follows from epsilon_permanent, then q from epsilon.

        Args:
            epsilon: privacy loss of one report, in nats.
            epsilon_permanent: privacy loss of all reports of one value, in nats.
            bits: size of the Bloom filter.
            hashes: hash functions.

        Raises:
            ParameterError: if epsilon is not below epsilon_permanent, or the shape is out of range.
        """
        flip = ceil_divide(SCALE, 1 + exp_lower(epsilon_permanent / (2 * hashes)))
        # Symmetric rounds: with y = P(lie) in total, ((1 - y) / y)^2 = e^(epsilon / h).
        lie = 1 / (1 + exp_lower(epsilon / (2 * hashes)))
        permanent = Fraction(flip, SCALE)
        instantaneous = (lie - permanent) / (1 - 2 * permanent)
        if not instantaneous >= 0:
            raise ParameterError("epsilon", "below epsilon_permanent", float(epsilon))
        p = ceil_divide(instantaneous * SCALE, 1)
        return cls(bits=bits, hashes=hashes, cohorts=cohorts, flip=flip, p=p, q=SCALE - p)

    @classmethod
    def from_options(cls, request: MechanismRequest) -> Self:
        """Options ``bits``, ``hashes``, ``cohorts``, and all of ``f``, ``p`` and ``q`` or none."""
        options = request.options
        bits = options.integer("bits", 8, MAX_BITS, default=DEFAULT_BITS) or DEFAULT_BITS
        hashes = options.integer("hashes", 1, MAX_HASHES, default=DEFAULT_HASHES) or DEFAULT_HASHES
        cohorts = options.integer("cohorts", 1, CLASSES, default=DEFAULT_COHORTS)
        cohorts = cohorts or DEFAULT_COHORTS
        options_given = {name: options.number(name, 0, 1, default=None) for name in "fpq"}
        f, p, q = options_given.values()
        if f is None and p is None and q is None:
            return cls.for_epsilons(
                request.epsilon, request.permanent, bits=bits, hashes=hashes, cohorts=cohorts
            )
        if f is None or p is None or q is None:
            names = [name for name, value in options_given.items() if value is not None]
            raise ParameterError("mechanism", "given all of f, p and q, or none of them", names)
        if not (0 < f < 1 and p < q):
            values = {"f": float(f), "p": float(p), "q": float(q)}
            raise ParameterError("mechanism", "such that 0 < f < 1 and p < q", values)
        mechanism = cls(
            bits=bits,
            hashes=hashes,
            cohorts=cohorts,
            flip=ceil_divide(f * SCALE, 2),
            p=ceil_divide(p * SCALE, 1),
            q=int(q * SCALE),
        )
        declared = (
            ("epsilon", mechanism.epsilon, request.epsilon),
            ("epsilon_permanent", mechanism.epsilon_permanent, request.permanent),
        )
        for name, exact, limit in declared:
            if not exact <= limit:
                enough = math.ceil(exact * 1e6) / 1e6
                constraint = f"at least {enough}, which f, p and q give"
                raise ParameterError(name, constraint, float(limit))
        return mechanism

    def alternatives(self, devices: int, choice: MechanismChoice) -> Iterable[Mechanism]:
        """Sketches that memoise."""
        return sketches(Fraction(self.epsilon), self.epsilon_permanent, devices, choice)

    @property
    def report_bytes(self) -> int:
        """Two bytes for the cohort, and the bits."""
        return 2 + self.bits // 8

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats: the paper's epsilon_1."""
        zero, one = self._p_star(), self._q_star()
        return log_upper((one * (1 - zero) / (zero * (1 - one))) ** self.hashes)

    @property
    def epsilon_permanent(self) -> float:
        """The privacy loss of all reports of one value, in nats: the paper's epsilon_infinity."""
        return log_upper(Fraction(SCALE - self.flip, self.flip) ** (2 * self.hashes))

    @property
    def second_round(self) -> SecondRound:
        """Each bit anew. Unless p and q are symmetric, as randomized response that tells more."""
        p, q = Fraction(self.p, SCALE), Fraction(self.q, SCALE)
        one, zero = (q, p), (1 - p, 1 - q)
        own, other = max(one, zero, key=lambda each: (not each[1], each[1] and each[0] / each[1]))
        if other:
            own, other = own / (own + other), other / (own + other)
        else:
            own = Fraction(1)
        rarest = self.bits * log_upper(Fraction(SCALE, self.flip))
        return SecondRound(self.bits, own, other, rarest)

    @property
    def permanent_groups(self) -> int:
        """The cohorts."""
        return self.cohorts

    @property
    def repeated(self) -> RepeatedBits:
        """All bits, h of them set."""
        lie, q, p = (weight / SCALE for weight in (self.flip, self.q, self.p))
        return RepeatedBits.of_items(
            self.bits, own=self.hashes, own_one=1 - lie, other_one=lie, if_one=q, if_zero=p
        )

    @property
    def support(self) -> Support:
        """The probabilities of a 1 for a set bit (the paper's q*) and for an unset one (p*)."""
        return Support(float(self._q_star()), float(self._p_star()))

    @property
    def filter(self) -> SymmetricUnaryEncoding:
        """The layout of a report's bits: a unary encoding of as many items."""
        return SymmetricUnaryEncoding(size=self.bits, own=SCALE - self.flip, other=self.flip)

    def variance(self, share: float, reports: int) -> float:
        """The noise of a rare item, without collisions between candidates.

        p* (1 - p*) / (n h (q* - p*)^2); the regression's own standard errors add what the
        candidate list and the truth contribute.
        """
        own, other = self.support.p, self.support.q
        bit = share * own * (1 - own) + (1 - share) * other * (1 - other)
        return bit / (reports * self.hashes * (own - other) ** 2)

    def _p_star(self) -> Fraction:
        return Fraction((SCALE - self.flip) * self.p + self.flip * self.q, SCALE * SCALE)

    def _q_star(self) -> Fraction:
        return Fraction((SCALE - self.flip) * self.q + self.flip * self.p, SCALE * SCALE)
