"""Tallies of known domains: flags, categories, and records of one sampled attribute."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable_aggregator.counting.statistics.checks import SliceChecks, evenness_check
from deniable_aggregator.counting.statistics.influence import concentrate
from deniable_aggregator.counting.statistics.shares import ItemShares
from deniable_aggregator.counting.tallies.base import (
    ShareTally,
    SliceShares,
    chunks,
    oracle_tally_for,
    tallies,
)
from deniable_aggregator.counting.tallies.diagnostics import Diagnostics, PerAttributeDiagnostics
from deniable_shared.attributes import single_items
from deniable_shared.errors import ParameterError, WireError
from deniable_shared.mechanisms import SampledAttribute

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.counting.statistics.outcomes import OutcomeCounts
    from deniable_aggregator.counting.tallies.oracle import OracleTally
    from deniable_shared.spec import Spec


class KnownDomainTally(ShareTally):
    """The counts of an oracle over the metric's own domain.

    Args:
        spec: a boolean or category metric.
        oracle: counts and reads its mechanism.
    """

    def __init__(self, spec: Spec, oracle: OracleTally[Any]) -> None:
        super().__init__(spec)
        self._oracle = oracle
        domain = ("false", "true") if spec.type == "boolean" else spec.values
        self._position = {item: position for position, item in enumerate(domain)}
        self._item = np.dtype(f"V{self._width}")

    @cached_property
    def diagnostics(self) -> Diagnostics | None:
        """The oracle's."""
        return self._oracle.diagnostics

    def _checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],
        has_diagnostics: NDArray[np.bool_],
    ) -> Iterable[SliceChecks]:
        """The oracle's."""
        return self._oracle.checks(counts, diagnostics, has_diagnostics)

    @property
    def cells(self) -> int:
        """The oracle's."""
        return self._oracle.cells

    def _check(self, payload: bytes) -> None:
        """Every report is one that a device can send."""
        self._read_payload(payload)

    def count(self, payload: bytes) -> NDArray[np.int64]:
        """Counts all reports in one group."""
        counts = np.zeros((1, self._oracle.cells), np.int64)
        for part in chunks(self._read_payload(payload)):
            counts += self._oracle.count(np.zeros(part.size, np.uint16), part, 1)
        return np.asarray(counts[0])

    def reports(self, counts: NDArray[np.int64]) -> int:
        """What the oracle counted."""
        return int(self._oracle.reports(counts[None])[0])

    def outcomes(self, counts: NDArray[np.int64]) -> OutcomeCounts:
        """The oracle's."""
        return self._oracle.outcomes(counts[None])

    def shares(self, counts: NDArray[np.int64], items: Sequence[str]) -> ItemShares:
        """The shares of some of the items."""
        return self._oracle.shares(counts[None]).take(self._chosen(items))

    shares_each_slice = False

    def shares_of_slices(self, counts: NDArray[np.int64], items: Sequence[str]) -> SliceShares:
        """The shares of some of the items, from all slices at once."""
        chosen = self._chosen(items)
        return SliceShares(*(every[:, chosen] for every in self._oracle.shares_by_group(counts)))

    def _chosen(self, items: Sequence[str]) -> NDArray[np.int64]:
        """The places of items in the domain."""
        unknown = [item for item in items if item not in self._position]
        if unknown:
            raise ParameterError(
                "candidates", f"items of {self.spec.name}: {', '.join(self._position)}", unknown[0]
            )
        return np.fromiter((self._position[item] for item in items), np.int64, len(items))

    def _read_payload(self, payload: bytes) -> NDArray[np.void]:
        self._check_width(payload)
        reports = np.frombuffer(payload, self._item)
        try:
            for part in chunks(reports):
                self._oracle.check(part)
        except WireError as error:
            raise WireError(f"a report of {self.spec.name} {error}") from None
        return reports


