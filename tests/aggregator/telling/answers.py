"""Answers of every kind: chosen ones, and all that a server could give, drawn at random."""

from __future__ import annotations

from datetime import date
from typing import Any, Final

from hypothesis import strategies as st
from msgspec.structs import replace

from deniable_aggregator.answers.answer import (
    Answer,
    AskedQuestion,
    Check,
    ChecksNote,
    Head,
    Period,
)
from deniable_aggregator.answers.common import (
    DetectionNote,
    FakesNote,
    IntegritySummary,
    IntervalNote,
    MetricVersion,
    NamedKey,
    Notice,
)
from deniable_aggregator.answers.measured import (
    EarlierWindow,
    FoundNote,
    HiddenStrings,
    Measured,
    SmallestShare,
)
from tests.aggregator.answered import DAYS, HEALTH

REPORTS: Final = 200_024
VERSION: Final = MetricVersion(
    version="a" * 64, title="oue", mechanism={"name": "oue"}, epsilon=1.0, epsilon_permanent=None,
    epsilon_total=None, reports=REPORTS,
)  # fmt: skip
NAMES: Final = ("dark", "light", "system", "no", "9 of 10", "<b>", "sepia\u202e")
HEAD: Final = Head(
    application="flightdeck",
    metric="theme",
    kind="shares",
    days=DAYS,
    health=HEALTH,
    periods=[Period(since=DAYS.since, until=DAYS.until, reports=REPORTS)],
    reports=REPORTS,
    versions=[VERSION],
    unit="shares of the devices that reported",
    interval=IntervalNote(kind="one", level=0.95, meaning="each covers by itself"),
    detection=DetectionNote(0.05, "few", "one in twenty is false"),
    fakes=FakesNote(0.01, "shift_if_fake is how far fakes could move a number"),
)
WEEKS: Final = [(date(2026, 1, day), date(2026, 1, day + 6)) for day in (5, 12, 19)]
PARTNER: Final = NamedKey("0307bb3eac2d", "partner")


def share(
    value: str, low: float, middle: float, high: float, *, detected: bool = True, **more: Any
) -> Measured:
    """The share of a value, with its interval."""
    return Measured(
        measure="share", value=value, estimate=middle, standard_error=(high - low) / 4, low=low,
        high=high, told=detected, shift_if_fake=0.01, method="normal", **more,
    )  # fmt: skip


def number(low: float, middle: float, high: float) -> Measured:
    """A mean with its interval."""
    return Measured(
        measure="mean", estimate=middle, standard_error=(high - low) / 4, low=low, high=high,
        shift_if_fake=0.1,
    )  # fmt: skip


def quantile(of: float, low: float, middle: float | None, high: float) -> Measured:
    """A quantile with its interval."""
    return Measured(
        measure="quantile", quantile=of, estimate=middle, low=low, high=high, shift_if_fake=0.1,
        reason="too few reports" if middle is None else None,
    )  # fmt: skip


def difference(
    value: str | None, ends: tuple[float, float, float], *, changed: bool = True
) -> Measured:
    """A difference of the share of a value, or of a mean."""
    low, middle, high = ends
    return Measured(
        measure="difference in mean" if value is None else "difference in share", value=value,
        period=1, before=0.4, after=0.4 + middle, estimate=middle,
        standard_error=(high - low) / 4, low=low, high=high, p_value=0.01, adjusted_p_value=0.01,
        told=changed, shift_if_fake=0.01,
    )  # fmt: skip


def asked(name: Any, *numbers: Measured, **head: Any) -> Answer:
    """An answer to a question, whose head has some fields."""
    return Answer(
        head=replace(HEAD, **head), question=AskedQuestion(name=name), numbers=list(numbers)
    )


def shares(*numbers: Measured, **head: Any) -> Answer:
    """The shares of a whole category."""
    rows = sum(each.measure == "share" for each in numbers)
    return asked("estimate", *numbers, **{"values_asked": rows, **head})


def mean(low: float, middle: float, high: float) -> Answer:
    """The mean of a number."""
    return asked("estimate", number(low, middle, high), kind="mean")


