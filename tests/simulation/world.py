"""A run: servers, clocks and a store, changed by the steps of a plan and checked after each."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import ExitStack, contextmanager
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

from deniable_aggregator.keeping.audit import COMMAND_LINE
from deniable_aggregator.keeping.key_administration import KeyAdministrator
from deniable_aggregator.keeping.store import Relay, Sender, StoreUnavailableError
from deniable_aggregator.keeping.store.backup import backup, restore
from deniable_aggregator.keeping.store.opening import open_database
from deniable_aggregator.keeping.store.tallies import Tallies
from deniable_aggregator.keeping.store.transfer import export_store, import_store
from deniable_shared import wire
from tests.aggregator.stored import add_key
from tests.simulation.faults import Crash, PointedDatabase
from tests.simulation.model import Memory, Model, Sent, Violation
from tests.simulation.node import (
    ACCEPT_DAYS,
    APPLICATION,
    CONFIRM_DAYS,
    ITEMS,
    MOST_SKEW,
    NO_THREADS,
    OTHER_APPLICATION,
    REGISTRIES,
    RETAIN_DAYS,
    SPECS,
    TALLIES,
    Node,
)
from tests.simulation.questions import ask_store, ask_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.simulation.contents import Contents
    from tests.simulation.places import Files, Schemas
    from tests.simulation.plan import Step

FIRST_DAY = 20_000
LAST_DAY = 10**6
FAR = 400
"""So many days ahead is a clock that was set quite wrong."""
KEYS = {"build": APPLICATION, "relay": APPLICATION, "foreign": OTHER_APPLICATION}
"""The application of each key; of both applications' uploads, some have the same id."""
BATCHES = (b"batch of a week.", b"batch of another")
"""Those with which uploads come through a relay, again and again."""

DAYS = (*range(-ACCEPT_DAYS - 1, 2), -1, 0, 0, 0, 0)
"""Days of reports, relative to today: mostly today, so that several uploads share a day."""

FORGETTING = Tallies.delete_expired.__kwdefaults__
POISON = 256 - ITEMS
MOST_SERVERS = 3
MOST_POINTS = 5_000
"""Of one step; those of the tests have a tenth of that."""

PACKAGE = "deniable_aggregator"

SMALL = {
    "keeping.fold.BATCH_ROWS": 3,
    "keeping.fold.BATCH_BYTES": 64,
    "keeping.store.batch.MOVED_ROWS": 2,
    "keeping.store.inbox.FORGET_ROWS": 2,
    "keeping.store.parts.WHOLE_BYTES": 12,
    "keeping.store.settling.WRITTEN_SLICES": 2,
    "keeping.store.merging.CELLS_PER_BYTE": 1_000,
}
"""Smaller limits, so that work that is done in steps takes many steps."""


