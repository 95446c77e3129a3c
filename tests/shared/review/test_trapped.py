"""How many traps of registries a review finds, and how often it warns of none.

In ``shipped/`` are files as developers in a hurry might ship them, written without knowing the
rules: twenty with a trap each, twenty without.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable_shared.registry import load, parse
from deniable_shared.review import review
from deniable_shared.review.pairs import read_pairs

SHIPPED = Path(__file__).parent / "shipped"
HEAD = (
    'registry = 1\napplication = "shipped"\n[budget]\nepsilon_per_day = 8\nepsilon_lifetime = 80\n'
)

TELLING = {
    "calmly": {"events-only"},
    "chessmate": {"small-segments"},
    "clinicdesk": {"rare-pairs"},
    "essenbote": {"quasi-identifier"},
    "familytree": {"free-text", "adds-up"},
    "gardenlog": {"identifier"},
    "intranet": {"small-segments"},
    "kanjipad": {"free-text"},
    "kochbuch": {"free-text"},
    "ledgerly": {"identifier", "free-text"},
    "metronome": {"changing-memoized"},
    "paperboy": {"repeated-value"},
    "photoflow": {"repeated-value"},
    "pogoda": {"free-text"},
    "snapcal": {"daily-budget"},
    "stepwise": {"quasi-identifier"},
    "trailmap": {"lifetime-budget"},
    "viajero": {"free-text"},
    "watthour": {"changing-memoized"},
    "webclip": {"linkable-reports"},
}
"""By the file with the trap, codes of findings that would tell of it."""


def codes_of(path):
    registry, pairs = load(path), path.with_suffix(".pairs.csv")
    tables = read_pairs(pairs, registry) if pairs.exists() else ()
    return {finding.code for finding in review(registry, pairs=tables).findings}


def test_most_traps_are_found():
    paths = sorted((SHIPPED / "trapped").glob("*.toml"))
    assert [path.stem for path in paths] == sorted(TELLING)
    assert len(TELLING) == 20
    missed = [path.stem for path in paths if not codes_of(path) & TELLING[path.stem]]
    assert len(missed) <= 4, missed


def test_hardly_anything_is_found_where_there_is_no_trap():
    """A missing description is no trap; some files have none."""
    paths = sorted((SHIPPED / "plain").glob("*.toml"))
    warned = {path.stem: found for path in paths if (found := codes_of(path) - {"no-description"})}
    assert len(paths) == 20
    assert len(warned) <= 2, warned


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("English", "What the user wrote"),
        ("German", "Was jemand dazu schreibt"),
        ("French", "Commentaires en texte libre"),
        ("Spanish", "Lo que escribe en el formulario"),
        ("Portuguese", "Mensagem em texto livre"),
        ("Italian", "Commento scritto nel campo"),
        ("Dutch", "Opmerking van de klant"),
        ("Polish", "Uwagi do zamówienia"),
        ("Russian", "Что пишут в поддержку"),
        ("Chinese", "用户输入的评论"),
        ("Japanese", "利用者が書いた感想"),
        ("Korean", "사용자가 남긴 후기"),
    ],
)
def test_free_text_is_known_in_twelve_languages(language, said):
    line = f'[metrics.m]\ntype = "string"\ndescription = "{said}"\nepsilon = 1\nevery = "month"'
    found = review(parse(HEAD + line)).findings
    assert "free-text" in {finding.code for finding in found}, language
