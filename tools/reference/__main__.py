"""``python -m tools.reference``: writes the pages of ``docs/reference`` that are made from code."""

from tools.reference.pages import FOLDER, PAGES

for name, page in PAGES.items():
    (FOLDER / name).write_text(page(), encoding="utf-8")
