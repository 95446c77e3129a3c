"""From what a registry file says to a mechanism with integer parameters.

A registry that names no mechanism, or ``auto``, gets the one for its type that is chosen here. The
declared epsilons are never exceeded: every rounding is toward privacy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_shared import mechanism_choice
from deniable_shared.errors import ParameterError
from deniable_shared.fields import TableReader
from deniable_shared.mechanisms import (
    FRESH,
    MECHANISMS,
    MEMOIZE,
    Mechanism,
    MechanismRequest,
    MemoizedDBitFlip,
    MemoizedOneBitMean,
    MemoizedRandomizedResponse,
    RandomizedResponse,
    SampledAttribute,
    Sketch,
    SquareWave,
    Trie,
)
from deniable_shared.mechanisms.request import AUTO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from deniable_shared.attributes import Attribute

_AUTOMATIC: Final[Mapping[tuple[str, str], type[Mechanism]]] = {
    ("attributes", FRESH): SampledAttribute,
    ("boolean", FRESH): RandomizedResponse,
    ("boolean", MEMOIZE): MemoizedRandomizedResponse,
    ("distribution", FRESH): SquareWave,
    ("distribution", MEMOIZE): MemoizedDBitFlip,
    ("number", MEMOIZE): MemoizedOneBitMean,
    ("string", FRESH): Sketch,
    ("string", MEMOIZE): Sketch,
}
"""The mechanism of each type that names none; those of all others are in `mechanism_choice`."""

_NOT_MEMOIZED: Final[Mapping[str, str]] = {
    "set": (
        "every change of a set would be a new permanent answer, and a set changes with each of its "
        'items. Use every = "month" to spend less'
    ),
}
"""Why reports of a type are not memoised, where it is not plain."""

MOST_MEMOIZED: Final = 64
"""Values of a memoised category whose mechanism is planned: the permanent answer of more has so
many bits that reports are linked. As a string, the same values have a sketch of 32 buckets."""


def resolve(
    kind: str,
    *,
    size: int,
    attributes: Sequence[Attribute] = (),
    epsilon: Fraction,
    epsilon_permanent: Fraction | None = None,
    repeat: str = FRESH,
    devices: int,
    choice: tuple[str, TableReader] | None,
    delta: Fraction | None = None,
    levels: int | None = None,
    level_shares: tuple[int, ...] = (),
    most: int = 0,
) -> Mechanism:
    """The mechanism of one metric.

    Args:
        kind: the metric's type.
        size: number of categories, or bins of a distribution; 0 for other types.
        attributes: the parts of a record, none unless ``attributes``.
        epsilon: the declared privacy loss of one report, in nats; never exceeded.
        epsilon_permanent: the declared privacy loss of all reports of one value, in nats; given
            if they are memoised, and only then.
        repeat: ``fresh`` or ``memoize``.
        devices: how many devices are expected; sizes a sketch.
        choice: the mechanism's name and options, or None for the type's default.
        delta: by how much an event may be more probable than epsilon allows; only for ``gaussian``.
        levels: how many levels the codes of strings have; None unless strings are discovered.
        level_shares: how often each of them is drawn; empty for the usual rule.
        most: how many items of a device a report covers; 0 unless a ``set``.

    Raises:
        ParameterError: naming the field that has to change.
    """
    name, options = choice or (AUTO, TableReader({}, "", []))
    if levels is not None:
        _check_discovery(name, repeat)
    allowed = _mechanisms_by_name(kind, repeat)
    if not allowed:
        reason = _NOT_MEMOIZED.get(kind, f"nothing memoises {kind}")
        raise ParameterError("repeat", f"left out: {reason}", repeat)
    if name != AUTO and name not in allowed:
        if name in _mechanisms_by_name(kind, MEMOIZE if repeat == FRESH else FRESH):
            alternatives = f'"{MEMOIZE}"' if repeat == FRESH else f'"{FRESH}", or left out,'
            raise ParameterError("repeat", f"{alternatives} for {name}", repeat)
        names = ", ".join((AUTO, *allowed))
        raise ParameterError("mechanism", f"one of {names} for {kind}", name)
    if repeat == FRESH and epsilon_permanent is not None:
        constraint = f'left out, unless repeat = "{MEMOIZE}"'
        raise ParameterError("epsilon_permanent", constraint, float(epsilon_permanent))
    if repeat == MEMOIZE and epsilon_permanent is None:
        raise ParameterError("epsilon_permanent", f'a number with repeat = "{MEMOIZE}"', None)
    _check_delta(kind, allowed.get(name), delta)
    if kind == "boolean":
        size = 2
    elif kind == "category" and size < 2:
        raise ParameterError("values", "at least 2 categories, with other", size)
    request = MechanismRequest(
        name,
        options,
        size,
        attributes,
        epsilon,
        epsilon_permanent,
        delta,
        devices,
        levels,
        level_shares,
        most,
        mechanism_choice,
    )
    mechanism: Mechanism
    if levels is not None:
        mechanism = Trie.from_options(request)
    elif name != AUTO:
        mechanism = allowed[name].from_options(request)
    elif kind == "set":
        mechanism = mechanism_choice.set_mechanism_for(size, most, epsilon, devices)
    elif kind == "number" and repeat == FRESH:
        mechanism = mechanism_choice.mean_for(epsilon)
    elif kind != "category":
        mechanism = _AUTOMATIC[kind, repeat].from_options(request)
    elif epsilon_permanent is None:
        mechanism = mechanism_choice.oracle_for(size, epsilon)
    elif size > MOST_MEMOIZED:
        constraint = (
            f'at most {MOST_MEMOIZED}, segments times values, with repeat = "{MEMOIZE}" and no '
            f'mechanism, as the reports of more are linked; take type = "string", or name losue'
        )
        raise ParameterError("values", constraint, size)
    else:
        mechanism = mechanism_choice.memoized_oracle_for(size, epsilon, epsilon_permanent)
    options.report_unknown()
    return mechanism


def _mechanisms_by_name(kind: str, repeat: str) -> dict[str, type[Mechanism]]:
    """What may carry a type, by the names that a registry may use; empty if nothing memoises it."""
    names = (
        (name, mechanism)
        for mechanism in MECHANISMS.values()
        if kind in mechanism.types
        for name in mechanism.registry_names(repeat)
    )
    return dict(sorted(names, key=lambda pair: pair[0]))


def _check_discovery(name: str, repeat: str) -> None:
    """Strings are discovered by one mechanism, from fresh reports.

    Raises:
        ParameterError: if the registry asks for anything else.
    """
    if name != AUTO:
        raise ParameterError("mechanism", "left out with discover = true, which decides it", name)
    if repeat == MEMOIZE:
        constraint = (
            "left out with discover = true: a device would keep one level and row for good, and "
            'could not be found in the others. Use every = "week", "month" or "once" to spend less'
        )
        raise ParameterError("repeat", constraint, repeat)


def _check_delta(kind: str, mechanism: type[Mechanism] | None, delta: Fraction | None) -> None:
    """A delta stands beside a mechanism that takes one, and nowhere else.

    Raises:
        ParameterError: otherwise.
    """
    takes_delta = mechanism is not None and mechanism.takes_delta
    if takes_delta == (delta is not None):
        return
    taking = sorted(
        name for name, mechanism_class in MECHANISMS.items() if mechanism_class.takes_delta
    )
    delta_shown = None if delta is None else float(delta)
    if any(kind in MECHANISMS[name].types for name in taking):
        constraint = f"given for {' and '.join(taking)}, and left out for all others"
    else:
        constraint = f"left out: only {' and '.join(taking)} has one"
    raise ParameterError("delta", constraint, delta_shown)
