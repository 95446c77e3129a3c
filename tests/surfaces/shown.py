"""What a surface leaves out of an answer, and why: the only place where that is decided.

Whatever is not named here is shown on every surface for people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.surfaces.asking import Question
    from tests.surfaces.computed import Computed

REPORTS: Final = ("report", "report in Markdown")
TERMINALS: Final = ("terminal, wide", "terminal, narrow", "terminal, ASCII")


def _all(surfaces: tuple[str, ...], why: str) -> Mapping[str, str]:
    return dict.fromkeys(surfaces, why)


_OF_A_REPORT: Final = "a report asks about all reports, and explains changes by keys"

NOT_ASKED: Final[Mapping[str, Mapping[str, str]]] = {
    "series": _all(REPORTS, "a report has the last period in a sentence, and a picture"),
    "estimate of a segment": _all(REPORTS, "a report is about all devices"),
    "estimate of strings": {
        **_all(REPORTS, "a report takes no list; it has what was discovered"),
        "page": "a page takes lists that were saved",
    },
    **dict.fromkeys(
        (
            "change explained",
            "change of a mean explained",
            "split of shares",
            "split of a series",
            "split of a change",
            "threshold",
            "series of a threshold",
            "change of a threshold",
            "segments compared",
            "versions compared",
        ),
        _all(REPORTS, _OF_A_REPORT),
    ),
}
"""Questions, or their forms, that cannot be asked on a surface."""

NOT_SHOWN: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {
    ("estimate", "segment size"): {"picture": "a picture of shares has no room for other shares"},
    ("estimate", "set size"): {"picture": "a picture of shares has no room for other shares"},
    ("estimate", "items per device"): {"picture": "likewise"},
    ("estimate", "bin"): {"report in Markdown": "a histogram is a picture; quantiles are numbers"},
    ("estimate", "pair"): {"report in Markdown": "lifts say which go together; the rest is on the "
                           "page"},
    ("series", "rest"): _all(
        (*TERMINALS, "page", "picture"),
        "which values versions do not tell apart is said once, of all days",
    ),
    ("estimate", "part"): {"picture": "a picture has the parts of the largest value"},
    ("series", "part"): {
        "page": "a page follows parts in a picture",
        "picture": "a picture has the parts of the largest value",
    },
    ("change", "part"): {"picture": "a picture has the parts of what moved most"},
    **dict.fromkeys(
        (("change", "effect of mix"), ("change", "effect of answers")),
        _all(("picture", "terminal, narrow"), "both effects together have room"),
    ),
    ("compare", "segment size"): _all(
        (*TERMINALS, "page", "notebook", "picture"), "a line below the table has it"
    ),
    ("change", "pair"): {"page": "a page compares each attribute by itself"},
    ("change", "difference in quantile"): _all(
        REPORTS, "a report says whether the distribution as a whole has changed"
    ),
}  # fmt: skip
"""Numbers, by the form of the question and what they are."""


def is_asked(surface: str, question: Question) -> bool:
    """Whether a surface answers a question."""
    names = (question.name, question.form)
    return not any(surface in NOT_ASKED.get(name, {}) for name in names)


def is_shown(surface: str, question: Question, number: Computed) -> bool:
    """Whether a surface shows a number."""
    kinds = [number.measure]
    if number.row.get("within") and not number.measure.startswith("effect"):
        kinds.append("part")
    if " & " in number.subject and number.measure != "lift":
        kinds.append("pair")
    return not any(surface in NOT_SHOWN.get((question.form, kind), {}) for kind in kinds)
