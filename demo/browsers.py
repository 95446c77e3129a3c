"""``python -m demo.browsers``: the examples that the model of ``unlisted_browser`` was made of.

They are the families that the registry lists in ``browser``, each with versions older than most
that devices hold. So the model knows how such names are put together, and which letters and
digits follow each other; which versions there are, and which are popular, it does not. To make
the model again:

    python -m demo.browsers > browsers.txt
    deniable model train browsers.txt --out demo/browsers.model
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

REGISTRY: Final = Path(__file__).parent / "metrics.toml"
_MAJOR: Final = range(1, 141)
_WITH_MINOR: Final = range(10, 26)
_MINOR: Final = range(7)


def examples() -> Iterator[str]:
    """Names such as ``Chrome for Android 120`` and ``Safari 16.3``, all different."""
    registry = tomllib.loads(REGISTRY.read_text(encoding="utf-8"))
    for family in registry["metrics"]["browser"]["values"]:
        for major in _MAJOR:
            yield f"{family} {major}"
        for major in _WITH_MINOR:
            for minor in _MINOR:
                yield f"{family} {major}.{minor}"


if __name__ == "__main__":
    print("\n".join(examples()))
