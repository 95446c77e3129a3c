"""An answer of any kind as a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers.discoveries import FoundStrings
from deniable_aggregator.answers.estimates import Distribution, Mean
from deniable_aggregator.answers.integrity import Health
from deniable_aggregator.answers.trends import Change, Series
from deniable_aggregator.sentences.cautions import basis, cautions
from deniable_aggregator.sentences.change import change_finding
from deniable_aggregator.sentences.closeness import closeness_in_words
from deniable_aggregator.sentences.discoveries import discovery_finding
from deniable_aggregator.sentences.health import health_finding
from deniable_aggregator.sentences.numbers import number_finding
from deniable_aggregator.sentences.series import series_finding
from deniable_aggregator.sentences.shares import shares_finding
from deniable_aggregator.sentences.wording import as_sentence

if TYPE_CHECKING:
    from deniable_aggregator.answers.estimates import Estimate


def sentence(answer: Estimate | Series | Change | FoundStrings | Health) -> str:
    """An answer in a few sentences: what to know first, what was found, what it is based on.

    Args:
        answer: of any kind.
    """
    parts = [*cautions(answer), finding(answer), closeness_in_words(answer), basis(answer)]
    return " ".join(part for part in parts if part)


def finding(answer: Estimate | Series | Change | FoundStrings | Health) -> str:
    """What an answer found, in one sentence, without warnings.

    Args:
        answer: of any kind.
    """
    if isinstance(answer, Change):
        text = change_finding(answer)
    elif isinstance(answer, Series):
        text = series_finding(answer)
    elif isinstance(answer, Mean | Distribution):
        text = number_finding(answer)
    elif isinstance(answer, FoundStrings):
        text = discovery_finding(answer)
    elif isinstance(answer, Health):
        text = health_finding(answer)
    else:
        text = shares_finding(answer)
    return as_sentence(text)
