"""Colours, with a contrast of at least 3:1 to what is behind them, 4.5:1 for texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

ThemeName = Literal["light", "dark", "page"]


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a drawing. Every colour has a shape or a place of its own beside it.

    Attributes:
        background: behind everything, or None for that of the page around it.
        ink: texts, axes and estimates.
        muted: what is read second.
        band: intervals.
        core: their inner halves.
        unclear: marks of what cannot be told from zero.
        truth: true numbers, in trials where they are known.
        adjusted: post-processed numbers.
        warning: the sign of a warning, and what stands behind suspicious days.
        uneven: what stands behind days on which a key answers differently.
        inside: within hollow marks.
    """

    background: str | None
    ink: str
    muted: str
    band: str
    core: str
    unclear: str
    truth: str
    adjusted: str
    warning: str
    uneven: str
    inside: str


LIGHT: Final = Theme(
    background="#ffffff",
    ink="#1b1f24",
    muted="#57606a",
    band="#5a96c8",
    core="#1c659f",
    unclear="#6e7781",
    truth="#d1242f",
    adjusted="#a06400",
    warning="#cf222e",
    uneven="#b07800",
    inside="#ffffff",
)
DARK: Final = Theme(
    background="#14181d",
    ink="#e6edf3",
    muted="#9da7b3",
    band="#3d7ab0",
    core="#8cc4f2",
    unclear="#8b949e",
    truth="#ff7b72",
    adjusted="#d99a2b",
    warning="#ff7b72",
    uneven="#d99a2b",
    inside="#14181d",
)
PAGE: Final = Theme(
    background=None,
    ink="currentColor",
    muted="currentColor",
    band="var(--chart-band,#5a96c8)",
    core="var(--chart-core,#2270ad)",
    unclear="var(--chart-unclear,#7a838d)",
    truth="#dc3540",
    adjusted="#a97010",
    warning="var(--chart-warning,#dc3540)",
    uneven="var(--chart-uneven,#b07800)",
    inside="var(--chart-inside,none)",
)
"""For a page that may be light or dark: texts have its colour. Marks have the colours that the page
names, or else such as are dark enough on white and light enough on black."""

THEMES: Final[dict[ThemeName, Theme]] = {"light": LIGHT, "dark": DARK, "page": PAGE}
