"""What answers hold, as JSON Schema.

Answers may have more fields than are said here: clients leave alone what they do not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.api.openapi.schema_types import (
    COUNT,
    DAY,
    DIGEST,
    FLAG,
    INTERVAL,
    NUMBER,
    TEXT,
    array,
    choice,
    optional,
    record,
    reference,
)
from deniable_aggregator.estimation.combination import ABOUT
from deniable_aggregator.estimation.postprocess import POSTPROCESS
from deniable_aggregator.http.problems import CODES
from deniable_aggregator.integrity.report import VERDICTS
from deniable_aggregator.security.keys import SCOPES
from deniable_aggregator.statistics.checks import MEANINGS
from deniable_aggregator.statistics.intervals import CORRECTIONS, INTERVALS
from deniable_aggregator.trends.series import BY
from deniable_shared.spec import TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.api.openapi.schema_types import Schema

_SPEC: Final = record(
    {
        "digest": DIGEST,
        "title": TEXT,
        "mechanism": {"type": "object"},
        "epsilon": NUMBER,
        "epsilon_permanent": optional(NUMBER),
        "epsilon_total": optional(NUMBER),
        "reports": COUNT,
    }
)

_ANSWER: Final[Mapping[str, Schema]] = {
    "application": TEXT,
    "metric": TEXT,
    "since": optional(DAY),
    "until": optional(DAY),
    "reports": COUNT,
    "pending_reports": COUNT,
    "excluded_reports": COUNT,
    "about": choice(ABOUT),
    "unit": TEXT,
    "specs": array(reference("Spec")),
}

_METRIC: Final = record(
    {
        "name": TEXT,
        "type": choice(TYPES),
        "description": TEXT,
        "owners": array(TEXT),
        "expires": optional(DAY),
        "every": TEXT,
        "mechanism": TEXT,
        "epsilon": NUMBER,
        "epsilon_permanent": optional(NUMBER),
        "epsilon_total": optional(NUMBER),
        "delta": NUMBER,
        "digest": DIGEST,
        "registered": DAY,
        "reports": COUNT,
        "pending_reports": COUNT,
        "excluded_reports": COUNT,
    }
)

_SHARE: Final = record(
    {
        "item": TEXT,
        "share": NUMBER,
        "standard_error": NUMBER,
        **INTERVAL,
        "method": choice(("normal", "exact")),
        "detected": FLAG,
        "poisoning_radius": NUMBER,
    },
    {
        "processed": NUMBER,
        "median_of_slices": optional(
            record({"slices": COUNT, "share": NUMBER, "standard_error": NUMBER, **INTERVAL})
        ),
    },
)

_VERDICT: Final = choice(VERDICTS)
_BRIEF: Final[Mapping[str, Schema]] = {
    "verdict": _VERDICT,
    "warning": optional(TEXT),
    "days_left_out": COUNT,
}
_POISONING: Final = record({"fakes": NUMBER, "meaning": TEXT})
_CHECKS: Final = array(
    record(
        {
            "check": choice(tuple(MEANINGS)),
            "asks": TEXT,
            "verdict": _VERDICT,
            "p": optional(NUMBER),
            "found": TEXT,
        }
    )
)
_REPORTED: Final[Mapping[str, Schema]] = {
    "reports": COUNT,
    "verdict": _VERDICT,
    "checks": _CHECKS,
}
_HEALTH: Final = record(
    {
        "application": TEXT,
        "metric": TEXT,
        "since": optional(DAY),
        "until": optional(DAY),
        "pending_reports": COUNT,
        "excluded_reports": COUNT,
        **_BRIEF,
        "checks_made": COUNT,
        "alarm": record({"p_below": NUMBER, "meaning": TEXT}),
        "invisible": TEXT,
        "days": array(
            record(
                {
                    "day": DAY,
                    "digest": DIGEST,
                    "title": TEXT,
                    **_REPORTED,
                    "stand_out": array(TEXT),
                    "keys": array(record({"key": TEXT, **_REPORTED})),
                }
            )
        ),
    }
)

_SEGMENT: Final = record(
    {"name": TEXT, "value": TEXT, "share": NUMBER, "standard_error": NUMBER, **INTERVAL}
    | {"detected": FLAG, "poisoning_radius": NUMBER}
)

_WITHIN: Final = record(
    {
        "item": TEXT,
        "share": NUMBER,
        "standard_error": NUMBER,
        **INTERVAL,
        "method": {"const": "fieller"},
        "detected": FLAG,
        "poisoning_radius": optional(NUMBER),
    }
)

_KEY: Final = record(
    {
        "id": TEXT,
        "application": TEXT,
        "scope": choice(SCOPES),
        "label": TEXT,
        "valid": FLAG,
        **{name: optional(DAY) for name in ("created", "expires", "last_used", "revoked")},
        "excluded": optional(DAY),
    }
)

_SUM: Final = record(
    {"share": NUMBER, "standard_error": NUMBER, **INTERVAL, "poisoning_radius": NUMBER}
)

_PERIOD: Final = record(
    {"since": DAY, "until": DAY, "reports": COUNT},
    {
        "sum": _SUM,
        "poisoning_radius": NUMBER,
        "estimates": array(_SHARE),
        "mean": {"anyOf": [NUMBER, record({"value": NUMBER, **INTERVAL})]},
        "standard_error": NUMBER,
        **INTERVAL,
        "quantiles": array(record({"quantile": NUMBER, "value": NUMBER, **INTERVAL})),
    },
)

_CHANGED: Final = record(
    {
        "before": NUMBER,
        "after": NUMBER,
        "change": NUMBER,
        "standard_error": NUMBER,
        "standard_error_same_devices": optional(NUMBER),
        **INTERVAL,
        "p_value": NUMBER,
        "adjusted_p_value": NUMBER,
        "changed": FLAG,
        "poisoning_radius": NUMBER,
    },
    {"item": TEXT},
)

_SUM_CHANGED: Final = record(
    {
        "items": array(TEXT),
        "before": NUMBER,
        "after": NUMBER,
        "change": NUMBER,
        "standard_error": NUMBER,
        **INTERVAL,
        "p_value": NUMBER,
        "changed": FLAG,
        "poisoning_radius": NUMBER,
        "meaning": TEXT,
    }
)

_COMPARED: Final = record(
    {"since": DAY, "until": DAY, "reports": COUNT, "specs": array(reference("Spec"))}
)

COMPONENTS: Final[dict[str, Any]] = {
    "Problem": record(
        {
            "type": TEXT,
            "title": TEXT,
            "status": {"type": "integer"},
            "detail": TEXT,
            "code": choice(list(CODES)),
        }
    ),
    "Spec": _SPEC,
    "Metric": _METRIC,
    "Key": _KEY,
    "Health": _HEALTH,
    "Shares": record(
        {
            **_ANSWER,
            "health": record(_BRIEF),
            "poisoning": _POISONING,
            "interval": record({"kind": choice(INTERVALS), "level": NUMBER, "meaning": TEXT}),
            "detection": record(
                {"alpha": NUMBER, "correction": choice(CORRECTIONS), "meaning": TEXT}
            ),
            "items_asked_for": COUNT,
            "estimates": array(_SHARE),
        },
        {
            "combined": TEXT,
            "median_of_slices": record({"level": NUMBER, "meaning": TEXT}),
            "segments": array(_SEGMENT),
            "postprocess": record({"method": choice(POSTPROCESS), "meaning": TEXT}),
            "sum": _SUM,
        },
    ),
    "Within": record(
        {
            **_ANSWER,
            "health": record(_BRIEF),
            "poisoning": _POISONING,
            "reports_left_out": COUNT,
            "segment": _SEGMENT,
            "interval": record(
                {"kind": choice(("item", "simultaneous")), "level": NUMBER, "meaning": TEXT}
            ),
            "detection": record(
                {"alpha": NUMBER, "correction": choice(CORRECTIONS), "meaning": TEXT}
            ),
            "items_asked_for": COUNT,
            "estimates": array(_WITHIN),
        }
    ),
    "Mean": record(
        {
            **_ANSWER,
            "health": record(_BRIEF),
            "poisoning": _POISONING,
            "type": {"const": "number"},
            "interval": record({"level": NUMBER, "meaning": TEXT}),
            "mean": NUMBER,
            "standard_error": NUMBER,
            **INTERVAL,
            "poisoning_radius": NUMBER,
        }
    ),
    "Distribution": record(
        {
            **_ANSWER,
            "health": record(_BRIEF),
            "poisoning": _POISONING,
            "type": {"const": "distribution"},
            "reports_left_out": COUNT,
            "method": TEXT,
            "label": choice(("raw", "post-processed")),
            "meaning": TEXT,
            "interval": record({"level": NUMBER, "meaning": TEXT}),
            "mean": record({"value": NUMBER, **INTERVAL}),
            "quantiles": array(record({"quantile": NUMBER, "value": NUMBER, **INTERVAL})),
            "bins": array(
                record(
                    {
                        "from": NUMBER,
                        "to": NUMBER,
                        "share": NUMBER,
                        **INTERVAL,
                        "poisoning_radius": NUMBER,
                    }
                )
            ),
        }
    ),
    "Series": record(
        {
            **_ANSWER,
            "since": DAY,
            "until": DAY,
            "by": choice(BY),
            "health": record(_BRIEF),
            "poisoning": _POISONING,
            "interval": record({"kind": choice(INTERVALS), "level": NUMBER, "meaning": TEXT}),
            "periods": array(_PERIOD),
        },
        {"items_asked_for": COUNT, "type": choice(("number", "distribution"))},
    ),
    "Change": record(
        {
            "application": TEXT,
            "metric": TEXT,
            "pending_reports": COUNT,
            "excluded_reports": COUNT,
            "before": _COMPARED,
            "after": _COMPARED,
            "health": record({"before": record(_BRIEF), "after": record(_BRIEF)}),
            "about": choice(ABOUT),
            "unit": TEXT,
            "overlap": TEXT,
            "interval": record({"kind": choice(INTERVALS), "level": NUMBER, "meaning": TEXT}),
            "test": record({"alpha": NUMBER, "correction": choice(CORRECTIONS), "meaning": TEXT}),
            "poisoning": _POISONING,
            "changes": array(_CHANGED),
            "not_compared": array(record({"item": TEXT, "known": choice(("before", "after"))})),
        },
        {"sum": _SUM_CHANGED, "items_compared": COUNT, "type": choice(("number", "distribution"))},
    ),
    "Estimate": {
        "anyOf": [reference(name) for name in ("Shares", "Within", "Mean", "Distribution")]
    },
}
