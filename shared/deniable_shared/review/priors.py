"""How common values are, from a file of shares or counts."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Final

from deniable_shared import hashing
from deniable_shared.characters import visible
from deniable_shared.errors import PriorsError
from deniable_shared.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from deniable_shared.registry import Registry
    from deniable_shared.review.metric_bits import Shares
    from deniable_shared.spec import Spec

MAX_BYTES: Final = 1 << 24
MOST: Final = 1e15
"""That a line may count."""
MAX_PROBLEMS: Final = 10
"""So many are listed."""

RECORD: Final = " & "
"""Between the attributes of a whole record, and the items of a whole set."""

NO_ITEMS: Final = "no items"
"""The empty set."""

_ROUNDING: Final = 0.01
"""Shares that were rounded may miss 1 by so much."""


def read_priors(path: Path, registry: Registry) -> dict[str, Shares]:
    """The shares of values, by metric, in the order in which a metric lists them.

    Numbers are checked and left out: how common they are is for simulations.

    Args:
        path: see `read_weights`.

    Raises:
        PriorsError: if it cannot be read, or says what cannot be; its first problems are listed.
    """
    problems: list[str] = []
    shares_by_metric = {}
    for name, weights in read_weights(path, registry).items():
        spec = registry.metrics[name].spec
        if spec.range is not None:
            numbers_of(spec, weights, problems)
        elif (shares := shares_of(spec, weights, problems)) is not None:
            shares_by_metric[name] = shares
    raise_problems(path, problems)
    return shares_by_metric


def read_weights(path: Path, registry: Registry) -> dict[str, dict[str, float]]:
    """Shares or counts of items, by metric, as a file has them.

    A line has a metric's name, an item and a share or count, separated by commas, semicolons or
    tabs, with or without a line of headings. Without the metric, all lines are of the one metric
    that lists their items. Items are those of ``deniable estimate``: ``true`` and ``false`` of a
    flag, ``carrier=AA`` of an attribute, ``theme=dark & channel=beta`` of a segment; those of a
    number are numbers. Items of attributes may all be whole records, ``carrier=AA & late=true``,
    which say what goes together; those of a set are whole sets, ``git & vim``, or ``no items``.
    Counts become shares of their sum, and shares add up to 1. What a category does not list counts
    as its ``other``; of attributes and segments ``other`` must be named.

    Args:
        path: of the file, in UTF-8.

    Raises:
        PriorsError: if it cannot be read, or names no metric; its first problems are listed.
    """
    problems: list[str] = []
    rows = table_rows(path, registry, problems)
    by_metric: dict[str, dict[str, float]] = {}
    if not rows:
        problems.append("no line has an item and a share")
    elif not problems and all(len(words) == 2 for _, words, _ in rows):
        items = {words[0] for _, words, _ in rows}
        name = _only_metric(registry, items, problems)
        rows = [(line, [name, *words], share) for line, words, share in rows] if name else []
    for line, words, share in rows:
        if len(words) != 3:
            problems.append(f"line {line}: must be metric, item and share, as other lines are")
        elif words[0] not in registry.metrics:
            hint = _hint(words[0], registry.metrics, problems)
            problems.append(f"line {line}: no metric is called {_shown(words[0])}.{hint}")
        else:
            of_metric = by_metric.setdefault(words[0], {})
            item = hashing.normalize(words[1])
            of_metric[item] = of_metric.get(item, 0.0) + share
    raise_problems(path, problems)
    return by_metric


def table_rows(
    path: Path, registry: Registry, problems: list[str]
) -> list[tuple[int, list[str], float]]:
    """Line, words and number of each line of a table, but for one of headings.

    Args:
        path: of the file, in UTF-8.
        problems: takes what is wrong with lines.

    Raises:
        PriorsError: if it cannot be read.
    """
    return _rows(_text(path), registry, problems)


def listed_items(spec: Spec) -> tuple[str, ...]:
    """The items of a flag or a category; empty if there is no list."""
    domains = _domains(spec)
    return domains[0] if len(domains) == 1 else ()


def raise_problems(path: Path, problems: list[str]) -> None:
    """Ends the reading of a file that has problems.

    Raises:
        PriorsError: with the first of them, if there are any.
    """
    if problems:
        more = len(problems) - MAX_PROBLEMS
        listed = problems[:MAX_PROBLEMS] + ([f"and {more:,} more"] if more > 0 else [])
        raise PriorsError("\n".join(f"{path}: {problem}" for problem in listed))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            body = file.read(MAX_BYTES + 1)
        if len(body) > MAX_BYTES:
            raise PriorsError(f"{path}: must be of at most {MAX_BYTES:,} bytes")
        return body.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise PriorsError(f"{path}: cannot be read: {why}") from error


def _rows(text: str, registry: Registry, problems: list[str]) -> list[tuple[int, list[str], float]]:
    """Line, words and number of each line; the first is left out if it is one of headings."""
    first = text.partition("\n")[0]
    delimiter = next((separator for separator in "\t;" if separator in first), ",")
    rows = []
    try:
        for line, words in enumerate(csv.reader(io.StringIO(text), delimiter=delimiter), 1):
            stripped = [word.strip() for word in words]
            if not any(stripped):
                continue
            weight = _number(stripped[-1])
            if weight is not None and 0 <= weight <= MOST:
                rows.append((line, stripped, weight))
            elif line > 1 or weight is not None or not _are_headings(stripped, registry):
                constraint = f"its last word must be a share or a count in [0, {MOST:.0e}]"
                problems.append(f"line {line}: {constraint}, got {_shown(stripped[-1])}")
    except csv.Error as error:
        problems.append(f"must be a table, of commas or tabs: {error}")
    return rows


def _are_headings(words: list[str], registry: Registry) -> bool:
    """Whether words that do not end in a number are headings rather than a mistake."""
    return words[0] not in registry.metrics and not any(
        character.isdigit() for character in words[-1]
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _only_metric(registry: Registry, items: set[str], problems: list[str]) -> str | None:
    """The metric that lists all items; None, with a problem, unless there is exactly one."""
    normalized = {hashing.normalize(item) for item in items}
    matching = [
        name
        for name, metric in registry.metrics.items()
        if normalized <= {item for part in _domains(metric.spec) for item in part}
        or records_of(metric.spec, dict.fromkeys(normalized, 0.0))
    ]
    if len(matching) == 1:
        return matching[0]
    problem = "no metric lists" if not matching else f"{' and '.join(matching)} each list"
    problems.append(
        f"{problem} all items of the file: begin each line with the metric's name, as in "
        "theme,dark,0.4"
    )
    return None


def _domains(spec: Spec) -> list[tuple[str, ...]]:
    """The items of each part of a value, in their order; empty if there is no list."""
    if spec.attributes:
        return [
            tuple(f"{attribute.name}={value}" for value in attribute.domain)
            for attribute in spec.attributes
        ]
    if spec.type == "boolean":
        return [("false", "true")]
    return [spec.values] if spec.values else []


def shares_of(spec: Spec, weights: Mapping[str, float], problems: list[str]) -> Shares | None:
    """The shares of one metric's values; None, with a problem, if they cannot be those.

    Args:
        spec: of a metric that is no number.
        weights: shares or counts, by item.
        problems: takes what is wrong.
    """
    domains = _domains(spec)
    if spec.type == "set":
        _check_items(spec, weights, problems)
    if not domains or spec.type == "set":  # strings, or sets, of which there is no list
        shares = normalized(spec.name, weights.values(), problems, sets=spec.type == "set")
        return None if shares is None else (shares,)
    unlisted = _marginals(records_of(spec, weights)) or dict(weights)
    parts = []
    for domain in domains:
        part = {item: unlisted.pop(item, 0.0) for item in domain}
        parts.append(part)
    if spec.other is not None:
        parts[0][spec.other] += sum(unlisted.values())
        unlisted.clear()
    values = [value for domain in domains for value in domain]
    for item in unlisted:
        hint = _hint(item, values, problems)
        problems.append(
            f"{spec.name}: must have items such as {_shown(values[0])}, got {_shown(item)}.{hint}"
        )
    if unlisted:
        return None
    names = [f"{spec.name}.{attribute.name}" for attribute in spec.attributes] or [spec.name]
    per_attribute = [
        normalized(name, part.values(), problems) for name, part in zip(names, parts, strict=True)
    ]
    complete = [part for part in per_attribute if part is not None]
    return tuple(complete) if len(complete) == len(per_attribute) else None


def sets_of(weights: Mapping[str, float]) -> dict[tuple[str, ...], float]:
    """The weights of whole sets.

    Args:
        weights: shares or counts, by the items of each set; ``no items`` of the empty one.
    """
    return {
        tuple(item.split(RECORD)) if item != NO_ITEMS else (): weight
        for item, weight in weights.items()
    }


def _check_items(spec: Spec, weights: Mapping[str, float], problems: list[str]) -> None:
    if not spec.values or spec.other is not None:
        return
    held = dict.fromkeys(item for items in sets_of(weights) for item in items)
    for item in held:
        if item not in spec.values:
            hint = _hint(item, spec.values, problems)
            problems.append(f"{spec.name}: must have listed items, got {_shown(item)}.{hint}")


def records_of(spec: Spec, weights: Mapping[str, float]) -> dict[tuple[str, ...], float]:
    """The weights of whole records: a value of each attribute, in their order.

    Args:
        spec: of any metric.
        weights: shares or counts, by item; unless all of them are whole records, there are none.
    """
    names = [attribute.name for attribute in spec.attributes]
    records: dict[tuple[str, ...], float] = {}
    for item, weight in weights.items():
        held = dict(part.partition("=")[::2] for part in item.split(RECORD))
        if not names or sorted(held) != sorted(names):
            return {}
        record = tuple(f"{name}={held[name]}" for name in names)
        records[record] = records.get(record, 0.0) + weight
    return records


def _marginals(records: Mapping[tuple[str, ...], float]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for record, weight in records.items():
        for item in record:
            weights[item] = weights.get(item, 0.0) + weight
    return weights


def numbers_of(
    spec: Spec, weights: Mapping[str, float], problems: list[str]
) -> dict[float, float] | None:
    """The share of each number; None, with a problem, if the items are no numbers.

    Args:
        spec: of a metric of numbers.
        weights: shares or counts, by item.
        problems: takes what is wrong.
    """
    numbers = [_number(item) for item in weights]
    for item, number in zip(weights, numbers, strict=True):
        if number is None or not math.isfinite(number):
            problems.append(f"{spec.name}: its items must be numbers, got {_shown(item)}")
            return None
    shares = normalized(spec.name, weights.values(), problems)
    return None if shares is None else dict(zip(map(float, weights), shares, strict=True))


def normalized(
    name: str, weights: Iterable[float], problems: list[str], *, sets: bool = False
) -> tuple[float, ...] | None:
    """Weights as shares of their sum: counts, or shares that add up to 1 already.

    Args:
        name: of the metric, or of its attribute.
        weights: at least one.
        problems: takes what is wrong; then there are no shares.
        sets: whether they are those of whole sets, and not of items, which do not add up to 1.
    """
    listed = tuple(weights)
    total = math.fsum(listed)
    are_shares = max(listed) <= 1 and not all(weight.is_integer() for weight in listed)
    if not 0 < total < math.inf or (are_shares and not abs(total - 1) <= _ROUNDING):
        of = f" of whole sets, such as git{RECORD}vim," if sets else ""
        problems.append(f"{name}: its shares{of} must add up to 1, got {total:.4g}")
        return None
    return tuple(weight / total for weight in listed)


def _hint(typed: str, names: Iterable[str], problems: list[str]) -> str:
    """What is probably meant, of the problems that are listed: looking for it takes a while."""
    return did_you_mean(typed, names) if len(problems) < MAX_PROBLEMS else ""


def _shown(text: str) -> str:
    return repr(visible(text if len(text) <= 60 else f"{text[:57]}..."))