class World:
    """A store and those who use it.

    Args:
        places: where stores are.
        seed: of everything that is not drawn within a step.
        say: called with what happens, in words.

    Attributes:
        model: what the store must hold.
        struck: how often each fault struck, by its kind and the point.
    """

    def __init__(
        self, places: Files | Schemas, seed: int, say: Callable[[str], object] = lambda _: None
    ) -> None:
        self.model = Model()
        self.struck: Counter[tuple[str, str]] = Counter()
        self._places = places
        self._say = say
        self._entropy = random.Random(seed)
        self._day = FIRST_DAY
        self._names = 0
        self._actor: Node | None = None
        self._armed: Any = None
        self._doing = ""
        self._passed = 0
        self._reached_points = 0
        self._broken = False
        self._opening: Node | None = None
        self._target = places.fresh()
        self._nodes: list[Node] = []
        self._servers = 1 + self._entropy.randrange(MOST_SERVERS)
        self._kept: tuple[Path, Memory] | None = None

    def begin(self) -> None:
        """Makes the store and starts the servers."""
        self._start(skew=0)
        for registered in REGISTRIES:
            self._nodes[0].store.metrics.register(registered.metrics.values(), FIRST_DAY)
        for key, application in KEYS.items():
            add_key(self._nodes[0].store, key, application)
        self._restart_all()
        while len(self._nodes) < self._servers:
            self._start(skew=0)

    def do(self, number: int, step: Step) -> None:
        """Takes one step, and compares.

        Raises:
            Violation: if anything is not as it must be.
        """
        self._say(f"{number}: {step}")
        drawn = random.Random(step.seed)
        self._entropy.seed(step.seed)
        node = drawn.choice(self._nodes)
        self._arm(step, node)
        try:
            getattr(self, f"_{step.kind}")(node, drawn)
        except Crash:
            _require(self._broken, "a server died of itself")
        except StoreUnavailableError as error:
            _require(self._broken, f"the store failed of itself: {error}")
            self._say(f"  the store failed: {error}")
        finally:
            self._armed = None
        self._bury()
        failed = any(each.failed for each in self._nodes)
        _require(self._broken or not failed, "uploads were not stored, and nothing was wrong")
        for each in self._nodes:
            each.failed = False
        self._compare()

    def finish(self) -> None:
        """Has every device try again, counts everything, lets all days pass, and compares.

        Raises:
            Violation: if anything is not as it must be.
        """
        self._say("the end: every device tries again")
        self._broken = False
        self._reached_points = 0
        self._restart_all()
        (node,) = self._nodes
        for sent in self.model.sent:
            if not (sent.acknowledged or sent.poison):
                node.receive(sent)
                node.commit()
        node.fold()
        found = self._compare()
        _require(not found.due, "something is due, though everything was counted")
        self._question(node, random.Random(0))
        self._restart_all()
        (node,) = self._nodes
        node.maintain()
        # A clock that was in doubt is believed, and no day has begun that is still to come.
        self._day += max(CONFIRM_DAYS, found.shown_day - node.today() + 1)
        for work in (node.fold, node.maintain):
            work()
        found = self._compare()
        _require(not found.waiting, "something still waits, though its day is over")
        everything = found.counted + found.aside
        kept_since = node.today() - max(RETAIN_DAYS, ACCEPT_DAYS)
        old = [place for place in everything if place.epoch < kept_since]
        _require(not old, f"what was to be deleted is there: {old[:3]}")
        oldest_open = node.today() - ACCEPT_DAYS
        closed = {day for day in found.closed_days if day < oldest_open}
        split = found.split_days & closed
        _require(not split, f"closed days {sorted(split)} are in more parts than one")
        unsettled = closed - found.settled_days
        _require(not unsettled, f"closed days {sorted(unsettled)} are not settled")
        _require(min(found.open_days, default=oldest_open) >= oldest_open, "an old day is open")
        remembered = min(found.remembered_days, default=oldest_open)
        _require(remembered >= oldest_open, "ids of an old day are remembered")
        self._question(node, random.Random(0))

    def close(self) -> None:
        """Ends all servers."""
        for node in self._nodes:
            node.close()
        self._nodes = []

    def _send(self, node: Node, drawn: random.Random) -> None:
        for _ in range(drawn.randint(1, 3)):
            number = sum(not sent.poison for sent in self.model.sent)
            if number < ITEMS:
                self._hand(node, self._made(number, drawn))

    def _resend(self, node: Node, drawn: random.Random) -> None:
        good = [sent for sent in self.model.sent if not sent.poison]
        for sent in drawn.sample(good, min(len(good), drawn.randint(1, 3))):
            self._hand(node, sent)
            while drawn.random() < 0.4:
                self._hand(drawn.choice(self._nodes), sent)

    def _commit(self, node: Node, _: random.Random) -> None:
        node.commit()

    def _fold(self, node: Node, _: random.Random) -> None:
        node.fold()

    def _maintain(self, node: Node, _: random.Random) -> None:
        node.maintain()

    def _clock(self, node: Node, drawn: random.Random) -> None:
        if drawn.random() < 0.5:
            self._day += drawn.choice((1, 1, 2, 4, 15))
        else:
            node.set_clock(drawn.choice((-4, -2, -1, 0, 0, 1, MOST_SKEW, FAR)))
        self._read_clocks()
        days = {each.name: each.today() - FIRST_DAY for each in self._nodes}
        self._say(f"  days are {days}")

    def _age(self, node: Node, _: random.Random) -> None:
        """What waits is counted, and becomes so old that maintenance deletes it."""
        node.fold()
        self._day += RETAIN_DAYS + 1
        self._read_clocks()
        node.maintain()

    def _read_clocks(self) -> None:
        """As every server does every few seconds."""
        for each in self._nodes:
            each.guarded_clock.day()

    def _exclude(self, node: Node, drawn: random.Random) -> None:
        """An administrator excludes a key or includes it again, and retries rows set aside."""
        key = drawn.choice(list(KEYS))
        self._question(node, drawn)  # so that servers remember what was there before
        administrator = KeyAdministrator(node.store, actor=COMMAND_LINE, today=node.today())
        excluded = key in self.model.excluded
        (administrator.include if excluded else administrator.exclude)(key)
        self.model.excluded ^= {key}
        for group in node.store.set_aside.groups():
            node.store.set_aside.retry(group.digest, day=node.today(), actor=COMMAND_LINE)
        self._question(node, drawn)

    def _poison(self, node: Node, drawn: random.Random) -> None:
        number = sum(sent.poison for sent in self.model.sent)
        if number < POISON:
            sent = self._made(ITEMS + number, drawn)
            sent.poison = True
            if drawn.random() < 0.3:
                part = sent.upload.parts[0]._replace(digest=drawn.randbytes(wire.DIGEST_BYTES))
                sent.upload = sent.upload._replace(parts=(part,))
            # Without the checks of ingest, as damage or a defect would store it.
            (outcome,) = node.store.inbox.append([sent.upload], [sent.sender])
            self.model.sent.append(sent)
            self.model.heard(sent, outcome.name.lower())

    def _question(self, asked: Node, drawn: random.Random) -> None:
        """Every server is asked about some days, without one of the keys, or about everything."""
        armed, self._armed = self._armed, None
        found = self._places.contents(self._target)
        since = max(0, self._day + drawn.choice((-LAST_DAY, -LAST_DAY, -ACCEPT_DAYS, -1)))
        until = self._day + drawn.choice((LAST_DAY, LAST_DAY, 0, -1))
        without = frozenset(drawn.sample(list(KEYS), drawn.choice((0, 0, 1))))
        for digest in TALLIES:
            expected = self.model.expected_slices(found, digest, ITEMS)
            ask_store(asked, digest, expected, self.model.excluded)
            for node in self._nodes:
                for tables in node.tables:
                    days = since, until
                    ask_tables(node, tables, digest, days, expected, self.model.excluded, without)
        self._armed = armed

    def _backup(self, _: Node, drawn: random.Random) -> None:
        """An administrator makes a backup while other servers go on."""
        if not self._places.can_be_backed_up:
            return
        memory = self.model.remember(self._compare())
        file = self._places.file()
        meanwhile = drawn.randrange(3)

        def progress(*_: int) -> None:
            nonlocal meanwhile
            meanwhile -= 1
            if meanwhile == 0:
                other = drawn.choice(self._nodes)
                self._say(f"  meanwhile: commit and fold on {other.name}")
                self._send(other, drawn)
                other.commit()
                other.fold()

        backup(self._target, file, progress)
        self._kept = file, memory

    def _restore(self, node: Node, _: random.Random) -> None:
        """The disk is lost, and an administrator restores the last backup."""
        if self._kept is None:
            return
        file, memory = self._kept
        skew = node.skew
        self._actor = None
        for each in self._nodes:
            self._die(each)
            each.close()
        self._nodes = []
        self._target = self._places.fresh()
        restore(file, self._target, lambda *_: None)
        self.model.go_back(memory)
        _require(
            self._places.contents(self._target) == memory.contents,
            "a restored store is not what was backed up",
        )
        self._start(skew)

    def _kill(self, node: Node, _: random.Random) -> None:
        self._die(node)

    def _restart(self, _: Node, __: random.Random) -> None:
        if not self._places.restart_database():
            self._restart_all()

    def _move(self, node: Node, _: random.Random) -> None:
        """All servers end in an orderly way, and an administrator moves the store."""
        self._actor = None
        for each in self._nodes:
            each.commit()
        before = self._compare()
        skew = node.skew
        self.close()
        mover = self._opening = self._actor = Node("mover", "", lambda: self._day, 0, self.model)
        file, target = self._places.file(), self._places.fresh()
        try:
            export_store(self._places.named(self._target, "mover"), file, lambda *_: None)
            import_store(file, self._places.named(target, "mover"), lambda *_: None)
            self._target = target
        finally:
            mover.dead = True
            found = self._places.contents(target)
            whole = found in (None, before) or not (found.everything() or found.open_days)
            _require(whole, "a store was moved in part")
            self._start(skew)
        _require(found == before, "a store that was moved is not what it was")

    def _made(self, number: int, drawn: random.Random) -> Sent:
        """A new upload: small ones mostly, relays' batches, several days and metrics."""
        key, application = drawn.choice(list(KEYS.items()))
        parts = []
        digests = [spec.digest for spec in SPECS[application]]
        for digest in drawn.sample(digests, drawn.choice((1, 1, 1, 2))):
            for day in set(drawn.sample(DAYS, drawn.choice((1, 1, 1, 2, 3)))):
                reports = drawn.choice((1, 1, 1, 2, 40))
                parts.append(wire.Part(digest, self._day + day, bytes([number]) * reports))
        ids = [drawn.randbytes(wire.ID_BYTES)]
        ids += [each.upload.id for each in self.model.sent[-3:] if not each.poison]
        taken = {
            each.upload.id for each in self.model.sent if each.sender.application == application
        }
        upload_id = drawn.choice([each for each in ids if each not in taken])
        batch = (None, *BATCHES)[number % (1 + len(BATCHES))]
        relay = None if batch is None else Relay(b"key 1 id", batch)
        return Sent(number, wire.Upload(upload_id, tuple(parts)), Sender(application, key, relay))

    def _hand(self, node: Node, sent: Sent) -> None:
        if sent not in self.model.sent:
            self.model.sent.append(sent)
        said = node.receive(sent)
        days = [day - FIRST_DAY for day in sent.days()]
        self._say(f"  upload {sent.number} of days {days} to {node.name}: {said}")

    def _arm(self, step: Step, node: Node) -> None:
        self._armed, self._actor, self._passed = step.fault, node, 0
        self._doing, self._broken = step.kind, False
        self._reached_points = 0

    def _reached(self, node: Node, point: str, free: bool) -> None:
        """Called at every named point of every server's transactions; a fault may strike here."""
        if node.dead:
            raise Crash
        self._reached_points += 1
        _require(self._reached_points < MOST_POINTS, "it does not come to an end")
        fault = self._armed
        if fault is None or node is not self._actor:
            return
        self._passed += fault.at in (None, point)
        shared = self._places.shares_rows and self._doing == "fold"
        if self._passed <= fault.after or (fault.kind == "switch" and not (free or shared)):
            return
        self._armed = None
        self.struck[fault.kind, f"{self._doing}: {point}"] += 1
        self._say(f"  {fault.kind} {point}, on {node.name}")
        self._strike(fault.kind, node, random.Random(self._entropy.getrandbits(64)))

    def _strike(self, kind: str, node: Node, drawn: random.Random) -> None:
        if kind == "switch":
            self._switch(node, drawn)
            return
        self._broken = True
        if kind == "database" and self._places.restart_database():
            return
        if kind == "crash":
            self._die(node)
            raise Crash
        if kind == "power":
            self._target = self._places.lose_power(self._target)
            for each in (node, *self._nodes):
                each.die()
            raise Crash
        raise StoreUnavailableError("so says the simulation")

    def _switch(self, node: Node, drawn: random.Random) -> None:
        """Another server gets its turn, or another thread of the same."""
        others = [each for each in self._nodes if each is not node]
        choices = [(self._commit, each) for each in others]
        choices += [(work, each) for work in (self._fold, self._maintain) for each in others]
        if self._doing == "maintain":
            choices += [(self._maintain, each) for each in others] * 3
        if self._doing in ("fold", "maintain") and node in self._nodes:
            choices.append((self._commit, node))
        if not choices:
            return
        work, other = drawn.choice(choices)
        if work == self._commit:
            self._send(other, drawn)
            self._resend(other, drawn)
        self._say(f"  meanwhile:{work.__name__} on {other.name}")
        work(other, drawn)

    def _start(self, skew: int) -> None:
        self._names += 1
        name = f"server{self._names}"
        target = self._places.named(self._target, name)
        node = self._opening = Node(name, target, lambda: self._day, skew, self.model)
        node.start()
        # Every server does this once; not part of the run.
        node.maintenance._record_retention()
        self._nodes.append(node)

    @contextmanager
    def patched(self) -> Iterator[None]:
        """The program draws from this world's seed, goes in small steps, and opens its stores."""
        drawing = SimpleNamespace(
            randbits=self._entropy.getrandbits, token_bytes=self._entropy.randbytes
        )
        replaced = {
            **SMALL,
            "keeping.group_commit.GROUP_WINDOW_SECONDS": 0.0,
            "keeping.group_commit.threading": NO_THREADS,
            "keeping.store.open_database": self._opened,
            "keeping.store.transfer.open_database": self._opened,
            **{f"keeping.store.{module}.secrets": drawing for module in ("inbox", "parts", "base")},
        }
        with ExitStack() as stack:
            for name, value in replaced.items():
                stack.enter_context(mock.patch(f"{PACKAGE}.{name}", value))
            stack.enter_context(mock.patch.dict(FORGETTING, {"most": 2}))
            yield

    def _opened(self, target: Any) -> PointedDatabase:
        """Opens a database for whoever starts now."""
        node = self._opening
        node.databases.append(PointedDatabase(open_database(target), partial(self._reached, node)))
        return node.databases[-1]

    def _die(self, node: Node) -> None:
        self._places.disconnect(node.name)
        node.die()

    def _restart_all(self) -> None:
        for node in self._nodes:
            self._die(node)
        self._bury()
        del self._nodes[1:]

    def _bury(self) -> None:
        """Starts new servers in the place of dead ones."""
        dead = [node for node in self._nodes if node.dead]
        self._nodes = [node for node in self._nodes if not node.dead]
        for node in dead:
            node.close()
        for node in dead:
            self._start(node.skew)

    def _compare(self) -> Contents:
        found = self._places.contents(self._target)
        self.model.compare(found)
        if not self._broken:
            _require(self.model.excluded == found.excluded, "excluded keys are not those named")
        self.model.excluded = set(found.excluded)
        return found


def _require(condition: object, message: str) -> None:
    if not condition:
        raise Violation(message)
