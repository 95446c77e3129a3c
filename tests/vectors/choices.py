"""Writes the table of the planner's choices: ``python -m tests.vectors.choices``.

A registry file without ``mechanism`` resolves the same for ever: both sides derive the digest from
it, and an old client may meet a new server. Run it only to add lines; a changed one is a broken
promise.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

from deniable_shared.device_classes import CLASSES
from deniable_shared.registry.resolution import MOST_MEMOIZED, resolve

FILE = Path(__file__).parent / "choices.json"

EPSILONS = ("0.01", "0.1", "0.25", "0.5", "0.75", "1", "1.5", "2", "2.5", "3", "4", "5", "6", "8")
SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 50, 64, 100, 128, 200, 256, 400, 512, 1_000)
SIZES += (1_024, 1_025)
DEVICES = (1, 10_000, 1_000_000, 100_000_000, 10_000_000_000)
BINS = (2, 10, 32, 100, 1_024)
PERMANENT = ("2", "8")
SETS = ((2, 1), (30, 8), (60, 8), (100, 8), (200, 8), (600, 8), (1_024, 32), (50, 3))

QUESTIONS = [
    *({"type": "boolean"},),
    *({"type": "category", "size": size} for size in SIZES),
    *({"type": "string", "devices": devices} for devices in DEVICES),
    *({"type": "number"},),
    *({"type": "distribution", "size": bins} for bins in BINS),
    *({"type": "set", "size": size, "most": most} for size, most in SETS),
    *({"type": "set", "most": 8, "devices": devices} for devices in DEVICES),
]


def answer(question: dict, epsilon: str, permanent: str | None = None) -> dict:
    mechanism = resolve(
        question["type"],
        size=question.get("size", 0),
        epsilon=Fraction(epsilon),
        epsilon_permanent=Fraction(permanent) if permanent else None,
        repeat="memoize" if permanent else "fresh",
        devices=question.get("devices", 1),
        choice=None,
        most=question.get("most", 0),
    )
    return mechanism.description()


def choices() -> list[dict]:
    fresh = [
        {**question, "epsilon": epsilon, "mechanism": answer(question, epsilon)}
        for question in QUESTIONS
        for epsilon in EPSILONS
    ]
    memoized = [
        {
            **question,
            "epsilon": epsilon,
            "epsilon_permanent": permanent,
            "mechanism": answer(question, epsilon, permanent),
        }
        for question in QUESTIONS
        for epsilon in EPSILONS
        for permanent in PERMANENT
        if Fraction(epsilon) < Fraction(permanent)
        and question["type"] != "set"
        and not (question["type"] == "distribution" and question["size"] > CLASSES)
        and not (question["type"] == "category" and question["size"] > MOST_MEMOIZED)
    ]
    return fresh + memoized


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(choice) for choice in choices())
    FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
