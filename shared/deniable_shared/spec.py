"""The frozen meaning of one metric: everything needed to randomize, count and debias it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

from deniable_shared import hashing, numbers
from deniable_shared.attributes import (
    Attribute,
    not_a_flag,
    not_listed,
    not_text,
    pair_items,
    single_items,
)
from deniable_shared.errors import DomainError, ParameterError
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms import (
    MAX_EPSILON,
    MAX_EPSILON_PERMANENT,
    MECHANISMS,
    Mechanism,
    Oracle,
    SetMechanism,
    Trie,
    mechanism_from_description,
)
from deniable_shared.mechanisms.trie import DEEPER_BITS, FIRST_BITS
from deniable_shared.numbers import MAX_DELTA, Range
from deniable_shared.periods import EVERY
from deniable_shared.segments import Segments

if TYPE_CHECKING:
    from deniable_shared.letters import LetterCode
    from deniable_shared.periods import Every

MetricType = Literal["attributes", "boolean", "category", "distribution", "number", "set", "string"]

Absent = str | Literal[False] | Fraction

Pick = Literal["first", "random"]

TYPES: Final[tuple[str, ...]] = get_args(MetricType)
TYPES_WITH_RANGE: Final = ("number", "distribution")
PICKS: Final[tuple[str, ...]] = get_args(Pick)


@frozen
class Spec:
    """One metric, resolved: no choice is left open.

    Attributes:
        application: whose metric it is.
        name: the metric's name.
        type: one of `TYPES`.
        values: the categories or the items of a set in their order, the catch-all last; empty
            unless a category or a set of listed items. With segments, all pairs.
        other: what values outside the domain count as, or None; of a set they then count as
            nothing.
        mechanism: integer parameters; nothing else decides the noise.
        every: at most one report per device and period.
        attributes: the parts of a record, in their order; empty unless ``attributes``.
        range: lower and upper end of a ``number`` or ``distribution``, exactly; None for others.
        absent: what a device reports for a period in which the application recorded nothing, so
            that silence says nothing; None if it is silent then. A category, False for a flag,
            a number of the range, or what the empty set is called.
        segments: what the values are pairs of, or None. It is then a category without a catch-all
            of its own, whatever the type of the metric's own values.
        letters: the code of strings that are discovered; None for others.
        pick: which of the values that are recorded in a period is reported: the first, or one of
            all of them, each with the same probability.
    """

    application: str
    name: str
    type: MetricType
    values: tuple[str, ...]
    other: str | None
    mechanism: Mechanism
    every: Every
    attributes: tuple[Attribute, ...] = ()
    range: Range | None = None
    absent: Absent | None = None
    segments: Segments | None = None
    letters: LetterCode | None = None
    pick: Pick = "first"

    def __post_init__(self) -> None:
        if self.type not in TYPES:
            raise ParameterError("type", f"one of {', '.join(TYPES)}", self.type)
        if self.every not in EVERY:
            raise ParameterError("every", f"one of {', '.join(EVERY)}", self.every)
        if self.type not in self.mechanism.types:
            allowed = ", ".join(
                name
                for name, mechanism_class in sorted(MECHANISMS.items())
                if self.type in mechanism_class.types
            )
            raise ParameterError(
                "mechanism", f"one of {allowed} for {self.type}", self.mechanism.name
            )
        size = 0
        if self.type == "category" and isinstance(self.mechanism, Oracle):
            size = self.mechanism.size
        elif isinstance(self.mechanism, SetMechanism):
            size = len(self.values) if self.mechanism.hashed else self.mechanism.size
        if isinstance(self.mechanism, Oracle) and not size and self.mechanism.size != 2:
            raise ParameterError("mechanism", "over 2 values for boolean", self.mechanism.size)
        if len(self.values) != size or len(set(self.values)) != size:
            raise ParameterError("values", f"{size} different values", self.values)
        if self.other is not None and self.other not in self.values:
            raise ParameterError("other", "one of the values", self.other)
        self._check_segments()
        self._check_attributes()
        self._check_range()
        self._check_absent()
        self._check_letters()
        self._check_pick()
        if not self.mechanism.epsilon <= MAX_EPSILON:
            raise ParameterError("epsilon", f"at most {MAX_EPSILON}", self.mechanism.epsilon)
        if not (self.mechanism.epsilon_permanent or 0.0) <= MAX_EPSILON_PERMANENT:
            raise ParameterError(
                "epsilon_permanent",
                f"at most {MAX_EPSILON_PERMANENT}",
                self.mechanism.epsilon_permanent,
            )

    def _check_segments(self) -> None:
        """Values are the pairs, and a report of absence has a segment to be of.

        Raises:
            ParameterError: naming what does not fit.
        """
        if self.segments is None:
            return
        if self.type != "category" or self.values != self.segments.items or self.other is not None:
            raise ParameterError("segment", "of the pairs that are the values", self.values)
        if self.absent is not None and self.segments.by.other is None:
            raise ParameterError("segment.other", "given, as absent has no segment", None)

    def _check_attributes(self) -> None:
        """Every attribute has a name of its own, and what the mechanism needs for it.

        Raises:
            ParameterError: naming the attribute.
        """
        oracles = self.mechanism.oracles
        names = [attribute.name for attribute in self.attributes]
        if not len(names) == len(set(names)) == len(oracles):
            raise ParameterError("attributes", f"{len(oracles)} of different names", names)
        for attribute, oracle in zip(self.attributes, oracles, strict=True):
            if attribute.type not in oracle.types or oracle.size != attribute.size:
                raise ParameterError(
                    f"attributes.{attribute.name}",
                    f"what {oracle.name} over {oracle.size} values carries",
                    f"{attribute.type} of {attribute.size}",
                )

    def _check_range(self) -> None:
        """Numbers have a range and nothing else does; delta stays under its ceiling."""
        if (self.range is not None) != (self.type in TYPES_WITH_RANGE):
            raise ParameterError(
                "range", f"given for {' and '.join(TYPES_WITH_RANGE)} only", self.range
            )
        if self.range is not None and not self.range[0] < self.range[1]:
            raise ParameterError("range", "two numbers, the lower one first", self.range)
        if not self.mechanism.delta <= MAX_DELTA:
            raise ParameterError("delta", f"at most {float(MAX_DELTA):g}", self.mechanism.delta)

    def _check_absent(self) -> None:
        """What stands for absence is a value of the metric.

        Raises:
            ParameterError: if it is none.
        """
        absent = self.absent
        if absent is None:
            return
        if self.range is not None:
            low, high = self.range
            if not (isinstance(absent, Fraction) and low <= absent <= high):
                raise ParameterError("absent", "a number of the range", absent)
        elif self.type == "set":
            if not isinstance(absent, str) or not absent or absent in self.values:
                raise ParameterError("absent", "a name that no value has", absent)
        elif self.value_type == "boolean":
            if absent is not False:
                raise ParameterError("absent", "false, of a flag", absent)
        else:
            own = self.values if self.segments is None else self.segments.of.values
            if absent not in own:
                raise ParameterError("absent", "one of the values", absent)

    def _check_letters(self) -> None:
        """Strings that are discovered have a code, whose pieces are what the mechanism takes."""
        mechanism, letters = self.mechanism, self.letters
        if isinstance(mechanism, Trie) != (letters is not None):
            raise ParameterError("letters", f"given with {Trie.name}, and only then", letters)
        if not isinstance(mechanism, Trie) or letters is None:
            return
        shape = mechanism.levels, mechanism.first_bits, mechanism.deeper_bits
        if shape != (letters.levels, FIRST_BITS, DEEPER_BITS):
            constraint = f"{letters.levels} levels, of {FIRST_BITS} bits and then {DEEPER_BITS}"
            raise ParameterError("mechanism", f"over {constraint}", mechanism)

    def _check_pick(self) -> None:
        if self.pick not in PICKS:
            raise ParameterError("pick", f"one of {', '.join(PICKS)}", self.pick)
        if self.pick == "random" and (reason := self._why_first) is not None:
            raise ParameterError("pick", f"first {reason}", self.pick)

    @property
    def _why_first(self) -> str | None:
        """Why no other value than the first of a period can be reported; None if one can."""
        if self.value_type in ("boolean", "attributes"):
            return f"for {self.value_type}"
        if self.every == "once":
            return 'with every = "once", as that period never ends'
        if self.mechanism.epsilon_permanent is not None:
            return 'with repeat = "memoize", as each new value would cost epsilon_permanent'
        return None

    def canonical(self) -> dict[str, Any]:
        """The spec as JSON data: strings, integers, lists and maps of them.

        A field that came later is left out where it is empty, so that older digests stand.
        """
        data: dict[str, Any] = {
            "application": self.application,
            "name": self.name,
            "type": self.type,
            "values": list(self.values),
            "other": self.other,
            "mechanism": self.mechanism.description(),
            "every": self.every,
        }
        if self.attributes:
            data["attributes"] = [attribute.canonical() for attribute in self.attributes]
        if self.range is not None:
            data["range"] = numbers.canonical_range(self.range)
        if self.absent is not None:
            is_number = isinstance(self.absent, Fraction)
            data["absent"] = str(self.absent) if is_number else self.absent
        if self.segments is not None:
            data["segments"] = self.segments.canonical()
        if self.letters is not None:
            data["letters"] = self.letters.canonical()
        if self.pick != "first":
            data["pick"] = self.pick
        return data

    @classmethod
    def from_canonical(cls, data: Mapping[str, Any]) -> Spec:
        """The spec that `canonical` described.

        Raises:
            ParameterError: if the data is not a valid spec.
        """
        try:
            ends = numbers.range_from_canonical(data["range"]) if "range" in data else None
            absent = data.get("absent")
            if absent is not None and ends is not None:
                absent = numbers.number_from_canonical("absent", absent)
            return cls(
                application=data["application"],
                name=data["name"],
                type=data["type"],
                values=tuple(data["values"]),
                other=data["other"],
                mechanism=mechanism_from_description(data["mechanism"]),
                every=data["every"],
                attributes=tuple(map(Attribute.from_canonical, data.get("attributes", ()))),
                range=ends,
                absent=absent,
                segments=Segments.from_canonical(data["segments"]) if "segments" in data else None,
                letters=_letters_from(data["letters"]) if "letters" in data else None,
                pick=data.get("pick", "first"),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ParameterError("spec", "a canonical spec", data) from error

    def canonical_text(self) -> str:
        """The canonical JSON: keys sorted, no spaces, characters as they are."""
        return json.dumps(
            self.canonical(), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )

    @classmethod
    def from_canonical_text(cls, text: str) -> Spec:
        """The spec that `canonical_text` described.

        Raises:
            ParameterError: if it is none.
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ParameterError("spec", "canonical JSON", text) from error
        return cls.from_canonical(data)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the canonical JSON in UTF-8: 32 bytes."""
        return hashlib.sha256(self.canonical_text().encode()).digest()

    @cached_property
    def salt(self) -> int:
        """The 32-bit seed of this metric's hash family."""
        return hashing.salt(self.application, self.name)

    @property
    def value_type(self) -> MetricType:
        """The type of the metric's own values, also where reports are of pairs with segments."""
        return self.type if self.segments is None else self.segments.of.type

    @property
    def is_open(self) -> bool:
        """Whether any text is a value or an item, so that a question has to list candidates."""
        return self.type == "string" or (self.type == "set" and not self.values)

    @cached_property
    def items(self) -> tuple[str, ...]:
        """What there is to estimate of a known domain; nothing for the strings of an open one.

        A flag is one item, ``true``. Attributes are ``late=true`` and ``carrier=AA``, and with
        pairs also the four cells of every two: ``late=true & premium=false``.
        """
        if self.type == "boolean":
            return ("true",)
        items = self.values + single_items(self.attributes)
        return items + pair_items(self.attributes) if self.mechanism.estimates_pairs else items

    @cached_property
    def bins(self) -> int:
        """How many bins there are; of a distribution only."""
        bins: int = self.mechanism.size  # type: ignore[attr-defined]  # all over bins have one
        return bins

    @property
    def reports_absence(self) -> bool:
        """Whether a period without a value is reported as well; one that never ends is not."""
        return self.absent is not None and self.every != "once"

    @property
    def may_pick(self) -> bool:
        """Whether another value than the first of a period could be reported."""
        return self._why_first is None

    @property
    def picks(self) -> bool:
        """Whether every value of a period has the same chance to be the one that is reported."""
        return self.pick == "random"

    @property
    def waits_for_period_end(self) -> bool:
        """Whether reports are dated to the end of their period, and leave after it."""
        return self.reports_absence or self.picks

    @property
    def absent_text(self) -> str | None:
        """What stands for absence, in words: a name, ``false`` or a number; None without."""
        if isinstance(self.absent, Fraction):
            return f"{float(self.absent):g}"
        return "false" if self.absent is False else self.absent

    def encode_absent(self) -> int | bytes | tuple[int, ...] | tuple[bytes, ...]:
        """What stands for absence as `encode` returns values; the metric reports absence."""
        if self.type == "set":
            return ()
        if isinstance(self.absent, Fraction) and self.range is not None:
            return self._place(self.absent, self.range)
        return self.encode(self.absent)

    def encode(
        self, value: object, segment: object = None
    ) -> int | bytes | tuple[int, ...] | tuple[bytes, ...]:
        """A recorded value in the form that the mechanism takes.

        Args:
            value: a bool for ``boolean``, a mapping from names to bools and strs for
                ``attributes``, a finite int or float for ``number`` and ``distribution``, where it
                is clamped to the range, a set, frozenset, list or tuple of strs for ``set``, a str
                otherwise. With segments, a bool or a str as the
                metric's own values are.
            segment: which one the device belongs to, a str; None counts as the catch-all, and is
                all that a metric without segments takes.

        Returns:
            An index into the domain, one index for each attribute, the canonical bytes of a
            string, the pieces of its code where strings are discovered, a number's place in its
            range, in [0, 2^20], or bin, or of a set the different indices, or bytes where its
            mechanism hashes, in their order.

        Raises:
            DomainError: if the value has the wrong type, or is outside a domain without a
                catch-all. The message does not contain it.
        """
        if self.segments is not None:
            return self._pair(self.segments, value, segment)
        if segment is not None:
            raise DomainError(f"{self.name} has no segments")
        if self.type == "boolean":
            if type(value) is bool:
                return int(value)
            raise not_a_flag(self.name)
        if self.type == "attributes":
            return self._record(value)
        if self.type == "set":
            return self._set(value)
        if self.range is not None:
            return self._number(value, self.range)
        if not isinstance(value, str):
            raise not_text(self.name)
        if self.type == "category":
            index = self._index.get(
                hashing.normalize_if_short(value, self._longest), self._other_index
            )
            if index is None:
                raise not_listed(self.name, len(self.values))
            return index
        text = hashing.canonical(value)
        return text if self.letters is None else self.letters.pieces(text)

    def _pair(self, segments: Segments, value: object, segment: object) -> int:
        number = segments.of.index(value)
        if number is None:
            raise segments.of.refusal(self.name, value)
        pair = segments.index(number, segment)
        if pair is None:
            name = f"{self.name}.{segments.by.name}"
            raise (
                segments.by.missing(name) if segment is None else segments.by.refusal(name, segment)
            )
        return pair

    def _record(self, value: object) -> tuple[int, ...]:
        """Checks all attributes: whether a record is refused must not depend on the one drawn."""
        if not isinstance(value, Mapping):
            raise DomainError(f"{self.name} takes a mapping of its attributes")
        indices = []
        absent = 0
        for attribute in self.attributes:
            name = f"{self.name}.{attribute.name}"
            if attribute.name in value:
                index = attribute.index(value[attribute.name])
                if index is None:
                    raise attribute.refusal(name, value[attribute.name])
            else:
                absent += 1
                index = attribute.other_index
                if index is None:
                    raise attribute.missing(name)
            indices.append(index)
        if len(value) + absent != len(indices):
            raise DomainError(f"{self.name} takes its own attributes only")
        return tuple(indices)

    def _set(self, value: object) -> tuple[int, ...] | tuple[bytes, ...]:
        """Of listed items the known ones, and the catch-all if there are others and it is given."""
        if not isinstance(value, AbstractSet | list | tuple):  # a str is a mistake
            raise DomainError(f"{self.name} takes a set, list or tuple of texts")
        if not all(isinstance(item, str) for item in value):
            raise not_text(self.name)
        hashed = cast("SetMechanism", self.mechanism).hashed
        if not self.values:
            return tuple(sorted(set(map(hashing.canonical, value))))
        index, longest, other = self._index, self._longest, self._other_index
        found = {index.get(hashing.normalize_if_short(item, longest), other) for item in value}
        numbers_held = sorted(number for number in found if number is not None)
        if hashed:
            return tuple(hashing.canonical(self.values[number]) for number in numbers_held)
        return tuple(numbers_held)

    def _number(self, value: object, ends: Range) -> int:
        """The nearest place, or for a distribution the bin."""
        if not numbers.is_number(value):
            raise DomainError(
                f"{self.name} takes a finite number; of a timedelta pass its total_seconds()"
            )
        return self._place(cast("float", value), ends)

    def _place(self, number: float | Fraction, ends: Range) -> int:
        if self.type == "distribution":
            return numbers.bin_index(number, ends, self.bins)
        return numbers.nearest_place(number, ends)

    @cached_property
    def _index(self) -> dict[str | None, int]:
        return {value: index for index, value in enumerate(self.values)}

    @cached_property
    def _longest(self) -> int:
        return hashing.longest_length(self.values)

    @cached_property
    def _other_index(self) -> int | None:
        return None if self.other is None else self._index[self.other]


def _letters_from(data: Mapping[str, Any]) -> LetterCode:
    from deniable_shared.letters import LetterCode  # few devices need it

    return LetterCode.from_canonical(data)
