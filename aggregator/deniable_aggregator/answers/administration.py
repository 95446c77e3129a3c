"""Metrics, keys, annotations and saved lists, as people declare and read them."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.words import Count, Scope, Values, VersionId

MAX_OVERLAP_DAYS: Final = 365
DEFAULT_OVERLAP_DAYS: Final = 30
MAX_LABEL: Final = 200

MetricType = Literal["attributes", "boolean", "category", "distribution", "number", "set", "string"]


class Segments(Struct):
    """The segments of a metric.

    Attributes:
        name: what they are.
        values: each of them.
    """

    name: str
    values: list[str]


class Metric(Struct, kw_only=True):
    """A registered version of a metric.

    Attributes:
        name: of the metric.
        type: of its values.
        description: what it is for.
        owners: who answers for it.
        expires: the last day on which devices record it, or null.
        retention_days: after so many days its reports are deleted, or null for as long as the
            server keeps any.
        every: how often a device reports.
        mechanism: the name of its mechanism.
        epsilon: the privacy loss of one report.
        epsilon_permanent: the loss of all reports of a device about the same value, or null.
        epsilon_total: the loss of all permanent answers of a device, or null for no bound: of
            histories in which the same reports share permanent answers.
        delta: of (epsilon, delta): by how much an event may be more probable than epsilon allows.
        version: the id of this version.
        registered: the day on which it was registered.
        segments: those of the metric, where it has any.
        range: of a number or distribution, the lowest and the highest value.
        candidates: whether a question needs values to look for, as any text may be one.
        discovers: whether popular strings can be found that nobody listed.
        reports_for_one_percent: with so many reports a value that 1% of devices have is told from
            zero four times out of five; null of numbers and strings.
        first_day: the first day with reports, or null; without those of excluded keys.
        last_day: the last day with reports, or null.
        reports: how many reports were counted.
        excluded_reports: how many are left out because their keys are excluded.
    """

    name: str
    type: MetricType
    description: str
    owners: list[str]
    expires: date | None
    retention_days: int | None
    every: str
    mechanism: str
    epsilon: float
    epsilon_permanent: float | None
    epsilon_total: float | None
    delta: float
    version: VersionId
    registered: date
    segments: Segments | UnsetType = UNSET
    range: tuple[float, float] | UnsetType = UNSET
    candidates: bool
    discovers: bool
    first_day: date | None
    last_day: date | None
    reports: Count
    excluded_reports: Count
    reports_for_one_percent: Count | None = None


class Metrics(Struct):
    """The registered metrics of an application.

    Attributes:
        application: its name.
        metrics: one entry per version of a metric, by name.
        notices: what to know first.
    """

    application: str
    metrics: list[Metric]
    notices: list[Notice] = []


class Simulation(Struct):
    """That reports of simulated devices may be sent, from now on.

    Attributes:
        application: whose.
        today: the server's day.
        accept_days: for how many days after a day its reports are accepted.
        counted: whether all that has come is in answers.
    """

    application: str
    today: date
    accept_days: Count
    counted: bool


class RegisteredMetric(Struct):
    """A metric of a registry that was just registered.

    Attributes:
        name: of the metric.
        version: the id of this version.
        new: whether it was not registered before.
    """

    name: str
    version: VersionId
    new: bool


class Registered(Struct):
    """What registering a registry came to.

    Attributes:
        application: its name.
        metrics: one entry per metric of the registry.
        warnings: what of it this server's settings do not fit.
    """

    application: str
    metrics: list[RegisteredMetric]
    warnings: list[str] = []


class RemovedMetric(Struct):
    """A metric that was just removed.

    Attributes:
        application: whose it was.
        name: of the metric.
        versions: the ids of its versions.
        reports: how many reports are deleted.
    """

    application: str
    name: str
    versions: list[VersionId]
    reports: Count


class Key(Struct):
    """A key, without its token.

    Attributes:
        id: names it.
        application: whose metrics it is for.
        scope: what it allows.
        label: a note of whoever made it.
        valid: whether it is accepted today.
        created: the day on which it was made.
        expires: the last day on which it is valid, or null for no end.
        last_used: the day on which it was last used, or null.
        revoked: the day on which it was revoked, or null.
        excluded: the day since which its reports are left out of answers, or null.
    """

    id: str
    application: str
    scope: Scope
    label: str
    valid: bool
    created: date
    expires: date | None
    last_used: date | None
    revoked: date | None
    excluded: date | None


class Keys(Struct):
    """The keys of an application.

    Attributes:
        application: its name.
        keys: all of them, those of the past too.
    """

    application: str
    keys: list[Key]


class OneKey(Struct):
    """A key that was just changed.

    Attributes:
        key: as it is now.
    """

    key: Key


class CreatedKey(Struct):
    """A key that was just made.

    Attributes:
        key: the new one.
        token: what is sent with requests; it is shown only now.
        old: the key that it takes the place of.
    """

    key: Key
    token: str
    old: Key | UnsetType = UNSET


class CreateKey(Struct, forbid_unknown_fields=True):
    """A key to be made.

    Attributes:
        scope: what it allows.
        label: a note for the list of keys.
        expires: the last day on which it is valid, or null for no end.
    """

    scope: Scope
    label: Annotated[str, Meta(max_length=MAX_LABEL)] | None = None
    expires: date | None = None


class RotateKey(Struct, forbid_unknown_fields=True):
    """How a key is replaced by a new one.

    Attributes:
        overlap_days: for how many days the old key stays valid.
        expires: the last day of the new key, or null for no end.
    """

    overlap_days: Annotated[int, Meta(ge=0, le=MAX_OVERLAP_DAYS)] | None = None
    expires: date | None = None


class Acknowledge(Struct, forbid_unknown_fields=True):
    """How a key differs from the others is known, and meant.

    Attributes:
        note: why, a line of at most 60 characters.
        since: the first of the days on which it is seen, or null for all.
        until: the last.
    """

    note: str
    since: date | None = None
    until: date | None = None


class Acknowledged(Struct):
    """A difference that was just acknowledged.

    Attributes:
        metric: of which the key brings reports.
        key: its id.
        since: the first of the days on which it was seen.
        until: the last.
        note: why.
    """

    metric: str
    key: str
    since: date
    until: date
    note: str


class NoFields(Struct, forbid_unknown_fields=True):
    """A body that says nothing."""


class SignedDocument(Struct, forbid_unknown_fields=True):
    """A signed remote configuration.

    Attributes:
        payload: the configuration, as base64.
        signature: of the payload, as base64.
    """

    payload: str
    signature: str


class Published(Struct):
    """A remote configuration that was just published.

    Attributes:
        application: its name.
        serial: of the configuration.
    """

    application: str
    serial: Count


MOST_LETTERS: Final = 60
MOST_ANNOTATIONS: Final = 500
"""Of an application: enough for a release a week in nine years."""


class Annotation(Struct, frozen=True):
    """What happened on a day.

    Attributes:
        day: when it happened.
        text: what it was, such as "Version 3.2".
    """

    day: date
    text: str


class Annotations(Struct, kw_only=True):
    """The annotations of an application.

    Attributes:
        application: whose they are.
        annotations: the newest day first.
    """

    application: str
    annotations: list[Annotation]


class Annotate(Struct, kw_only=True, forbid_unknown_fields=True):
    """What is to be said of a day, in place of what was said of it.

    Attributes:
        text: a line without control characters.
    """

    text: Annotated[str, Meta(min_length=1, max_length=MOST_LETTERS)]


LIST_NAME: Final = "[a-z0-9][a-z0-9_-]{0,63}"
ListName = Annotated[str, Meta(pattern=f"^{LIST_NAME}$")]


class SavedListHead(Struct, kw_only=True):
    """A saved list, without its values.

    Attributes:
        name: of the list.
        saved: the day on which it got these values.
        values: how many there are.
    """

    name: ListName
    saved: date
    values: Count


class SavedLists(Struct, kw_only=True):
    """The saved lists of an application.

    Attributes:
        application: whose lists they are.
        lists: by name.
    """

    application: str
    lists: list[SavedListHead]


class SavedList(Struct, kw_only=True):
    """A saved list.

    Attributes:
        application: whose list it is.
        name: of the list.
        values: all different, in Unicode's form NFC.
    """

    application: str
    name: ListName
    values: list[str]


class SaveList(Struct, kw_only=True, forbid_unknown_fields=True):
    """Values to be saved as a list.

    Attributes:
        values: in Unicode's form NFC each is kept once.
    """

    values: Values
