"""The fonts of pictures as PNG, made from Liberation Sans: fewer characters, and another name.

`python -m tools.fonts FOLDER` writes both files again. The folder has LiberationSans-Regular.ttf
and LiberationSans-Bold.ttf of `SOURCE`, a package of Debian; fonttools 4.68 must be installed. The
name is another, since the licence reserves "Liberation" for what nobody has changed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tools.sources import Source

SOURCE: Final = Source(
    "deb", "fonts-liberation2", "2.1.5-1", "fonts-liberation2_2.1.5-1_all.deb",
    "35ffaa54f117e633e89a5da89af235a073b34dbe582726fbf6989568f7fd9bda",
    "OFL-1.1", "Google Corporation, Red Hat, Inc.", "Liberation Sans, regular and bold",
)  # fmt: skip

FAMILY: Final = "Deniable Sans"
FONTS: Final = Path(__file__).parents[1] / "aggregator/deniable_aggregator/media/pictures/fonts"

CHARACTERS: Final = (
    (0x20, 0x7E),
    (0xA0, 0x24F),  # Latin
    (0x2B0, 0x36F),  # accents
    (0x370, 0x3FF),  # Greek
    (0x400, 0x52F),  # Cyrillic
    (0x1E00, 0x1EFF),  # Vietnamese
    (0x2000, 0x206F),  # punctuation
    (0x20A0, 0x20BF),  # currencies
    (0x2100, 0x22FF),  # letter-like signs, arrows, mathematics
    (0x25A0, 0x25FF),  # shapes
)


def main(folder: Path) -> None:
    """Writes both fonts.

    Args:
        folder: of the whole ones.
    """
    from fontTools import subset, ttLib

    for weight in ("Regular", "Bold"):
        font = ttLib.TTFont(folder / f"LiberationSans-{weight}.ttf", recalcTimestamp=False)
        options = subset.Options(hinting=False, notdef_outline=True, drop_tables=["FFTM"])
        options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]  # of licence and version, too
        options.layout_features = ["ccmp", "locl", "mark", "mkmk"]
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=[n for low, high in CHARACTERS for n in range(low, high + 1)])
        subsetter.subset(font)
        for record in font["name"].names:
            if record.nameID in (1, 3, 4, 6, 16):
                space = "" if record.nameID == 6 else " "
                name = FAMILY.replace(" ", space)
                ending = "" if record.nameID in (1, 16) else f"{space and ' '}{weight}"
                record.string = f"{name}{ending}"
        font.save(FONTS / f"{weight.lower()}.ttf")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
