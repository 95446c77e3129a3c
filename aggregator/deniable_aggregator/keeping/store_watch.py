"""Looks now and then whether the store is whole, beside all other work."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Final

from deniable_aggregator.keeping.store import PAGES, Damage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_aggregator.counting.tallies import Tally
    from deniable_aggregator.keeping.store import Store

START_SECONDS: Final = 2.0
"""A server that starts looks at the pages of its file for so long at most."""

WORK_SECONDS: Final = 0.5
"""Pieces of a look are done for so long at a time, and for no longer than the last of them."""

LOGGED: Final = 10

log = logging.getLogger("deniable_aggregator")


class StoreWatch:
    """Checks the pages of a store when a server starts, and all of it once a day.

    Args:
        store: what is checked.
        tally_of: what counts the reports of a version; None where this program cannot.
        monotonic: a clock in seconds.

    Attributes:
        damage: what the last whole look found, and what was found since.
    """

    def __init__(
        self,
        store: Store,
        tally_of: Callable[[bytes], Tally | None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._tally_of = tally_of
        self._monotonic = monotonic
        self._begun_on = -1
        self._work: Iterator[Damage | None] = iter(())
        self._found: list[Damage] = []
        self._looking = threading.Lock()
        self.damage: tuple[Damage, ...] = ()
        for each in store.check_pages(seconds=START_SECONDS) or ():
            self._keep(each)

    def look(self, today: int) -> None:
        """Goes on with the look of today, or begins it, unless another thread is about it.

        Args:
            today: days since 1970-01-01.
        """
        if not self._looking.acquire(blocking=False):
            return
        try:
            self._go_on(today)
        finally:
            self._looking.release()

    def _go_on(self, today: int) -> None:
        if today != self._begun_on:
            self._begun_on, self._found = today, []
            self._work = self._whole()
        end = self._monotonic() + WORK_SECONDS
        for each in self._work:
            if each is not None:
                self._found.append(each)
                self._keep(each)
            elif self._monotonic() > end:
                return
        self.damage = tuple(self._found)  # what was mended is forgotten

    def wrong_pages(self) -> str:
        """What is wrong with the pages, in which uploads may be lost; empty for nothing."""
        return _told([each for each in self.damage if each.check == PAGES])

    def wrong_content(self) -> str:
        """What else is wrong, which concerns what was counted before; empty for nothing."""
        return _told([each for each in self.damage if each.check != PAGES])

    def _whole(self) -> Iterator[Damage | None]:
        yield from self._store.check_pages() or ()
        yield None
        yield from self._store.check_content(self._tally_of)

    def _keep(self, each: Damage) -> None:
        if each in self.damage:
            return
        self.damage += (each,)
        if len(self.damage) <= LOGGED:
            log.error("the store is damaged: %s: %s", each.check, each.what)


def _told(damage: list[Damage]) -> str:
    if not damage:
        return ""
    places = "1 place" if len(damage) == 1 else f"{len(damage):,} places"
    return f"the store is damaged in {places}: deniable store check says where"
