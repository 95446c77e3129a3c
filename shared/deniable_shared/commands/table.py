"""Every command of ``deniable``: its name, where it is, and what it is for.

Help and completion read this table, so they import no command. A module is named, not imported:
this package knows nothing else about the client and the aggregator.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Reader = Literal["developer", "analyst", "reviewer", "operator"]


class Command(NamedTuple):
    """One command.

    Attributes:
        target: a module with the functions `parser` and `run`; or, of a command that needs the
            extra ``aggregator``, module:attribute of a click command.
        summary: what it is for, in one line.
        reader: who needs it.
        first: whether it is one of those that the help shows first.
    """

    target: str
    summary: str
    reader: Reader
    first: bool = False

    @property
    def needs_extra(self) -> bool:
        """Whether it needs the extra ``aggregator``."""
        return ":" in self.target


COMMANDS: Final = {
    "init": Command(
        "deniable_shared.commands.init",
        "Writes a registry file to begin with.",
        "developer",
        first=True,
    ),
    "check": Command(
        "deniable_shared.commands.check",
        "Checks a registry file and says what each metric can reveal.",
        "developer",
        first=True,
    ),
    "try": Command(
        "deniable._trial.command",
        "Records each metric once, and shows what leaves the device.",
        "developer",
        first=True,
    ),
    "plan": Command(
        "deniable_shared.commands.plan",
        "Says beforehand what metrics will show, and at what cost.",
        "developer",
    ),
    "typed": Command(
        "deniable_shared.commands.typed",
        "Writes a module by which type checkers know the metrics.",
        "developer",
    ),
    "show": Command(
        "deniable._disclosure.command",
        "Shows what this device has said to an application.",
        "developer",
    ),
    "ping": Command(
        "deniable_shared.commands.ping",
        "Says whether a server answers and is ready.",
        "developer",
    ),
    "model train": Command(
        "deniable_shared.commands.model_train",
        "Makes a model of phrases, for discovering strings of a kind.",
        "developer",
    ),
    "hints": Command(
        "deniable_shared.commands.hints",
        "Collects names from sources, by which strings are found.",
        "developer",
    ),
    "estimate": Command(
        "deniable_aggregator.doors.cli.estimate:estimate",
        "Estimates a metric: which values, what share, how sure.",
        "analyst",
        first=True,
    ),
    "series": Command(
        "deniable_aggregator.doors.cli.estimate:series",
        "Shows how a metric develops, period by period.",
        "analyst",
    ),
    "change": Command(
        "deniable_aggregator.doors.cli.estimate:change",
        "Tests what has changed between two periods.",
        "analyst",
        first=True,
    ),
    "compare": Command(
        "deniable_aggregator.doors.cli.estimate:compare",
        "Compares two segments, versions or keys.",
        "analyst",
    ),
    "health": Command(
        "deniable_aggregator.doors.cli.estimate:health",
        "Says whether reports look like those of devices.",
        "analyst",
        first=True,
    ),
    "discover": Command(
        "deniable_aggregator.doors.cli.estimate:discover",
        "Finds popular strings that nobody listed.",
        "analyst",
    ),
    "report": Command(
        "deniable_aggregator.doors.cli.report:report",
        "Writes a report of all metrics into one file.",
        "analyst",
    ),
    "export": Command(
        "deniable_aggregator.doors.cli.report:export",
        "Writes the numbers of metrics as one long table.",
        "analyst",
    ),
    "simulate": Command(
        "deniable_aggregator.doors.cli.simulate:simulate",
        "Tries a registry on simulated devices, beside the truth.",
        "analyst",
    ),
    "metrics list": Command(
        "deniable_aggregator.doors.cli.metrics:list_metrics",
        "Lists the metrics of a server, with their reports.",
        "analyst",
    ),
    "metrics show": Command(
        "deniable_aggregator.doors.cli.metrics:show",
        "Shows the values, segments and versions of a metric.",
        "analyst",
    ),
    "lists": Command(
        "deniable_aggregator.doors.cli.lists:lists",
        "Shows lists of values to look for: emoji, locales, browsers.",
        "analyst",
    ),
    "annotations": Command(
        "deniable_aggregator.doors.cli.lists:annotations_group",
        "Says what happened on which day, such as a release.",
        "analyst",
    ),
    "views": Command(
        "deniable_aggregator.doors.cli.views:views",
        "Keeps pages of metrics under names, for all who read them.",
        "analyst",
    ),
    "profiles": Command(
        "deniable_aggregator.doors.cli.profiles:profiles",
        "Keeps servers and tokens under names, for --profile.",
        "analyst",
    ),
    "audit": Command(
        "deniable._audit.command",
        "Enumerates the installed randomizers, and certifies epsilon.",
        "reviewer",
        first=True,
    ),
    "verify": Command(
        "deniable_shared.commands.verify",
        "Compares installed files with the wheel or a certificate.",
        "reviewer",
    ),
    "cost": Command(
        "deniable_aggregator.doors.cli.cost:cost",
        "Says what all metrics cost a device over a year, together.",
        "reviewer",
        first=True,
    ),
    "log": Command(
        "deniable_aggregator.doors.cli.keys:audit_log",
        "Shows and verifies the log of administrative acts.",
        "reviewer",
    ),
    "metrics history": Command(
        "deniable_aggregator.doors.cli.metrics_history:history",
        "Shows every version that was ever registered, and when.",
        "reviewer",
    ),
    "publish": Command(
        "deniable_aggregator.doors.cli.publish:publish",
        "Makes tables for the public: a signed export, and a page.",
        "reviewer",
    ),
    "serve": Command(
        "deniable_aggregator.doors.cli.serve:serve",
        "Runs the aggregator until it is interrupted.",
        "operator",
        first=True,
    ),
    "keys": Command(
        "deniable_aggregator.doors.cli.keys:keys_group",
        "Creates, lists, rotates, revokes and excludes keys.",
        "operator",
        first=True,
    ),
    "relay-key": Command(
        "deniable_aggregator.doors.cli.relay_key:relay_key",
        "Makes, lists and retires keys that uploads are sealed to.",
        "operator",
    ),
    "acknowledge": Command(
        "deniable_aggregator.doors.cli.acknowledge:acknowledge",
        "Says that a key differs for a reason that is known.",
        "operator",
    ),
    "metrics register": Command(
        "deniable_aggregator.doors.cli.metrics:register",
        "Registers the metrics of a file, at a server or in a store.",
        "operator",
    ),
    "metrics remove": Command(
        "deniable_aggregator.doors.cli.metrics:remove",
        "Removes a metric with all of its reports.",
        "operator",
    ),
    "store": Command(
        "deniable_aggregator.doors.cli.store:store_group",
        "Looks after the store: its schema, backups, and moving it.",
        "operator",
    ),
    "config": Command(
        "deniable_aggregator.doors.cli.config:config",
        "Shows settings, and where they come from.",
        "operator",
    ),
    "digest": Command(
        "deniable_aggregator.doors.cli.digest:digest",
        "Shows the digest as it would be sent now, and tries sending.",
        "operator",
    ),
    "remote": Command(
        "deniable_aggregator.doors.cli.remote:remote",
        "Signs and publishes remote configurations.",
        "operator",
    ),
    "relay": Command(
        "deniable_aggregator.doors.cli.relay:relay",
        "Holds sealed reports of devices, and forwards them together.",
        "operator",
    ),
    "archive": Command(
        "deniable_aggregator.doors.cli.set_aside:archive",
        "Writes the reports of closed days into Parquet files.",
        "operator",
    ),
}

GROUPS: Final = {
    "metrics": "Works with the metrics of a server.",
    "model": "Makes models of letters, for metrics that discover strings.",
}
"""What is common to the commands that begin with the same word."""


def find_command(words: list[str]) -> tuple[str, list[str]] | None:
    """The command that words begin with, and the words after it.

    Args:
        words: of a command line, after the name of the script.

    Returns:
        The name of the command and its arguments; None if no command has this name.
    """
    for length in (1, 2):
        name = " ".join(words[:length])
        if name in COMMANDS:
            return name, words[length:]
    return None


def names_after(words: list[str]) -> list[str]:
    """The words that can follow some words of a command's name, such as "check" after "metrics".

    Args:
        words: the beginning of a command line, or nothing.
    """
    names = [name.split() for name in COMMANDS]
    return list(
        dict.fromkeys(
            name[len(words)]
            for name in names
            if name[: len(words)] == words and len(name) > len(words)
        )
    )
