"""What an export says must follow from the texts of its versions, and must not contradict itself.

The signature says who signed an export, and not that the publisher tells the truth. What a version
asks and what it gives away is in its canonical text, which the version's id is the digest of; so
the rest must agree with that text. What devices held nobody can check here.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from deniable_aggregator.publication.versions import published_version
from deniable_aggregator.registry_history import BrokenHistoryError, check_history, summary
from deniable_shared.characters import visible, visible_constraint
from deniable_shared.errors import DeniableError, ParameterError
from deniable_shared.periods import EVERY, most_periods
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_aggregator.answers.registry_history import RegistryHistory
    from deniable_aggregator.publication.export import Export
    from deniable_aggregator.publication.publication import Publication, PublishedVersion


class ExportError(DeniableError):
    """An export cannot be trusted, or cannot be read. The message says why."""


def check_export(export: Export) -> None:
    """Checks all of an export that can be checked without its signature.

    Args:
        export: of this version of Deniable.

    Raises:
        ExportError: saying what contradicts what.
    """
    names = [each.metric for each in export.metrics]
    if not names or len(set(names)) != len(names):
        raise ExportError("an export must hold at least one metric, and none of them twice")
    history = export.history
    if history.application != export.application:
        raise ExportError("the history is of another application than the export")
    try:
        check_history(history)
    except BrokenHistoryError as error:
        raise ExportError(
            f"the history of the registry is not as it was written: {visible(str(error))}"
        ) from None
    for each in export.metrics:
        if each.application != export.application:
            raise ExportError(f"{each.metric} is of another application than the export")
        specs = []
        for version in each.versions:
            spec = _check_version(each, version)
            _check_registered(each, version, spec, history)
            specs.append(spec)
        _check_whole(each, specs)
        _check_texts(each)


def _check_version(made: Publication, version: PublishedVersion) -> Spec:
    """A version is what its text says; the spec that it describes."""
    name = f"version {version.version} of {made.metric}"
    if hashlib.sha256(version.canonical.encode()).hexdigest() != version.version:
        raise ExportError(f"{name} is not the SHA-256 of its text")
    try:
        spec = Spec.from_canonical_text(version.canonical)
    except ParameterError:
        raise ExportError(f"{name} is none that this version of Deniable knows") from None
    if (spec.application, spec.name) != (made.application, made.metric):
        raise ExportError(f"version {version.version} is not one of {made.metric}")
    follows = published_version(spec, version.reports)
    for field in version.__struct_fields__:
        _agree(f"{field} of {name}", getattr(version, field), getattr(follows, field))
    return spec


def _check_registered(
    made: Publication, version: PublishedVersion, spec: Spec, history: RegistryHistory
) -> None:
    """A version was registered, and the history says the same of it as its text."""
    name = f"version {version.version} of {made.metric}"
    entries = [each for each in history.entries if each.version == version.version]
    if not any(each.metric == made.metric and each.act == "registered" for each in entries):
        raise ExportError(
            f"{name} is not in the history of the registry: nothing says that it was ever "
            "registered"
        )
    follows = summary(spec)
    for entry in entries:
        _agree(f"metric of entry {entry.sequence} of the history", entry.metric, made.metric)
        _agree(f"summary of entry {entry.sequence} of the history", entry.summary, follows)


def _check_whole(made: Publication, specs: Iterable[Spec]) -> None:
    """Type, period and numbers of reports of a metric follow from its versions and its days."""
    ids = [each.version for each in made.versions]
    if len(set(ids)) != len(ids):
        raise ExportError(f"{made.metric} has a version twice")
    for spec in specs:
        _agree(f"type of {made.metric}", made.type, spec.value_type)
    shortest = min((each.every for each in made.versions), key=EVERY.index)
    _agree(f"every of {made.metric}", made.every, shortest)
    _agree(f"reports of {made.metric}", made.reports, sum(each.reports for each in made.versions))
    if made.since > made.until:
        raise ExportError(
            f"the days of {made.metric} must begin before they end, got {made.since} to "
            f"{made.until}"
        )
    most = most_periods(made.every, (made.until - made.since).days + 1)
    if not 1 <= made.periods <= most:
        raise ExportError(
            f"periods of {made.metric} must be 1 to {most:,} in these days, got {made.periods:,}"
        )
    for row in made.rows:
        if row.of_reports is not None and row.of_reports > made.reports:
            raise ExportError(
                f"a share of {made.metric} must be of at most its {made.reports:,} reports, got "
                f"one of {row.of_reports:,}"
            )


def _check_texts(made: Publication) -> None:
    """No text acts on a terminal or reads as another: no registry would have taken it."""
    for text in (made.description, made.segment or "", *(row.label for row in made.rows)):
        constraint = visible_constraint(text)
        if constraint is not None:
            raise ExportError(
                f"a text of {made.metric} must be {constraint}, got '{visible(text)}'"
            )


def _agree(what: str, stated: Any, follows: Any) -> None:
    if stated != follows:
        raise ExportError(
            f"{what} must be {follows!r}, which follows from its versions, got "
            f"{visible(repr(stated))}"
        )
