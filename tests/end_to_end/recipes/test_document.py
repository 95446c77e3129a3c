"""The document of recipes, beside the programs in examples/."""

from __future__ import annotations

import re

from tests.end_to_end.recipes.programs import EXAMPLES, ROOT

RECIPES = (
    "flask_app",
    "click_tool",
)


def test_the_document_shows_parts_of_programs_as_they_are():
    text = (ROOT / "docs/client/recipes.md").read_text("utf-8")
    shown = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    programs = [(EXAMPLES / f"{name}.py").read_text("utf-8") for name in RECIPES]
    assert [part in program for part, program in zip(shown, programs, strict=True)] == [True] * len(
        RECIPES
    )
