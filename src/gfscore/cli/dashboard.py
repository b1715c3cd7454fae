"""``gfscore dashboard``: the interactive view, in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from gfscore.dashboard.serving import address, check_address, serve
from gfscore.errors import FileError


def dashboard_command(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="audit.json files, folders that hold some, or logits files.  [default: the embedded zoo]"),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="The images behind the logits files, to see the samples of a class."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen at.")] = 8501,
    upload_limit: Annotated[int, typer.Option(min=1, metavar="MB", help="Largest file to upload.")] = 200,
) -> None:
    """Look at audits in a browser: sliders, classes to click on, models side by side, downloads.

    Opens on the embedded zoo when given nothing. Stop it with Ctrl-C.
    """
    for path in paths or []:
        if not path.exists():
            raise FileError("does not exist. Check the path.").found_in(path)
    check_address(host, port)
    typer.echo(f"gfscore dashboard at {address(host, port)} (stop with Ctrl-C)")
    serve(paths or [], data=data, host=host, port=port, upload_limit=upload_limit)
