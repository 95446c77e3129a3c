"""How many traps of registries a review finds, and how often it warns of none."""

from __future__ import annotations

import pytest

from deniable_shared.registry import parse
from deniable_shared.review import review
from tests.shared.review.trapped import CLEAN, TRAPPED

HEAD = (
    'registry = 1\napplication = "shipped"\n[budget]\nepsilon_per_day = 8\nepsilon_lifetime = 80\n'
)


def codes_of(metrics):
    tables = "".join(f"[metrics.{name}]\n{lines}\n" for name, lines in metrics.items())
    return {finding.code for finding in review(parse(HEAD + tables)).findings}


def test_most_traps_are_found():
    missed = [sorted(metrics) for metrics, telling in TRAPPED if not codes_of(metrics) & telling]
    assert len(TRAPPED) == 20
    assert len(missed) <= 4, missed


def test_hardly_anything_is_found_where_there_is_no_trap():
    warned = {tuple(metrics): found for metrics in CLEAN if (found := codes_of(metrics))}
    assert len(CLEAN) == 20
    assert len(warned) <= 2, warned


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("English", "What the user wrote"),
        ("German", "Kommentar oder Nachricht"),
        ("French", "Commentaires en texte libre"),
        ("Spanish", "Nombre y apellidos"),
        ("Portuguese", "Mensagem em texto livre"),
        ("Italian", "Commento scritto nel campo"),
        ("Dutch", "Opmerking van de klant"),
        ("Polish", "Imię i nazwisko"),
        ("Russian", "Сообщение в поддержку"),
        ("Chinese", "用户输入的评论"),
    ],
)
def test_free_text_is_known_in_ten_languages(language, said):
    line = f'type = "string"\ndescription = "{said}"\nepsilon = 1\nevery = "month"'
    assert "free-text" in codes_of({"m": line}), language