@tallies(SampledAttribute)
class SampledAttributeTally(ShareTally):
    """The counts of each attribute's oracle, one after the other.

    Args:
        spec: an attributes metric.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._oracles = tuple(map(oracle_tally_for, spec.mechanism.oracles))
        edges = itertools.accumulate((oracle.cells for oracle in self._oracles), initial=0)
        self._blocks = [slice(start, end) for start, end in itertools.pairwise(edges)]
        self._places: dict[str, tuple[int, int]] = {}
        for number, attribute in enumerate(spec.attributes):
            # A flag is asked for by one item, `true`, which is the last of its domain.
            items = single_items((attribute,))
            first = attribute.size - len(items)
            self._places.update((item, (number, first + at)) for at, item in enumerate(items))

    @cached_property
    def diagnostics(self) -> PerAttributeDiagnostics | None:
        """Those of each attribute's reports; None if no attribute has any."""
        inner = [oracle.diagnostics for oracle in self._oracles]
        widths = [oracle.oracle.report_bytes for oracle in self._oracles]
        return PerAttributeDiagnostics(inner, widths) if any(inner) else None

    def _checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],
        has_diagnostics: NDArray[np.bool_],
    ) -> Iterator[SliceChecks]:
        """Attributes are drawn equally often, and the reports on each pass its oracle's checks.

        Of an attribute that no report of a slice is about, none is made.
        """
        pairs = list(zip(self._oracles, self._blocks, strict=True))
        answers = self._reports(counts)
        yield evenness_check("groups", answers, f"the {len(pairs)} attributes")
        beside = [diagnostics] * len(pairs)
        if self.diagnostics is not None:
            beside = list(self.diagnostics.split(diagnostics))
        for number, (oracle, block) in enumerate(pairs):
            of_attribute = counts[:, block], beside[number], has_diagnostics
            with np.errstate(divide="ignore", invalid="ignore"):  # of slices without reports
                checks = list(oracle.checks(*of_attribute))
            for check in checks:
                finding, not_made = (
                    f"attribute {number + 1}: {words}" for words in (check.finding, check.not_made)
                )
                masked = check.only_where(answers[:, number] > 0)
                yield replace(masked, finding=finding, not_made=not_made)

    @property
    def cells(self) -> int:
        """Those of all oracles."""
        return self._blocks[-1].stop

    def _check(self, payload: bytes) -> None:
        """The attribute exists, the inner report is possible, and what fills it up is zero."""
        for _ in self._read_payload(payload):
            pass

    def count(self, payload: bytes) -> NDArray[np.int64]:
        """Counts the reports of each attribute with its oracle."""
        counts = np.zeros(self.cells, np.int64)
        for number, reports in self._read_payload(payload):
            group = np.zeros(reports.size, np.uint16)
            counts[self._blocks[number]] += self._oracles[number].count(group, reports, 1)[0]
        return counts

    def reports(self, counts: NDArray[np.int64]) -> int:
        """What all oracles counted."""
        return int(self._reports(counts[None]).sum())

    def attributes(self, items: Sequence[str]) -> list[NDArray[np.int64]]:
        """The places of the items in their list, by attribute: int64, (items of one,), each.

        Raises:
            ParameterError: if no attribute has such an item.
        """
        numbers = self._find(items)[:, 0]
        return [np.flatnonzero(numbers == number) for number in np.unique(numbers)]

    def shares(self, counts: NDArray[np.int64], items: Sequence[str]) -> ItemShares:
        """The oracle's estimates from the n_j reports on an attribute, for all n devices.

        The variance is exact given n_j: the oracle's, and f (1 - f) (n - n_j) / (n_j (n - 1)) for
        the devices that were not asked. It is infinite where an attribute has no report yet. The
        counts come along where all items are of one attribute.
        """
        places = self._find(items)
        share, moved = np.zeros(len(places)), np.zeros(len(places))
        variance, null_variance = np.full(len(places), np.inf), np.full(len(places), np.inf)
        counted = None
        (reports,) = self._reports(counts[None])
        total = int(reports.sum())
        numbers = np.unique(places[:, 0])
        for number in numbers[reports[numbers] > 0]:
            rows = np.flatnonzero(places[:, 0] == number)
            block = counts[self._blocks[number]][None]
            shares = self._oracles[number].shares(block).take(places[rows, 1])
            unasked = (total - reports[number]) / (reports[number] * max(total - 1, 1))
            truth = np.clip(shares.share, 0.0, 1.0)
            share[rows] = shares.share
            variance[rows] = shares.variance + truth * (1 - truth) * unasked
            null_variance[rows] = shares.null_variance
            if shares.influence is not None:
                moved[rows] = concentrate(shares.influence, reports[number], total)
            if numbers.size == 1 and shares.support_counts is not None:
                counted = shares.support_counts._replace(sampled=True)
        return ItemShares(share, variance, null_variance, counted, influence=moved)

    shares_each_slice = False

    def shares_of_slices(self, counts: NDArray[np.int64], items: Sequence[str]) -> SliceShares:
        """The same estimates from all slices at once."""
        places = self._find(items)
        share = np.zeros((len(counts), len(places)))
        variance = np.full(share.shape, np.inf)
        answers = self._reports(counts)
        total = answers.sum(axis=1)
        for number in np.unique(places[:, 0]).tolist():
            rows = np.flatnonzero(places[:, 0] == number)
            of_all = self._oracles[number].shares_by_group(counts[:, self._blocks[number]])
            shares, noise = (column[:, places[rows, 1]] for column in of_all)
            least = np.maximum(answers[:, number], 1)
            unasked = (total - answers[:, number]) / (least * np.maximum(total - 1, 1))
            truth = np.clip(shares, 0.0, 1.0)
            share[:, rows] = shares
            variance[:, rows] = noise + truth * (1 - truth) * unasked[:, None]
        return SliceShares(share, variance)

    def _find(self, items: Sequence[str]) -> NDArray[np.int64]:
        """The attribute of each item, and its index there: int64, (items, 2)."""
        unknown = [item for item in items if item not in self._places]
        if unknown:
            example = next(iter(self._places))
            raise ParameterError(
                "candidates", f"items of {self.spec.name} such as {example}", unknown[0]
            )
        return np.array([self._places[item] for item in items], np.int64).reshape(-1, 2)

    def _reports(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many reports each attribute has: int64, (slices, attributes).

        Args:
            counts: int64, (slices, cells).
        """
        pairs = zip(self._oracles, self._blocks, strict=True)
        return np.stack([oracle.reports(counts[:, block]) for oracle, block in pairs], axis=1)

    def _read_payload(self, payload: bytes) -> Iterator[tuple[int, NDArray[np.void]]]:
        """The inner reports by attribute, a part of the payload at a time."""
        self._check_width(payload)
        rows = np.frombuffer(payload, np.uint8).reshape(-1, self._width)
        highest = int(rows[:, 0].max())
        if highest >= len(self._oracles):
            raise WireError(
                f"the attribute of a report of {self.spec.name} must be below "
                f"{len(self._oracles)}, got {highest}"
            )
        for part in chunks(rows):
            for number in np.flatnonzero(np.bincount(part[:, 0])).tolist():
                yield number, self._inner(number, part[part[:, 0] == number, 1:])

    def _inner(self, number: int, rows: NDArray[np.uint8]) -> NDArray[np.void]:
        """What follows the attribute's number, as the oracle's reports."""
        oracle = self._oracles[number]
        width = oracle.oracle.report_bytes
        label = f"a report of {self.spec.name}.{self.spec.attributes[number].name}"
        if rows[:, width:].any():
            raise WireError(f"{label} must have zeros after {1 + width} bytes")
        reports = np.ascontiguousarray(rows[:, :width]).view(f"V{width}").ravel()
        try:
            oracle.check(reports)
        except WireError as error:
            raise WireError(f"{label} {error}") from None
        return reports
