"""Makes the lists of values that are shipped, from packages that are fetched by pinned SHA-256."""

from __future__ import annotations

import argparse
import json
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tools.lists import values
from tools.lists.sources import COUNTRIES, EMOJI, LOCALES
from tools.sources import fetch

if TYPE_CHECKING:
    from tools.sources import Source

SHIPPED: Final = Path(__file__).parents[2] / "aggregator/deniable_aggregator/answers/lists"

_EPILOG: Final = """
browsers.txt is written by hand, so it is not made here. Needs npm. To check that the shipped lists
are what the sources make of them:

    python -m tools.lists --check
"""


def main() -> int:
    """Runs the program, and returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.lists",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--folder", type=Path, default=Path("build/lists"), help="for sources")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="where the lists are written")
    parser.add_argument("--check", action="store_true", help="compare them with the shipped ones")
    options = parser.parse_args()
    others = []
    for name, listed in made(options.folder).items():
        body = "".join(f"{value}\n" for value in listed).encode()
        path = options.out / f"{name}.txt"
        print(f"{name}: {len(listed):,} values, {len(body):,} bytes")
        if not options.check:
            path.write_bytes(body)
        elif path.read_bytes() != body:
            others.append(name)
    if others:
        print(f"Other lists are shipped: {', '.join(others)}")
    return 1 if others else 0


def made(folder: Path) -> dict[str, list[str]]:
    """The values of each list, by its name.

    Args:
        folder: for what is fetched.
    """

    def read(source: Source, path: str) -> Any:
        with tarfile.open(fetch(source, folder)) as archive:
            file = archive.extractfile(f"package/{path}")
            assert file is not None
            return json.load(file)

    emoji = read(EMOJI, "data-by-emoji.json")
    available = read(LOCALES, "availableLocales.json")["availableLocales"]["full"]
    usual = read(LOCALES, "defaultContent.json")["defaultContent"]
    likely = read(LOCALES, "supplemental/likelySubtags.json")["supplemental"]["likelySubtags"]
    names = read(COUNTRIES, "main/en/territories.json")["main"]["en"]["localeDisplayNames"]
    return {
        "emoji": list(emoji),
        "emoji-skin-tones": values.with_skin_tones(emoji),
        "locales": values.locales([*available, *usual], likely),
        "countries": values.countries(names["territories"]),
    }


if __name__ == "__main__":
    sys.exit(main())
