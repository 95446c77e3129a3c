"""Each key against all others as a table: whose devices answer differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers.days import key_in_words
from deniable_aggregator.cli.render.health.day_table import SHORT
from deniable_aggregator.cli.render.layout import Texts, lay_out
from deniable_aggregator.cli.render.output import UNBROKEN, WIDE, literal_text
from deniable_aggregator.sentences.checks import contrast_in_words

if TYPE_CHECKING:
    from rich.table import Table

    from deniable_aggregator.answers.integrity import Health, KeyContrast


def contrast_table(answer: Health, width: int = UNBROKEN) -> Table:
    """One row per key and version: where it differs most from the other keys.

    Args:
        answer: the health.
        width: of the terminal, in characters.
    """
    keys = answer.key_contrasts
    columns = [Texts("key", [key_in_words(each.key, each.label) for each in keys], folds=True)]
    if len({each.version for each in keys}) > 1:
        columns.append(Texts("version", [each.version[:SHORT] for each in keys]))
    columns += [
        Texts("reports", [f"{each.reports:,}" for each in keys], "right"),
        Texts("of all", [f"{each.share:.1%}" for each in keys], "right"),
        Texts("differs most in", list(map(_contrast, keys))),
        Texts("verdict", ["differs" if each.verdict == "uneven" else "alike" for each in keys]),
    ]
    if width < WIDE:
        index = len(columns) - 2
        heading, cells = columns[index].heading, columns[index].cells
        columns[index] = Texts(heading, [each.replace(": ", ":\n") for each in cells])
    return lay_out(columns, None, width)


def _contrast(each: KeyContrast) -> str:
    return contrast_in_words(each, literal_text(each.value or ""))
