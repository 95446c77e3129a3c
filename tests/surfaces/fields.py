"""Where each field of an answer is shown to people, or why it is not: one entry for each of them.

The fields are the columns of the long table, and what JSON has beside them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tests.surfaces.shown import REPORTS, TERMINALS

EVERYWHERE: Final = (*TERMINALS, "page", *REPORTS, "notebook", "picture")


class Field(NamedTuple):
    """A field.

    Attributes:
        words: what shows that it is there, as a regular expression.
        of: the question whose answer has it.
        on: the surfaces that show it.
        why: why others do not, or none.
        beside: whether it stands in the row of the number that it belongs to.
    """

    words: str
    of: str
    on: tuple[str, ...] = EVERYWHERE
    why: str = ""
    beside: bool = False


def _nowhere(why: str) -> Field:
    return Field("", "estimate", (), why)


_NOT_IN_A_REPORT: Final = "a report has the last period in a sentence, and a picture"
_NO_PICTURE: Final = tuple(name for name in EVERYWHERE if name != "picture")
_ROOM: Final = tuple(name for name in EVERYWHERE if name != "terminal, narrow")
_NO_ROOM: Final = "a narrow terminal has no room for minor columns"
_ONE_ESTIMATE: Final = "a picture shows one estimate of a value"
_ROBUST: Final = r"[Rr]obust check of dark: 39 to 44%"
_RANKED: Final = ("terminal, wide", "page", *REPORTS, "notebook", "picture")
_NO_RANK: Final = "a sentence has it where it matters, if a table has no room"
_ASKED: Final = tuple(name for name in EVERYWHERE if name not in REPORTS)

FIELDS: Final = {
    "application": Field(
        "flightdeck", "estimate", ("page", *REPORTS), "whoever types a command knows where he asks"
    ),
    "metric": Field(r"\btheme\b", "estimate"),
    "question": _nowhere("it was asked"),
    "measure": _nowhere("a table is of one measure, or its heading and the name of a row say it"),
    "value": Field("dark", "estimate"),
    "whole": _nowhere("first letters end in an ellipsis: tests/aggregator/cli/test_discover.py"),
    "quantile": Field("95th percentile", "distribution"),
    "bin_from": Field(
        r"\b2 to 3\b|\b2 +3\b", "distribution",
        tuple(name for name in EVERYWHERE if name != "report in Markdown"),
        "a histogram is a picture; quantiles are numbers",
    ),
    "bin_to": Field(
        r"\b2 to 3\b|\b2 +3\b", "distribution",
        tuple(name for name in EVERYWHERE if name != "report in Markdown"),
        "a histogram is a picture; quantiles are numbers",
    ),
    "segment": Field("beta", "segment", _ASKED, "a report is about all devices"),
    "key": _nowhere("a label is what people know; an id stands beside it where it is short"),
    "label": Field("partner", "health"),
    "since": Field("2026-08-31|2026-01-01", "estimate"),
    "until": Field("2026-09-27|2026-01-31", "estimate"),
    "before_since": Field("2026-01-0[15]|2026-08-31", "change"),
    "before_until": Field("2026-01-[13]1|2026-09-13", "change"),
    "side": _nowhere("a comparison alone has it: tests/aggregator/api/test_compare_routes.py"),
    "before_side": _nowhere("likewise"),
    "within": Field(
        "beta", "explained", _ASKED, "a report explains by keys, of which the deployment has one"
    ),
    "estimate": Field(r"43\.2\d?%|\b43%", "estimate"),
    "standard_error": _nowhere("the interval says it"),
    "low": Field(r"42\.2", "estimate"),
    "high": Field(r"44\.2", "estimate"),
    "possible_low": Field(r"(?<![\d-])31(\.1\d*)?%? to 5[23]", "estimate", beside=True),
    "possible_high": Field(
        r"(?<![\d-])31(\.1\d*)?%? to (53|52\.3|52\.23)%", "estimate", beside=True
    ),
    "rank_first": Field(r"(?<![\d-])1 to 2\b", "estimate", _RANKED, _NO_RANK, beside=True),
    "rank_last": Field(r"(?<![\d-])1 to 2\b", "estimate", _RANKED, _NO_RANK, beside=True),
    "before": Field(r"\b40(\.0)?%", "change"),
    "after": Field(r"\b56(\.\d)?%", "change"),
    "all_days": Field(r"\+19", "change"),
    "p_value": _nowhere("the corrected one is shown"),
    "adjusted_p_value": Field(
        r"\b0\.0123", "change", ("terminal, wide", "terminal, ASCII"),
        "whether a change is clear says it, where there is little room",
    ),
    "told": Field(r"can['’]t (be )?t(ell|old)", "estimate"),
    "reason": _nowhere(
        "why a quantile cannot be placed stands below: tests/aggregator/telling/test_lines.py"
    ),
    "adjusted": Field(r"37\.8%|\b38%", "estimate", _ROOM, _NO_ROOM, beside=True),
    "shift_if_fake": Field(
        r"1\.4 points|1\.37 points", "estimate", _NO_PICTURE, "it is about the whole answer"
    ),
    "reports": Field(r"\b12,345\b", "estimate", _ROOM, _NO_ROOM),
    "before_reports": Field(r"\b1,000 reports", "change"),
    "interval": Field(
        "19 times in 20|19 of 20 that are shown", "estimate",
        ("page", *REPORTS, "notebook", "picture"),
        "a terminal says it where intervals cover more than one value each",
    ),
    "level": Field("95%", "estimate"),
    "margin": Field(
        r"noise only|for noise|noise and sampling", "estimate",
        ("page", *REPORTS, "notebook"),
        "commands and pictures of them say it with --explain, as whoever asks has chosen it",
    ),
    "method": _nowhere("it is how an interval was made, not what it says"),
    "mechanism": Field(
        r"\boue\b", "estimate", (*TERMINALS, "picture", "notebook", "page"),
        "a report says it of all metrics together",
    ),
    "epsilon": Field(r"epsilon", "estimate"),
    "version": Field(
        r"versions?", "series", (*TERMINALS, "page"), "a release is a mark of its period"
    ),
    "verdict": Field(r"look forged|not all those of honest|[Ss]uspicious|SUSPICIOUS", "health"),
    "suspicious": Field(
        r"look forged|not all those of honest|[Ss]uspicious|SUSPICIOUS", "health"
    ),
    "seen": _nowhere("an earlier window is needed: tests/aggregator/cli/test_discover.py"),
    "marks": Field("new version", "series", _ASKED, _NOT_IN_A_REPORT),
    "final": _nowhere("the table of estimates alone has it"),
    "robust": _nowhere("its range is shown"),
    "robust_error": _nowhere("its range says it"),
    "robust_low": Field(_ROBUST, "estimate", _NO_PICTURE, _ONE_ESTIMATE),
    "robust_high": Field(_ROBUST, "estimate", _NO_PICTURE, _ONE_ESTIMATE),
    "robust_slices": _nowhere("more slices give a narrower range"),
    "same_devices_error": _nowhere(
        "a test that assumes the most is what is shown; --explain says how much it may be"
    ),
    "both": Field(r"both", "pairs", _NO_PICTURE, "a picture has the lifts"),
    "expected": Field(r"by chance", "pairs", _NO_PICTURE, "a picture has the lifts"),
    "noise": Field(
        r"noise alone gives about\s+\d", "shape", (*TERMINALS, "page", "notebook"),
        "a report says whether it is more than noise, a picture has the changes of numbers",
    ),
    "direction": Field(
        "to higher values", "shape", tuple(name for name in EVERYWHERE if name != "picture"),
        "a picture has the quantiles",
    ),
    "flagged_from": Field(
        "flagged from", "health", TERMINALS,
        "the page of one metric says it, that of all and a picture of health have verdicts alone",
    ),
    "past": _nowhere("the deployment has no key with two weeks of past: test_keys_with_a_past.py"),
    "part": Field(
        r"\d%", "health", ("page", *TERMINALS), "a picture of health has verdicts alone"
    ),
    "score": Field(
        "overwhelming|strong", "discovery", _NO_PICTURE,
        "a picture says where it is less than overwhelming",
    ),
    "bits": _nowhere("from which share on strings are found is said by their lengths"),
    "hinted": _nowhere("whoever asked gave the hints"),
}  # fmt: skip
"""By column."""
