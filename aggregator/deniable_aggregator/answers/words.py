"""The words that questions and answers share: choices, numbers with a range, and ids."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

from msgspec import Meta

Margin = Literal["noise", "noise-and-sampling"]
"""What errors and intervals allow for: the noise of the devices that reported, or also that these
devices are a random sample of a population."""

IntervalKind = Literal["one", "all", "picked"]
"""What intervals cover: each value by itself, all values at once, or values that were picked
because their estimates are large."""

FalseFinds = Literal["few", "none"]
"""How many false ones there may be among detected values or clear changes: a small share of them
(Benjamini-Hochberg), or none at all (Bonferroni)."""

Association = Literal["together", "apart", "unclear"]
"""Of two values: whether it is clear that they go together, or that they exclude each other."""

Postprocess = Literal["none", "norm-sub", "base-cut", "power", "ibu"]
Reconstruction = Literal["em", "ems"]
PeriodLength = Literal["day", "week", "month"]
LongPeriod = Literal["week", "month"]
Why = Literal["key", "version", "segment", "weekday"]
"""What a change is split by."""

Axis = Literal["key", "version", "segment"]
"""By what reports are split; and what the two sides of a comparison are that are not periods."""

Direction = Literal["higher", "lower", "wider", "narrower"]
"""Where the values of a changed distribution lie, against those before."""

KnownIn = Literal["before", "after", "neither"]
"""In which of two periods a share is known of all reports."""

Scope = Literal["write", "batch", "relay", "read", "admin"]
"""What a key allows; none implies another. A write key ships with an application and brings few
reports at a time, a batch key is kept by whoever imports or simulates many, and a relay key by
whoever runs a relay, which brings sealed uploads."""
KeyAction = Literal["revoke", "exclude", "include"]
Verdict = Literal["ok", "surge", "uneven", "suspicious", "unknown"]
"""Of reports: as devices send them; the same, but far more than usual; the same, but a key answers
unlike the others; not as devices send them; or not checked."""

NoticeCode = Literal[
    "acknowledged_key",
    "beyond_range",
    "compared_in_part",
    "crowded_points",
    "cut_sets",
    "cut_strings",
    "distribution_instead",
    "excluded_key_counted",
    "key_on_one_side",
    "known_in_part",
    "large_upload",
    "late_strings",
    "lifted_together",
    "new_names",
    "other_scripts",
    "other_version",
    "other_version_left_out",
    "planted_strings",
    "quota_spent",
    "reports_left_out",
    "reports_stopped",
    "robust_check_differs",
    "segment_far_from_whole",
    "segment_nearly_one_value",
    "segment_not_there",
    "segment_too_small",
    "simulated",
    "suspicious_reports",
    "uneven_key",
    "unusual_volume",
    "unlisted_string",
    "values_renamed",
    "weekdays_matched",
    "weekdays_unknown",
    "wide_noise",
]
"""What a notice is about. Whether and how it is published, `telling.publication` says of each."""

KEY_ACTIONS: Final[tuple[str, ...]] = get_args(KeyAction)
SCOPES: Final[tuple[str, ...]] = get_args(Scope)
REPORTING_SCOPES: Final = ("write", "batch")
"""Scopes of the keys that bring reports."""
MARGINS: Final[tuple[str, ...]] = get_args(Margin)
INTERVAL_KINDS: Final[tuple[str, ...]] = get_args(IntervalKind)
FALSE_FINDS: Final[tuple[str, ...]] = get_args(FalseFinds)
POSTPROCESS: Final[tuple[str, ...]] = get_args(Postprocess)
RECONSTRUCTIONS: Final[tuple[str, ...]] = get_args(Reconstruction)
PERIOD_LENGTHS: Final[tuple[str, ...]] = get_args(PeriodLength)

LARGEST_TOP: Final = 999_999_999

Count = Annotated[int, Meta(ge=0)]
Top = Annotated[int, Meta(ge=1, le=LARGEST_TOP)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Finite = Annotated[float, Meta(ge=-1e300, le=1e300)]
MOST_QUANTILES: Final = 20
QuantileShare = Annotated[float, Meta(gt=0, lt=1)]
QuantileShares = Annotated[tuple[QuantileShare, ...], Meta(max_length=MOST_QUANTILES)]
"""The shares of devices that are below the quantiles asked for."""

Known = Literal["metrics", "values", "segments", "versions", "keys"]
"""What a server knows of a metric, so that its words can be completed and chosen."""

KNOWN: Final = "known"
"""Under this name a type says which of them its words are."""

Values = Annotated[tuple[str, ...], Meta(min_length=1)]
VERSION_LETTERS: Final = 12
"""So many letters of a version's id are shown to people, and are enough to name it."""

VersionId = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
"""SHA-256 of a version of a metric, in hex."""

VERSION_START: Final = "^[0-9a-f]{4,64}$"
VersionStart = Annotated[str, Meta(pattern=VERSION_START, extra={KNOWN: "versions"})]
"""The first letters of the id of a version of a metric, or all of them."""

ValueName = Annotated[str, Meta(extra={KNOWN: "values"})]
KnownValues = Annotated[tuple[ValueName, ...], Meta(min_length=1)]
SegmentName = Annotated[str, Meta(extra={KNOWN: "segments"})]
KeyName = Annotated[str, Meta(extra={KNOWN: "keys"})]
MetricName = Annotated[str, Meta(extra={KNOWN: "metrics"})]

DAY_PAIR: Final = r"^\d{4}-\d\d-\d\d(\.\.\d{4}-\d\d-\d\d)?$"
DayPair = Annotated[str, Meta(pattern=DAY_PAIR)]
"""The first and the last day of a period, such as 2026-01-01..2026-01-31, or a single day."""
