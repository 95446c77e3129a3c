"""One question of each kind, as somebody types it in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    import deniable_analysis as da

WEEKS: Final = {"before": "2026-08-24/2026-09-20", "after": "2026-09-21/2026-10-25"}
QUESTIONS: Final[dict[str, Callable[[da.Project], Any]]] = {
    "top": lambda p: p["browser"].estimate(top=3),
    "combined": lambda p: p["browser"].estimate(combined=["Chrome", "Edge"], since="2026-09-01"),
    "segment": lambda p: p["theme"].estimate(segment="beta"),
    "mean": lambda p: p["battery"].estimate(margin="noise-and-sampling"),
    "distribution": lambda p: p["startup_seconds"].estimate(quantile=[0.5, 0.9]),
    "strings": lambda p: p["emoji"].estimate(candidates=["😂", "🐝", "🌻", "🦖"], top=3),
    "series": lambda p: p["startup_seconds"].series(by="week", quantile=[0.5, 0.9]),
    "share series": lambda p: p["theme"].series(by="month", candidates=["dark"], segment="beta"),
    "change": lambda p: p["theme"].change(**WEEKS, segment="beta"),
    "mean change": lambda p: p["battery"].change(**WEEKS),
    "health": lambda p: p["browser"].health(days="2026-10-01/2026-10-25"),
}