def distribution() -> Answer:
    """Of three bins: a median that cannot be placed, and a mean and a quantile beyond them."""
    return asked(
        "estimate",
        number(-20, 15, 50),
        quantile(0.5, 0.0, None, 300.0),
        quantile(0.9, 150.0, 280.0, 320.0),
        *(
            Measured(
                measure="bin", bin_from=start, bin_to=start + 100, estimate=0.3, low=0.2, high=0.4,
                shift_if_fake=0.1, method="em",
            )
            for start in (0.0, 100.0, 200.0)
        ),
        kind="distribution",
        label="raw",
    )  # fmt: skip


def ranged(answer: Answer, *ranges: tuple[float, float]) -> Answer:
    """The same answer of a metric with this range, or of versions with these."""
    versions = [replace(VERSION, range=each) for each in ranges]
    return replace(answer, head=replace(answer.head, versions=versions))


def change(*numbers: Measured, kind: Any = "shares", **head: Any) -> Answer:
    """What has changed between two weeks."""
    periods = [
        Period(since=since, until=until, reports=1_000, days=DAYS, health=HEALTH)
        for since, until in WEEKS[:2]
    ]
    given = {"kind": kind, "days": None, "health": None, "periods": periods, "reports": 2_000}
    return asked("change", *numbers, **{**given, **head})


def series(*weeks: list[Measured], kind: Any = "shares", **head: Any) -> Answer:
    """Numbers week by week."""
    periods = [
        Period(since=since, until=until, reports=1_000 * bool(numbers))
        for (since, until), numbers in zip(WEEKS, weeks, strict=False)
    ]
    numbers = [replace(number, period=place) for place, some in enumerate(weeks) for number in some]
    return asked("series", *numbers, **{"kind": kind, "by": "week", "periods": periods, **head})


def strings(*numbers: Measured, earlier: bool = False, **note: Any) -> Answer:
    """Strings that nobody listed."""
    window = EarlierWindow(id=1, since=WEEKS[0][0], until=WEEKS[0][1], reports=1_000)
    given = {
        "hints": 0,
        "hidden": HiddenStrings(minimum_devices=20, below_minimum=0, denied=0),
        "smallest": [
            SmallestShare(length="short", bits=20, share=0.00342, devices=684),
            SmallestShare(length="long", bits=200, share=None, devices=None),
        ],
        "planted": 0.00342,
        "planted_strings": 2,
        "earlier": window if earlier else None,
    }
    interval = IntervalNote(kind="picked", level=0.95, meaning="for strings that stand out")
    found = FoundNote(**{**given, **note})
    return asked("discovery", *numbers, kind="strings", interval=interval, found=found)


def string(value: str, low: float, middle: float, high: float, **more: Any) -> Measured:
    """A whole string that was found, or the first letters of longer ones."""
    given = {"whole": True, "score": 12.0, "bits": 20, "hinted": False, "p_value": 1e-9}
    return share(value, low, middle, high, **{**given, **more})


def health(*checks: Check, numbers: list[Measured] | None = None, **head: Any) -> Answer:
    """Whether the reports of a metric look honest."""
    note = ChecksNote(
        made=len([check for check in checks if check.name is not None]),
        p_below=1e-6,
        meaning="",
        asks={"sizes": "as many ones as noise makes"},
        invisible="Checks cannot find devices that lie.",
    )
    given = {
        "kind": "health",
        "interval": None,
        "versions": [],
        "checks": note,
        "reports": sum(each.reports for each in checks if each.title is not None),
    }
    answer = asked("health", *(numbers or ()), **{**given, **head})
    return replace(answer, checks=list(checks))


def looked(day: int, verdict: Any, *, key: str | None = None) -> list[Check]:
    """The verdict of a day or of a key's reports on it, and its one check."""
    of_day = Check(
        day=date(2026, 1, day), version=VERSION.version, title=None if key else "oue", key=key,
        label=None if key is None else "partner", reports=500, verdict=verdict,
    )  # fmt: skip
    p = 1e-9 if verdict == "suspicious" else 0.4
    finding = "1,000 ones where 500 are expected"
    return [of_day, replace(of_day, title=None, name="sizes", p=p, finding=finding)]


