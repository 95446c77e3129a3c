"""The certificate of an audit: what was found of each metric, in one file that others can check.

The same registry, installed files and Python give the same bytes. All probabilities are integers
over a common denominator, written as text, so that any language reads them without loss.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from deniable._audit.method_text import how_it_was_found

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable._audit.declared import Declared
    from deniable._audit.laws.worst import Worst
    from deniable._audit.verdict import Verdict
    from deniable_shared.installed import InstalledFiles
    from deniable_shared.spec import Spec

FORMAT: Final = "deniable certificate 1"

MOST_CLASSES: Final = 2_048
"""Classes of outcomes are listed up to this number; noise added to a number has more."""


class AuditedMetric(NamedTuple):
    """A metric that passed.

    Attributes:
        spec: its version.
        verdict: what was found.
        declared: what the registry file says of it.
    """

    spec: Spec
    verdict: Verdict
    declared: Declared


class Certificate(NamedTuple):
    """An audit that passed.

    Attributes:
        application: whose registry was audited.
        metrics: all of its metrics.
        installed: the files that were audited.
        python: the version that ran them, such as "3.11.7".
        primitives: of each draw how it was audited, see `audit_primitives`.
    """

    application: str
    metrics: tuple[AuditedMetric, ...]
    installed: InstalledFiles
    python: str
    primitives: tuple[Mapping[str, Any], ...]

    def to_data(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "format": FORMAT,
            "application": self.application,
            "installed": {
                "version": self.installed.version,
                "digest": self.installed.digest,
                "files": dict(self.installed.files),
            },
            "python": self.python,
            "primitives": [dict(each) for each in self.primitives],
            "metrics": [_metric_data(each) for each in self.metrics],
        }

    def to_bytes(self) -> bytes:
        """As it is written to a file: sorted keys, a line for each entry, UTF-8."""
        text = json.dumps(self.to_data(), indent=1, sort_keys=True, ensure_ascii=False)
        return text.encode() + b"\n"


def _metric_data(metric: AuditedMetric) -> dict[str, Any]:
    spec = metric.spec
    return {
        "metric": spec.name,
        "spec": spec.canonical_text(),
        "digest": spec.digest.hex(),
        "declared": _declared_data(metric.declared),
        **_verdict_data(metric.verdict),
    }


def _declared_data(declared: Declared) -> dict[str, str]:
    return {
        name: _text(value) if isinstance(value, Fraction) else value
        for name, value in declared._asdict().items()
        if value is not None
    }


def _verdict_data(verdict: Verdict) -> dict[str, Any]:
    section = verdict.section
    mechanism = section.mechanism
    stated = {"epsilon": _text(Fraction(mechanism.epsilon))}
    if mechanism.epsilon_permanent is not None:
        stated["epsilon_permanent"] = _text(Fraction(mechanism.epsilon_permanent))
    data: dict[str, Any] = {
        "mechanism": mechanism.description(),
        "how": how_it_was_found(section),
        "stated": stated,
        "one_report": _worst_data(section.report),
        "walks": [
            {
                "values": walk.values,
                "of_values": None if walk.of_values is None else str(walk.of_values),
                "values_are": walk.noun,
                "first_draw": walk.first,
                "of_first_draw": walk.of_first,
                "paths": walk.paths,
            }
            for walk in section.walks
        ],
        "within": _text(verdict.tolerance),
    }
    if section.kept is not None:
        data["all_reports"] = _worst_data(section.kept)
    if verdict.delta is not None:
        stated["delta"] = _text(Fraction(mechanism.delta))
        data["delta"] = _text(verdict.delta)
    if verdict.parts:
        data["parts"] = [_verdict_data(part) for part in verdict.parts]
    return data


def _worst_data(worst: Worst) -> dict[str, Any]:
    listed = sum(len(factor.classes) for factor in worst.factors) <= MOST_CLASSES
    return {
        "ratio": _text(worst.ratio),
        "nats": f"{worst.nats:.10f}",
        "values": list(worst.values),
        "in_the_clear": {
            "of": str(worst.clear_of),
            "classes": [f"{count} {weight}" for count, weight in worst.clear],
        },
        "laws": [
            {
                "times": factor.times,
                "of": str(factor.of),
                "classes": [" ".join(map(str, each)) for each in factor.classes],
            }
            for factor in worst.factors
        ]
        if listed
        else None,
    }


def _text(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"
