"""What an audited randomizer draws from: every choice is followed, and every draw is noted.

Draws that a device keeps for good, because they come from its secret, are followed apart from the
fresh ones: what all reports of a value tell together is decided by the kept ones alone.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from deniable._audit.domains import spread
from deniable._audit.failure import AuditFailure
from deniable._audit.laws.bit_rows import Bits
from deniable._audit.laws.secret import SECRET, Secret
from deniable._audit.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_FIRST = 4_096
"""Of a first draw that is uniform, so many outcomes are followed at most, evenly spaced."""

MOST_UNIFORM = 1 << 16
"""A uniform draw after the first one is followed if it has no more outcomes than this."""


KeptOutcomes = tuple[tuple[bytes, tuple[Any, ...]], ...]


class Draw(NamedTuple):
    """One call of a primitive, such as ``bernoulli`` with its weight."""

    primitive: str
    arguments: tuple[int, ...]


class Draws(Walk):
    """Stands in for the randomness of a randomizer, fresh and kept.

    Attributes:
        noted: every draw that was made on any path.
        paths: how many paths there were.
        fresh: how many draws that no device keeps there were on this path.
        most_first: of a first draw that is uniform, at most so many outcomes are followed.
        first: how many outcomes of a first draw that is uniform there are; 0 if it is another.
        followed: which part of the first draw's outcomes is followed; 1 for all.
        shown: a look at what a device with each kept outcomes sends, of all values so far.
    """

    def __init__(self) -> None:
        self.noted: set[Draw] = set()
        self.paths = 0
        self.most_first = MOST_FIRST
        self.first = 0
        self.followed = Fraction(1)
        self.shown: dict[KeptOutcomes, int] = {}
        self._first_of: Sequence[int] = ()
        super().__init__()
        self.paths = 0  # `start` counts the first one again

    def start(self, prefix: tuple[int, ...]) -> None:
        """Starts the next path."""
        super().start(prefix)
        self.paths += 1
        self.kept_path: list[tuple[bytes, int]] = []
        self.kept_numerator = 1
        self.kept_denominator = 1
        self.fresh = 0
        self._rows = 0
        self._label: bytes | None = None
        self._kept: dict[bytes, list[tuple[Draw, Any]]] = {}

    # Fresh draws

    def word(self) -> int:
        """Uniform in [0, 2^32)."""
        self._note(Draw("word", ()))
        return self._uniform(1 << 32)

    def bernoulli(self, weight: int) -> bool:
        self._note(Draw("bernoulli", (weight,)))
        return super().bernoulli(weight)

    def uniform_below(self, bound: int) -> int:
        self._note(Draw("uniform_below", (bound,)))
        return self._uniform(bound)

    def one_of(self, own: int, other: int) -> int:
        self._note(Draw("one_of", (own, other)))
        return super().one_of(own, other)

    def weighted_place(self, *weights: int) -> int:
        self._note(Draw("weighted_place", weights))
        return super().weighted_place(*weights)

    # `laplace` and `gaussian` are followed as a whole, so whoever calls these two is a randomizer.
    # They are noted because no check of a primitive has their names: the audit then fails.

    def bernoulli_fraction(self, numerator: int, denominator: int) -> bool:
        self._note(Draw("bernoulli_fraction", (numerator, denominator)))
        return super().bernoulli_fraction(numerator, denominator)

    def bernoulli_exp(self, numerator: int, denominator: int) -> bool:
        self._note(Draw("bernoulli_exp", (numerator, denominator)))
        return super().bernoulli_exp(numerator, denominator)

    def bits(self, count: int, weight: int) -> Bits:
        self._note(Draw("bits", (count, weight)))
        self._rows += 1
        return Bits.row(self._rows, count, weight, kept=self._label is not None)

    def laplace(self, scale: int) -> int:
        self._note(Draw("laplace", (scale,)))
        return super().laplace(scale)

    def gaussian(self, variance: int) -> int:
        self._note(Draw("gaussian", (variance,)))
        return super().gaussian(variance)

    def _note(self, draw: Draw) -> None:
        self.noted.add(draw)
        if self._label is None:
            self.fresh += 1

    def _uniform(self, bound: int) -> int:
        if self.path or self._label is not None:
            if bound > MOST_UNIFORM:
                raise AuditFailure(f"a draw has {bound} outcomes, more than can be followed")
            return super().uniform_below(bound)
        if bound != self.first or len(self._first_of) > self.most_first:
            self.first, self._first_of = bound, spread(bound, self.most_first)
            self.followed = Fraction(len(self._first_of), bound)
        drawn = self._turn(len(self._first_of))
        self._multiply(1, bound)
        return self._first_of[drawn]

    def _multiply(self, weight: int, total: int) -> None:
        if self._label is not None:
            self.kept_numerator *= weight
            self.kept_denominator *= total
        super()._multiply(weight, total)

    # Kept draws

    @property
    def kept_outcomes(self) -> KeptOutcomes:
        """What was drawn for each label on this path; rows of bits stay symbolic."""
        return tuple(
            (label, tuple(each for _, each in known if not isinstance(each, Bits)))
            for label, known in self._kept.items()
        )

    @property
    def last_kept_draws(self) -> tuple[Draw, ...]:
        """The draws for the last label of this path, which is the one of a value's noise."""
        known = next(reversed(self._kept.values()), [])
        return tuple(draw for draw, _ in known)

    def keyed(self, secret: Secret, label: bytes, length: int) -> KeptDraws:
        """The permanent randomness of (secret, label), as `deniable._randomness` makes it."""
        if secret is not SECRET or type(label) is not bytes or not length > 0:
            raise AuditFailure("what a device keeps is not derived from its secret alone")
        return KeptDraws(self, label, self._kept.setdefault(label, []))

    def keep(self, label: bytes, draw: Draw) -> Any:
        """Draws for a label."""
        self._label = label
        depth = len(self.path)
        try:
            outcome = getattr(self, draw.primitive)(*draw.arguments)
        finally:
            self._label = None
        self.kept_path += [(label, turn) for turn in self.path[depth:]]
        return outcome


class KeptDraws:
    """What is drawn for one label: the same again whenever the label is used again.

    Args:
        draws: where it is drawn the first time.
        label: what it is for.
        known: what was drawn for the label before, on this path.
    """

    def __init__(self, draws: Draws, label: bytes, known: list[tuple[Draw, Any]]) -> None:
        self._draws = draws
        self._label = label
        self._known = known
        self._position = 0

    def __getattr__(self, primitive: str) -> Callable[..., Any]:
        if primitive not in {"bernoulli", "uniform_below", "one_of", "bits"}:
            raise AuditFailure(f"kept choices are drawn by {primitive}, which is not followed")

        def draw(*arguments: int) -> Any:
            wanted = Draw(primitive, arguments)
            if self._position == len(self._known):
                self._known.append((wanted, self._draws.keep(self._label, wanted)))
            drawn, outcome = self._known[self._position]
            if drawn != wanted:
                raise AuditFailure("one kept choice is drawn with two different probabilities")
            self._position += 1
            return outcome

        return draw
