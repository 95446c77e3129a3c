"""Which way a metric's strings are found: a list, discovery, a model, hints."""

from __future__ import annotations

from typing import Final

from tools.concepts.drawing import Drawing

QUESTIONS: Final = (
    ("Can you list the values?", "yes: up to some dozens", 'type = "category"'),
    ("Can the analyst list them later?", "yes", "a string, and a list"),
    ("Are they words or names?", "yes", "discover, shipped model"),
    ("Texts of a kind, as URLs or crashes?", "yes", "discover, a model of yours"),
    ("Does the build know many of them?", "yes, in addition", "hints of each version"),
)
_LEFT, _WIDTH, _HEIGHT, _TOP, _STEP = 16, 408, 58, 12, 82


def draw_strings() -> str:
    """The picture."""
    steps = "; ".join(f"{question} {answer}: {way}" for question, answer, way in QUESTIONS)
    picture = Drawing(
        _TOP + _STEP * len(QUESTIONS), f"Five questions, one after the other. {steps}."
    )
    for place, (question, answer, way) in enumerate(QUESTIONS):
        y = _TOP + place * _STEP
        picture.bar(_LEFT, y, _WIDTH, _HEIGHT, "box")
        picture.text(_LEFT + 12, y + 23, question, "bold")
        picture.text(_LEFT + 12, y + 45, answer, "small")
        picture.text(_LEFT + _WIDTH - 12, y + 45, way, "small end")
        if place:
            picture.arrow_down(_LEFT + 16, y - _STEP + _HEIGHT + 3, _STEP - _HEIGHT - 6)
    return picture.svg()
