"""``deniable digest``: what people would be sent now, and whether it reaches them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.doors.cli.config import settings_options
from deniable_aggregator.doors.cli.output import json_option, print_json
from deniable_aggregator.doors.cli.store_option import open_store, today
from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deniable_aggregator.answering.digests.channels import Channel
    from deniable_aggregator.answers.dates import DayRange
    from deniable_aggregator.keeping.settings import Settings
    from deniable_aggregator.keeping.settings_files import Configuration
    from deniable_aggregator.telling.report.digest import Digest


@click.command()
@click.option(
    "--send", is_flag=True, help="Also send it, marked as a trial, to webhook and mail at once."
)
@settings_options("store")
@json_option
def digest(loaded: Configuration, send: bool, as_json: bool) -> None:
    """Shows the digest of each application as it would be sent now.

    It is of the last whole week, or of yesterday with digest_every = "day". With --send it goes to
    where digest_webhook and digest_mail_to say, as a trial: the digest that a server sends of the
    same days still comes, and an application without reports has a message, too.

    \b
        deniable digest --config deniable.toml
        deniable digest --config deniable.toml --send
    """  # noqa: D301  click reads the backslash as a sign
    # Imported here, so that help and completion do without them.
    from deniable_aggregator.answering.digests.channels import channels_of
    from deniable_aggregator.answering.digests.sending import due_period
    from deniable_aggregator.keeping.settings import CHANNELS

    settings = loaded.settings
    channels = channels_of(settings) if send else {}
    if send and not channels:
        raise click.UsageError(f"--send needs {' or '.join(CHANNELS)}")
    every = "day" if settings.digest_every == "day" else "week"
    period = due_period(every, day_of(today()))
    shown = []
    for application, message in _messages(settings, period):
        outcomes = _try(channels, application, message)
        shown.append((application, message, outcomes))
        if not as_json:
            click.echo(f"{application}: nothing to say" if message is None else message.text())
            for channel, why in outcomes.items():
                click.echo(f"{channel}: {why or 'delivered'}\n")
    if as_json:
        print_json([_data(*each) for each in shown])
    elif not shown:
        click.echo("No application has metrics; deniable metrics register registers some.")
    failed = [why for *_, outcomes in shown for why in outcomes.values() if why]
    if failed:
        raise DeniableError(f"{len(failed)} of the messages were not delivered")


def _messages(settings: Settings, period: DayRange) -> Iterator[tuple[str, Digest | None]]:
    """The digest of each application; None for one that has nothing to say."""
    from deniable_aggregator.answering.answers import Answerer
    from deniable_aggregator.answering.digests.sending import message_about
    from deniable_aggregator.answering.local_source import LocalSource
    from deniable_aggregator.keeping.parts import Parts

    with open_store(settings.store) as store:
        answerer = Answerer(Parts(store, settings))
        for application in store.metrics.applications():
            source = LocalSource(answerer, application)
            details = settings.digest_details == "on"
            yield application, message_about(source, period, details=details)


def _try(
    channels: Mapping[str, Channel], application: str, message: Digest | None
) -> dict[str, str]:
    """Sends a trial over every channel: by its name, why it failed; empty if it was delivered."""
    from deniable_aggregator.answering.digests.channels import DeliveryError
    from deniable_aggregator.telling.report.digest import trial_of

    outcomes = {}
    for name, deliver in channels.items():
        try:
            deliver(trial_of(application, message))
        except DeliveryError as error:
            outcomes[name] = str(error)
        else:
            outcomes[name] = ""
    return outcomes


def _data(application: str, message: Digest | None, outcomes: Mapping[str, str]) -> dict[str, Any]:
    return {
        "application": application,
        "digest": None if message is None else asdict(message),
        "channels": {name: why or "delivered" for name, why in outcomes.items()},
    }
