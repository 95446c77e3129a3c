"""``deniable metrics``: list, show, register and remove."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from deniable_aggregator.answers.administration import Metrics, Registered, RemovedMetric
from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_aggregator.asking.questions import METRIC, METRICS, path_of
from deniable_aggregator.doors.cli.output import json_option, print_json, print_rows
from deniable_aggregator.doors.cli.parameters import READABLE_FILE
from deniable_aggregator.doors.cli.question_options import question_command
from deniable_aggregator.doors.cli.server_options import (
    connection_options,
    optional_connection_options,
)
from deniable_aggregator.doors.cli.store_option import (
    open_store,
    store_instead_of_server_option,
    store_is_meant,
    today,
)
from deniable_aggregator.doors.cli.value_completion import complete_metric
from deniable_aggregator.keeping.audit import COMMAND_LINE
from deniable_aggregator.telling.wording import counted, key_in_words, renamed_in_words
from deniable_shared.characters import visible
from deniable_shared.commands.text import labelled_lines, report_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from deniable_aggregator.answers.metrics import Domain, MetricDetails, VersionDetails
    from deniable_aggregator.asking.connection import Connection


@question_command(METRICS)
def list_metrics(answer: Metrics) -> None:
    """Lists the metrics of a server, with what was reported of each.

    A metric has one line, whatever the number of its versions: type, reports, from when to when,
    how many a day, and the privacy loss (epsilon) of one report. Reports are counted over devices
    and days, so they are not people.

    \b
        deniable metrics list
        deniable metrics list --json
        deniable metrics show theme

    Whether the reports look honest says deniable health.
    """  # noqa: D301  click reads the backslash as a sign
    from deniable_aggregator.media.terminal import print_document
    from deniable_aggregator.telling.administration import metrics_document

    print_document(metrics_document(answer))


@question_command(METRIC)
def show(answer: MetricDetails) -> None:
    """Shows METRIC: its values, segments and versions, who brought reports, and what they reveal.

    These are the words that questions take: values for --value and --combined, segments for
    --segment, keys for --without-key, and the ids of versions for --version.

    \b
        deniable metrics show theme
        deniable metrics show theme --json
    """  # noqa: D301  click reads the backslash as a sign
    from deniable_shared.characters import visible_lines

    click.echo(visible_lines(metric_text(answer)))


MOST_LISTED: Final = 200
"""Of values; --json has all."""


def metric_text(answer: MetricDetails) -> str:
    """The metric, then each of its versions, the newest first, then what can be asked.

    Args:
        answer: the metric.
    """
    what = f": {visible(answer.description)}" if answer.description else ""
    lines = [f"{visible(answer.name)}{what}", *labelled_lines(_about(answer))]
    for number, version in enumerate(answer.versions):
        newest = ", the newest" if number == 0 and len(answer.versions) > 1 else ""
        lines.append(f"\nVersion {version.version[:VERSION_LETTERS]}{newest}")
        older = answer.versions[number + 1 : number + 2]
        lines += labelled_lines(_version(version, older))
    lines += ["\nTo ask:", *(f"  {line}" for line in _examples(answer))]
    return "\n".join(lines)


def _about(answer: MetricDetails) -> Iterator[tuple[str, str]]:
    if answer.owners:
        yield "owners", ", ".join(map(visible, answer.owners))
    if answer.expires is not None:
        yield "recorded", f"until {answer.expires}"
    if answer.renamed:
        yield "renamed", renamed_in_words(answer.renamed)
    if answer.retention_days is not None:
        yield "kept", f"for {answer.retention_days:,} days"
    if answer.candidates:
        found = ", or let the server find popular ones" if answer.discovers else ""
        yield "asked", f"with a list of values to look for{found}"
    yield "reports", _reports(answer)
    for each in answer.keys:
        excluded = ", left out: the key is excluded" if each.excluded else ""
        yield "by key", f"{visible(key_in_words(each.key, each.label))}: {each.reports:,}{excluded}"


def _reports(answer: MetricDetails) -> str:
    text = f"{sum(each.reports for each in answer.versions):,}"
    first = min((each.first_day for each in answer.versions if each.first_day), default=None)
    last = max((each.last_day for each in answer.versions if each.last_day), default=None)
    if first is not None:
        text += f", {first} to {last}"
    if answer.excluded_reports:
        text += f"; {answer.excluded_reports:,} are left out, as their keys are excluded"
    return text


def _version(version: VersionDetails, older: Sequence[VersionDetails]) -> Iterator[tuple[str, str]]:
    since = f"registered {version.registered}"
    if version.first_day is not None:
        since += f", reports {version.first_day} to {version.last_day}: {version.reports:,}"
    yield "since", since
    yield "type", version.type
    yield from _domain_lines(version, older)
    yield "device", report_limit(version.every)
    epsilon = f"{version.epsilon:.4g} for one report ({version.mechanism})"
    if version.epsilon_permanent is not None:
        epsilon += f"; {version.epsilon_permanent:.4g} for all about the same value"
    if version.epsilon_total is not None:
        epsilon += f"; {version.epsilon_total:.4g} for all permanent answers"
    yield "epsilon", epsilon
    yield "privacy", version.privacy


def _domain_lines(
    version: VersionDetails, older: Sequence[VersionDetails]
) -> Iterator[tuple[str, str]]:
    """What a device can say; of values that an older version has, too, only what is different."""
    if version.values:
        if older and older[0].values == version.values:
            yield "values", "as of the version before"
        else:
            yield "values", f"{len(version.values):,}: {_listed(version.values)}"
    if version.other is not None:
        yield "other", f"all other values count as {visible(version.other)}"
    if version.most:
        yield "sets", f"of up to {counted(version.most, 'item')}; of larger ones, random items"
    if version.absent is not None:
        yield "absent", f"{visible(version.absent)} is reported where nothing was recorded"
    if version.pick == "random":
        yield (
            "which value",
            f"a random one of a {version.every}; a share or mean is that of a device's values, "
            "averaged over devices",
        )
    if version.range:
        low, high = version.range
        bins = f" in {version.bins:,} bins" if version.bins else ""
        yield "range", f"{low:g} to {high:g}{bins}; values outside count as its ends"
    for attribute in version.attributes or ():
        yield "attributes", f"{visible(attribute.name)}: {_values(attribute)}"
    if version.segments:
        yield "segments", f"{visible(version.segments.name)}: {_values(version.segments)}"
    if version.letters:
        letters = version.letters
        yield (
            "strings",
            f"{visible(letters.alphabet)} of {letters.extent}; only the beginning of longer ones "
            "can be found",
        )


def _values(domain: Domain) -> str:
    return "yes or no" if domain.type == "boolean" else _listed(domain.values)


def _listed(values: Sequence[str]) -> str:
    more = len(values) - MOST_LISTED
    rest = f" and {more:,} more, which --json lists" if more > 0 else ""
    return ", ".join(map(visible, values[:MOST_LISTED])) + rest


def _examples(answer: MetricDetails) -> Iterator[str]:
    """Questions that fit the metric."""
    name, newest = visible(answer.name), answer.versions[0]
    if answer.candidates:
        yield f"deniable estimate {name} --candidates values.txt --top 20"
        if answer.discovers:
            yield f"deniable discover {name} --since -7d"
        return
    yield f"deniable estimate {name} --since -28d"
    if newest.segments:
        yield f"deniable estimate {name} --segment {_quoted(newest.segments.values[0])}"
    yield f"deniable series {name} --by week"
    yield f"deniable change {name} --before -14d..-8d --after -7d..yesterday"


def _quoted(value: str) -> str:
    import shlex

    return shlex.quote(visible(value))


@click.command()
@click.argument("file", type=READABLE_FILE)
@store_instead_of_server_option
@optional_connection_options
@json_option
@click.pass_context
def register(
    context: click.Context,
    file: Path,
    store: str | None,
    connect: Callable[[], Connection],
    as_json: bool,
) -> None:
    """Registers all metrics of FILE with a server, or in a store.

    Register the very file that the application ships, with the model files that it names beside
    it. It may be done again at any time: what is registered already stays, and what has changed is
    registered beside it, so that old versions of the application can still report.

    A server is asked with a key of scope admin. With --store nothing needs to run, as when a server
    is set up: an SQLite file that is not there is created, and running servers notice within a
    second. Either way it is in the audit log.
    """
    if store_is_meant(context):
        assert store is not None
        registered = _register_in_store(store, file)
    else:
        from deniable_shared.registry import with_models

        connection = connect()
        content = with_models(file.read_bytes(), file.parent)
        registered = connection.request("POST", "/v1/metrics", content=content).decode(Registered)
    if as_json:
        print_json(registered)
        return
    click.echo(f"{file}: {visible(registered.application)}")
    states = {True: "new", False: "registered before"}
    rows = [(each.version[:16], states[each.new], each.name) for each in registered.metrics]
    print_rows(("version", "", "metric"), rows)
    for warning in registered.warnings:
        click.echo(f"Warning: {visible(warning)}.", err=True)


def _register_in_store(store: str, file: Path) -> Registered:
    """Registers a file in a store on behalf of whoever is at the command line.

    Raises:
        RegistryError: if the file has problems, or the application would have too many metrics.
    """
    from deniable_aggregator.keeping.catalog import registered
    from deniable_shared.registry import load

    registry = load(file)
    with open_store(store, create=True) as opened:
        new = opened.metrics.register(registry.metrics.values(), today(), COMMAND_LINE)
    return registered(registry, new)


@click.command()
@click.argument("name", shell_complete=complete_metric)
@connection_options
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def remove(name: str, connection: Connection, yes: bool, as_json: bool) -> None:
    """Removes the metric NAME, all of its versions and all that was reported of it, for good.

    Needs a key of scope admin. What devices still report of it is refused, and they drop it;
    registering the metric again begins anew. A backup still has what was removed. The space is
    freed within minutes, step by step, while the server runs. The audit log says who removed it.
    """
    if not yes:
        listed = connection.request("GET", "/v1/metrics").decode(Metrics)
        versions = [metric for metric in listed.metrics if metric.name == name]
        if not versions:
            raise click.ClickException(f"{listed.application} has no metric {name}")
        reports = sum(metric.reports + metric.excluded_reports for metric in versions)
        click.confirm(
            f"Remove {name} of {listed.application}: {counted(len(versions), 'version')}, "
            f"{counted(reports, 'report')}? They cannot be brought back",
            abort=True,
            err=True,
        )
    answer = connection.request("DELETE", path_of(METRIC.path, name))
    removed = answer.decode(RemovedMetric)
    if as_json:
        print_json(removed)
        return
    click.echo(
        f"removed {removed.name} of {removed.application}: "
        f"{counted(len(removed.versions), 'version')}, "
        f"{counted(removed.reports, 'counted report')}"
    )
