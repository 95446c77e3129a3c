"""What happens in a life, day by day: a function of the seed alone."""

from __future__ import annotations

from random import Random

from tests.client.life.aggregator import MOODS
from tests.client.life.device import DOCUMENTS
from tests.client.life.registries import ADDED, METRICS, RELEASES
from tests.repetitions import full_or_small

DAYS = 90
NAMES = (*METRICS, *ADDED, "badge", "moniker")
SHARED_DAYS = full_or_small(4, 1)
"""On how many days several processes use a device at the same time."""

ZONES = ("UTC", "Asia/Tokyo", "America/Los_Angeles", "Pacific/Kiritimati", "America/Caracas")
HOUR = 3_600.0


def plan(seed, days=DAYS, shared_days=SHARED_DAYS, *, power=False):
    """The steps of a life: tuples of a device's name, what happens, and with what.

    The device ``a`` is there from the beginning; ``b`` begins as a copy of it.

    Args:
        seed: decides everything.
        days: how many.
        shared_days: on how many of them several processes use a device at the same time.
        power: whether the power fails, too; otherwise the process is killed at these moments.
    """
    random = Random(seed)
    special = _special_days(random, days, shared_days)
    steps = []
    for day in range(days):
        steps.append(("", "day", day))
        for step in special.get(day, ()):
            steps.append(step)
        if random.random() < 0.25:
            steps.append(("", "zone", random.choice(ZONES)))
        for name in ("a", "b"):
            steps += _day(random, name)
    steps.append(("", "mood", "up"))
    for name in ("a", "b"):
        steps += [(name, "correct_clock"), (name, "agree", True), (name, "start")]
        steps += [(name, "flush"), (name, "close")]
    return steps if power else [_without_failure(step) for step in steps]


def _without_failure(step):
    """The step with the power staying on."""
    dies = len(step) > 1 and step[1] in ("die", "stop_at")
    return (*step[:-1], False) if dies else step


def _special_days(random, days, shared_days):
    """What happens once or a few times in a life, by day."""
    found = {}

    def add(day, *step):
        found.setdefault(int(day), []).append(step)

    def somewhere(begin, end):
        return random.uniform(begin * days, end * days)

    add(0, "", "register", 0)
    for number in range(1, RELEASES):
        day = somewhere(number / 3 - 0.1, number / 3)
        add(day, "a", "update", number)
        add(day + random.randrange(6), "b", "update", number)
        add(day + random.randrange(5), "", "register", number)
    backup = somewhere(0.4, 0.5)
    add(backup, "a", "back_up")
    add(backup + random.randint(1, 9), "a", "restore")
    add(somewhere(0.25, 0.4), "b", "become_copy_of", "a")
    add(somewhere(0.6, 0.85), "a", "lose_disk")
    for name in ("a", "b"):
        for _ in range(2):
            day = somewhere(0.1, 0.9)
            add(day, name, "agree", False)
            add(day + random.randrange(3), name, "agree", True)
        add(somewhere(0.2, 0.9), name, "forget")
        for _ in range(2):
            day = somewhere(0.05, 0.9)
            add(day, name, "wrong_clock", random.choice([-20, -3, -1, 0.4, 1, 2, 6]))
            add(day + random.randint(1, 4), name, "correct_clock")
        for _ in range(5):
            add(somewhere(0.02, 1.0), name, "die", True)
        day = somewhere(0.1, 0.9)
        add(day, name, "back_up_journal")
        add(day + random.randint(2, 7), name, "restore_journal")
    for _ in range(shared_days):
        names = random.sample([name for name in NAMES if name != "printing"], 8)
        add(somewhere(0.05, 1.0), random.choice("ab"), "share", names)
    for serial in DOCUMENTS:
        add(somewhere(0.15 * serial, 0.15 * serial + 0.1), "", "publish", serial)
    return found


def _day(random, name):
    """An ordinary day of one device."""
    steps = []
    if random.random() < 0.08:
        return [("", "sleep", random.uniform(1, 20) * HOUR, False)]  # the device is not used
    for _ in range(random.randint(1, 3)):
        if random.random() < 0.5:
            moods, weights = zip(*MOODS.items(), strict=True)
            steps.append(("", "mood", *random.choices(moods, weights)))
        if random.random() < 0.12:
            steps.append((name, "stop_at", random.randint(1, 60), random.random() < 0.3))
        steps.append((name, "start"))
        for metric in random.sample(NAMES, random.randint(2, 9)):
            steps.append((name, "record", metric))
        if random.random() < 0.15:
            steps.append((name, "record", "no_such_metric"))
        steps.append(("", "sleep", random.uniform(0.01, 7.0) * HOUR, random.random() < 0.6))
        steps.append((name, "record_city"))
        if random.random() < 0.15:
            steps.append((name, "stop_at", random.randint(1, 60), random.random() < 0.7))
        steps.append((name, random.choice(["flush", "upload_due", "upload_due"])))
        end = random.random()
        if end < 0.35:
            steps.append((name, "close"))
        elif end < 0.45:
            steps.append((name, "die", False))
    return steps
