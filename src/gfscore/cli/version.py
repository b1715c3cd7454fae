"""``gfscore --version``."""

from typing import Annotated

import typer

from gfscore.__about__ import __version__


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gfscore {__version__}")
        raise typer.Exit


def version_option(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before any command."""
