"""What the page shows on which a key is excluded or included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.dates import format_day
from deniable_aggregator.pages.addresses import address
from deniable_aggregator.telling.wording import counted, key_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.store import StoredKey

DONE = {"exclude": "excluded", "include": "included"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyActView:
    """Excluding a key, or including it again.

    Attributes:
        title: what is about to be done, or was.
        done: whether it is so already.
        text: what that means.
        changes: what changes, a sentence each; none if it is done.
        act: "exclude" or "include".
        button: what the button says.
        place: where the form is sent.
        back: the address to go back to.
        other: the address of the opposite; empty before it is done.
        command: the same in a terminal.
    """

    title: str
    done: bool
    text: str
    changes: Sequence[str]
    act: str
    button: str
    place: str
    back: str
    other: str
    command: str


def key_act_view(
    key: StoredKey, act: str, *, reports: int, last_mixed_day: int | None, metric: str
) -> KeyActView:
    """What the page shows.

    Args:
        key: which key.
        act: "exclude" or "include".
        reports: how many counted reports it has brought.
        last_mixed_day: the last day in which keys cannot be told apart any more, or None.
        metric: whose health was looked at before; may be empty.
    """
    name = key_in_words(key.id, key.label)
    excludes = act == "exclude"
    done = (key.excluded is not None) == excludes
    opposite = "include" if excludes else "exclude"
    return KeyActView(
        title=f"Key {name} is {DONE[act]}" if done else f"{act.capitalize()} key {name}?",
        done=done,
        text=_text(reports, excludes=excludes) if done else "",
        changes=[] if done else list(_changes(reports, last_mixed_day, excludes=excludes)),
        act=act,
        button=f"{act.capitalize()} this key",
        place=address("keys", key.id, act, metric=metric),
        back=address("health", metric=metric),
        other=address("keys", key.id, opposite, metric=metric) if done else "",
        command=f"deniable keys {act} {key.id} --store STORE",
    )


def _text(reports: int, *, excludes: bool) -> str:
    brought = counted(reports, "report")
    if excludes:
        return (
            f"Its {brought} are left out of all answers from now on, and so is what it still "
            "brings. The table of estimates follows within minutes."
        )
    return f"Its {brought} count in all answers. The table of estimates follows within minutes."


def _changes(reports: int, last_mixed_day: int | None, *, excludes: bool) -> list[str]:
    brought = counted(reports, "report")
    if not excludes:
        return [
            f"Its {brought} count again, in all answers about all metrics.",
            "Estimates of past days are worked out again, which takes minutes.",
            "It is recorded in the audit log, with the id of your key.",
        ]
    changes = [
        f"Its {brought} are left out of all answers about all metrics, and so is what it brings "
        "from now on.",
        "Nothing is deleted: you can include the key again at any time.",
        "Estimates of past days are worked out again, which takes minutes.",
        "Devices with this key may go on sending. Revoke the key to refuse them: deniable keys "
        "revoke.",
        "It is recorded in the audit log, with the id of your key.",
    ]
    if last_mixed_day is not None:
        changes.append(
            f"Days up to {format_day(last_mixed_day)} may have become sums over all keys: from "
            "these its reports cannot be taken any more."
        )
    return changes
