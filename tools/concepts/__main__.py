"""``python -m tools.concepts``: writes the pictures of ``docs/concepts``."""

from __future__ import annotations

from pathlib import Path

from tools.concepts.pictures import PICTURES

FOLDER = Path(__file__).parents[2] / "docs" / "concepts"

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")
        print(FOLDER / name)
