"""Where things are: numbers to pixels, and how wide texts are, approximately, without a font."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_aggregator.answers.measured import Unit

PHONE: Final = 480
"""Narrower pictures have labels and numbers above the marks instead of beside them."""

FONT: Final = "Helvetica, Arial, Liberation Sans, sans-serif"
"""Fonts with the same widths, those of the table below, and whatever there is."""

_STAND_IN: Final = 1.15
"""How much wider DejaVu Sans is, which stands in where none of these fonts is installed: texts are
laid out for it."""

_BOLD: Final = 0.08
"""By how much of its size it draws a character wider that is bold, a narrow one as a wide one."""

_OTHER: Final = 0.6
_WIDE: Final = 0.95
ELLIPSIS: Final = "…"

_GROUPS: Final = {
    191: "'",
    222: "ijl",
    278: " !,./:;I[\\]ft",
    334: '()-`r|"',
    469: "^",
    500: "Jckvsxyz",
    556: "#$0123456789?L_abdeghnopqu",
    584: "+<=>~*{}",
    611: "FTZ",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
    1015: "@",
}
_WIDTHS: Final = {
    character: thousandths / 1000
    for thousandths, characters in _GROUPS.items()
    for character in characters
}
"""In parts of the font's size, of Helvetica (Adobe's metrics); star and braces are wider."""


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """About how wide a text is, in the unit of its size.

    Args:
        text: of any script.
        size: of the font.
        bold: whether it is drawn bold.
    """
    widths = [width for width in map(_width, text) if width]
    return size * (_STAND_IN * sum(widths) + (_BOLD * len(widths) if bold else 0.0))


def centred(x: float, text: str, size: float, width: float) -> float:
    """Where the middle of a text is that is to be at `x`, and must not leave the drawing.

    Args:
        x: in pixels.
        text: anything.
        size: of the font.
        width: of the drawing, in pixels.
    """
    half = text_width(text, size) / 2
    return max(min(x, width - half), half)


def ellipsed(text: str, size: float, width: float, *, bold: bool = False) -> str:
    """A text, or as much of it as fits with an ellipsis.

    Args:
        text: of any script.
        size: of the font.
        width: how wide it may be.
        bold: whether it is drawn bold.
    """
    if text_width(text, size, bold=bold) <= width:
        return text
    room = width - text_width(ELLIPSIS, size, bold=bold)
    kept, used = 0, 0.0
    for character in text:
        used += text_width(character, size, bold=bold)
        if used > room:
            break
        kept += 1
    # What joins or follows a character goes with it.
    while kept and _width(text[kept]) == 0:
        kept -= 1
    return text[:kept].rstrip("\u200d ") + ELLIPSIS


def wrapped(
    text: str, size: float, width: float, *, bold: bool = False, most: int = 100
) -> list[str]:
    """A text in lines that fit.

    Args:
        text: of any script; a word that is wider than a line is broken.
        size: of the font.
        width: of a line.
        bold: whether it is drawn bold.
        most: lines; the last of them gets an ellipsis if more would follow.
    """
    lines: list[str] = []
    line = ""
    for word in _pieces(text.split(), size, width, bold):
        longer = f"{line} {word}" if line else word
        if line and text_width(longer, size, bold=bold) > width:
            lines.append(line)
            line = word
        else:
            line = longer
    lines.append(line)
    if len(lines) > most:
        # A space more than fits, so that the ellipsis is always there.
        rest = f"{lines[most - 1]} {lines[most]}"
        kept = ellipsed(rest, size, min(width, text_width(rest, size, bold=bold) - 1), bold=bold)
        lines = [*lines[: most - 1], kept]
    return lines


def _pieces(words: Sequence[str], size: float, width: float, bold: bool) -> list[str]:
    """Words, those broken that are wider than a line."""
    pieces = []
    for word in words:
        piece, used = "", 0.0
        for character in word:
            step = text_width(character, size, bold=bold)
            if piece and step and used + step > width:
                pieces.append(piece)
                piece, used = "", 0.0
            piece, used = piece + character, used + step
        pieces.append(piece)
    return pieces


def _width(character: str) -> float:
    known = _WIDTHS.get(character)
    if known is not None:
        return known
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    return _WIDE if unicodedata.east_asian_width(character) in "WF" else _OTHER


LEAST_TICKS: Final = 3
FURTHEST: Final = 1e15
"""A number beyond this has no place on an axis: what is drawn of it goes on past its end."""

FURTHEST_RATIO: Final = 1e12
"""The same for logarithmic axes."""

LEAST_LOG: Final = 0.05
"""How much longer than its numbers a logarithmic axis is at both ends, at least."""

_ROUND: Final = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis.

    Attributes:
        low: the number at its start.
        high: the number at its end.
        start: the pixel at its start.
        end: the pixel at its end; smaller than `start` for an axis that goes up.
        log: whether it is logarithmic.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Where a number is, in pixels; one beyond an end is at the end."""
        value = min(max(value, self.low), self.high)
        if self.log:
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def named_ticks(self, about: int, unit: Unit) -> list[tuple[float, str]]:
        """Round numbers on the axis, and how they are written there.

        Args:
            about: how many there should be, at least 1.
            unit: of the numbers.
        """
        ticks = self.ticks(about)
        step = ticks[1] - ticks[0] if len(ticks) > 1 else abs(ticks[0]) if ticks else 1.0
        return [(tick, tick_words(tick, tick if self.log else step, unit)) for tick in ticks]

    def ticks(self, about: int) -> list[float]:
        """Round numbers on the axis.

        Args:
            about: how many there should be, at least 1.
        """
        found = _log_ticks(self.low, self.high, about) if self.log else []
        # Two numbers at least are needed to read a scale, and three to see that it is even.
        for number in (about, about + 1, about + 2, 2 * about + 2):
            if len(found) < LEAST_TICKS:
                found = _even_ticks(self.low, self.high, number)
        return found


