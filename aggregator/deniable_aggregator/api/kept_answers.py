"""Answers that were worked out before and are still right: a page is shown again at once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.answers.questions import ValueLists
    from deniable_aggregator.api.conditional import Validity

MOST_KEPT: Final = 128
MOST_VALUES: Final = 2_000
"""Answers about more values are not kept, as they take megabytes each."""

Answer = TypeVar("Answer")


class KeptAnswers:
    """The answers that were asked for last; whoever gets one must not change it. Thread-safe.

    The tag of an answer says all that it depends on: one that has become wrong is never found
    again, and goes when others come.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

    def answer(
        self, validity: Callable[[], Validity], lists: ValueLists, work_out: Callable[[], Answer]
    ) -> Answer:
        """The answer to a question.

        Args:
            validity: works out its tag.
            lists: the values that the question is about.
            work_out: works out the answer.
        """
        if lists.candidates and len(lists.candidates) > MOST_VALUES:
            return work_out()
        tag = validity().tag
        with self._lock:
            if tag in self._kept:
                self._kept.move_to_end(tag)
                kept: Answer = self._kept[tag]
                return kept
        found = work_out()
        if validity().tag != tag:  # reports came meanwhile, or a key was left out
            return found
        with self._lock:
            self._kept[tag] = found
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return found
