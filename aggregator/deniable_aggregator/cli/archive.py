"""``deniable archive``: writes the reports of closed days into Parquet files."""

from __future__ import annotations

import click

from deniable_aggregator.cli.support.output import json_option, print_json
from deniable_aggregator.cli.support.progress import progress_bar
from deniable_aggregator.cli.support.store_option import open_store, store_option


@click.command("archive")
@store_option
@click.argument("address", metavar="ADDRESS")
@json_option
def archive(store: str, address: str, as_json: bool) -> None:
    """Writes the reports of closed days into Parquet files below ADDRESS.

    ADDRESS is a folder, or an address of fsspec such as s3://bucket/reports. Every report is in one
    file, also if this command is killed and run again; run it daily, beside the servers. These must
    have the setting archive_days, as they keep only sums otherwise.

    An archive keeps single reports, which a store does not: see docs/threat-model.md.
    """
    from deniable_aggregator.extras import require

    require("archive", "pyarrow", "fsspec")
    from deniable_aggregator.archiving.archiver import Archiver

    with open_store(store) as opened, progress_bar("archiving") as progress:
        written = Archiver(opened, address).run(progress)
    if as_json:
        print_json(written._asdict())
        return
    click.echo(
        f"archived {written.reports:,} reports of {written.days:,} days in {written.files:,} files"
    )