def scale_over(
    numbers: Iterable[float | None],
    start: float,
    end: float,
    *,
    log: bool = False,
    pad: float = 0.0,
) -> Scale:
    """An axis on which all numbers are.

    Args:
        numbers: None, and what is further than any axis, is left out.
        start: the pixel at its start.
        end: the pixel at its end.
        log: whether it is logarithmic; numbers that are not above 0 are left out.
        pad: how much longer it is at both ends, as a part of its length.
    """
    found = [
        value
        for value in numbers
        if value is not None and abs(value) <= FURTHEST and (value > 0 or not log)
    ]
    if log:
        logs = [math.log(min(max(value, 1 / FURTHEST_RATIO), FURTHEST_RATIO)) for value in found]
        low, high = min(logs, default=0.0), max(logs, default=0.0)
        wider = max(pad * (high - low), LEAST_LOG)
        return Scale(math.exp(low - wider), math.exp(high + wider), start, end, log)
    low, high = (min(found), max(found)) if found else (0.0, 1.0)
    if not high - low > 1e-12 * max(abs(low), abs(high)):
        around = abs(high) / 10 or 0.01
        low, high = low - around, high + around
    wider = pad * (high - low)
    return Scale(low - wider, high + wider, start, end)


def tick_words(value: float, step: float, unit: Unit) -> str:
    """A number of an axis.

    Args:
        value: the number.
        step: to the next one.
        unit: how it is written.
    """
    if unit in ("share", "points"):
        value, step = 100 * value, 100 * step
    if unit == "ratio":
        return f"{value:.10g} ×"
    decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    if max(abs(value), step) >= 1e9 or decimals > 6:
        text = f"{value:g}"
    else:
        sign = "+" if unit == "points" and value > 0 else ""
        text = f"{round(value, decimals) + 0.0:{sign},.{decimals}f}"
    return f"{text}%" if unit == "share" else text


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * each for each in _ROUND if power * each >= least * (1 - 1e-9))


def _even_ticks(low: float, high: float, about: int) -> list[float]:
    step = _round_step((high - low) / about)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * number for number in range(first, last + 1)]


def _log_ticks(low: float, high: float, about: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    decades = [10.0**power for power in powers]
    inside = [each for each in decades if low <= each <= high]
    if len(inside) > 2:
        most = (len(inside) - 1) // (LEAST_TICKS - 1)
        return inside[:: min(-(-len(inside) // max(about, 1)), most)]
    fine = [power * each for power in decades for each in (1.0, 2.0, 5.0)]
    return [each for each in fine if low <= each <= high]
