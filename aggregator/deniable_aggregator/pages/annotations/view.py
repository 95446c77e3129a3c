"""What the page of annotations shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.answers.annotations import MOST_LETTERS
from deniable_aggregator.pages.addresses import address

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from deniable_aggregator.answers.annotations import Annotations


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationLine:
    """What happened on a day.

    Attributes:
        day: when.
        text: what.
        remove: where the form that removes it is sent; empty for who may not.
    """

    day: str
    text: str
    remove: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationsView:
    """What the page shows.

    Attributes:
        lines: the newest day first.
        administers: whether there is a form for more.
        day: in that form.
        text: likewise.
        most_letters: of a text.
        problem: why what was typed is refused; empty if nothing was.
        done: what has just been done; empty if nothing was.
    """

    lines: Sequence[AnnotationLine]
    administers: bool
    day: str
    text: str = ""
    most_letters: int = MOST_LETTERS
    problem: str = ""
    done: str = ""


def annotations_view(
    found: Annotations,
    *,
    administers: bool,
    today: date,
    day: str = "",
    text: str = "",
    problem: str = "",
    done: str = "",
) -> AnnotationsView:
    """What the page shows.

    Args:
        found: the annotations of the application.
        administers: whether the visitor may change them.
        today: the server's day.
        day: as it was typed; empty for today.
        text: likewise.
        problem: why what was typed is refused.
        done: what has just been done.
    """
    lines = [
        AnnotationLine(
            day=str(each.day),
            text=each.text,
            remove=address("annotations", str(each.day), "remove") if administers else "",
        )
        for each in found.annotations
    ]
    return AnnotationsView(
        lines=lines,
        administers=administers,
        day=day or str(today),
        text=text,
        problem=problem,
        done=done,
    )
