"""Renamed values: answers tell reports of earlier versions by the names that values have now."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_shared.attributes import Attribute
from deniable_shared.errors import RegistryError
from deniable_shared.frozen import frozen
from deniable_shared.segments import Segments
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@frozen
class RenamedSpec(Spec):
    """A version as answers tell it; its digest and its reports are those that were registered.

    Attributes:
        registered: the canonical JSON of the version as it was registered.
        renamed: the earlier names of its values that have another one now, with that.
    """

    registered: str = ""
    renamed: tuple[tuple[str, str], ...] = ()

    def canonical(self) -> dict[str, Any]:
        """The version as it was registered, as JSON data."""
        data: dict[str, Any] = json.loads(self.registered)
        return data

    def canonical_text(self) -> str:
        """The canonical JSON of the version as it was registered."""
        return self.registered


def renamed_spec(spec: Spec, renamed: Mapping[str, str]) -> Spec:
    """A version with the names that its values have now; the same one if none was renamed.

    Args:
        spec: as it was registered.
        renamed: the earlier names of the metric's values, each with the one that it has now.

    Raises:
        ParameterError: if two of its values would have one name.
    """
    own = {value: renamed[value] for value in _own_values(spec) if value in renamed}
    if not own:
        return spec

    def now(values: Iterable[str]) -> tuple[str, ...]:
        return tuple(own.get(value, value) for value in values)

    def role(value: str | None) -> str | None:
        return None if value is None else own.get(value, value)

    segments, values, other = spec.segments, now(spec.values), role(spec.other)
    if segments is not None:
        of = segments.of
        told = Attribute(of.name, of.type, now(of.values), role(of.other))
        segments = Segments(told, segments.by)
        values, other = segments.items, None
    return RenamedSpec(
        spec.application,
        spec.name,
        spec.type,
        values,
        other,
        spec.mechanism,
        spec.every,
        spec.attributes,
        spec.range,
        role(spec.absent) if isinstance(spec.absent, str) else spec.absent,
        segments,
        spec.letters,
        spec.pick,
        spec.canonical_text(),
        tuple(own.items()),
    )


def require_told_apart(specs: Iterable[Spec], renamed: Mapping[str, str]) -> None:
    """Refuses names by which answers would tell two values of a version as one.

    Args:
        specs: all versions of the metric.
        renamed: the earlier names of its values, each with the one that it has now.

    Raises:
        RegistryError: naming the version and its values.
    """
    problems = []
    for spec in specs:
        names: dict[str, str] = {}
        for value in _own_values(spec):
            told = renamed.get(value, value)
            if told in names:
                both = f"{names[told]!r} and {value!r}"
                version = spec.digest.hex()[:VERSION_LETTERS]
                problems.append(
                    f"renamed of {spec.name} must be of values that no version has beside their "
                    f"new name, got {told!r} for {both}, which version {version} "
                    "tells apart. To see both together, ask for them as combined"
                )
            names[told] = value
    if problems:
        raise RegistryError(problems)


def _own_values(spec: Spec) -> tuple[str, ...]:
    """The values of a category, whatever the segment, or of a set."""
    if spec.value_type not in ("category", "set"):
        return ()
    return spec.values if spec.segments is None else spec.segments.of.domain
