"""What is said of reports that a discovery left out, and of levels in which noise is larger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.common import Notice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answering.discovery.flats import Flat
    from deniable_aggregator.counting.tallies.trie import Uncrowded

MUCH: Final = 0.1
"""If such a part of a level was left out, that is said before all else."""
NOTABLE: Final = 0.001
"""A smaller part of honest reports may be left out: a hundred million have crowded points."""


def much_left_out(kept: Uncrowded) -> list[Notice]:
    """The warning that comes first: a tenth of a level or more was left out."""
    parts = [part for part in _parts_left_out(kept) if part[2] >= MUCH]
    if not parts:
        return []
    return [
        Notice(
            "crowded_points",
            "warning",
            f"{_levels_left_out(parts)} were left out: points have far more reports than devices "
            "send of one. Reports of this metric are forged: its health says which keys and days "
            "fail, and what is found may be what a forger meant to be found",
        )
    ]


def left_out(kept: Uncrowded, spreads: Sequence[float]) -> list[Notice]:
    """What else was left out, and in which levels noise is larger than devices make it.

    Args:
        kept: the counts, and what is not in them.
        spreads: of each level, see `Findings`.
    """
    notices = []
    parts = [part for part in _parts_left_out(kept) if part[2] < MUCH]
    if parts:
        notable = any(part >= NOTABLE for _, _, part in parts)
        notices.append(
            Notice(
                "crowded_points",
                "warning" if notable else "note",
                f"{_levels_left_out(parts)} were left out: hardly any honest devices send so many "
                "of one point",
            )
        )
    wide = [(number, spread) for number, spread in enumerate(spreads, 1) if spread > 1]
    if wide:
        levels = _joined([f"level {number} are {spread:.2f}" for number, spread in wide])
        notices.append(
            Notice(
                "wide_noise",
                "warning",
                f"Counts of {levels} times as far apart as the noise of devices makes them, as "
                "forged reports of many points would. Strings have to stand out by so much more",
            )
        )
    return notices


def lifted_together(flats: Sequence[Flat]) -> list[Notice]:
    """Which beginnings forged reports lifted together, so that this was taken out of them.

    Args:
        flats: see `Findings`.
    """
    if not flats:
        return []
    reports, cells = sum(flat.reports for flat in flats), sum(flat.cells for flat in flats)
    return [
        Notice(
            "lifted_together",
            "warning",
            f"About {reports:,} reports of level 1 lift {cells:,} beginnings together, as no "
            "devices do but whoever forges reports of chosen points. What these beginnings have in "
            "common was taken out. The health of the metric says which keys and days fail",
        )
    ]


def _parts_left_out(kept: Uncrowded) -> list[tuple[int, int, float]]:
    """The number of each level of which something was left out, how much, and which part."""
    pairs = enumerate(zip(kept.left_out, kept.reports, strict=True), 1)
    return [(number, out, out / reports) for number, (out, reports) in pairs if out]


def _levels_left_out(parts: Sequence[tuple[int, int, float]]) -> str:
    return _joined([f"{out:,} reports of level {number}" for number, out, _ in parts])


def _joined(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
