"""``deniable public-page``."""

from __future__ import annotations

from pathlib import Path

import click

from deniable_aggregator.cli.support.files import READABLE_FILE


@click.command(name="public-page", short_help="Makes a public page from a signed export.")
@click.argument("export", type=READABLE_FILE)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--public-key",
    metavar="BASE64",
    help="The publisher's public key, from somewhere else than the export.",
)
def public_page(export: Path, folder: Path, public_key: str | None) -> None:
    """Makes the static page of EXPORT, a file of deniable publish --export, in the new FOLDER.

    The page is made from the export alone: whoever has the export and the same version of Deniable
    makes the same files, byte for byte, on any machine and day. It has no script and loads nothing
    from elsewhere: put the folder behind any web server, or open index.html.

    An export that was changed is refused, and so is one that states something else of a version of
    a metric than the version's own text. With --public-key, so is one that somebody else signed;
    without it, nobody has checked who did.

    The digest that is printed is one for all files, to compare with those of others:

    \b
        deniable public-page export.json site --public-key BASE64
        cd site && find . -type f -printf '%P\\n' | xargs sha256sum | LC_ALL=C sort | sha256sum
    """  # noqa: D301  click reads the backslash as a sign
    from deniable_aggregator.publication.export import open_export
    from deniable_aggregator.publication.folder import (
        digest_of_folder,
        folder_files,
        write_folder,
    )

    opened = open_export(export.read_bytes(), public_key)
    contents = folder_files(opened)
    write_folder(contents, folder)
    click.echo(f"wrote {folder}: {len(contents):,} files, digest {digest_of_folder(contents)}")
    if public_key is None:
        click.echo(
            f"The export is whole, and signed by the key {opened.public_key}. Whose key that is "
            "was not checked: give --public-key as the publisher announces it.",
            err=True,
        )
    else:
        click.echo("The export is whole, and signed by the key that was given.")