def suspicious(*keys: NamedKey) -> IntegritySummary:
    """What is said of reports that some keys forged."""
    return IntegritySummary("suspicious", list(keys), [])


def warned(answer: Answer, *notices: Notice) -> Answer:
    """The same answer with notices."""
    return replace(answer, notices=list(notices))


def ends(low: float, high: float) -> st.SearchStrategy[list[float]]:
    """The lower end, the estimate and the upper end of an interval."""
    each = st.floats(low, high)
    return st.tuples(each, each, each).map(sorted)


_names = st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True)
_intervals = ends(-0.2, 1.2)


@st.composite
def all_shares(draw: st.DrawFn) -> Answer:
    """Shares of some values, perhaps of some versions alone, and of several together."""
    rows = [share(name, *draw(_intervals), detected=draw(st.booleans())) for name in draw(_names)]
    if draw(st.booleans()):
        low, _, high = draw(_intervals)
        rows[0] = replace(rows[0], reports=1_000, possible_low=low, possible_high=high)
    together = []
    if draw(st.booleans()):
        one = share("", *draw(_intervals))
        together = [
            replace(one, measure="combined", told=None, value="dark + no", values=("dark", "no"))
        ]
    return shares(*together, *rows)


@st.composite
def all_segments(draw: st.DrawFn) -> Answer:
    """Shares within a segment, and how large that is."""
    within = "channel=beta"
    rows = [share(name, *draw(_intervals), segment=within) for name in draw(_names)]
    size = replace(share("", *draw(_intervals)), measure="segment size", value=None, segment=within)
    return shares(size, *rows, segment=within, left_out_reports=draw(st.integers(0, 9)))


@st.composite
def all_changes(draw: st.DrawFn) -> Answer:
    """Changes of some values, and of all of them as a whole."""
    names = draw(_names)
    rows = [difference(n, draw(ends(-1, 1)), changed=draw(st.booleans())) for n in names]
    low, middle, high = draw(ends(0, 1))
    shape = Measured(
        measure="distance", value="total-variation", period=1, estimate=middle, low=low, high=high,
        noise=0.02, p_value=0.3, told=draw(st.booleans()),
    )  # fmt: skip
    return change(*rows, shape)


@st.composite
def all_series(draw: st.DrawFn) -> Answer:
    """Three weeks of some values."""
    names = draw(_names)
    return series(*([share(name, *draw(_intervals)) for name in names] for _ in WEEKS))


@st.composite
def all_distributions(draw: st.DrawFn) -> Answer:
    """A mean and some quantiles."""
    values = ends(-1e4, 1e4)
    numbers = []
    for of in (0.05, 0.5, 0.9, 0.95):
        low, middle, high = draw(values)
        numbers.append(quantile(of, low, middle if draw(st.booleans()) else None, high))
    return asked("estimate", number(*draw(values)), *numbers, kind="distribution", label="raw")


@st.composite
def all_strings(draw: st.DrawFn) -> Answer:
    """Strings and first letters that were found, and some that are missing."""
    rows = [string(n, *draw(_intervals), whole=draw(st.booleans())) for n in draw(_names)]
    gone = Measured(
        measure="share", value="old", whole=True, told=False, seen="gone", before=0.02,
        high=draw(st.none() | st.floats(0.0001, 0.01)),
    )  # fmt: skip
    return strings(*rows, gone, earlier=True)


@st.composite
def all_health(draw: st.DrawFn) -> Answer:
    """Days with a verdict each."""
    verdicts = draw(st.lists(st.sampled_from(["ok", "suspicious"]), min_size=1, max_size=5))
    checks = [check for day, verdict in enumerate(verdicts, 1) for check in looked(day, verdict)]
    summary = suspicious(PARTNER) if "suspicious" in verdicts else HEALTH
    return health(*checks, health=summary)


every_answer = st.one_of(
    all_shares(),
    all_segments(),
    all_changes(),
    all_series(),
    all_distributions(),
    all_strings(),
    all_health(),
    ends(-9, 9).map(lambda e: mean(*e)),
)
