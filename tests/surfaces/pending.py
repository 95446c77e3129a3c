"""What is known to be wrong still. An entry goes as soon as its surface is right.

Every mark is strict: a test that begins to pass fails until its entry is deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.surfaces.shown import REPORTS, TERMINALS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from tests.surfaces.asking import Question

_KINDS: Final = ("shares", "a flag", "segments", "pairs", "a mean", "a distribution")
_CHANGES: Final = {f"change of {kind}" for kind in _KINDS}
_IN_TERMINALS: Final = {
    "estimate of shares",
    "estimate of segments",
    "estimate of pairs",
    "estimate of a distribution",
    "estimate of a segment",
    "estimate of strings",
    "series of shares",
    "series of a flag",
    "series of segments",
    "discovery",
}
_IN_BRACKETS: Final = {
    "estimate of a flag",
    "estimate of a mean",
    "series of a mean",
    "series of a distribution",
}
_IN_COLUMNS: Final = {"estimate of shares", "estimate of pairs"}
_OWN_DIGITS: Final = {
    "estimate of pairs",
    "estimate of a distribution",
    "series of shares",
    "series of a flag",
}

NARROWER: Final[Mapping[str, Collection[str]]] = {
    **dict.fromkeys(TERMINALS, _IN_TERMINALS),  # "17.7% ± 0.4%" for 17.23 to 18.13%
    "report in Markdown": {"estimate of shares"},  # the rest is not there
}
"""Questions in whose answers a printed range is narrower than computed, or missing."""

OTHER_WORDS: Final[Mapping[str, Collection[str]]] = {
    **dict.fromkeys(TERMINALS, _IN_TERMINALS | _IN_BRACKETS | _CHANGES),
    **dict.fromkeys(("page", "notebook", "picture"), _CHANGES),  # "+18 to +23", "up 18 to 23"
    **dict.fromkeys(REPORTS, _IN_COLUMNS),  # 0% and 0.3% for "below 0.3%"
}
"""Questions in whose answers a range has other words than elsewhere."""

OTHER_ESTIMATE: Final[Mapping[str, Collection[str]]] = {
    "terminal, wide": _OWN_DIGITS | _CHANGES - {"change of a mean"},
    "terminal, narrow": _OWN_DIGITS,
    "terminal, ASCII": _OWN_DIGITS | _CHANGES - {"change of a mean"},
    "page": {"estimate of pairs", "series of shares"},  # -2.0% for 0%
}
"""Questions in whose answers an estimate has other digits than elsewhere."""

ANY_INTERVAL: Final[Mapping[str, Collection[str]]] = {"estimate": TERMINALS, "change": ()}
"""Surfaces that print some intervals narrower than computed."""

FIELD: Final[Mapping[str, Collection[str]]] = {
    "low": TERMINALS,
    "possible_low": (*REPORTS, "notebook", "picture"),
    "possible_high": (*REPORTS, "notebook", "picture"),
    "adjusted": ("page", "report in Markdown"),
    "shift_if_fake": ("notebook",),
    "robust_check": ("page", *REPORTS, "notebook"),
}
"""Surfaces on which a field is missing."""

PUBLISHED_ESTIMATE: Final[Collection[str]] = {"crash", "startup_seconds"}
"""Metrics of which an estimate is published that is not the nearest: 17.6% for .1768."""


def cases(
    asked: Iterable[tuple[str, Question]], pending: Mapping[str, Collection[str]]
) -> list[object]:
    """The cases of a test, by surface and question."""
    return [
        pytest.param(
            surface,
            question,
            id=f"{question}, {surface}",
            marks=_marks(question.name in pending.get(surface, ())),
        )
        for surface, question in asked
    ]


def surfaces(names: Iterable[str], pending: Collection[str]) -> list[object]:
    """The cases of a test, by surface alone."""
    return [pytest.param(name, marks=_marks(name in pending)) for name in names]


def marked(
    asked: Iterable[tuple[str, str]], pending: Mapping[str, Collection[str]]
) -> list[object]:
    """The cases of a test, by field and surface."""
    return [
        pytest.param(field, surface, marks=_marks(surface in pending.get(field, ())))
        for field, surface in asked
    ]


def _marks(is_pending: bool) -> list[pytest.MarkDecorator]:
    return [pytest.mark.xfail(strict=True, reason="not ported yet")] if is_pending else []
